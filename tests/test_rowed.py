"""What records say of rows: texts and digests of many columns at once are those of each by itself, by the plain definition."""

from __future__ import annotations

import hashlib
import hmac
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.core.rowed import MISSING, mark, marks, text_of
from guard.core.values import encode, keyed, keyed_each

texts = st.text(max_size=80)
scalars = st.none() | st.booleans() | st.integers() | texts
secrets = st.binary(max_size=100)


class Word(str):
    """A text of another class, as some drivers give."""

    __slots__ = ()


@given(scalars | st.lists(scalars, max_size=3) | st.dictionaries(texts, scalars, max_size=3))
def test_a_column_is_written_as_json(value: Any) -> None:
    """Whatever the way to it, the text is the JSON that is written everywhere else."""
    assert text_of(value) == encode(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (Decimal("1.50"), "1.5"),
        (Word('a"'), '"a\\""'),
        (True, "true"),
        (1, "1"),
        ("\ud800", '"\ud800"'),
        (b"x", MISSING),
        ((), MISSING),
    ],
    ids=repr,
)
def test_values_of_databases(value: Any, text: str) -> None:
    """A number of any database is one text, a flag is no number, and what is no value of a column is none."""
    assert text_of(value) == text


@given(secrets, texts, st.lists(texts, max_size=5))
def test_digests_that_begin_alike(secret: bytes, beginning: str, rests: list[str]) -> None:
    """Each is the HMAC of its whole text, whatever was made before."""
    wanted = [hmac.new(secret, (beginning + rest).encode(), hashlib.sha256).hexdigest() for rest in rests]
    assert keyed_each(secret, beginning, rests) == wanted
    assert [keyed(secret, beginning + rest) for rest in rests] == wanted


@given(secrets, texts, texts, st.dictionaries(texts, texts, max_size=5))
def test_columns_of_one_row(secret: bytes, table: str, name: str, columns: dict[str, str]) -> None:
    """The digests of a row are those that whoever verifies makes of each column."""
    assert marks(secret, table, name, columns) == {
        column: mark(secret, table, name, column, text) for column, text in columns.items()
    }
