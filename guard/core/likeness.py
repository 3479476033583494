"""Likeness: whether two values are equal, told by keyed digests of them, so that what is compared is never the values themselves.

A digest is made of the canonical text of a value, which is the same for two JSON values exactly where `values.equal` holds: numbers by value, texts
as they are, lists in order, objects by key. It cannot tell order, nor what stands within a text. Comes before sources and ground; pure.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable

from guard.core.values import Json, canonical


class Likeness:
    """Equality by digests. `tag` makes one of a text: keyed with the store's secret, so that nobody can work them out from values that they guess."""

    __slots__ = ("_tag",)

    def __init__(self, tag: Callable[[str], str]) -> None:
        self._tag = tag

    def of(self, value: Json) -> str:
        """The keyed digest of a value."""
        return self._tag(canonical(value))

    def __call__(self, left: Json, right: Json) -> bool:
        """Whether two values are equal."""
        return hmac.compare_digest(self.of(left), self.of(right))
