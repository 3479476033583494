"""Hardware addresses (MAC): six pairs of hexadecimal digits with one kind of separator, or three groups of four with dots.

A detector of the table in `guard.redactors`; pure. Six pairs of plain digits with dashes may be a date and a time: they stay. Groups of letters
alone, with dots, may be words: they count after a word that tells of an address.
"""

from __future__ import annotations

import re

from guard.redactors.edges import closes, matches, opens, same
from guard.redactors.views import grid

_X = "[0-9A-Fa-f]"
_MAC = re.compile(same(f"{_X}{{2}}(?:~{_X}{{2}}){{5}}", ":-") + rf"|{_X}{{4}}\.{_X}{{4}}\.{_X}{{4}}")
_PAIR = re.compile(f"{_X}{{2}}[:-]")
_TELLS = re.compile("(?i:mac|address|hardware|physical|ether|hwaddr)")
_NEAR = 32


def mac_gate(text: str) -> bool:
    """Whether separators stand between pairs, or dots between groups of four."""
    return grid(text)


def mac_spans(_key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all hardware addresses."""
    return [match.span() for match in matches(_MAC, text, lambda match: _alone(text, *match.span())) if _plausible(match)]


def _alone(text: str, start: int, end: int) -> bool:
    """Whether it is no part of a longer row of pairs or of a word."""
    if not opens(text, start, ".") or not closes(text, end, ":.-"):
        return False
    return start < 3 or _PAIR.fullmatch(text, start - 3, start) is None or not opens(text, start - 3)


def _plausible(match: re.Match[str]) -> bool:
    text = match.group()
    letters, digits = any(map(str.isalpha, text)), any(map(str.isdigit, text))
    if "." in text and not digits:
        return _TELLS.search(match.string, max(0, match.start() - _NEAR), match.start()) is not None
    return ":" in text or (letters and (digits or "-" in text))
