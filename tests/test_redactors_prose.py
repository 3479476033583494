"""JSON among other words: what is hidden where it is a whole text is hidden in a log, in lines of JSON and in what was cut off, and it stays JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.core.hiding import beginning, hide, shown_text
from guard.core.objects import objects
from guard.core.ports import Redactor
from guard.redactors import detect, redactor

BOTH = [redactor(), redactor(fast=False)]
IDS = ["with google-re2", "without"]
ENCODED = base64.b64encode(b"write to jane.doe@example.com, please").decode()
HELD = {
    "a phone under an outer name": ('{"phone": {"home": "4155550182"}}', '{"phone": {"home": "[phone]"}}'),
    "an address with an escape": (r'{"mail": "jane\u0040example.com"}', '{"mail": "[email]"}'),
    "a name with an escape": (r'{"p\u0061ssword": "hunter22x"}', r'{"p\u0061ssword": "[secret]"}'),
    "encoded text": (f'{{"blob": "{ENCODED}"}}', '{"blob": "[email]"}'),
    "numbers in a list": ('{"phone": [4155550182, "4155550183"]}', '{"phone": ["[phone]", "[phone]"]}'),
    "a fraction that is a card": ('{"n": 4111111111111111.0, "ok": true}', '{"n": "[card]", "ok": true}'),
    "a name beside its value": ('[{"name": "ssn", "value": 123456789}]', '[{"name": "ssn", "value": "[ssn]"}]'),
    "JSON in a text of it": (
        r'{"body": "{\"password\": {\"now\": \"correct horse\"}}"}',
        r'{"body": "{\"password\": {\"now\": \"[secret]\"}}"}',
    ),
    "a line break in a text": ('{"phone": {"home": "4155550182", "of": "a\nb"}}', '{"phone": {"home": "[phone]", "of": "a\nb"}}'),
    "what is no number": ('{"n": NaN, "phone": {"home": "4155550182"}}', '{"n": NaN, "phone": {"home": "[phone]"}}'),
    "a name twice": (
        '{"pin": 1, "password": {"pin": "correct horse", "pin": "9"}}',
        '{"pin": 1, "password": {"pin": "[secret]", "pin": "9"}}',
    ),
    "a list that begins with a number": (r'[1, "jane\u0040example.com"]', '[1, "[email]"]'),
    "a huge number": (
        f'{{"n": {"7" * 6000}, "phone": {{"home": "4155550182"}}}}',
        f'{{"n": {"7" * 6000}, "phone": {{"home": "[phone]"}}}}',
    ),
}
BY_KEY = {
    'x {"order_id":"4111111111111111"} y': 'x {"order_id":"4111111111111111"} y',
    'x {"order_id":"4111 1111 1111 1111"} y': 'x {"order_id":"[card]"} y',
    'x {"version":"10.1.2.3","ip":"10.1.2.3"} 10.1.2.3': 'x {"version":"10.1.2.3","ip":"[ip address]"} [ip address]',
    'x {"passwords":["correct horse",{"[cut]":"1 of 3 shown"}]} y': 'x {"passwords":["[secret]",{"[cut]":"1 of 3 shown"}]} y',
    "the password: [cut: 14 of 276 characters shown]": "the password: [cut: 14 of 276 characters shown]",
    "password = hunter22x [cut: 21 of 276 characters shown]": "password = [secret] [cut: 21 of 276 characters shown]",
}
"""What a key says counts among other words as well, and notes of guard's own stay."""
AROUND = {
    "whole": "{}",
    "in a line": "log {} end",
    "behind a quote": 'he said "look: {}"',
    "behind a quote that is not closed": 'he said "look {} end',
    "behind an object that is not closed": 'state {{"a": "b", "c": {} end',
    "behind a text that is not closed": 'state {{"a": "b, {} end',
    "in brackets": "[see {}]",
    "in lines of JSON": '{{"a": 1}}\n{}\n{{"b": ["x"]}}\n',
    "behind a list": "[x] {}",
    "cut at the end": '{{"a": [{}, {{"pass',
    "cut at the front": 'd": 1}}, {}], "b": 2}}',
    "behind a backslash": 'C:\\dir\\ {} "',
}


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("held", HELD)
def test_what_json_holds_is_hidden_among_other_words(held: str, around: str, one: Redactor) -> None:
    """As a text by itself, and as one of several in a value; what is shown once is shown again, and nothing around it changes."""
    text, shown = (AROUND[around].format(part) for part in HELD[held])
    assert one.detect(None, text)[0] == shown
    assert hide([text, "x", "in a row"], one, set()) == [shown, "x", "in a row"]
    assert one.detect(None, shown) == (shown, ())
    assert json.loads(shown_text([text, "x"], one, set())) == [shown, "x"]


