"""The first look at all texts of a value: with google-re2 and without it, it finds exactly the texts in which the detectors find something."""

from __future__ import annotations

from typing import Any

import pytest
from corpora import CASES, needed, read
from hypothesis import example, given
from hypothesis import strategies as st
from redactors_kit import LABELS, TEXTS

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.core.values import encode
from guard.redactors import REDACTOR, detect, redactor
from guard.redactors.engine import re2

BOTH = [redactor(), redactor(fast=False)]
SIEVES = [one.sift for one in BOTH]
EVERY = Redactor(detect=detect)
"""Passes each text to the detectors: what the looks must agree with."""

VALUES = st.recursive(
    TEXTS
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([4111111111111111, 13812345678, None, True]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LABELS.filter(bool) | TEXTS, inner, max_size=4),
    max_leaves=6,
)


def test_the_tests_know_both_engines() -> None:
    """Where google-re2 is missing, half of this file would say nothing."""
    assert re2() is not None


@given(st.lists(TEXTS, max_size=6))
@example(["ssn\x00078051120", "a"])
@example(["a@example.com\x00"])
@example(["x" * 30, "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"])
@example(["\ud800", "see\ntel: 12345678"])
@example(["手机\uff1a13812345678"])
@example(["a\u200b@\u200bexample.com", "+1 415 555 0182"])
def test_a_look_finds_what_the_detectors_find(texts: list[str]) -> None:
    """Neither engine loses a text, and neither calls one loud in which nothing is."""
    wanted = {text for text in texts if detect(None, text)[1]}
    for sieve in SIEVES:
        assert set(sieve(texts)) == wanted


@given(VALUES)
@example({"pass_word": "hunter22"})
@example({"Authorization": "Basic abcdefghijklmnop1234"})
@example({"homeTEL": "12345678"})
@example({"pa\u200bssword": "hunter22"})
@example({"api": {"key": "abcdef"}})
@example({"social": [{"security": "078051120"}]})
@example({"national": {"insurance": {"n": "AB123456C"}}})
@example({"[email]": 1, "a@example.com": 2})
@example({"a@example.com": 2, "[email]": 1})
@example({"card": 4111111111111111.0})
@example({"password": 12})
def test_both_engines_hide_what_looking_everywhere_hides(value: Any) -> None:
    """The whole value comes out the same, and the same kinds are told, whichever way it was looked at first."""
    kinds: set[str] = set()
    wanted = hide(value, EVERY, kinds)
    for one in BOTH:
        told: set[str] = set()
        shown = hide(value, one, told)
        assert encode(shown) == encode(wanted)
        assert told == kinds
        assert (shown is value) == (wanted is value)


@given(VALUES)
def test_no_key_is_lost(value: Any) -> None:
    """Two names that are hidden alike stay two."""

    def count(item: Any) -> int:
        below = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        return (len(item) if isinstance(item, dict) else 0) + sum(map(count, below))

    assert count(hide(value, REDACTOR, set())) == count(value)


@needed("redaction")
@pytest.mark.parametrize("name", ["spans_pii.jsonl", "spans_secrets.jsonl"])
def test_both_engines_agree_on_the_labelled_texts(name: str) -> None:
    """Alone, and all together as the texts of one value."""
    texts = [row.get("text") or "".join(row["text_parts"]) for row in read(f"redaction/{name}")]
    wanted = {text for text in texts if detect(None, text)[1]}
    for sieve in SIEVES:
        assert set(sieve(texts)) == wanted
        assert {text for text in texts if sieve([text])} == wanted


@needed("redaction")
def test_both_engines_agree_on_records() -> None:
    """Records of tools come out the same, and clean ones as the object that they were."""
    assert CASES.is_dir()
    for row in read("redaction/docs_json.jsonl"):
        wanted = hide(row["doc"], EVERY, set())
        for one in BOTH:
            shown = hide(row["doc"], one, set())
            assert shown == wanted
            assert (shown is row["doc"]) == (wanted is row["doc"])


@pytest.mark.parametrize("name", ["x", "password"])
def test_more_text_than_can_be_looked_at_is_not_shown(name: str) -> None:
    """A value with too much text in it raises, so that its result is withheld, and nothing of it is passed on unseen."""
    value = {name: ["a@b.example " * 400_000] * 8}
    with pytest.raises(ValueError, match="more than can be looked at"):
        hide(value, REDACTOR, set())
