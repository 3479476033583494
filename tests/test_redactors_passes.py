"""The gates in passes: what a gate matches has the form that is looked for first, so that nothing is missed for being looked for in two steps."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.redactors.engine import re2
from guard.redactors.gates import GATES, NESTED
from guard.redactors.passes import _FORM, FORMED, SHORTER, Passes, spelled

ALL = (*GATES, *NESTED)
PATTERNS = dict(ALL)
NUMBERS = {name: number for number, (name, _) in enumerate(ALL)}
AROUND = st.sampled_from(["", " ", "x", '"', "\0", "-", ".", "é", "7"])


@pytest.mark.parametrize("name", [*FORMED, *SHORTER])
def test_what_a_gate_matches_has_its_form(name: str) -> None:
    """Whatever stands around it; and together they find the gate itself."""
    form = re.compile((spelled(FORMED[name]) if name in FORMED else SHORTER[name]).encode(), re.ASCII)

    @settings(max_examples=25, deadline=None)
    @given(st.from_regex(re.compile(PATTERNS[name], re.ASCII)), AROUND, AROUND)
    def holds(text: str, before: str, behind: str) -> None:
        raw = f"{before}{text}{behind}".encode("utf-8", "surrogatepass")
        if re.search(PATTERNS[name].encode(), raw, re.ASCII) is not None:
            assert form.search(raw.translate(_FORM) if name in FORMED else raw) is not None

    holds()


@pytest.mark.skipif(re2() is None, reason="needs google-re2: pip install -e '.[fast]'")
@pytest.mark.parametrize("name", NUMBERS)
def test_each_gate_is_found_where_it_matches(name: str) -> None:
    """By its number in the table, whether it is looked for as it is or by its form first."""
    passes = Passes(ALL)

    @settings(max_examples=10, deadline=None)
    @given(st.from_regex(re.compile(PATTERNS[name], re.ASCII)), AROUND, AROUND)
    def found(text: str, before: str, behind: str) -> None:
        raw = f"{before}{text}{behind}".encode("utf-8", "surrogatepass")
        assert (NUMBERS[name] in passes(raw)) == (passes.each[NUMBERS[name]].search(raw) is not None)

    found()


def test_letters_and_digits_keep_what_tells_encoded_text() -> None:
    """The forms are written with few signs, and each of them stands for all that it has to."""
    assert spelled("A0{2,3}[A0-]2") == "[PQRN][01]{2,3}[PQRN01-]0"
    assert len(set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".translate(_FORM))) == 6
