"""Clipping: the beginning of a text that is no JSON as a whole. Nothing in it is shown in half: no word, no number, no mask, no JSON.

A text whose lines are JSON keeps whole lines, with `{"[cut]": "12 of 340 shown"}` behind them. Another one ends where a line ends, or a word; an object
in which it would end is cut by its own structure (`cutting`, which calls this) or left out. Clipping twice tells the first count. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final, NoReturn, TypeAlias

from guard.core.objects import objects, opens, unfinished
from guard.core.redaction import CUT, CUT_NOTE, cut_tail
from guard.core.values import Json, encode

Measure: TypeAlias = Callable[[str], int]
"""How large a text is."""
Shrink: TypeAlias = Callable[[Json, int], Json]
"""A value of the same kind in at most so many bytes of JSON, or the smallest that there is."""
MOST_PARSED: Final = 20_000_000
"""Characters of a text that are read as JSON to cut it by its structure."""
_BORDER = 200  # characters in which the end of a cut text may look for a place between words
_WORD = re.compile(r"[A-Za-z0-9_.,:;@+/=\[\]-]+\Z")
_TRIES = 4
_ROOM = 64  # bytes below which of an object only a note would be left


def parsed(text: str) -> Json:
    """The object or list that a text holds, numbers exact; None for any other text."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > MOST_PARSED:
        return None
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def shown_of(shown: int, there: int) -> str:
    """The note that tells how many are shown."""
    return f"{shown} of {there} shown"


def counted(told: Json, here: int) -> int:
    """How many there were before an earlier cut, by its note."""
    match = CUT_NOTE.fullmatch(told) if isinstance(told, str) else None
    return here if match is None else max(here, int(match[2]))


def tailed(beginning: str, there: int) -> str:
    """A text that is cut, with the note that says so."""
    return f"{beginning}{' ' if beginning else ''}[cut: {len(beginning)} of {there} characters shown]"


def clipped(text: str, most: int, measure: Measure, shrink: Shrink, whole: int = 0) -> str:
    """The beginning of a text within `most`, with a note. `whole`: how many characters there are, where the text is only what is known of them."""
    there = max(whole, len(text))
    if there == len(text) and (found := _lines(text, most, measure, shrink)) is not None:
        return found
    own = text
    if match := cut_tail(text):
        own, there = text[: match.start()], max(int(match[2]), len(text[: match.start()]))
    low, high = 0, min(len(own), max(0, most))
    while low < high:  # the most characters that fit with their note
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure(tailed(own[:middle], there)) <= most else (low, middle - 1)
    short = tailed(_ended(own, low, whole=there == len(own)), there)
    start, end = _around(own, low, whole=there == len(own))
    if start < low < end:
        short = _inside(own, (start, end), there, most, measure, shrink) or tailed(own[:start].rstrip(), there)
    return text if len(text) >= there and measure(short) >= measure(text) else short


def _lines(text: str, most: int, measure: Measure, shrink: Shrink) -> str | None:
    """A text of which every line is JSON, in whole lines; None for another text."""
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    if len(lines) < 2 or not all(line.lstrip()[:1] in ("{", "[") for line in lines):
        return None
    last = parsed(lines[-1])
    cut_before = isinstance(last, dict) and last.keys() == {CUT}
    there = counted(last[CUT], len(lines) - 1) if isinstance(last, dict) and cut_before else len(lines)
    own = lines[:-1] if cut_before else lines
    left = most - measure(encode({CUT: shown_of(there, there)}))
    shown: list[str] = []
    for line in own:
        value = parsed(line)
        if value is None:
            return None
        left -= measure(f"{line}\n")
        if left < 0:
            if not shown and (room := left + measure(line)) >= _ROOM:
                shown = [encode(shrink(value, room))]
            break
        shown.append(line)
    if len(shown) == there:
        return text
    return "\n".join([*shown, encode({CUT: shown_of(len(shown), there)})])


def _around(text: str, at: int, *, whole: bool) -> tuple[int, int]:
    """Where the object or list of JSON begins and ends in which a place is; the place itself where it is in none.

    Where the text goes on behind what is known of it, one may end there.
    """
    if not opens(text):
        return at, at
    found = next(((start, end) for start, end in objects(text) if start < at < end), None)
    if found is None and not whole and (start := unfinished(text)) < at:
        return start, len(text) + 1
    return found or (at, at)


def _inside(own: str, span: tuple[int, int], there: int, most: int, measure: Measure, shrink: Shrink) -> str | None:
    """The text up to an object, and as much of that as there is room for, whole in itself; None where that is nothing."""
    start, end = span
    value = parsed(own[start:end])
    room = most - measure(tailed(own[:start], there))
    for _ in range(_TRIES):
        if value is None or room < _ROOM:
            return None
        short = tailed(f"{own[:start]}{encode(shrink(value, room))}", there)
        if (over := measure(short) - most) <= 0:
            return short
        room -= over
    return None


def _ended(text: str, at: int, *, whole: bool) -> str:
    """The first `at` characters, less a line, word or number that would be shown in half."""
    if at < len(text) and (line := text.rfind("\n", at // 2, at + 1)) >= 0 and _around(text, line, whole=whole) == (line, line):
        return text[:line].rstrip()
    if at >= len(text) or not _WORD.match(text[at]):
        return text[:at].rstrip()
    match = _WORD.search(text, max(0, at - _BORDER), at)
    begins = at if match is None else match.start()
    return text[: begins if begins > at - _BORDER else at].rstrip()
