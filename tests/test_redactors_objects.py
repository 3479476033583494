"""Where JSON stands in other words: found in one walk, exactly where trying every bracket would find it, however deep, broken or large the text is."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from steps_kit import calls_of

from guard.core.objects import DEEPEST, MOST, name_before, objects
from guard.redactors import detect


def reference(text: str) -> list[tuple[int, int]]:
    """The same found by trying every bracket."""
    decoder = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at) if text[at] in "{[" else (None, at)
        except ValueError:
            value, end = None, at
        if value:
            found.append((at, end))
        at = max(end, at + 1)
    return found


PIECES = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    ",",
    ":",
    "1",
    "-1.5e3",
    "01",
    "-",
    "true",
    "NaN",
    "x",
    " ",
    "\n",
    '"a"',
    '{"a":',
    '["b",',
    '"c":',
]
PIECES += ['{"p": [{"q": "r"}]}', '\\"', "\\\\", "\\u0040", "\\u00", "é", "[]", "{}"]


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join) | st.text('{}[]",:\\ 1a'))
@example('["a [", 1] and "]')
@example('{"a": "\\x", "b": {"c": 1}}')
def test_the_walk_finds_what_trying_every_bracket_finds(text: str) -> None:
    """No more and no less, in any text."""
    assert objects(text) == reference(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("[" * 100_000 + '{"a": 1}' + "]" * 100_000, 1),
        ('{"a": ' * 100_000, 0),
        ('{"a": [' * 1_000 + '{"b": 1}, ', 1),
        ('log {"a": ' * 20 + '"' + "x" * 60_000 + '" , {"b": {"c": 1}} end', 1),
        ("password: " + "{[" * 30_000, 0),
        ('["' + "x" * MOST + '", {"a": 1}]', 1),
        ("[" * DEEPEST + "1" + "]" * DEEPEST, 1),
    ],
    ids=["deep", "never closed", "closed inside of what is not", "cut in the middle", "no JSON", "too large", "deep enough"],
)
def test_deep_broken_and_large_texts_are_walked_through(text: str, count: int) -> None:
    """Of what cannot be read as one, the parts are taken apart."""
    found = objects(text)
    assert len(found) == count
    for start, end in found:
        json.loads(text[start:end])


GROWING: dict[str, Callable[[int], str]] = {
    "never closed": lambda size: "password: " + "{[" * size,
    "cut in many objects": lambda size: 'log: {"a": ' + '{"a": ' * size + '"x" , {"password": {"value": "correct horse"}} end',
    "no JSON inside no JSON": lambda size: "[x " * size + '{"a": 1}' + "]" * size,
    "closed and closed again": lambda size: "[" * size + '{"phone": {"home": "4155550182"}}' + "]" * size,
    "many": lambda size: '{"phone": {"home": "4155550182"}} ' * (size // 10),
    "numbers": lambda size: f"x [{'4111111111111111, ' * (size // 10)}1]",
    "quotes": lambda size: 'x {"a": "' + '" "' * size,
    "escapes": lambda size: f'x ["{chr(92) * 2 * size}", 4111111111111111]',
}


@pytest.mark.parametrize("name", GROWING)
def test_the_steps_grow_with_the_text(name: str) -> None:
    """Calls of functions, which no load of the machine changes: ten times the text takes ten times as many, for the walk and for all that is hidden."""
    for work in (objects, partial(detect, None)):
        small, large = (calls_of(partial(work, GROWING[name](size))) for size in (400, 4_000))
        assert large <= 12 * small + 1_000


def test_a_name_ends_where_a_word_does() -> None:
    """It is right before the object, in quotes or not."""
    texts = ("user.phone = {", '"home phone": [', "a b:{", "x {", ": {", '" : {', "'a': {")
    assert [name_before(text, len(text) - 1) for text in texts] == ["user.phone", "home phone", "b", None, None, None, "a"]
