"""Opening: what a text says that is JSON, read exactly or not at all, so that rules about fields never pass by what somebody else can read.

A mark of byte order, blanks around, several values one after the other and text within text are read for what they say, a repeated name with each
of its values. What holds a brace and cannot be read so is shut: whoever has rules about its fields hides it whole. Comes before fields; pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from guard.core.values import Json, JsonObject

_BLANK = " \t\r\n\x1e\ufeff\u200b\u00a0"  # with the mark of byte order, and what stands before each value of a sequence
_GAP = re.compile(f"[{_BLANK}]*")


class Shut(Enum):
    """What cannot be read exactly: text that may hold names of fields, or at most items of a list."""

    FIELDS = "fields"
    ITEMS = "items"


@dataclass(frozen=True, slots=True)
class Several:
    """Values that stand one after the other in a text, and what stands before, between and behind them."""

    values: list[Json]
    gaps: list[str]


class Again(str):
    """The name of a field that stood in its object before: written like it, and a name of its own."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


def holds(text: str) -> bool:
    """Whether there may be anything in a text that a rule about fields could mean; no prose without brackets."""
    return "{" in text or "[" in text or "}" in text or ('"' in text and text.lstrip(_BLANK)[:1] == '"')


def opened(text: str) -> Json | Several | Shut:
    """The object or list that a text is the JSON of, several values, what is shut; None where it is a text and nothing else."""
    if not holds(text):
        return None
    found = _several(text)
    if found is None:
        return shut(text)
    alone = found.values[0] if len(found.values) == 1 else None
    if isinstance(alone, dict | list) and not any(gap.strip() for gap in found.gaps):
        return alone
    return found if any(isinstance(value, dict | list | str) for value in found.values) else None


def shut(text: str) -> Shut | None:
    """How a text is shut that is not read; None where nothing in it could be a field or an item."""
    if "{" in text or "}" in text or ("\\" in text and text.lstrip(_BLANK)[:1] == '"'):
        return Shut.FIELDS
    return Shut.ITEMS if "[" in text else None


def prose(text: str) -> bool:
    """Whether a text holds no fields: neither some that can be read nor some that cannot."""
    found = opened(text)
    return found is None or found is Shut.ITEMS


def torn(texts: list[str]) -> bool:
    """Whether one of several texts is shut: they may be pieces of one, so the others tell of it."""
    return len(texts) > 1 and any(opened(text) is Shut.FIELDS for text in texts)


def _several(text: str) -> Several | None:
    """The values of which a text is wholly made; None where there is none, or anything else."""
    values, gaps, at = list[Json](), list[str](), 0
    while True:
        gap = _GAP.match(text, at)
        start = at if gap is None else gap.end()
        gaps.append(text[at:start])
        if start == len(text):
            return Several(values, gaps) if values else None
        try:
            value, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError, ArithmeticError):
            return None
        values.append(value)


def _pairs(pairs: list[tuple[str, Json]]) -> JsonObject:
    """An object; a name that is repeated keeps each of its values."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    found = {}
    for name, value in pairs:
        found[Again(name) if name in found else name] = value
    return found


def _integer(text: str) -> Any:
    try:
        return int(text)
    except ValueError:  # more digits than Python turns into a number at once
        return Decimal(text)


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=_integer, object_pairs_hook=_pairs)
