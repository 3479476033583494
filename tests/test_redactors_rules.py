"""Every row of the tables and every pattern of a rule: what they find passes each gate and each look, with google-re2 and without it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.core.hiding import hide
from guard.core.values import encode
from guard.redactors import DETECTORS, card, detect, email, iban, ip, mac, phone, redactor, secret
from guard.redactors.fold import folded
from guard.redactors.national import IDS, SSN, id_spans, ssn_spans
from guard.redactors.prefixes import INSIDE, PREFIXES
from guard.redactors.views import still

AROUND = st.sampled_from(["{}", "x {} y", "a\n{}", "{}.", "号{}。", '"{}"', "n={}", "{},{}"])
BOTH = [redactor(), redactor(fast=False)]
SIGNS = [re.escape(sign) + f"(?:{rest})" for sign, rest in PREFIXES] + [whole for _, whole in INSIDE]
_PARTS = {
    "_OWN",
    "_START",
    "_PEM_END",
    "_MIXED",
    "_LONG_NUMBER",
    "_VARIABLE",
    "_PLACEHOLDER",
    "_ANY_DIGIT",
    "_ANY_LETTER",
    "_DIGIT_SOON",
    "_NAME_RUN",
}
"""What is generated elsewhere, or is no finding by itself."""

PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value.pattern
    for module in (card, email, iban, ip, mac, phone, secret)
    for name, value in vars(module).items()
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str) and name not in _PARTS
}


def found_is_never_lost(key: str | None, text: str) -> None:
    """Where a rule finds something under this key: its gate, the looks at texts and at JSON text, and the walk know it."""
    flat, _ = folded(text)
    found = [detector for detector in DETECTORS if detector.rule(key, flat)]
    for detector in found:
        assert detector.gate(flat)
    if key is None and found:
        assert not (flat.isascii() and still(flat))
    value: Any = {"x" if key is None else key: text}
    for one in BOTH:
        if found:
            assert not one.quiet(encode(value))
            assert hide(value, one, set()) != value
            assert key is not None or text in one.sift([text, "x"])
        elif one.quiet(encode(value)):
            assert detect(key, text)[1] == ()


@pytest.mark.parametrize("pattern", SIGNS)
@settings(max_examples=3, deadline=None)
@given(st.data())
def test_signs(pattern: str, data: st.DataObject) -> None:
    """No key of a service that the rule knows is lost to a quick look, and hiding it once is enough."""
    made = data.draw(st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True))
    text = data.draw(AROUND).replace("{}", made)
    found_is_never_lost(None, text)
    shown, _ = detect(None, text)
    assert detect(None, shown)[0] == shown


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_rules(name: str, data: st.DataObject) -> None:
    """Nothing that a rule's own pattern makes, with or without its neighbours, is lost to a quick look."""
    made = data.draw(st.from_regex(re.compile(PATTERNS[name], re.ASCII), fullmatch=True))
    text = data.draw(AROUND).replace("{}", made[:2000])
    found_is_never_lost(None, text)
    found_is_never_lost(data.draw(st.sampled_from(["phone", "x", "order_id", "userTel", "note"])), text)


@pytest.mark.parametrize("row", [*IDS, *SSN], ids=lambda row: row.name)
@settings(max_examples=4, deadline=None)
@given(st.data())
def test_ids(row: Any, data: st.DataObject) -> None:
    """No national id that a row finds, by itself, under its key or after its word, is lost to a quick look."""
    made = data.draw(st.from_regex(re.compile(row.pattern, re.ASCII), fullmatch=True))
    word = data.draw(st.sampled_from([*row.words, ""]))
    around = data.draw(AROUND)
    for last in "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ":
        text = f"{word} {made[:-1]}{last}"
        if id_spans(None, text) or ssn_spans(None, text):
            found_is_never_lost(None, around.replace("{}", text))
        if word and (id_spans(word, made[:-1] + last) or ssn_spans(word, made[:-1] + last)):
            found_is_never_lost(word, made[:-1] + last)
