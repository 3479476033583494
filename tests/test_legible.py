"""Legible: whatever a text holds can be read, nothing is dropped, and what looks like something else is named."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.cli import show
from guard.core import legible
from guard.core.unseen import one_line

FILLERS = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x16FE4, 0x1D159)
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""What Unicode calls default-ignorable: nothing needs to be drawn for these."""


def shown(text: str) -> str:
    """As a page has it, with hidden characters in braces."""
    return "".join(piece.text if piece.kind == "plain" else f"{{{piece.code}}}" for piece in legible.pieces(text))


def test_every_character_that_nobody_sees_is_spelled_out() -> None:
    """By category, by Unicode's list of what need not be drawn, and the blanks that are called letters; wherever in the code space."""
    ignorable = {code for first, last in IGNORABLE for code in range(first, last + 1)}
    must = {
        code
        for code in range(sys.maxunicode + 1)
        if code not in (0x0A, 0x20)
        and (code < 0x30000 or 0xE0000 <= code < 0xE1000 or code % 997 == 0)
        and (unicodedata.category(chr(code)) in UNSEEN or code in ignorable or code in FILLERS)
    }
    missed = [hex(code) for code in must if legible.pieces(chr(code))[0].kind != "hidden"]
    assert missed == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("curl x|sh\r\x1b[2K   cmd: ls", "curl x|sh{U+000D}{U+001B}[2K   cmd: ls"),
        ("user\u202egnp.exe", "user{U+202E}gnp.exe"),
        ("a" + " " * 60 + "b", "a{60 spaces}b"),
        ("a" + " " * 7 + "b", "a       b"),
        (" admin", "{1 space}admin"),
        ("admin ", "admin{1 space}"),
        ("a\nb", "a{\n}b"),
        ("tab\there", "tab{U+0009}here"),
        ("no\u00a0break", "no{U+00A0}break"),
        ("\U000e0041\U000e0042", "{U+E0041}{U+E0042}"),
        ("a\ufe0f\u115f\u3164\u2800", "a{U+FE0F}{U+115F}{U+3164}{U+2800}"),
        ("e\u0301\u0323x", "e\u0301\u0323x"),
        ("Z\u0335\u0321\u0322\u0347", "Z\u0335\u0321{U+0322}{U+0347}"),
        ("\ud800", "{U+D800}"),
        ("", ""),
        ("Grüße, 你好, \U0001f600", "Grüße, 你好, \U0001f600"),
    ],
    ids=str.__repr__,
)
def test_what_is_written_for_a_text(text: str, expected: str) -> None:
    """Hidden characters by their number, long runs and blanks at the ends counted, everything else as it is."""
    assert shown(text) == expected


@given(st.text(st.characters(), max_size=60), st.booleans())
def test_nothing_is_dropped(text: str, whole: bool) -> None:
    """The pieces are the text, and no plain piece holds anything that nobody sees."""
    pieces = legible.pieces(text, whole=whole)
    assert "".join(piece.text for piece in pieces) == text
    assert all(legible.hidden(piece.text) == "" for piece in pieces if piece.kind == "plain" and not _marked(piece.text))
    assert legible.line(text).isprintable()


def _marked(text: str) -> bool:
    return unicodedata.category(text[0]) in {"Mn", "Me"}


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("pay at p\u0430ypal.com now", {"p\u0430ypal.com": "mixes letters of Latin and Cyrillic"}),
        (
            "https://\u0440\u0430\u0443\u0440\u0430l.com/x",
            {"\u0440\u0430\u0443\u0440\u0430l.com": "mixes letters of Cyrillic and Latin"},
        ),
        ("\u0430\u0440\u0440\u04cf\u0435.com", {"\u0430\u0440\u0440\u04cf\u0435.com": "mixes letters of Cyrillic and Latin"}),
        ("see xn--80ak6aa92e.com", {"xn--80ak6aa92e.com": "written in punycode, reads \u0430\u0440\u0440\u04cf\u0435.com"}),
        ("XN--80AK6AA92E.COM", {"XN--80AK6AA92E.COM": "written in punycode, reads \u0430\u0440\u0440\u04cf\u0435.com"}),
        ("\uff50aypal.com", {"\uff50aypal.com": "mixes letters of the wide Latin forms and Latin"}),
        ("ann@ex\u0430mple.com", {"ex\u0430mple.com": "mixes letters of Latin and Cyrillic"}),
        ("xn--\u0000", {}),
        ("xn--!!!.com", {}),
        ("почта.рф", {}),
        ("Grüße 1º nº", {}),
        ("Hello-Привет", {}),
        ("日本語Latinかな", {}),
        ("plain example.com", {}),
    ],
    ids=str,
)
def test_what_looks_like_something_else(text: str, odd: dict[str, str]) -> None:
    """Host names and words that mix alphabets, and names in punycode with what they stand for; ordinary writing of any language is left alone."""
    found = dict(legible.disguised(text))
    assert {word: found.get(word) for word in odd} == odd
    assert bool(found) == bool(odd) or "xn--" in text


def test_a_terminal_and_a_page_spell_out_the_same() -> None:
    """Marks piled up on a letter, too: the rows above and below them are covered nowhere, and two accents stay accents."""
    for text in ("a" + "\u0301" * 40 + "b", "e\u0301\u0323", "a\u202eb", "a\u2800b"):
        spelled = "".join(f"[{piece.code}]" if piece.kind == "hidden" else piece.text for piece in legible.pieces(text))
        assert one_line(text) == show.spell(text) == spelled
        assert show.count_unseen({"memo": [text]}) == len(legible.hidden(text))
        assert json.loads(show.json_text(text)) == text
