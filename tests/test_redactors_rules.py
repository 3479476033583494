"""Every row of the tables: whatever its own pattern makes and its rule finds passes the gate, the quick look at a leaf and the one at JSON text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.core.hiding import hide
from guard.redactors import REDACTOR, detect, redactor
from guard.redactors.national import IDS, SSN, id_gate, id_spans, ssn_gate, ssn_spans
from guard.redactors.prefixes import INSIDE, PREFIXES
from guard.redactors.secret import secret_gate, secret_spans
from guard.redactors.views import still

AROUND = st.sampled_from(["{}", "x {} y", "a\n{}", "{}.", "号{}。", '"{}"'])
SIEVES = [redactor().sift, redactor(fast=False).sift]
SIGNS = [re.escape(sign) + f"(?:{rest})" for sign, rest in PREFIXES] + [whole for _, whole in INSIDE]


@pytest.mark.parametrize("pattern", [pattern.replace("(?![A-Za-z0-9_])", "") for pattern in SIGNS])
@settings(max_examples=8)
@given(st.data())
def test_signs(pattern: str, data: st.DataObject) -> None:
    """No key of a service that the rule knows is lost to a quick look, and hiding it once is enough."""
    made = data.draw(st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True))
    text = data.draw(AROUND).replace("{}", made)
    if secret_spans(None, text):
        assert secret_gate(text)
        assert not (text.isascii() and still(text))
        assert all(sieve([text, "x"]) for sieve in SIEVES)
    shown, _ = detect(None, text)
    assert detect(None, shown)[0] == shown


@pytest.mark.parametrize("row", [*IDS, *SSN], ids=lambda row: row.name)
@settings(max_examples=60)
@given(st.data())
def test_ids(row: object, data: st.DataObject) -> None:
    """No national id that a row finds, by itself, under its key or after its word, is lost to a quick look."""
    assert isinstance(row, type(IDS[0]))
    made = data.draw(st.from_regex(re.compile(row.pattern, re.ASCII), fullmatch=True))
    word = data.draw(st.sampled_from([*row.words, ""]))
    for last in "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ":
        text = data.draw(AROUND).replace("{}", f"{word} {made[:-1]}{last}") if last == "0" else f"{word} {made[:-1]}{last}"
        for gate, spans in ((id_gate, id_spans), (ssn_gate, ssn_spans)):
            if spans(None, text):
                assert gate(text)
                assert not (text.isascii() and still(text))
                assert all(sieve([text, "x"]) for sieve in SIEVES)
            if spans(word, made[:-1] + last):
                assert hide({word: made[:-1] + last}, REDACTOR, set()) != {word: made[:-1] + last}
