"""Escapes: what was escaped for a URL, a page, a string or a mail, as what it says, with the way back.

Every rule is given a text as it is and without its escapes, so that each spelling of a value is one. Pure; part of `find` and of the first looks.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TypeAlias

from guard.redactors.fold import folded

Way: TypeAlias = tuple[list[int], list[int]]
"""Where each character of a reading begins and ends in the text that it was made of."""

LEVELS = 3
"""How often a text may be escaped."""
_PERCENT = r"%[2-7][0-9A-Fa-f]|%[Cc][2-9A-Fa-f]%[89ABab][0-9A-Fa-f]|%[Dd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}"
_ENTITY = "&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});"
_BACKSLASH = r"\\{1,15}(?:[\"'/]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})"
_PERCENT_ESCAPE, _ENTITY_ESCAPE, _BACKSLASH_ESCAPE = map(re.compile, (_PERCENT, _ENTITY, _BACKSLASH))
_ESCAPE = re.compile(rf"{_PERCENT}|%0[9AaDd]|{_ENTITY}|{_BACKSLASH}|\\{{1,15}}[nrt]")
_MAILED = re.compile(rf"=(?:[0-9A-F]{{2}}|\r?\n)|{_ESCAPE.pattern}")
_MAIL = "uoted-printable"
"""What a mail says in which an equals sign begins an escape: elsewhere it is far more often an assignment."""
_BLANKS = {"n": "\n", "r": "\r", "t": "\t"}


def escaped(text: str) -> bool:
    """Whether a text may hold an escape of a character that makes a difference."""
    return (
        ("%" in text and _PERCENT_ESCAPE.search(text) is not None)
        or ("&" in text and _ENTITY_ESCAPE.search(text) is not None)
        or ("\\" in text and _BACKSLASH_ESCAPE.search(text) is not None)
        or ("=" in text and _MAIL in text)
    )


def readings(text: str) -> Iterator[tuple[str, list[Way]]]:
    """What a text says: with plain characters for those that look alike, then without one level of escapes after the other; and the ways back."""
    seen, ways = _flat(text, [])
    yield seen, ways
    for _ in range(LEVELS):
        if not escaped(seen):
            break
        plain, way = unescaped(seen)
        if plain == seen:
            break
        seen, ways = _flat(plain, [*ways, way])
        yield seen, ways


def _flat(text: str, ways: list[Way]) -> tuple[str, list[Way]]:
    flat, origin = folded(text)
    return flat, [*ways, (origin, [at + 1 for at in origin])] if origin else ways


def back(ways: list[Way], start: int, end: int) -> tuple[int, int]:
    """Where a piece of a reading, which is not empty, stands in the text as it is."""
    for starts, ends in reversed(ways):
        start, end = starts[start], ends[end - 1]
    return start, end


def unescaped(text: str) -> tuple[str, Way]:
    """The text without its escapes, one level of them or all of a row of backslashes, and where each character stood."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for match in (_MAILED if _MAIL in text else _ESCAPE).finditer(text):
        plain = _plain(match.group())
        if plain == match.group():
            continue
        pieces += (text[done : match.start()], plain)
        starts += (*range(done, match.start()), *([match.start()] * len(plain)))
        ends += (*range(done + 1, match.start() + 1), *([match.end()] * len(plain)))
        done = match.end()
    pieces.append(text[done:])
    return "".join(pieces), ([*starts, *range(done, len(text))], [*ends, *range(done + 1, len(text) + 1)])


def _plain(escape: str) -> str:
    first = escape[0]
    if first == "%":
        return _said(escape.replace("%", ""))
    if first == "&":
        return html.unescape(escape)
    if first == "=":
        return "" if escape[1] in "\r\n" else _said(escape[1:])
    sign = escape.lstrip("\\")
    return chr(int(sign[1:], 16)) if sign[0] in "ux" else _BLANKS.get(sign[0], sign[0])


def _said(digits: str) -> str:
    """What the bytes of one escape say."""
    raw = bytes.fromhex(digits)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
