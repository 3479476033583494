"""JSON texts as tools write them: what is called clean holds nothing, as a value and as a text, with google-re2 and without, and comes back as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.core.hiding import beginning, hide
from guard.core.values import encode
from guard.redactors import DETECTORS, detect, redactor
from guard.redactors.card import card_spans, cards_in, luhn
from guard.redactors.find import Finder

BOTH = [redactor(), redactor(fast=False)]
IDS = ["with google-re2", "without"]
CLEAN: dict[str, Any] = {
    "orders": [
        {"order_id": "#W6750959", "price": 302.67, "paid": True, "by": "credit_card_5869505", "tracking": ["329179745249"]}
    ],
    "times": {"at": "2024-05-03T08:02:00", "from": "06:00:00", "days": ["2024-05-03", "2024-05-04"]},
    "words that tell, as values": {"kind": "phone", "of": "password", "by": ["token", "basic"]},
    "long ids": [{"id": "btxn_ar_purple_03f_err"}, {"id": "0f8fad5b-d9cb-469f-a165-70867728950e"}],
}
WRITTEN = {
    "close": encode,
    "with blanks": json.dumps,
    "on lines": lambda value: json.dumps(value, indent=2),
    "with tabs": lambda value: json.dumps(value, indent="\t", separators=(" ,", " : ")),
}
SOME = """
phone key password api_key token ssn nhs national insurance sk-live_ curl -u basic bearer userPhone SSN passenger hotel " é 手机 0 77 hunter22x
4111111111111111 329179745249 4111-1111-1111-1111 9434765919 123-45-6789 10.1.2.3 fe80::a1 AA:BB:CC:DD:EE:FF 415-555-0182 +14155550182
DE89370400440532013000 AB123456C X1234567L 2024-05-01T12:00:00 302.67 a2ltLmRvZUBleGFtcGxlLmNvbQ== ghp_ a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8
[ ] { } , : = _ ( ) . - / kim@example.com 0f8fad5b-d9cb-469f-a165-70867728950e (415) 138-1234-5678
"""
PIECES = st.sampled_from(SOME.split())
TEXTS = st.lists(PIECES | st.sampled_from([" ", "\t", "\n"]), min_size=1, max_size=7).map("".join)
VALUES = st.recursive(
    TEXTS | st.integers(0, 10**19) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("way", WRITTEN)
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_json_text_comes_back_as_the_same_object(name: str, way: str, one: Any) -> None:
    """However it is written: it is not taken apart, and nothing is written anew."""
    text = WRITTEN[way](CLEAN[name])
    for _ in range(3):
        assert beginning(text, 100_000, one) == (text, ())
        assert beginning(text, 100_000, one)[0] is text
    assert one.quiet(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=3), st.sampled_from(sorted(WRITTEN)), st.integers(1, 80))
def test_what_is_called_clean_holds_nothing(values: list[Any], way: str, cut: int) -> None:
    """As a value, as a text, and as a text that ends in its middle; what was learned from one text is true of the next."""
    for value in [values, *values] * 2:
        whole = WRITTEN[way](value)
        for text in (whole, whole[:cut]):
            found = detect(None, text)
            assert [one.detect(None, text) for one in BOTH] == [found, found]
            for one in BOTH:
                assert not (one.quiet(text) and found[1])
        shown = hide(value, BOTH[0], set())
        assert hide(value, BOTH[1], set()) == shown
        assert shown == value or not any(one.quiet(whole) for one in BOTH)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(VALUES, min_size=1, max_size=6),
    st.sampled_from(sorted(WRITTEN)),
    st.sampled_from([None, "title", "phone", "api", "order"]),
)
def test_a_first_look_at_all_pieces_misses_none(values: list[Any], way: str, key: str | None) -> None:
    """What is found in a text that holds something is what is found where every piece of it is looked at by itself."""
    text = WRITTEN[way]([*values, {"contact": ["kim@example.com", {"ssn": "123456789", "amount": 4111111111111111.0}]}])
    slow = Finder(DETECTORS).detect(key, text)
    assert slow[1]
    assert [one.detect(key, text) for one in BOTH] == [slow, slow]


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("digits", ["4111111111111111", "378282246310005", "5018123412341"])
def test_a_card_among_ids_of_its_length_is_seen(digits: str, one: Any) -> None:
    """Blocks of digits are remembered by their length alone, never by what they are."""
    for _ in range(4):
        assert one.quiet(encode([{"id": str(int("7" * len(digits)) + at)} for at in range(3)]))
    while not luhn(digits):
        digits = str(int(digits) + 1)
    assert card_spans(None, digits)
    assert not one.quiet(encode([{"of": digits}]))
    assert cards_in(f"before {digits},after".encode())


@pytest.mark.parametrize("one", BOTH, ids=IDS)
def test_under_a_key_that_tells_a_json_text_is_looked_at(one: Any) -> None:
    """A text that holds nothing by itself is a secret all the same under a key that names one."""
    assert beginning('["correct horse"]', 1000, one, "password")[1] == ("secret",)
    assert beginning('["correct horse"]', 1000, one, "title")[1] == ()


@pytest.mark.parametrize("one", BOTH, ids=IDS)
def test_an_invisible_character_inside_a_key_of_a_service_hides_it_from_nobody(one: Any) -> None:
    """It is looked at as it is read: without it."""
    value = ["sk-svcacct-\u200b9ECb25625Ad3C6ed7EAEeda9", {"vercel_\u200badBdfE4fEF35f6B10d37AbefD15AF41C1b1A": 1}]
    assert hide(value, one, set()) == ["[secret]", {"[secret]": 1}]


@pytest.mark.parametrize("behind", ["", "\n", '"', "'", "\\", '"}', "\\\\", "\u00e9"])
def test_a_text_in_quotes_stays_valid_json(behind: str) -> None:
    """What closes the text around a value without quotes, with the escapes before it, is no part of the value."""
    shown, kinds = detect(None, json.dumps(f"password: \u00dcnsafe22!{behind}"))
    assert kinds == ("secret",)
    assert json.loads(shown).startswith("password: [secret]")
