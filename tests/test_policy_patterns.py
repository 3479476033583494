"""Slow patterns: a long repeat directly inside a long repeat is found, and what only looks like one is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.policy.keywords import anchored
from guard.policy.patterns import is_slow

SLOW = [
    r"(a+)+$",
    r"(a*)*",
    r"(a+)*?",
    r"(\w+\s?)*x",
    r"(\w+\s*)+",
    r"((a+))+",
    r"(a+|b)*",
    r"(?:(?:x|y+)?)*",
    r"(a{1,50})+",
    r"(a+){20}",
    r"(.*)*",
    r"x(y(z+)*)",
    r"(?i:(a+)+)",
]
FINE = [
    r"^R-[0-9]{4}$",
    r"[a-z]+(-[a-z]+)*",
    r"(\.[a-z]+)*",
    r"(\d+,)*\d+",
    r"([0-9]{3})+",
    r"(a{1,3})+",
    r"(a+){1,3}",
    r"(?>a+)*",
    r"(a++)*",
    r"(a+)*+",
    r".*urgent.*",
    r"a+b+c*",
    r"(",
    r"(?P<a>x)(?P=a)*",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_a_repeat_of_a_repeat_is_slow(pattern: str) -> None:
    """In groups, alternatives and beside what may be left out, as written and as it is compiled."""
    assert is_slow(pattern)
    assert is_slow(anchored(pattern))


@pytest.mark.parametrize("pattern", FINE)
def test_other_patterns_are_not(pattern: str) -> None:
    """A part that must stand between two repeats divides the text in one way only; what does not give back cannot divide it anew."""
    assert not is_slow(pattern)


@given(st.text(alphabet="a(|)*+?[]{}1,^$\\wd.", max_size=12))
def test_any_text_has_an_answer(pattern: str) -> None:
    """Whatever stands there, broken patterns as well, nothing is raised."""
    assert is_slow(pattern) in {True, False}
