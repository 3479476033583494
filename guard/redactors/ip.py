"""IP addresses: four octets with dots, or the longer kind with colons, with the zone and the length of a network where they stand.

A detector of the table in `guard.redactors`; pure. Versions (`v1.2.3.4`, `1.2.3.4.5`, what stands after the word version or section or under such
a key) are no addresses. The longer kind is confirmed by the standard library.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from guard.redactors.edges import closes, escaped, opens, wordy
from guard.redactors.keys import names_of, word_list, words_of
from guard.redactors.views import grid

_V4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9]{1,2})?")
_COLONS = re.compile(r"[0-9A-Fa-f:.]{3,}")
_ZONE = re.compile(r"%[A-Za-z0-9._~-]{0,31}[A-Za-z0-9]")
_LENGTH = re.compile(r"/([0-9]{1,3})")
_NAMES = "versions?|ver|v|releases?|build|firmware|bios|driver|kernel|revision|rev|sections?|sec|chapter|clause|article|paragraph|para|oid|step|figure|fig|table"
_NUMBERED = re.compile(
    rf"(?:(?s:.{{0,24}}[^A-Za-z])?(?i:{_NAMES})|(?s:.{{0,24}})§)(?i:[ _-]?(?:no|nr|number|is))?[\"'.:= #>~^(-]{{0,4}}"
)
"""Of what stands before an address, all of it: a word that makes it a number of something."""
_KEPT = frozenset(
    {"version", "versions", "ver", "release", "build", "firmware", "bios", "driver", "kernel", "revision"}
    | {"section", "chapter", "clause", "oid"}
)
"""Words that make a key speak of a numbered edition or passage."""
_PLACES = frozenset(
    {"ip", "ips", "ipv4", "addr", "address", "addresses", "host", "hosts", "hostname", "server", "servers", "client", "remote"}
    | {
        "peer",
        "node",
        "nodes",
        "gateway",
        "dns",
        "network",
        "subnet",
        "url",
        "endpoint",
        "notes",
        "note",
        "message",
        "text",
        "body",
    }
)
"""Words of a field that holds no number of an edition, whatever it belongs to."""


def ip_gate(text: str) -> bool:
    """Whether dots or colons stand between digits as they do in an address."""
    return grid(text)


def ip_spans(key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all addresses."""
    found = [span for run in _COLONS.finditer(text) if ":" in run.group() for span in _long(text, run)] if ":" in text else []
    if key is not None and words_of(key) & _KEPT and _numbers(key):
        return found
    return found + list(_shorts(text))


def _shorts(text: str) -> Iterator[tuple[int, int]]:
    """The addresses of four octets, from left to right."""
    match = _V4.search(text)
    while match is not None:
        end = _short(match)
        if end:
            yield match.start(), end
        match = _V4.search(text, end or match.start() + 1)


def _numbers(key: str) -> bool:
    """Whether the last word that tells says that the value is the number of an edition: `build_server` holds an address, `server_build` none."""
    words = (word for name in reversed(names_of(key)) for word in reversed(word_list(name)))
    return next((word in _KEPT for word in words if word in _KEPT or word in _PLACES), False)


def _short(match: re.Match[str]) -> int:
    """Where an address of four octets that stands alone ends, with the length of its network; 0 where it is none."""
    text, start, end = match.string, match.start(), match.end()
    octets, slash, length = match.group().partition("/")
    if slash and (
        int(length) > 32
        or (length != "0" and length[0] == "0")
        or text[end : end + 1] in {*"0123456789", "/"}
        or _V4.match(text, end - len(length)) is not None  # the next address
    ):
        end -= len(length) + 1
    if not all(part == str(int(part)) and int(part) < 256 for part in octets.split(".")) or not _alone(text, start, end):
        return 0
    return end if _NUMBERED.fullmatch(text, max(0, start - 24), start) is None else 0


def _alone(text: str, start: int, end: int) -> bool:
    """Whether it is no part of a name, a version or a longer row of numbers."""
    if not opens(text, start, ".") or not closes(text, end, "."):
        return False
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if len(after) == 2 and after[0] == "-" and after[1].isascii() and after[1].isalpha():
        return False
    return not (len(before) == 2 and before[1] in "/-" and before[0].isascii() and before[0].isalpha())


def _long(text: str, run: re.Match[str]) -> list[tuple[int, int]]:
    """The address with colons that fills a run of hexadecimal digits, colons and dots; a label with a colon may stand before it."""
    start, end = run.span()
    while end > start and text[end - 1] in ".:" and text[end - 2 : end] != "::":
        end -= 1
    if end - start > 64 or wordy(text[end : end + 1]) or (text[end - 1] == "." and end < run.end()):
        return []
    if start and wordy(text[start - 1]) and not escaped(text, start):
        start = text.index(":", start, run.end()) + 1
    elif text[start] == ":" and text[start : start + 2] != "::":
        start += 1
    if not _address(text[start:end]) or (
        start > 1 and text[start - 1] == "[" and (text[start - 2].isalnum() or text[start - 2] in "])")
    ):
        return []
    last = _rest(text, end)
    return [(start, last)] if not wordy(text[last : last + 1]) else [(start, end)]


def _rest(text: str, end: int) -> int:
    """Where the zone and the length of a network behind an address end."""
    zone = _ZONE.match(text, end)
    if zone is not None:
        end = zone.end()
    length = _LENGTH.match(text, end)
    return end if length is None or int(length[1]) > 128 or text[length.end() : length.end() + 1].isdigit() else length.end()


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
