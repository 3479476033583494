"""Hardware addresses (MAC): six pairs of hexadecimal digits with one kind of separator, or three groups of four with dots.

A detector of the table in `guard.redactors`; pure. Six pairs of plain digits with dashes may be a date and a time: they stay.
"""

from __future__ import annotations

import re

from guard.redactors.views import grid

_X = "[0-9A-Fa-f]"
_MAC = re.compile(
    rf"(?:(?<![A-Za-z0-9_.])(?<!\b{_X}{{2}}[:-])|(?<=\\[nrt]))"
    rf"(?:{_X}{{2}}(?P<sign>[:-])(?:{_X}{{2}}(?P=sign)){{4}}{_X}{{2}}|{_X}{{4}}\.{_X}{{4}}\.{_X}{{4}})(?![A-Za-z0-9_]|[:.-][A-Za-z0-9])"
)


def mac_gate(text: str) -> bool:
    """Whether separators stand between pairs, or dots between groups of four."""
    return grid(text)


def mac_spans(_key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all hardware addresses."""
    return [match.span() for match in _MAC.finditer(text) if _plausible(match.group())]


def _plausible(text: str) -> bool:
    letters = any(map(str.isalpha, text))
    return ":" in text or (letters and any(map(str.isdigit, text))) or (letters and "-" in text)
