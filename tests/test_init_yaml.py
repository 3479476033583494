"""The YAML that `guard init` writes is read back by the loader as exactly the value that was meant."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.core.values import equal
from guard.policy.problems import Problems
from guard.policy.source import File, read_yaml
from guard.review.init.yaml_text import block, flow

WORDS = [
    "yes",
    "no",
    "on",
    "~",
    "null",
    "True",
    "1",
    "1e5",
    "0x1F",
    "1_000",
    ".inf",
    "-",
    "- a",
    "? a",
    ": a",
    "a: b",
    "a #b",
    "#",
    "&a",
    "*a",
    "!t",
]
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            *WORDS,
            "%",
            "@a",
            "`",
            "'",
            '"',
            "\\",
            "{a}",
            "[a]",
            "a,b",
            " a",
            "a ",
            "\t",
            "\n",
            "\x00",
            "\x7f",
            "\x85",
            "\u2028",
            "\ufeff",
            "😀",
            "2020-01-01",
            "<<",
            "=",
            "...",
        ]
    ),
)
NUMBERS = st.one_of(
    st.integers(), st.decimals(allow_nan=False, allow_infinity=False).filter(lambda number: abs(number.adjusted()) < 300)
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(TEXTS, below, max_size=4)),
    max_leaves=12,
)


def back(text: str) -> Any:
    problems = Problems()
    item = read_yaml(File("x.yaml", text.encode("utf-8")), problems)
    assert problems.errors == [], (text, problems.errors)
    assert item is not None
    return item.value


@settings(max_examples=300, deadline=None)
@given(value=VALUES, key=TEXTS)
def test_every_value_is_read_back(value: Any, key: str) -> None:
    """Line by line and on one line; keys, texts and the digits of numbers."""
    assert equal(back("\n".join(block(key, value, 0)) + "\n"), {key: value})
    assert equal(back(f"x: {flow(value)}\n"), {"x": value})


@pytest.mark.parametrize("digits", ["0.10", "1E+5", "-0.0", "1e-30", "12345678901234567890.5"])
def test_numbers_keep_their_digits(digits: str) -> None:
    """No float comes in between."""
    assert back(f"x: {flow(Decimal(digits))}")["x"] == Decimal(digits)
