"""Show: text and values for a person's terminal, with nothing in them that could be invisible or move the cursor.

Characters without a shape of their own (controls, bidi marks, blanks that are not the plain space, selectors, fillers) are spelled out as
`[U+202E]`, never dropped: what is shown must tell that what runs differs from what it looks like. May not shorten anything.
Used by every command; pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from guard.core.names import real
from guard.core.unseen import odd, one_line
from guard.core.values import Json, encode


def spell(text: str) -> str:
    """`text` on one line, unseen characters as `[U+XXXX]` and long runs of spaces counted. Of a person, the real name where it is known."""
    return one_line(real(text))


def seen(name: str, stream: TextIO) -> str:
    """A person's name on a stream: the real one at a terminal; as they are kept where it goes to a file, which may be a log."""
    return one_line(real(name) if stream.isatty() else str(name))


def lines(text: str) -> list[str]:
    """`text` line by line, each spelled."""
    return [spell(line) for line in text.split("\n")]


def value(given: Json) -> str:
    """A JSON value in full, on one line, numbers with their digits."""
    return encode(_spelled(given))


def _spelled(given: Json) -> Json:
    if isinstance(given, str):
        return spell(given)
    if isinstance(given, Mapping):
        return {spell(str(key)): _spelled(item) for key, item in given.items()}
    if isinstance(given, list | tuple):
        return [_spelled(item) for item in given]
    return given


def json_text(given: Json) -> str:
    """JSON of a value for a program that may be a terminal: the same value, with nothing in the text that could not be seen."""
    return escaped(encode(given))


def escaped(text: str) -> str:
    """JSON text with each unseen character as its four-digit escape; they stand only inside strings, so that the value stays the same."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if hides else char for char, hides in zip(text, odd(text), strict=True))


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def count_unseen(given: Json) -> int:
    """How many characters of a value had to be spelled out."""
    if isinstance(given, str):
        return sum(odd(given))
    if isinstance(given, Mapping):
        return sum(count_unseen(str(key)) + count_unseen(item) for key, item in given.items())
    if isinstance(given, list | tuple):
        return sum(map(count_unseen, given))
    return 0
