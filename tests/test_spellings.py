"""A text is found however it is written: as text with escapes, and in codes, of which the whole run goes; other texts stay."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.core.echoes import echoless, texts_of, veiling
from guard.core.spellings import finder
from guard.redactors import REDACTOR

TEXTS = {
    "signs": "tr0ub&dor<3",
    "short": "hunter2",
    "pin": "4711",
    "quotes": 'it\'s a "wire" \\ b%41c',
    "wide": "open sesame, ÿ & Zöe €",
    "plus": "a+b/c d==",
    "long": "correct horse battery staple, and a long key material 0123456789 abcdefghijklmnop",
}
Way = Callable[[str], str]


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


AS_TEXT: dict[str, Way] = {
    "plain": str,
    "upper": str.upper,
    "lower": str.lower,
    "json": json.dumps,
    "json twice": lambda one: json.dumps(json.dumps(one)),
    "python": repr,
    "bytes": lambda one: repr(one.encode()),
    "html": html.escape,
    "html twice": lambda one: html.escape(html.escape(one)),
    "html numbers": lambda one: "".join(f"&#{ord(char)};" for char in one),
    "html hexadecimal": lambda one: "".join(f"&#x{ord(char):x};" for char in one),
    "url": lambda one: quote(one, safe=""),
    "url small": lambda one: quote(one, safe="").lower(),
    "url twice": lambda one: quote(quote(one)),
    "form": quote_plus,
}
AS_CODE: dict[str, Way] = {
    "hex": lambda one: one.encode().hex(),
    "hex upper": lambda one: one.encode().hex().upper(),
    "hex utf-16": lambda one: one.encode("utf-16-le").hex(),
    "hex dump": lambda one: one.encode().hex(" "),
    "hex colons": lambda one: one.encode().hex(":").upper(),
    "hex 0x": lambda one: ", ".join(f"0x{byte:02x}" for byte in one.encode()),
    "hex \\x": lambda one: "".join(f"\\x{byte:02x}" for byte in one.encode()),
    "byte list": lambda one: str(list(one.encode())),
    "base64": lambda one: _base64(one.encode()),
    "base64 safe": lambda one: base64.urlsafe_b64encode(one.encode()).decode(),
    "base64 bare": lambda one: _base64(one.encode()).rstrip("="),
    "basic": lambda one: _base64(f"user:{one}".encode()),
    "base64 inside": lambda one: _base64(f"ab{one}cd".encode()),
    "base64 utf-16": lambda one: _base64(one.encode("utf-16-le")),
    "base64 utf-16 big": lambda one: _base64(one.encode("utf-16-be")),
    "base64 lines": lambda one: base64.encodebytes(b"head " + one.encode()).decode(),
    "base64 lines in json": lambda one: json.dumps(base64.encodebytes(one.encode()).decode()),
    "base32": lambda one: base64.b32encode(one.encode()).decode(),
    "base32 small": lambda one: base64.b32encode(b"abc" + one.encode()).decode().lower(),
}


@pytest.mark.parametrize("way", [*AS_TEXT, *AS_CODE])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_found(text: str, way: str) -> None:
    """Nothing of it is left but what holds it: quotes, brackets, the padding."""
    written = (AS_TEXT | AS_CODE)[way](text)
    for around in ("{}", "said: {} done.", "<{}>", "\n{}\n"):
        shown, kinds = echoless(REDACTOR, [text]).detect(None, around.format(written))
        assert kinds == ("secret",)
        left = shown.replace("[secret]", "").replace("said:", "").replace("done.", "")
        assert set(left) <= set(" <>\n\\\"'[]bn=0x"), left


@pytest.mark.parametrize("text", [text for text in TEXTS.values() if not text.isdigit() and "\\" not in text])
def test_found_over_lines(text: str) -> None:
    """A line break anywhere inside, as it is or escaped."""
    for at in range(1, len(text)):
        for gap in ("\n", "\r\n", "\n    ", "\\n"):
            assert finder({text: "*"})(f"-{text[:at]}{gap}{text[at:]}-") == ("-*-", 1)  # type: ignore[misc]


PRINTED = st.characters(blacklist_categories=("C", "Z"), blacklist_characters="\\&%")


@given(st.text(PRINTED, min_size=6, max_size=40), st.sampled_from([*AS_TEXT.items(), *AS_CODE.items()]))
def test_found_whatever_it_is(text: str, way: tuple[str, Way]) -> None:
    """Any printed text of some length; letters that have no small form of their own length are found as they are."""
    written = way[1](text if way[0] not in ("upper", "lower") or text.isascii() else "letters")
    assert echoless(REDACTOR, [text, "letters"]).detect(None, f"said: {written}")[1]


STAY: dict[str, Any] = {
    "a longer number": ("4711", "order A4711B of 1247119"),
    "numbers on two lines": ("1234567", "1234\n567"),
    "other codes": ("hunter2", _base64(b"nothing of it here at all") + " " + b"something else".hex()),
    "words": ("hunter2", "the hunter of 2 hunters"),
    "a part": ("correct horse", "correct horses? no: correct hors"[19:]),
}


@pytest.mark.parametrize(("text", "other"), STAY.values(), ids=STAY)
def test_others_stay(text: str, other: str) -> None:
    """What is not it stays as it is."""
    assert finder({text: "*"})(other) == (other, 0)  # type: ignore[misc]


def test_results_and_handles_alike() -> None:
    """What stands behind a handle is found in the same ways, and shown as its handle."""
    hides = veiling(REDACTOR, {"Zoe Miller": "<name_1>", "Zoe": "<name_2>"}, "handle")
    assert hides.detect(None, "ZOE%20MILLER and zoe") == ("<name_1> and <name_2>", ("handle",))
    assert hides.detect(None, _base64(b"of Zoe Miller.")) == ("<name_1>", ("handle",))


def test_names_of_fields_count() -> None:
    """The names in an object that is secret are secret as well."""
    assert texts_of({"tr0ub": [{"deep": 7}, None, True]}) == ["tr0ub", "deep", "7"]
