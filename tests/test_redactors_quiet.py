"""The quick look at a whole JSON text: where it says that there is nothing, the walk over the leaves finds nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from redactors_kit import LABELS, TEXTS

from guard.core.hiding import hide
from guard.core.values import encode
from guard.redactors import REDACTOR, detect, quiet

VALUES = st.recursive(
    TEXTS | st.integers() | st.sampled_from([4111111111111111, 13812345678, None, True]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LABELS.filter(bool) | TEXTS, inner, max_size=4),
    max_leaves=6,
)


@given(VALUES)
@example({"pass_word": "hunter22"})
@example({"Authorization": "Basic abcdefghijklmnop1234"})
@example({"x": "Authorization: Basic abcdefghijklmnop1234"})
@example({"homeTEL": "12345678"})
@example({"x": "see\ntel: 12345678"})
@example({"pa\u200bssword": "hunter22"})
def test_a_quiet_text_hides_nothing(value: Any) -> None:
    """Where the look at the whole JSON text says that there is nothing, the walk over the leaves finds nothing."""
    if quiet(encode(value)):
        assert hide(value, REDACTOR, set()) is value


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        pytest.param(
            {"expense_id": "E-1", "amount": "3860.00", "submit_date": "2024-05-01", "status": "approved"}, True, id="a record"
        ),
        pytest.param(
            {"id": "110bcd25-a55d-453a-8046-1297901ea002", "at": "2024-05-01T03:45:00+08:00"},
            False,
            id="a uuid of a phone's shape",
        ),
        pytest.param({"名称": "差旅费\uff0c第1次\uff1a交通", "amount": 3860}, True, id="Chinese with full-width signs"),
        pytest.param({"contact": "a\uff20example.com"}, False, id="a mail in full-width signs"),
        pytest.param({"password": "hunter22"}, False, id="a secret key"),
        pytest.param({"tel": "12345678"}, False, id="a telling key"),
        pytest.param([4111111111111111], False, id="a card as a number"),
    ],
)
def test_quiet(value: Any, answer: bool) -> None:
    """Ordinary records are told apart from those that need the walk."""
    assert quiet(encode(value)) is answer


@given(TEXTS)
def test_a_quiet_text_has_no_name_to_hide(name: str) -> None:
    """Where the look at the whole JSON text says that there is nothing, no name of a field is hidden either, however plain it looks."""
    if quiet(encode({name: 1})):
        assert detect(None, name) == (name, ())


@given(
    LABELS.filter(bool),
    st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_quiet_text_has_no_number_to_hide(name: str, number: Any) -> None:
    """Nor is a number under any name, passed to the detectors as its text."""
    if quiet(encode({name: number})):
        assert detect(name, str(number))[1] == ()
