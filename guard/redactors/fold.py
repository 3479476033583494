"""Fold: a copy of a text in which characters that merely look alike are the plain ones, with the way back.

Full-width letters, digits and signs become ASCII, invisible characters go, unusual spaces and dashes become plain. Circled digits and other
symbols stay: they are no spelling of a number. Pure; used by `detect` before any rule looks.
"""

from __future__ import annotations

import re

_GONE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]")
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"
_DIGITS = (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50)  # Arabic, Persian, Devanagari, Bengali, Thai
_PLAIN: dict[int, str] = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **{ord(char): " " for char in _SPACES},
    **{ord(char): "-" for char in _DASHES},
    **{zero + digit: str(digit) for zero in _DIGITS for digit in range(10)},
    0xFE6B: "@",
    0x3002: ".",
    0xFF61: ".",
}
_ANY = re.compile(f"{_GONE.pattern[:-1]}{re.escape(''.join(map(chr, _PLAIN)))}]")


def foldable(text: str) -> bool:
    """Whether a character stands there that folding changes."""
    return _ANY.search(text) is not None


def plain(text: str) -> str:
    """The folded text alone."""
    if text.isascii() or _ANY.search(text) is None:
        return text
    return _GONE.sub("", text).translate(_PLAIN)


def folded(text: str) -> tuple[str, list[int]]:
    """The folded text and, for each of its characters, the offset in `text`; an empty list means that nothing was folded."""
    if text.isascii() or _ANY.search(text) is None:
        return text, []
    if _GONE.search(text) is None:
        return text.translate(_PLAIN), list(range(len(text)))
    kept = [index for index, char in enumerate(text) if _GONE.match(char) is None]
    return "".join([text[index] for index in kept]).translate(_PLAIN), kept
