"""Something planted in a value is in no result, however deep it stands and however it is written; what is left is the same JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redactors_kit import AKIA, GHP, TEXTS

from guard.core.hiding import hide
from guard.core.values import encode
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]
PLANTS = [
    "carol@example.org",
    GHP,
    AKIA,
    "4111111111111111",
    "DE89370400440532013000",
    "078-05-1120",
    "11010519491231002X",
    "+14155550182",
]
SENTENCES = ["{}", "see {} now", "<{}>", "\n{}\n", "n: {}; m", "号{}。", '"{}"', "{} {}", "\u200b{}"]
WRAPS = ["list", "object", "under a name", "as a name", "JSON", "JSON with blanks", "escaped JSON"]


def wrapped(value: Any, how: str) -> Any:
    """The value one level deeper."""
    if how == "as a name":
        return {value if isinstance(value, str) else "y": 1}
    forms = {"list": [1, value, None], "object": {"a": 1.10, "b": value}, "under a name": {"note": value, "n": [True]}}
    if how in forms:
        return forms[how]
    text = json.dumps(
        {"inner": value, "n": 1}, ensure_ascii=how == "escaped JSON", indent=2 if how == "JSON with blanks" else None
    )
    return text.replace("@", "\\u0040").replace("+", "\\u002b") if how == "escaped JSON" else text


@st.composite
def planted(draw: st.DrawFn) -> tuple[str, Any]:
    """A secret or address, and a value that holds it somewhere."""
    plant = draw(st.sampled_from(PLANTS))
    value: Any = draw(st.sampled_from(SENTENCES)).replace("{}", plant)
    texts = 0
    for how in draw(st.lists(st.sampled_from(WRAPS), max_size=7)):
        if "JSON" in how:
            texts += 1
            if texts > 2:
                continue
        value = wrapped(value, how)
    return plant, value


def readings(text: str) -> str:
    """A text with every escape undone, again and again."""
    for _ in range(4):
        text = (
            text.replace("\\\\", "\\").replace('\\"', '"').replace("\\u0040", "@").replace("\\u002b", "+").replace("\u200b", "")
        )
    return text


@given(planted())
def test_what_is_planted_is_nowhere(case: tuple[str, Any]) -> None:
    """In no leaf, name or text inside a text, with either engine; looking twice changes nothing."""
    plant, value = case
    for one in BOTH:
        shown = hide(value, one, set())
        assert plant not in readings(encode(shown))
        assert hide(shown, one, set()) == shown


def shape(value: Any) -> Any:
    """The types and names of a value; what a text holds counts where it is JSON."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__


VALUES = st.recursive(
    TEXTS | st.integers(-999, 999) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcxyz"), inner, max_size=4),
    max_leaves=8,
)


@given(VALUES)
def test_json_stays_the_same_json(value: Any) -> None:
    """Types and names stay, and a text that was a JSON object still is one."""
    shown = hide(value, BOTH[0], set())
    assert shape(shown) == shape(value)
    assert json.loads(encode(shown)) == shown


@given(VALUES, st.booleans())
def test_json_in_a_text_stays_the_same_json(value: Any, blanks: bool) -> None:
    """So does JSON that was written into a text, with its numbers, blanks and order; nothing found means the same text."""
    text = json.dumps([value, 1.10, 10**20], indent=1 if blanks else None)
    shown = hide({"t": text}, BOTH[0], set())["t"]
    assert shape(json.loads(shown)) == shape(json.loads(text))
    assert (shown == text) == (json.loads(shown) == json.loads(text))


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("around", ["{}", "see {} now", "名字 {} 谢谢", "x" * 50 + " {} " + "y" * 50])
@pytest.mark.parametrize("form", ["base64", "urlsafe", "bare base64", "hex", "HEX", "data URI"])
def test_an_encoded_run_is_hidden_whole(plant: str, around: str, form: str) -> None:
    """Base64 and hexadecimal runs of thirteen characters or more are replaced as a whole, at every place in a value."""
    raw = around.replace("{}", plant).encode().rjust(13)
    text = {
        "base64": base64.b64encode(raw).decode(),
        "urlsafe": base64.urlsafe_b64encode(raw).decode(),
        "bare base64": base64.b64encode(raw).decode().rstrip("="),
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "data URI": "data:text/plain;base64," + base64.b64encode(raw).decode(),
    }[form]
    for one in BOTH:
        shown = hide({"a": [text]}, one, set())
        assert shown["a"][0].startswith("[")
        assert len(shown["a"][0]) < 20


@pytest.mark.parametrize(
    "text",
    ["deadbeef" * 8, "aGVsbG8gd29ybGQsIHRoaXMgaXMgZmluZQ==", "550e8400-e29b-41d4-a716-446655440000", "A" * 64, "ABCD" * 16],
)
def test_an_encoded_run_that_says_nothing_personal_stays(text: str) -> None:
    """Hashes, ids and harmless texts in base64 are the same object."""
    value = {"a": text}
    for one in BOTH:
        assert hide(value, one, set()) is value
