"""Handles and masks as texts: how they are made, and how they are found again however a model spells them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores_kit import REF

from guard.core.handles import ALPHABET, SIZE, Signs, check_character, handle, is_token, leaves, normal
from guard.core.keytree import FieldRule
from guard.core.paths import parse_field
from guard.core.sealing import MOST, Sealer, masked
from guard.redactors import REDACTOR

SIGNS = Signs(types=frozenset({"email", "name", "phone"}), masks=REDACTOR.masks)
TOKEN = handle("email", "9a3f0c77d215be48" * 4)
BODY = TOKEN.removeprefix("email_")
WIDE = "".join(chr(ord(char) + 0xFEE0) for char in TOKEN)
LETTERS = f"email_BCDFGHJKMN{check_character('BCDFGHJKMN')}"  # no digit in it: it looks like a name
BODIES = st.text(ALPHABET, min_size=SIZE - 1, max_size=SIZE - 1)


def test_a_handle_has_a_type_a_digest_and_a_check_character() -> None:
    """Eleven characters of Crockford's alphabet: fifty bits and one that checks them."""
    assert is_token(TOKEN)
    assert len(BODY) == SIZE == 11
    assert set(BODY) <= set(ALPHABET)
    assert check_character(BODY[:-1]) == BODY[-1]


@given(body=BODIES, place=st.integers(0, SIZE - 1), other=st.sampled_from(ALPHABET))
def test_one_wrong_character_is_always_noticed(body: str, place: int, other: str) -> None:
    """And so are two neighbours that changed places."""
    whole = body + check_character(body)
    wrong = whole[:place] + other + whole[place + 1 :]
    assert is_token(f"email_{wrong}") is (wrong == whole)
    swapped = whole[:place] + whole[place : place + 2][::-1] + whole[place + 2 :]
    assert is_token(f"email_{swapped}") is (swapped == whole)


