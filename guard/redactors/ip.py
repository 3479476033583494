"""IP addresses: four octets with dots, or the longer kind with colons, with the zone and the length of a network where they stand.

A detector of the table in `guard.redactors`; pure. Versions (`v1.2.3.4`, `1.2.3.4.5`, what stands after the word version or section or under such
a key) are no addresses. The longer kind is confirmed by the standard library.
"""

from __future__ import annotations

import ipaddress
import re

from guard.redactors.keys import words_of
from guard.redactors.views import grid

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_V4 = re.compile(
    rf"(?:(?<![A-Za-z0-9_.])(?<![A-Za-z][/-])|(?<=\\[nrt])){_OCTET}(?:\.{_OCTET}){{3}}(?:/(?:3[0-2]|[12]?[0-9])(?![0-9/]))?"
    r"(?![A-Za-z0-9_]|\.[A-Za-z0-9]|-[A-Za-z])"
)
_COLONS = re.compile(r"[0-9A-Fa-f:.]{3,}")
_REST = re.compile(r"(?:%[A-Za-z0-9._~-]{0,31}[A-Za-z0-9])?(?:/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])(?![0-9]))?")
_NAMES = "versions?|ver|v|releases?|build|firmware|revision|rev|sections?|sec|chapter|clause|article|paragraph|para|oid|step|figure|fig|table"
_NUMBERED = re.compile(rf"(?:(?<![A-Za-z])(?:{_NAMES})|§)(?:[ _-]?(?:no|nr|number|is))?[\"'.:= #>~^(-]{{0,4}}\Z", re.IGNORECASE)
_KEPT = frozenset(
    {"version", "versions", "ver", "release", "build", "firmware", "revision", "section", "chapter", "clause", "oid"}
)
"""Words that make a key speak of a numbered edition or passage."""


def ip_gate(text: str) -> bool:
    """Whether dots or colons stand between digits as they do in an address."""
    return grid(text)


def ip_spans(key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all addresses."""
    found = [span for run in _COLONS.finditer(text) if ":" in run.group() for span in _long(text, run)] if ":" in text else []
    if key is not None and words_of(key) & _KEPT:
        return found
    return found + [
        match.span() for match in _V4.finditer(text) if _NUMBERED.search(text[max(0, match.start() - 24) : match.start()]) is None
    ]


def _long(text: str, run: re.Match[str]) -> list[tuple[int, int]]:
    """The address with colons that fills a run of hexadecimal digits, colons and dots; a label with a colon may stand before it."""
    start, end = run.span()
    while end > start and text[end - 1] in ".:" and text[end - 2 : end] != "::":
        end -= 1
    if end - start > 64 or _wordy(text[end : end + 1]) or (text[end - 1] == "." and end < run.end()):
        return []
    if start and _wordy(text[start - 1]) and text[start - 2 : start] not in {"\\n", "\\r", "\\t"}:
        start = text.index(":", start, run.end()) + 1
    elif text[start] == ":" and text[start : start + 2] != "::":
        start += 1
    if not _address(text[start:end]) or (
        start > 1 and text[start - 1] == "[" and (text[start - 2].isalnum() or text[start - 2] in "])")
    ):
        return []
    rest = _REST.match(text, end)
    last = rest.end() if rest is not None else end
    return [(start, last)] if not _wordy(text[last : last + 1]) else [(start, end)]


def _address(text: str) -> bool:
    """Whether this is an address and cannot well be a time, a slice or a name: a digit, and more than two short decimal groups."""
    if text.count(":") < 2 or not any(map(str.isdigit, text)):
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    groups = [group for group in text.split(":") if group]
    if "::" not in text and all(len(group) == 2 for group in groups):  # eight pairs: the hardware's own number
        return False
    return (
        text == "::1"
        or len(groups) > 2
        or (len(groups) == 2 and any(len(group) > 2 or not group.isdigit() for group in groups))
        or (len(groups) == 1 and len(groups[0]) > 2)
    )


def _wordy(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())