@pytest.mark.parametrize(
    "text",
    [
        'log {"a": 1, "of": ["x", null]} end',
        '{"a": 1}\n{"b": "x y"}\n',
        'see [1] and [2, "x"], {"kind": "phone"}',
        '{"a": {"b": [1, 2, {"c": "d',
        'order {"order_id": 4155550182, "card_id": "7700000000000000"}',
    ],
)
@pytest.mark.parametrize("one", BOTH, ids=IDS)
def test_clean_texts_come_back_as_the_same_object(text: str, one: Redactor) -> None:
    """Whatever was looked into."""
    assert one.detect(None, text)[0] is text
    value = [text, "x"]
    assert hide(value, one, set()) is value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('password: {"value": "correct horse"}', 'password: {"value": "[secret]"}'),
        ('"phone" : {"home": "4155550182"}, "x', '"phone" : {"home": "[phone]"}, "x'),
        ('\'phone\': {"home": "4155550182"}', '\'phone\': {"home": "[phone]"}'),
        ('user.phone={"home": 4155550182} x', 'user.phone={"home": "[phone]"} x'),
        ('手机: {"x": "13812345678"}', '手机: {"x": "[phone]"}'),
        ('data: {"home": "4155550182"}', 'data: {"home": "4155550182"}'),
        ('token_count: {"password": "correct horse"}', 'token_count: {"password": "[secret]"}'),
    ],
)
@pytest.mark.parametrize("one", BOTH, ids=IDS)
def test_the_word_before_an_object_is_its_name(text: str, shown: str, one: Redactor) -> None:
    """It may tell of what the object holds, and never takes from what is hidden without it."""
    assert one.detect(None, text)[0] == shown
    assert hide([text, "x"], one, set()) == [shown, "x"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cards [4111111111111111, 5500005555555559]", 'cards ["[card]", "[card]"]'),
        ("phone: [4155550182]", 'phone: ["[phone]"]'),
        (r'password={"user":"joe1\u0041","n":1234567}', 'password={"user":"[secret]","n":"[secret]"}'),
        ('{"a": 1} 4111111111111111 {"n": 4111111111111111}', '{"a": 1} [card] {"n": "[card]"}'),
        ("password: ab[7]cd12efg", "password: [secret]"),
    ],
)
def test_a_mask_in_json_stands_in_quotes(text: str, shown: str) -> None:
    """Also where the rules of plain text found it, over the borders of an object and of what stands in it."""
    assert detect(None, text)[0] == shown
    assert detect(None, shown)[0] == shown


NAMES = st.sampled_from(
    ["phone", "password", "note", "a", "name", "value", "ssn", "order_id", "data", "x{y", 'q"r', "é"]
) | st.text(max_size=4)
PLANTED = [
    "4155550182",
    "correct horse",
    "jane.doe@example.com",
    ENCODED,
    "hunter22x",
    "123456789",
    "4111111111111111",
    "AB123456C",
]
LEAVES = st.sampled_from(
    [*PLANTED, 4155550182, 4111111111111111, 123456789, 7, -1.5, True, None, "x", "} ] {", 'say "hi"', "C:\\x\n", ", "]
)
LEAVES |= st.sampled_from([json.dumps({"phone": {"home": "4155550182"}}), 'log {"password": {"is": "correct horse"}} end'])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)
HOLDERS = st.lists(VALUES, min_size=1, max_size=3) | st.dictionaries(NAMES, VALUES, min_size=1, max_size=3)
FORMS = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "indent": st.sampled_from([None, 2, "\t", 30]),
        "separators": st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : ")]),
    }
)
WORDS = st.lists(
    st.sampled_from(
        ["log", "he said", '"', "'", "{", "}", "[", "]", "x:", ",", '{"a": ', '["b", ', "\\", "\n", " ", "[1]", "end.", "data="]
    ),
    max_size=5,
).map(" ".join)


