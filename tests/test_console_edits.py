"""The form for an edit: what a browser sends back is what was there, unless somebody changed it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_briefing import ASKED

from guard.core.values import read_json
from guard.web.bodies import RequestError
from guard.web.edits import PREFIX, changes, fields_of


def asked(arguments: Any, *editable: str, secret: tuple[str, ...] = ()) -> Any:
    return replace(ASKED, arguments=arguments, editable=editable, secret=secret)


def sent(approval: Any, **typed: str) -> dict[str, list[str]]:
    """The form as a browser sends it: line ends are CR LF, and what was not typed over stays."""
    return {
        PREFIX + field.pointer: [typed.get(field.name, field.value).replace("\r\n", "\n").replace("\n", "\r\n")]
        for field in fields_of(approval)
    }


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.decimals(allow_nan=False, allow_infinity=False, places=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_what_nobody_typed_over_is_no_change(value: Any) -> None:
    """Whatever the value holds: line ends, hidden characters, half a character, digits."""
    approval = asked({"x": value}, "/x")
    assert changes(approval, sent(approval)) == {}


@pytest.mark.parametrize(
    ("value", "typed", "change"),
    [
        ('"Ann"', "Bob", "Bob"),
        ('"a\\nb"', "a\nc", "a\nc"),
        ('"Ann"', "", ""),
        ('"a\\u202eb"', '"ab"', "ab"),
        ('"a\\rb"', '"a\\rc"', "a\rc"),
        ("5", "6", 6),
        ("5", "5.00", "5.00"),
        ("true", "false", False),
        ('{"a": 1}', '{"a": 2}', {"a": 2}),
        ("null", "1", 1),
    ],
    ids=str,
)
def test_what_was_typed(value: str, typed: str, change: Any) -> None:
    """A text as it is, everything else as JSON with its digits."""
    approval = asked({"x": read_json(value)}, "/x")
    found = changes(approval, sent(approval, x=typed))
    assert str(found["/x"]) == str(change)
    assert type(found["/x"]).__name__ in (type(change).__name__, "Decimal")


@pytest.mark.parametrize(("value", "typed"), [("5", "five"), ("5", "5 6"), ("true", "yes"), ('{"a": 1}', '{"a": 1, "a": 2}')])
def test_what_is_no_json(value: str, typed: str) -> None:
    """Said with the field's name."""
    approval = asked({"x": read_json(value)}, "/x")
    with pytest.raises(RequestError, match="x is no JSON"):
        changes(approval, sent(approval, x=typed))


def test_only_what_may_be_edited_has_a_field() -> None:
    """What stands in the form besides is not looked at; what is secret, or holds a secret, has none."""
    approval = asked({"a": 1, "b": 2, "c": {"d": "FAKE", "e": 1}}, "/b", "/c", "/c/e", "/c/d", secret=("/c/d",))
    assert [field.pointer for field in fields_of(approval)] == ["/b", "/c/e"]
    assert changes(approval, {"value:/a": ["9"], "value:/b": ["2"], "tool": ["other"]}) == {}


def test_a_place_that_holds_nothing_yet() -> None:
    """An argument that was not given may be given; left empty it stays out."""
    approval = asked({}, "/memo")
    assert changes(approval, sent(approval)) == {}
    assert changes(approval, sent(approval, memo='"hello"')) == {"/memo": "hello"}


@pytest.mark.parametrize("value", ["a\u202eb", "tab\t", "\ud800", "zero\u200b"], ids=ascii)
def test_hidden_characters_can_be_seen_in_the_form(value: str) -> None:
    """They stand there as escapes."""
    [field] = fields_of(asked({"x": value}, "/x"))
    assert field.value.isascii()
    assert read_json(field.value) == value
