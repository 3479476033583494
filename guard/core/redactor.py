"""Redactor: what hides personal data and secrets, as the core sees it. Comes after values and before ports, which re-export it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from guard.core.replacing import replace
from guard.core.values import keyer, sha

TEXT = "guard-text-v1\0"
"""What stands before every text of anybody's whose digest is made with the store's secret: so it is no label of a derived key, whatever it says."""


def _never(_text: str) -> bool:
    return False


def _nothing(_key: str | None, _text: str) -> Sequence[str]:
    return ()


def _text(text: str) -> str:
    return sha(TEXT + text)


def _tag(derive: Callable[[str], str], text: str) -> str:
    return derive(TEXT + text)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # one is like itself only: caches may ask for its hash often
class Redactor:
    """What hides personal data and secrets. It can only hide.

    `detect` takes one string leaf (the key it stands under, the text) and gives the text to show and the kinds hidden. `quiet` looks at
    JSON text, however it is written, and says True only where `detect` could surely find nothing in any leaf or key of it, nor in it as a text. `sift` takes all texts of a value at once and gives those in which `detect` may find something under an ordinary key; `tells` says whether a key is none: whatever
    stands under it has to be looked at. `tag` is what stands in the audit for a text: a digest, keyed with the store's secret, so that a short
    value cannot be guessed from it. `derive` makes keys and digests of the guard's own with that secret: it is given labels, digests and canonical arguments
    and never a text of anybody's, and `tag` never gives what it gives.
    """

    detect: Callable[[str | None, str], tuple[str, tuple[str, ...]]]
    quiet: Callable[[str], bool] = _never
    sift: Callable[[Sequence[str]], Collection[str]] = frozenset
    tells: Callable[[str], bool] = bool
    tag: Callable[[str], str] = _text
    derive: Callable[[str], str] = sha
    spot: Callable[[str | None, str], Sequence[str] | None] = _nothing  # what is personal in a text; None: only secrets are
    masks: frozenset[str] = frozenset()  # what `detect` puts in the place of what it hides


def under(redactor: Redactor, secret: bytes) -> Redactor:
    """The redactor with digests under a store's secret."""
    derive = keyer(secret)
    return replace(redactor, tag=partial(_tag, derive), derive=derive)


def as_keyed(redactor: Redactor, other: Redactor) -> Redactor:
    """The redactor with digests under the secret of another one."""
    return replace(redactor, tag=other.tag, derive=other.derive)
