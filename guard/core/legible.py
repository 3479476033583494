"""Legible: a text in pieces that show it for what it is: plain, characters that nobody sees, long runs of blanks, line ends.

The same pieces are written as HTML, for a terminal or for a chat; each output escapes by its own rules. Words that mix alphabets and host names
that hide behind punycode are named, since they look like something else. Never drops or shortens anything. Pure; comes after `unseen`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from guard.core.unseen import odd

MANY_SPACES = 8
_INNER = re.compile(rf" {{{MANY_SPACES},}}|\n")
_RUN = re.compile(rf"{_INNER.pattern}|^ +| +$")
_WORD = re.compile(r"[\w-]+(?:[.\u3002\uff0e\uff61][\w-]+)*")
_CONTROLS = {
    0: "null",
    7: "bell",
    8: "backspace",
    9: "tab",
    11: "vertical tab",
    12: "form feed",
    13: "carriage return",
    27: "escape",
}
_ALPHABETS = (
    *(
        "LATIN",
        "CYRILLIC",
        "GREEK",
        "ARMENIAN",
        "CHEROKEE",
        "GEORGIAN",
        "HEBREW",
        "ARABIC",
        "COPTIC",
        "LISU",
        "GOTHIC",
        "DESERET",
    ),
    *("FULLWIDTH", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER"),
)
_BACKWARDS = frozenset({"R", "AL"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text. `name` says in words what a `hidden` character or a run of `spaces` is; `text` is always what is there."""

    kind: Literal["plain", "hidden", "spaces", "break"]
    text: str
    name: str = ""

    @property
    def code(self) -> str:
        """`U+202E` for a hidden character, `60 spaces` for a run, else the text."""
        if self.kind == "hidden":
            return f"U+{ord(self.text):04X}"
        return counted(len(self.text), "space") if self.kind == "spaces" else self.text


def pieces(text: str, *, whole: bool = True) -> tuple[Piece, ...]:
    """`text` in pieces; joined again they give the text. Of a `whole` text blanks at its start and end are counted, however few."""
    found: list[Piece] = []
    at = 0
    for run in (_RUN if whole else _INNER).finditer(text):
        found += _seen(text[at : run.start()])
        found.append(Piece("break", "\n", "line end") if run[0] == "\n" else Piece("spaces", run[0], "blanks"))
        at = run.end()
    return (*found, *_seen(text[at:]))


def _seen(text: str) -> list[Piece]:
    """The pieces of a text without long runs and line ends."""
    if text.isascii() and text.isprintable():
        return [Piece("plain", text)] if text else []
    found: list[Piece] = []
    for hides, stretch in groupby(zip(text, odd(text), strict=True), lambda pair: pair[1]):
        chars = [char for char, _ in stretch]
        found += [Piece("hidden", char, name(char)) for char in chars] if hides else [Piece("plain", "".join(chars))]
    return found


def name(char: str) -> str:
    """What a character is called, in small letters."""
    return _CONTROLS.get(ord(char)) or unicodedata.name(char, "character without a name").lower()


def counted(number: int, what: str) -> str:
    """`1 space`, `2,000 spaces`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def hidden(text: str) -> str:
    """The characters of a text that are spelled out; line ends and plain blanks are not among them."""
    return (
        "" if text.isascii() and text.isprintable() else "".join(piece.text for piece in pieces(text) if piece.kind == "hidden")
    )


def backwards(text: str) -> bool:
    """Whether the text has letters that are written from right to left, so that a plain display would change its order."""
    return not text.isascii() and any(unicodedata.bidirectional(char) in _BACKWARDS for char in text)


def disguised(text: str) -> tuple[tuple[str, str], ...]:
    """Words and host names that may look like others, with what is odd about each, in order."""
    if text.isascii() and "xn--" not in text.lower():
        return ()
    found = {word[0]: what for word in _WORD.finditer(text) if (what := _odd(word[0]))}
    return tuple(found.items())


def _odd(word: str) -> str:
    labels = word.lower().split(".")
    coded = [label for label in labels if label.startswith("xn--")]
    if coded:
        return f"written in punycode, reads {'.'.join(_decoded(label) for label in labels)}"
    parts = [word] if "." in word or "\u3002" in word or "\uff0e" in word or "\uff61" in word else re.split("[-_]", word)
    found = next((found for part in parts if len(found := _alphabets(part)) > 1), ())
    return f"mixes letters of {' and '.join(found)}" if found else ""


def _decoded(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return "(nothing that can be read)"


def _alphabets(word: str) -> tuple[str, ...]:
    """The alphabets of a word's letters, as words, in order."""
    if word.isascii():
        return ()
    first = dict.fromkeys(unicodedata.name(char, "").partition(" ")[0] for char in word if char.isalpha())
    return tuple(_NAMES.get(one, one.capitalize()) for one in first if one in _ALPHABETS)


_NAMES = {
    "FULLWIDTH": "the wide Latin forms",
    "MATHEMATICAL": "mathematical signs",
    "DOUBLE-STRUCK": "mathematical signs",
    "SCRIPT": "mathematical signs",
    "BLACK-LETTER": "mathematical signs",
}


def line(text: str) -> str:
    """`text` on one line for where nothing can be marked: hidden characters as `[U+202E]`, long runs as `[60 spaces]`."""
    return "".join(
        piece.text if piece.kind == "plain" else f"[{'U+000A' if piece.kind == 'break' else piece.code}]"
        for piece in pieces(text)
    )
