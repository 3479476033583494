"""Patterns: all that redact are of the dialect that RE2 reads too, and a pattern that is not is refused with what to write instead."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from guard import redactors
from guard.core.dialect import fault, least, runaway
from guard.redactors.gates import GATES
from guard.redactors.national import IDS, SSN

PATTERNS = {
    f"{module.name}.{name}": value.pattern
    for module in pkgutil.iter_modules(redactors.__path__)
    for name, value in vars(importlib.import_module(f"guard.redactors.{module.name}")).items()
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str)
}
PATTERNS |= {f"national.{row.name}.{number}": row.pattern for number, row in enumerate((*SSN, *IDS))}
PATTERNS |= {f"gates.{name}": pattern for name, pattern in GATES}


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_of_ours_is_of_the_dialect(name: str) -> None:
    """None looks around, refers back or holds anything else that only one engine knows, and RE2 compiles it."""
    assert fault(PATTERNS[name]) is None
    re2.compile(PATTERNS[name])


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        pytest.param("(?=a)b", "ahead", id="look-ahead"),
        pytest.param("(?!a)b", "ahead", id="negative look-ahead"),
        pytest.param("(?<=a)b", "behind", id="look-behind"),
        pytest.param("(?<!a)b", "behind", id="negative look-behind"),
        pytest.param(r"(a)\1", "back", id="back-reference"),
        pytest.param("(?P<x>a)(?P=x)", "back", id="named back-reference"),
        pytest.param("(a)?(?(1)b|c)", "group", id="condition"),
        pytest.param("(?>a+)b", "atomic", id="atomic group"),
        pytest.param("a++b", "possessive", id="possessive repeat"),
        pytest.param("a{1,1001}", "1000", id="large count"),
        pytest.param("(?:a{100}){11}", "1000", id="large count of counts"),
        pytest.param("a{,5}", "{,", id="count without a start"),
        pytest.param("ab$", "$", id="end of line"),
        pytest.param(r"ab\Z", "Z", id="end of text"),
        pytest.param(r"a\sb", "s", id="blank"),
        pytest.param("(?x)a b", "flag", id="verbose"),
        pytest.param("(?a:b)", "flag", id="ASCII flag"),
        pytest.param("a(?#note)b", "comment", id="comment"),
        pytest.param("[[:alpha:]]", "[[:", id="class of POSIX"),
        pytest.param("(", "expression", id="open group"),
        pytest.param(r"\pL", "expression", id="class of Unicode"),
        pytest.param(r"\u0041", "u", id="code point"),
    ],
)
def test_what_both_engines_do_not_read_alike_is_refused(pattern: str, word: str) -> None:
    """The message names what is wrong, and there is a cure."""
    found = fault(pattern)
    assert found is not None
    assert word in found[0]
    assert found[1]


@pytest.mark.parametrize(
    ("pattern", "safe"),
    [
        pytest.param("E[0-9]{6}", True, id="letters and digits"),
        pytest.param("(?i:emp)[ -]?[0-9]{4,8}", True, id="optional sign"),
        pytest.param("K-[0-9]{3}|L-[0-9]{4}", True, id="alternatives"),
        pytest.param("[a-z]{1,5}[0-9]{2}", True, id="neighbours apart"),
        pytest.param("[a-z]{1,5}[a-f]", False, id="neighbours that overlap"),
        pytest.param("a{0,5}b{0,5}a{0,5}", False, id="neighbours over something that may be missing"),
        pytest.param("(a|aa)*b", False, id="repeated alternatives"),
        pytest.param("(?:ab){1,3}c", False, id="repeated group"),
        pytest.param("[0-9]+", False, id="no bound"),
        pytest.param("[0-9]{900}[a-z]{200}", False, id="too wide"),
        pytest.param("(?i:K){1,3}k", False, id="the same letter in the other case"),
        pytest.param(r"\w{1,9}é", False, id="letters beyond ASCII"),
    ],
)
def test_what_may_run_away_without_re2(pattern: str, safe: bool) -> None:
    """Only plain sequences are admitted where the standard library has to run them."""
    assert fault(pattern) is None
    assert (runaway(pattern) is None) is safe


def test_the_least_that_a_pattern_matches() -> None:
    """A pattern that matches nothing at all would be found everywhere."""
    assert (least("a*"), least("ab?"), least("a|bcd")) == (0, 1, 1)


PIECES = st.recursive(
    st.sampled_from(["a", "b", "[0-9]", "[^a]", ".", r"\d", r"\b", r"\.", "é", "(?i:k)", r"\\", "[]a]", "[a-]"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda one: f"({one})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,3}", "{2,}", "*?", "{40}", "++", "{,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map(lambda one: f"(?={one})"),
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(PIECES | st.text("ab[](){}|*+?\\.^$-0,:=!<>Psdw", max_size=8))
def test_re2_reads_what_the_check_lets_pass(pattern: str) -> None:
    """Whatever has no fault compiles in both engines."""
    if fault(pattern) is None:
        re.compile(pattern)
        options = re2.Options()
        options.log_errors = False
        re2.compile(pattern, options)


@settings(max_examples=300)
@given(PIECES, st.text("ab019 k.-\\", max_size=12))
def test_both_engines_find_the_same(pattern: str, text: str) -> None:
    """The first match of a pattern of the dialect is the same span in both."""
    if fault(pattern) is not None:
        return
    options = re2.Options()
    options.log_errors = False
    one, other = re.compile(pattern, re.ASCII).search(text), re2.compile(pattern, options).search(text)
    assert (one and one.span()) == (other and other.span())