SPELLINGS = {
    "as given": TOKEN,
    "small": TOKEN.lower(),
    "capitals": TOKEN.upper(),
    "blanks around": f"  {TOKEN}\n",
    "blanks inside": f"email _ {BODY[:4]} {BODY[4:7]} {BODY[7:]}",
    "hyphens inside": f"email_{BODY[:4]}-{BODY[4:]}",
    "full width": WIDE,
    "no width inside": f"email_\u200b{BODY[:5]}\u2060{BODY[5:]}",
    "misread letters": TOKEN.replace("0", "O").replace("1", "l"),
    "in a text": f"Please write to {TOKEN}, thanks",
    "in a text with blanks": f"Please write to email_{BODY[:4]} {BODY[4:]} now",
    "full width in a text": f"an {WIDE}!",
    "in brackets": f"<{TOKEN}>",
    "in a path": f"/home/{TOKEN}/mail",
    "glued before": f"my_{TOKEN}",
    "glued behind": f"{TOKEN}_2.pdf",
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_a_handle_is_found_in_every_spelling(text: str) -> None:
    """The one handle that was meant, with a check that fits."""
    found = SIGNS.find(text)
    assert {sign.handle for sign in found} == {TOKEN}
    assert all(sign.sound for sign in found)


DAMAGED = {
    "a letter more": TOKEN + "A",
    "a letter less": TOKEN[:-1],
    "two letters less": TOKEN[:-2],
    "another letter": TOKEN[:-1] + ALPHABET[(ALPHABET.index(TOKEN[-1]) + 1) % 32],
    "twice": TOKEN + TOKEN,
    "letters only, twice": LETTERS + LETTERS,
    "letters only, run on": f"{LETTERS}behind",
    "another type": f"name_{BODY[:-1]}{ALPHABET[(ALPHABET.index(BODY[-1]) + 5) % 32]}",
    "invented": "email_AB12CD34EF5",
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_handle_is_no_other_text(text: str) -> None:
    """It is seen to be one, and that its check does not fit."""
    found = [sign for sign in SIGNS.find(text) if sign.handle]
    assert found
    assert not any(sign.sound and sign.handle == TOKEN for sign in found)


ORDINARY = [
    "email_template",
    "email_addressbook",
    "email_notifications_enabled",
    "phone_number",
    "email_20240115",
    "EMAIL_TEMPLATES",
    "name_1",
    "first_name",
    "kim@example.com",
    f"order_{BODY}",
    "a [link](https://example.com) and [x] done",
    "**bold** and *** stars",
    "ends in ****1234",
    "[phone number]",
    "C:\\phone_book",
    "snake_case_name_with_many_words",
    "",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    """Names of templates, markdown, and what belongs to types that the policy does not know."""
    assert SIGNS.find(text) == []


MASKED = [
    *sorted(REDACTOR.masks),
    "[hidden]",
    " [ Email ] ",
    "".join(chr(ord(char) + 0xFEE0) for char in "[EMAIL]"),
    "[e\u200bmail]",
    "call [PHONE] now",
    "****2671",
    "K*** L***",
    "王***",
    "***@example.com",
    "1984-**-**",
    "[REDACTED]",
    "<redacted>",
    f"hash_{BODY}",
]


@pytest.mark.parametrize("text", MASKED)
def test_every_mask_is_found(text: str) -> None:
    """Those in brackets inside longer texts too; the others where they are the whole text."""
    assert SIGNS.find(text)


@given(value=st.text(max_size=60), kind=st.sampled_from(["last4", "initials", "domain", "year", "fixed"]))
def test_every_mask_that_a_rule_makes_is_known_as_one(value: str, kind: str) -> None:
    """Whatever was hidden: what stands there refuses as an argument, and is not masked again."""
    made = masked(kind, value)
    assert SIGNS.find(made)
    again = Sealer(REDACTOR, REF).change(FieldRule("mask", parse_field("x"), kind), made)
    assert again == made


MASKS = [
    ("last4", "+1 415 555 2671", "****2671"),
    ("last4", "4111 1111 1111 1111", "****1111"),
    ("last4", "078-05-1120", "[hidden]"),
    ("last4", "1234", "[hidden]"),
    ("initials", "Kim Li", "K*** L***"),
    ("initials", "  van der  Berg ", "v*** d*** B***"),
    ("initials", "42", "[hidden]"),
    ("domain", "Kim@Example.com", "***@Example.com"),
    ("domain", "nobody", "[hidden]"),
    ("year", "1984-02-03", "1984-**-**"),
    ("year", "03.02.1984", "1984-**-**"),
    ("year", "1984 or 1985", "[hidden]"),
    ("fixed", "anything", "[hidden]"),
]


@pytest.mark.parametrize(("kind", "value", "wanted"), MASKS)
def test_masks(kind: str, value: str, wanted: str) -> None:
    """What does not have the form of its kind is hidden whole."""
    assert masked(kind, value) == wanted


SAME = [
    ("email", "Kim@Example.com", " kim@example.COM"),
    ("phone", "+1 415 555-2671", "+14155552671"),
    ("phone", "0041 44 668 18 00", "+41446681800"),
    ("iban", "DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
    ("card", "4111-1111-1111-1111", "4111111111111111"),
    ("name", "Kim Li ", "Kim Li"),
]


@pytest.mark.parametrize(("kind", "one", "other"), SAME)
def test_one_value_has_one_handle(kind: str, one: str, other: str) -> None:
    """However it is spelled; another value, type, conversation or tenant has another one."""
    sealer = Sealer(REDACTOR, REF)
    assert normal(kind, one) == normal(kind, other)
    assert sealer.named(kind, one) == sealer.named(kind, other)
    others = {
        sealer.named(kind, one + "x1"),
        sealer.named("other", one),
        Sealer(REDACTOR, replace(REF, conversation="another")).named(kind, one),
        Sealer(REDACTOR, replace(REF, tenant="another")).named(kind, one),
    }
    assert sealer.named(kind, one) not in others
    assert Sealer(REDACTOR, replace(REF, branch="child")).named(kind, one) == sealer.named(kind, one)


def test_no_detector_takes_a_handle_for_something_else() -> None:
    """A thousand handles of types that sound like what detectors look for."""
    sealer = Sealer(REDACTOR, REF)
    for number in range(250):
        for kind in ("email", "phone", "card", "secret"):
            made = sealer.named(kind, f"value {number}")
            assert REDACTOR.detect(None, made)[0] == made
            assert REDACTOR.detect(None, f"write to {made} please")[0] == f"write to {made} please"


def test_one_result_gives_out_a_bounded_number_of_handles() -> None:
    """What goes beyond is hidden whole."""
    sealer = Sealer(REDACTOR, REF)
    rule = FieldRule("handle", parse_field("x"), "name")
    made = [sealer.change(rule, f"person {number}") for number in range(MOST + 5)]
    assert made[MOST:] == ["[hidden]"] * 5
    assert len(sealer.issued) == MOST


def test_texts_are_found_at_every_depth() -> None:
    """In lists, in names of fields, and in text that is JSON, with escapes decoded."""
    found = leaves({"a": [{"b": '{"c": "\\u005bemail\\u005d"}'}]})
    assert [(place, text) for place, text, named, _ in found if not named][-1] == (("a", 0, "b"), "[email]")
    assert [text for _, text, named, inner in found if named and inner] == ["c"]
