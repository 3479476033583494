"""Unseen: characters that a reader cannot see for what they are: controls, zero-width and direction marks, tags, selectors, fillers.

They are spelled out as `[U+202E]`, never dropped: what is shown must tell that what is there differs from what it looks like. Pure; used for
what others wrote (`untrusted`) and by the command line.
"""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_FILLERS = frozenset(
    [
        *(
            0x034F,
            0x115F,
            0x1160,
            0x17B4,
            0x17B5,
            0x2800,
            0x3164,
            0xFFA0,
            0x16FE4,
            0x1D159,
        ),  # blank, although Unicode calls them letters or marks
        *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),  # variation selectors
    ]
)
_JOINER, _COLOURED = "\u200d", "\ufe0f"
_LAYOUT = frozenset("\n\t ")
_MANY_SPACES = re.compile(" {8,}")
MOST_MARKS = 2
"""Accents on one letter; further ones are spelled out."""
_MARKS = frozenset({"Mn", "Me"})


def unseen(char: str) -> bool:
    """Whether a reader of a terminal could not see `char` for what it is."""
    return char != " " and (ord(char) in _FILLERS or unicodedata.category(char) in _UNSEEN)


def odd(text: str) -> list[bool]:
    """Which characters of a text are spelled out: those that nobody sees, and marks on top of more than two others.

    Piled up they cover what stands beneath and beside them.
    """
    found, piled = [], 0
    for char in text:
        piled = piled + 1 if unicodedata.category(char) in _MARKS else 0
        found.append(piled > MOST_MARKS or unseen(char))
    return found


def visible(text: str) -> str:
    """`text` with what is hidden in it spelled out. Line breaks, tabs and blanks that take room stay, and so do the joints of an emoji."""
    if text.isascii() and text.isprintable():
        return text
    found = {char for char in set(text) - _LAYOUT if unseen(char) and unicodedata.category(char) != "Zs"}
    if "\r" in found:
        text = text.replace("\r\n", "\n")
    if not found:
        return text
    if found & {_JOINER, _COLOURED}:
        text = "".join(_spelled(text, at) if char in (_JOINER, _COLOURED) else char for at, char in enumerate(text))
    return text.translate({ord(char): spelled(char) for char in found - {_JOINER, _COLOURED}})


def one_line(text: str) -> str:
    """`text` on one line: every unseen or piled-up character spelled out, line breaks too, and long runs of spaces counted."""
    if not text.isascii() or not text.isprintable():
        text = "".join(spelled(char) if hides else char for char, hides in zip(text, odd(text), strict=True))
    return _MANY_SPACES.sub(lambda run: f"[{len(run[0])} spaces]", text)


def spelled(char: str) -> str:
    """What stands for a character that nobody sees."""
    return f"[U+{ord(char):04X}]"


def _spelled(text: str, at: int) -> str:
    """A joiner between two pictures, or the sign that a picture is coloured, belongs to what is seen; anywhere else it is hidden."""
    char, before = text[at], text[at - 1 : at]
    pictured = before == _COLOURED or (before != "" and unicodedata.category(before) in {"So", "Sk"})
    if char == _COLOURED:
        return char if before != _COLOURED and (pictured or before in "0123456789#*") and before else spelled(char)
    after = text[at + 1 : at + 2]
    return char if pictured and after and unicodedata.category(after) == "So" else spelled(char)
