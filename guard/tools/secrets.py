"""Secrets: those that a request carried are taken out of whatever comes back, in every spelling that a service may repeat them in.

Comes before endpoint; pure.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from urllib.parse import quote, quote_plus

from guard.core.values import Json

HIDDEN = "[secret]"
_SHORTEST = 6  # characters of a secret that is looked for


class Secrets:
    """What may not come back."""

    def __init__(self, values: Iterable[str]) -> None:
        sought = [part for value in values for part in (value, *_packed(value)) if len(part) >= _SHORTEST]
        forms = {form for value in sought for form in _forms(value)}
        self._numbers = frozenset(number for value in sought if (number := _number(value)) is not None)
        found = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        self._sought = re.compile(found, re.IGNORECASE) if forms else None

    def out_of(self, value: Json) -> Json:
        """The value without them, names of fields included; the same object where there are none. Raises RecursionError for deep nesting."""
        if self._sought is None:
            return value
        if isinstance(value, str):
            return self._sought.sub(HIDDEN, value)
        if isinstance(value, list):
            return [self.out_of(item) for item in value]
        if isinstance(value, dict):
            return {self.out_of(key): self.out_of(item) for key, item in value.items()}
        return HIDDEN if isinstance(value, int | float | Decimal) and self._says(value) else value

    def _says(self, number: float | Decimal) -> bool:
        """Whether a number is a secret, however it is written, or has one among its digits."""
        if isinstance(number, bool) or self._sought is None:
            return False
        return number in self._numbers or self._sought.search(str(number)) is not None


def _number(value: str) -> Decimal | None:
    """The number that a secret is, where it is one of enough digits."""
    try:
        found = Decimal(value)
    except InvalidOperation:
        return None
    return found if found.is_finite() and len(found.as_tuple().digits) >= _SHORTEST else None


def _forms(value: str) -> set[str]:
    """A secret as it stands in a text, in JSON and in JSON inside JSON, in a URL, in HTML, and encoded."""
    escaped = json.dumps(value)[1:-1]
    slashed = escaped.replace("/", "\\/")
    urls = (quote(value, safe=""), quote(value), quote_plus(value), quote(quote(value, safe=""), safe=""))
    raw = value.encode()
    return {value, escaped, slashed, json.dumps(escaped)[1:-1], html.escape(value), *urls, raw.hex(), *_within(raw)}


def _within(raw: bytes) -> set[str]:
    """What surely stands in the base64 of any text with these bytes in it, wherever in it they begin."""
    found = set()
    for before in range(3):
        first, last = -(-before * 4 // 3), (before + len(raw)) * 4 // 3
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(bytes(before) + raw).decode()[first:last])
    return found


def _packed(value: str) -> tuple[str, ...]:
    """User and password of a secret that is their base64, as HTTP's Basic has it: the text, and the password alone."""
    try:
        text = base64.b64decode(value.rpartition(" ")[2], validate=True).decode("ascii")
    except ValueError:
        return ()
    user, colon, password = text.partition(":")
    return (text, password) if colon and user.isprintable() and password.isprintable() else ()
