"""Secrets: those that a request carried are taken out of whatever comes back, in every spelling that a service may repeat them in.

Comes before endpoint; pure. The spellings are those of `guard.core.spellings`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from guard.core.spellings import finder
from guard.core.values import Json

HIDDEN = "[secret]"
_SHORTEST = 6  # characters of a secret that is looked for


class Secrets:
    """What may not come back."""

    def __init__(self, values: Iterable[str]) -> None:
        sought = [part for value in values for part in (value, *_packed(value)) if len(part) >= _SHORTEST]
        self._numbers = frozenset(number for value in sought if (number := _number(value)) is not None)
        self._find = finder(dict.fromkeys(sought, HIDDEN))

    def out_of(self, value: Json) -> Json:
        """The value without them, names of fields included; the same object where there are none. Raises RecursionError for deep nesting."""
        if self._find is None:
            return value
        if isinstance(value, str):
            return self._find(value)[0]
        if isinstance(value, list):
            return [self.out_of(item) for item in value]
        if isinstance(value, dict):
            return {self.out_of(key): self.out_of(item) for key, item in value.items()}
        return HIDDEN if isinstance(value, int | float | Decimal) and self._says(value) else value

    def _says(self, number: float | Decimal) -> bool:
        """Whether a number is a secret, however it is written, or has one among its digits."""
        if isinstance(number, bool) or self._find is None:
            return False
        return number in self._numbers or self._find(str(number))[1] > 0


def _number(value: str) -> Decimal | None:
    """The number that a secret is, where it is one of enough digits."""
    try:
        found = Decimal(value)
    except InvalidOperation:
        return None
    return found if found.is_finite() and len(found.as_tuple().digits) >= _SHORTEST else None


def _packed(value: str) -> tuple[str, ...]:
    """User and password of a secret that is their base64, as HTTP's Basic has it: the text, and the password alone."""
    try:
        text = base64.b64decode(value.rpartition(" ")[2], validate=True).decode("ascii")
    except ValueError:
        return ()
    user, colon, password = text.partition(":")
    return (text, password) if colon and user.isprintable() and password.isprintable() else ()
