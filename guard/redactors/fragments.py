"""Fragments: texts that hold another text further inside, escaped for a URL, a page or a string.

The other shapes are given a copy without the escapes, with the way back. Pure; part of `find`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
_ESCAPE = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|&(?:quot|apos|amp|lt|gt|#[0-9]{1,5}|#x[0-9A-Fa-f]{1,4});|\\{1,15}[\"'/]|\\{1,15}u00[0-9A-Fa-f]{2}|\\{1,15}[nt]"
)
_SIGNS = ("%22", "%3A", "%3a", "%3D", "%3d", "&quot;", "&#", "&apos;", "&lt;", '\\"', "\\'", "\\u00")


def escaped(text: str) -> bool:
    """Whether a text holds what may be the escape of a quote, a colon or a sign of an assignment."""
    return any(map(text.__contains__, _SIGNS))


def unescaped(text: str) -> tuple[str, list[int]]:
    """The text without its escapes, one level of them or all of a row of backslashes, and where each character, and the end, stood."""
    pieces: list[str] = []
    origin: list[int] = []
    done = 0
    for match in _ESCAPE.finditer(text):
        pieces += (text[done : match.start()], plain := _plain(match.group()))
        origin += range(done, match.start())
        size = (match.end() - match.start()) / max(1, len(plain))
        origin += [match.start() + int(one * size) for one in range(len(plain))]
        done = match.end()
    pieces.append(text[done:])
    origin += range(done, len(text) + 1)
    return "".join(pieces), origin


def _plain(escape: str) -> str:
    if escape[0] == "%":
        return bytes.fromhex(escape.replace("%", "")).decode("latin-1")
    if escape[0] == "&":
        return html.unescape(escape)
    sign = escape.lstrip("\\")
    return chr(int(sign[1:], 16)) if sign[0] == "u" else {"n": "\n", "t": "\t"}.get(sign[0], sign[0])


def through(text: str, spans: Callable[[str], Sequence[Span]]) -> list[Span]:
    """What is found in the text without its escapes, up to three levels of them, by where it stands in the text as it is."""
    found: list[Span] = []
    ways: list[list[int]] = []
    seen = text
    for _ in range(3):
        if not escaped(seen):
            break
        seen, origin = unescaped(seen)
        ways.append(origin)
        found += [(_back(ways, start), _back(ways, end)) for start, end in spans(seen)]
    return found


def _back(ways: Sequence[Sequence[int]], at: int) -> int:
    """Where a place in the text without escapes stands in the text as it is."""
    for way in reversed(ways):
        at = way[at]
    return at
