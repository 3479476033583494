"""Shapes: pieces of a text with `0` for each digit, `A` for each letter and `-` for dot and blank, and what their numbers may be.

Part of the look without google-re2 (`quiet`), and sound as that is: a finding has one of the shapes that are asked about. Pure.
"""

from __future__ import annotations

import re

from guard.redactors.card import cards_in, may_be
from guard.redactors.iban import begun
from guard.redactors.views import form, gridded

BLANK = 1
"""Stands for a blank inside a piece, since pieces stand with blanks between them."""
_SHAPE = bytes(
    32 if code == 32 else ord("-") if code == BLANK else form(chr(code))[0] if code < 128 else code for code in range(256)
)
_APART = bytes(ord('"') if code == 32 else 32 if code == BLANK else code for code in range(256))
_TWELVE = b"0" * 12
_NOUGHT = bytes(ord("0") if chr(code) in "123456789" else code for code in range(256))
_DIGITS = re.compile(b"[0-9]+")
_HINTS: dict[bytes, tuple[bytes, ...]] = {
    b"00-0000": (b"000-0000", b"000-00-0000", b"-0000-0000"),
    b"00-000-": (b"000-000-", b"00-00-00-000-"),
    b"000000": (b"0" * 17, b"000000A", b"000000-", b"000000+", b"000000("),
    b"AA00": (b"0AA00", b"0-AA00"),
    b"AA-00-00": (b"AA-00-00-00",),
    b"A00A00A": (b"A00A00A000",),
    b"AAAAA0000A": (b"AAAAA0000A",),
}
"""What the shape of every id that speaks for itself, and of every phone number in groups, holds one of, below what several of them hold."""
FORMS = (
    r"(?:[(]000[)]-?000-0000|000-000-0000|000-0000-0000|000-00-0000|000-000-000-00|00?-000-000-[0A]|000-0000-0000-00|0-0000-00000-00-0|00-00-00-000-00|0-00-00-00-000-000-00"
    r"|00-00000000-0|0{6}-0{8}-000[0A]|0{17}[0A]|0{6}-0{7}|0{6}[-+A]000[0A]|A-?0{7}-?A|AA-00-00-00-A|A0{6}[(][0A]|A{6}00A00A000A|A{4}0{6}A{6}[A0]0"
    r"|00A{5}0000A[A0]A[A0]|0A[A0]0-?A[A0]0-?AA00)"
)
"""The whole form of each of them: no rule finds an id beside a letter, a digit or an underscore."""
_FORMS = re.compile(f"(?<![A0_]){FORMS}(?![A0_])".encode())
_OTHERS = re.compile(b"0(?:-?0){11}|AA00(?:-?[A0]){11}")
"""And of a card and an account."""


def plain(piece: bytes) -> bool:
    """Whether no number in a piece can be anything to hide, whatever its digits are."""
    shape = piece.translate(_SHAPE)
    return _FORMS.search(shape) is None and _OTHERS.search(shape) is None and not gridded(piece)


def asked(joined: bytes, raw: bytes) -> bool:
    """Whether a number may be something to hide in one of these pieces, which stand with a blank between them; `raw` is the text they are from."""
    shapes = joined.translate(_SHAPE)
    if any(_stands(shapes, hint) for sign, hints in _HINTS.items() if sign in shapes for hint in hints if hint in shapes):
        return True
    if _TWELVE in shapes.translate(None, b"-") and _cards(shapes, raw):
        return True
    return gridded(joined) or (b"AA00" in shapes and begun(joined.translate(_APART)))


def _stands(view: bytes, hint: bytes) -> bool:
    """Whether one of the shapes that hold this hint holds a whole form."""
    at = view.find(hint)
    while at >= 0:
        start, end = view.rfind(b" ", 0, at) + 1, view.find(b" ", at)
        if end < 0:
            end = len(view)
        if _FORMS.search(view, start, end) is not None:
            return True
        at = view.find(hint, end)
    return False


def _cards(shapes: bytes, raw: bytes) -> bool:
    """Whether a card may be among the numbers of twelve digits or more: in groups, or in one block as most ids are."""
    if _TWELVE in shapes.replace(_TWELVE, b" ").translate(None, b"-"):
        return cards_in(raw)
    return card_blocks(raw)


def card_blocks(raw: bytes) -> bool:
    """Whether a block of twelve digits or more may be a card."""
    view = raw.translate(_NOUGHT)
    at = view.find(_TWELVE)
    while at >= 0:
        block = _DIGITS.match(raw, at)
        if block is not None and may_be(block.group().decode()):
            return True
        at = view.find(_TWELVE, block.end() if block is not None else at + 1)
    return False
