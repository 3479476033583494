"""The look at a whole JSON text without google-re2: piece by piece, what is remembered of names and words is never remembered of what may hide something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.core.roles import NAMING_WORDS
from guard.core.values import encode
from guard.redactors import detect, redactor
from guard.redactors.given import STEMS, meant
from guard.redactors.national import IDS, SSN
from guard.redactors.phone import WORDS as PHONE_WORDS
from guard.redactors.telling import WORDS as KEY_WORDS

SLOW, FAST = redactor(fast=False), redactor()
EVERY = Redactor(detect=detect)
CLEAN: dict[str, Any] = {
    "a word that tells, as a value": {"kind": "phone", "of": "password", "by": ["token", "ssn"]},
    "ids of letters and digits": {"id": "txn_f7ce44574766", "ref": "6WF51M", "code": "HAT086", "hex": "7890abcdef012345"},
    "times": {"at": "2024-05-03T08:02:00", "from": "06:00:00", "day": "2024-05-03"},
    "a word that begins like one of a phone": {"line": "Cellular plan", "shop": "Smartphones for all"},
    "letters that begin like a key": [{"s": "r"}, {"unit": "SK"}, {"list": ["t", "v", "s"]}],
    "long names": {"cancellation_policy_of_the_booking": "non_refundable_within_two_days", "n": 1234567},
}
LOUD: dict[str, Any] = {
    "the same word as a key": {"kind": "x", "password": "correct horse"},
    "a key above": {"phone": {"home": "07400 123456"}},
    "a number": {"n": 4111111111111111},
    "a fraction of zeros": {"n": 4111111111111111.0},
    "letters alone": ["pplx-" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgHiJ"],
    "a key of a service of hexadecimal digits": ["fc-00001a00000000000000000000000000"],
    "encoded letters": ["a2ltLmRvZUBleGFtcGxlLmNvbQ=="],
    "an id of seven digits": {"of": "X1234567L"},
    "an address as a name": {"10.11.12.13": 1},
    "between others": {"a": ["x", "DE89370400440532013000", "y"]},
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_values_are_quiet(name: str) -> None:
    """They are the common case, and are looked through once."""
    for _ in range(2):
        assert SLOW.quiet(encode(CLEAN[name]))
    assert hide(CLEAN[name], SLOW, set()) is CLEAN[name]


@pytest.mark.parametrize("name", LOUD)
def test_what_hides_something_is_loud_however_often_it_was_seen(name: str) -> None:
    """Nothing that may hide something is remembered as a name that does not."""
    for _ in range(3):
        assert not SLOW.quiet(encode(LOUD[name]))
        assert not FAST.quiet(encode(LOUD[name]))
        assert hide(LOUD[name], SLOW, set()) == hide(LOUD[name], FAST, set()) != LOUD[name]
        for clean in CLEAN.values():
            SLOW.quiet(encode(clean))


def test_short_texts_are_remembered_within_bounds() -> None:
    """However many there were: each is judged by itself, and what hides something stays loud between them."""
    secret = encode({"password": "correct horse"})
    for number in range(2_500):
        assert FAST.quiet(encode({"level": f"P{number}"}))
        assert number % 100 or not FAST.quiet(secret)


_SOME = "phone key password secret token ssn nhs mobile tel social national api id sk live eyJ xoxb ghp bearer basic"
WORDS = st.sampled_from(_SOME.split())
NAMES = st.lists(WORDS | st.text("abZ_", min_size=1, max_size=12), min_size=1, max_size=4).map("_".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(NAMES, NAMES | st.sampled_from(["hunter22", "07400 123456", "AB123456C", 12345678]), max_size=4)))
def test_names_and_words_in_any_order(values: list[dict[str, Any]]) -> None:
    """Whatever was learned from one value, the next one is judged as if it were the first."""
    for value in [*values, *reversed(values)]:
        if SLOW.quiet(encode(value)):
            assert all(not detect(key, str(item))[1] and not detect(None, key)[1] for key, item in value.items())
        assert hide(value, SLOW, set()) == hide(value, FAST, set())


TOLD = [word for row in (*SSN, *IDS) for word in row.words]
WORD = st.sampled_from(sorted({*PHONE_WORDS, *KEY_WORDS, *TOLD, *NAMING_WORDS, "bearer ", "basic ", "curl -u "})) | st.from_regex(
    STEMS, fullmatch=True
)
SPELL: list[Callable[[str], str]] = [str, str.upper, str.capitalize, str.title, str.swapcase]
CASED = st.tuples(WORD, st.sampled_from(SPELL)).map(lambda one: one[1](one[0]))
BETWEEN = st.sampled_from(["", "", " ", "_", "-", ".", ": ", "=", "==", "\n", ", ", "'", "|", " is ", "(", "]", "/"])
BESIDE = st.sampled_from(["x", "values", "Http", "the", "é", "Z9", "\ud800", "order", "s", "ing"])
HIDDEN = st.sampled_from(["Tr0ub4dor22", "sid=a1b2c3d4e5f6", "12345678", "AB123456C", "by 'Tr0ub4dor22'", "<string>"])
GLUED = st.lists(st.tuples(CASED | BESIDE | HIDDEN, BETWEEN).map("".join), min_size=1, max_size=6).map("".join)
VALUED = st.tuples(GLUED, st.sampled_from([": ", "=", " ", " is ", ""]), HIDDEN | st.just("")).map("".join)


@settings(max_examples=300, deadline=None)
@given(VALUED)
@example("log: valuesAuthorizationcookie: sid==<string>]are end")
@example("setcookie: PHPSESSID=a1b2c3d4e5f6")
@example("TheIdentified by 'Tr0ub4dor22'")
@example("xprivate keys: Tr0ub4dor22")
def test_nothing_is_quiet_that_a_gate_opens(text: str) -> None:
    """However its words are glued together: what is quiet without google-re2 hides nothing where every leaf is looked at, and both looks hide the same."""
    for value in ({"text": text}, [text, "a"], {text: "x"}):
        wanted = encode(hide(value, EVERY, set()))
        if SLOW.quiet(encode(value)):
            assert wanted == encode(value)
            assert not meant(encode(value))
        assert [encode(hide(value, one, set())) for one in (SLOW, FAST)] == [wanted] * 2


@settings(max_examples=300, deadline=None)
@given(st.from_regex(STEMS, fullmatch=True), BESIDE | st.just(""), BESIDE | st.sampled_from(["", "=", ": a"]))
def test_each_word_of_a_gate_is_loud_wherever_it_stands(stem: str, before: str, behind: str) -> None:
    """A word that says secret with something behind it: glued to others, in any case, seen before or not."""
    text = encode([f"{before}{stem}{behind}a", "b"])
    for _ in range(2):
        assert not (meant(text) and SLOW.quiet(text))
