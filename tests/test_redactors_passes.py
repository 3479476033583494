"""The gates in passes: what a gate matches has the form that is looked for first, so that nothing is missed for being looked for in two steps."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.redactors.engine import re2
from guard.redactors.gates import GATES, NESTED
from guard.redactors.passes import FORMED, SHORTER, Passes, spelled

ALL = (*GATES, *NESTED)
PATTERNS = dict(ALL)
NUMBERS = {name: number for number, (name, _) in enumerate(ALL)}
AROUND = st.sampled_from(["", " ", "x", '"', "\0", "-", ".", "é", "7"])


@pytest.mark.parametrize("name", [*FORMED, *SHORTER])
def test_what_a_gate_matches_has_its_form(name: str) -> None:
    """Whatever stands around it; and together they find the gate itself."""
    form = re.compile((spelled(name) if name in FORMED else SHORTER[name]).encode(), re.ASCII)

    @settings(max_examples=25, deadline=None)
    @given(st.from_regex(re.compile(PATTERNS[name], re.ASCII)), AROUND, AROUND)
    def holds(text: str, before: str, behind: str) -> None:
        raw = f"{before}{text}{behind}".encode("utf-8", "surrogatepass")
        if re.search(PATTERNS[name].encode(), raw, re.ASCII) is not None:
            assert form.search(raw) is not None

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
        number = NUMBERS[name]
        stands, told = passes.each[number].search(raw) is not None, number in passes(raw)
        assert told >= stands
        assert told == stands or number in passes.unsure

    found()


def test_forms_tell_no_letter_from_another_and_no_digit() -> None:
    """But for what encoded text is told by: so the automaton that looks for them stays small."""
    assert spelled("hex") == "[A-Za-z0-9]{24}"
    assert spelled("card") == "[0-9](?:[ -]?[0-9]){11}"
    assert not [
        name
        for name in FORMED
        if name != "base64" and re.search("[A-Za-z0-9]", re.sub(r"A-Za-z|0-9|\{[0-9,]+\}", "", spelled(name)))
    ]