def shaped(value: Any) -> Any:
    """The names and forms of a value, whatever its texts and numbers are: those that are hidden are texts."""
    if isinstance(value, dict):
        return {name: shaped(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shaped(item) for item in value]
    return value if value is None or isinstance(value, bool) else "leaf"


@settings(max_examples=200, deadline=None)
@given(HOLDERS, FORMS, WORDS, WORDS, st.integers(0, 30), st.integers(0, 30))
def test_what_is_found_in_a_whole_text_is_hidden_in_the_middle_of_another(
    value: Any, form: dict[str, Any], before: str, behind: str, front: int, end: int
) -> None:
    """The same on both engines and in both looks, twice as once, and JSON again with the same names and forms."""
    text = json.dumps(value, **form)
    kinds = detect(None, text)[1]
    around = (before[min(front, len(before)) :] + " ", " " + behind[: max(0, len(behind) - end)])
    given_ = f"{around[0]}{text}{around[1]}"
    shown, found = detect(None, given_)
    assert [one.detect(None, given_) for one in BOTH] == [(shown, found)] * 2
    assert [hide([given_, "x"], one, set()) for one in BOTH] == [[shown, "x"]] * 2
    assert not [one for one in BOTH if found and one.quiet(given_)]
    assert detect(None, shown)[0] == shown
    assert (shown is given_) == (found == ())
    if (len(around[0]), len(around[0]) + len(text)) in objects(given_):
        assert set(kinds) <= set(found)


@settings(max_examples=200, deadline=None)
@given(HOLDERS, FORMS, WORDS, WORDS)
def test_json_in_the_middle_of_a_text_stays_json(value: Any, form: dict[str, Any], before: str, behind: str) -> None:
    """Every object and list, with the names that it has as a text of its own, and each in its place."""
    text = json.dumps(value, **form)
    given_ = f"{before} {text} {behind}"
    shown, _ = detect(None, given_)
    old, new = objects(given_), objects(shown)
    assert len(old) == len(new)
    for (start, end), (first, last) in zip(old, new, strict=True):
        assert shaped(json.loads(detect(None, given_[start:end])[0])) == shaped(json.loads(shown[first:last]))


@settings(max_examples=150, deadline=None)
@given(HOLDERS, FORMS, st.integers(0, 400), st.integers(0, 400))
def test_what_is_left_of_a_text_that_was_cut_is_looked_into(value: Any, form: dict[str, Any], front: int, end: int) -> None:
    """Each object that is whole hides what it hides alone, on both engines."""
    text = json.dumps([value, {"phone": {"home": "4155550182"}}, value], **form)
    cut = text[front % len(text) :][: end + 1]
    shown, found = detect(None, cut)
    assert [one.detect(None, cut) for one in BOTH] == [(shown, found)] * 2
    assert [hide([cut, "x"], one, set()) for one in BOTH] == [[shown, "x"]] * 2
    assert detect(None, shown)[0] == shown
    for start, stop in objects(cut):
        assert set(detect(None, cut[start:stop])[1]) <= set(found)


GIVING = st.tuples(
    st.sampled_from(["[x] ", '{"a": 1}\n', "log ", "", '[["a", 1]], ']),
    st.sampled_from(["phone", "userPhone", "api key", "password", "PHONE", "ssn_of", "order", "手机", "tel-1", "a.token.b"]),
    st.sampled_from(["{}: ", "'{}': ", "'{}' = ", '"{}":', '"{}" =', "{}=", "{} = ", "{} :\n", "{} "]),
    st.sampled_from(['{"home": 4155550182}', '[["4155550182"]]', '{"is": "correct horse"}', "[[4155550182]]", "[123456789]"]),
).map(lambda parts: parts[0] + parts[2].format(parts[1]) + parts[3])


@settings(max_examples=300, deadline=None)
@given(GIVING)
def test_no_look_misses_a_name_before_an_object(text: str) -> None:
    """Neither the look at a text that begins like JSON nor the one at all texts of a value, on either engine."""
    shown, found = detect(None, text)
    assert [beginning(text, 10_000, one) for one in BOTH] == [(shown, found)] * 2
    assert [hide([text, "x"], one, set()) for one in BOTH] == [[shown, "x"]] * 2


@pytest.mark.parametrize("text", BY_KEY)
def test_a_key_counts_and_a_note_stays(text: str) -> None:
    """Both engines, and the second look."""
    for one in BOTH:
        assert one.detect(None, text)[0] == BY_KEY[text]
        assert one.detect(None, BY_KEY[text]) == (BY_KEY[text], ())
