"""Twice: what was hidden once is shown again as it is, also where the name of a field or of a column was hidden, in whole or in part."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from redactors_kit import AKIA, GHP

from guard.core.hiding import hide
from guard.core.redaction import OwnDetector, Redaction
from guard.redactors import redactor

OWN = Redaction(own=(OwnDetector(name="staff", pattern="EMP-[0-9]{4}", mask="[staff phone]"),))
BOTH = [redactor(), redactor(fast=False), redactor(OWN), redactor(OWN, fast=False)]
IDS = ["with google-re2", "without", "own, with", "own, without"]
HIDDEN = [
    GHP,
    AKIA,
    f"Bearer {GHP}",
    "jane@example.com",
    "+14155550182",
    "078-05-1120",
    "EMP-1234",
]
ROLES = ["name", "value", "rows", "columns", "header", "key", "title", "text", "type"]
UNDER: list[Any] = [
    "hello12 world",
    "0123456789",
    {"b": "hello world x"},
    {"b": "+14155550182password"},
    "10.0.0.1 token",
    "--password",
]
SHAPES = ["{}", "x {}", "{} P", "{}: {}", "[{}]", "last {} of", "x]{}", "a[b]{}", "[ tokenBearer {}id"]


def forms(name: str, value: Any) -> dict[str, Any]:
    """A name and what it is given, in all the ways in which values say it."""
    return {
        "field": {name: value},
        "deep": {"a": {name: [{"x": value}]}},
        "beside": {"name": name, "value": value},
        "vague": {"title": name, "text": value},
        "columns": {"columns": ["id", name], "rows": [[7, value]]},
        "rows": [["id", name, "note"], [7, value, "x"]],
        "told rows": [["password", name], ["hunter22x", value]],
        "pairs": [[name, value], ["b", 1]],
        "flags": ["run", f"--{name}", value],
        "text": {"t": json.dumps({name: value})},
        "in a line": {"t": f"see {json.dumps({name: value})} now"},
        "lines": {"t": f"{json.dumps({'a': 1})}\n{json.dumps({name: value})}\n"},
    }


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_name_that_was_hidden_tells_of_nothing(hidden: str, one: Any) -> None:
    """What stands under it, beside it or in its column is hidden at the first look or never."""
    for name, value in product((shape.replace("{}", hidden) for shape in SHAPES), UNDER):
        for form, given_ in forms(name, value).items():
            shown = hide(given_, one, set())
            assert hide(shown, one, set()) == shown, form


@pytest.mark.parametrize("one", BOTH, ids=IDS)
def test_a_name_that_only_looks_like_a_mask_tells(one: Any) -> None:
    """As forms send it: a word in brackets behind another one."""
    value = {"user[phone]": "4155550182", "user[secret]": "hunter22x", "a[b][phone]": "4155550182"}
    assert list(hide(value, one, set()).values()) == ["[phone]", "[secret]", "[phone]"]
    assert hide({f"{GHP} phone": "4155550182"}, one, set()) == {"[secret] phone": "[phone]"}


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("amount", ["10.0.0.1", "10.0.0.1/24", "4111 1111 1111 1111"])
@pytest.mark.parametrize("unit", ["", " EUR", " token"])
def test_what_was_hidden_of_an_amount_still_is_a_part_of_one(amount: str, unit: str, one: Any) -> None:
    """Beside a name that says password an amount is none, and neither is what is left of it."""
    for form, value in forms("password", f"{amount}{unit}").items():
        shown = hide(value, one, set())
        assert amount not in json.dumps(shown), form
        assert hide(shown, one, set()) == shown, form


NAMES = st.lists(
    st.sampled_from(
        [*HIDDEN, "phone", "password", "order", " ", " ", "_", "[", ": ", "id", "号", "token", "[phone]", "[secret]"]
    ),
    min_size=1,
    max_size=5,
).map("".join)
VALUES = st.recursive(
    st.sampled_from(UNDER) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.sampled_from(ROLES), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
@example({f"Bearer {GHP} P": "hello world x"})
def test_any_value_is_the_same_the_second_time(value: Any) -> None:
    """With names put together from what is hidden and from words that tell. A bracket that closes has a meaning of its own, as in `a[b][phone]`."""
    for one in BOTH:
        shown = hide(value, one, set())
        assert hide(shown, one, set()) == shown


@pytest.mark.parametrize("one", BOTH, ids=IDS)
def test_what_comes_to_light_when_something_else_is_hidden_is_hidden_too(one: Any) -> None:
    """Each of these stands at the edge of the next; a text in which that goes on without end is withheld."""
    shown, _ = one.detect(None, f"{GHP}+14155550182" * 9 + GHP)
    assert shown == "[secret][phone]" * 9 + "[secret]"
    with pytest.raises(TimeoutError):
        one.detect(None, f"{GHP}+14155550182" * 90 + GHP)
