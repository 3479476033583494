"""Any kind, anywhere: something of every row of the table, planted in a random structure, is in no reading of what is shown.

What is left is the same JSON with everything else as it was; a second look changes nothing; with google-re2 and without it the answer is the same.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planting_kit import hidden, holds, same
from plants_kit import KINDS, OF_REGIONS, Plant

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.core.redaction import Redaction
from guard.core.values import encode
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]
REGIONS = Redaction(regions=("US", "GB", "DE", "CN", "FR"))
WITH_REGIONS = [redactor(REGIONS), redactor(REGIONS, fast=False)]


def looked_at(both: list[Redactor], plant: Plant, value: Any) -> None:
    """The plant is in no reading of what is shown, all else stays, a second look changes nothing, and both engines say the same."""
    kinds: set[str] = set()
    shown = hide(value, both[0], kinds)
    assert kinds
    assert not holds(encode(shown), plant.what)
    assert same(value, shown, plant.what)
    for one in both:
        told: set[str] = set()
        assert hide(value, one, told) == shown
        assert told == kinds
        assert hide(shown, one, set()) == shown


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_what_is_planted_is_nowhere_and_all_else_stays(kind: str, data: st.DataObject) -> None:
    """In leaves, names, JSON and encoded runs inside texts, at any depth."""
    plant = data.draw(KINDS[kind])
    looked_at(BOTH, plant, data.draw(hidden(plant)))


@settings(max_examples=50)
@given(data=st.data())
def test_so_it_is_where_a_policy_names_regions(data: st.DataObject) -> None:
    """And a number as it is dialled inside its country is hidden as well."""
    plant = data.draw(st.one_of(OF_REGIONS, OF_REGIONS, *KINDS.values()))
    looked_at(WITH_REGIONS, plant, data.draw(hidden(plant)))
