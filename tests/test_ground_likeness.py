"""Grounds compare keyed digests of values: what they decide is what a plain comparison of the values would, and each store has digests of its own."""

from __future__ import annotations

import copy
import itertools
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard import Guard, PolicyWarning, Session, ToolCall
from guard.core.likeness import Likeness
from guard.core.values import canonical, encode, equal, keyed

TAG = partial(keyed, b"a store's secret of thirty-two b")
NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = (
    st.none()
    | st.booleans()
    | NUMBERS
    | st.text(max_size=4)
    | st.sampled_from(["1", "1.0", "true", "null", "", "\ud83d\ude00", "😀"])
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3), max_leaves=6
)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-999, 999)
    | st.decimals(-99, 99, places=2)
    | st.sampled_from(["", "1", "a", "A", "é"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


def respelled(value: Any) -> Any:
    """The same value with other spellings of its numbers, and the fields of objects in another order."""
    if isinstance(value, dict):
        return {name: respelled(item) for name, item in reversed(value.items())}
    if isinstance(value, list):
        return [respelled(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(f"{value}.00")
    return copy.copy(value)


@given(JSON, JSON)
def test_digests_are_equal_exactly_where_values_are(left: Any, right: Any) -> None:
    """Numbers by value, never a bool with a number or a text with what it says, lists in order, objects by field."""
    alike = Likeness(TAG)
    assert alike(left, right) == equal(left, right)
    assert alike(left, respelled(left)) == equal(left, respelled(left))
    assert alike([left], left) == equal([left], left)


NEAR: list[tuple[Any, Any, bool]] = [
    (1, Decimal("1.0"), True),
    (1, 1.0, True),
    (Decimal("-0.0"), 0, True),
    (100, Decimal("1E+2"), True),
    (Decimal("0.1"), 0.1, True),
    (1, True, False),
    (0, False, False),
    (1, "1", False),
    (None, "null", False),
    ("a", "A", False),
    ("é", "e\u0301", False),
    ([1, 2], [2, 1], False),
    ({"a": 1, "b": [Decimal("2.0")]}, {"b": [2], "a": Decimal("1.00")}, True),
    ({"a": None}, {}, False),
    ('{"a":1}', {"a": 1}, False),
    (10**400, Decimal("1E+400"), True),
]


@pytest.mark.parametrize(("left", "right", "same"), NEAR, ids=[f"{left!r:.20} {right!r:.20}" for left, right, _ in NEAR])
def test_what_is_nearly_the_same(left: Any, right: Any, *, same: bool) -> None:
    """As it was always judged."""
    assert Likeness(TAG)(left, right) is same
    assert equal(left, right) is same


def test_digests_are_of_the_store() -> None:
    """Who does not hold its secret can work none out from a value that he guesses."""
    one, other = Likeness(TAG), Likeness(partial(keyed, b"another secret of thirty-two byt"))
    assert one.of("ACC-1") != other.of("ACC-1")
    assert canonical("ACC-1") not in one.of("ACC-1")


POLICY = """
tools:
  src: {kind: read, allow: [u]}
  look: {kind: read, allow: [u], ground: {x: {returned_by: src.v}}}
  near: {kind: read, allow: [u], ground: {x: {returned_by: src.v, same: [k]}}}
limits: {run: {steps: 9}}
"""


def test_a_ground_decides_as_a_plain_comparison_would(tmp_path: Path) -> None:
    """Whatever JSON a tool returned and whatever the model sends: the argument, and the record that it is of."""
    (tmp_path / "tools.yaml").write_text(POLICY, "utf-8")
    shown: list[Any] = []

    def src() -> Any:
        """A record."""
        return shown[-1]

    def look(x: Any) -> str:
        """What was asked for."""
        return "looked"

    def near(x: Any, k: Any) -> str:
        """What was asked for of one record."""
        return "looked"

    session, turns = Session(principal="p", roles=("u",)), itertools.count()
    with pytest.warns(PolicyWarning, match="has no type"):
        guard = Guard.load(tmp_path, tools=[src, look, near], store="memory://")
    with guard:

        @settings(max_examples=20, deadline=None)
        @given(PLAIN, PLAIN, PLAIN)
        def decides(value: Any, other: Any, key: Any) -> None:
            name = f"c{next(turns)}"
            shown.append({"v": value, "k": key})
            assert guard.call(ToolCall("1", "src", {}), session, conversation=name).status == "done"
            for number, (x, k) in enumerate([(other, key), (respelled(value), respelled(key)), (value, other)]):
                one = guard.call(ToolCall(f"l{number}", "look", encode({"x": x})), session, conversation=name)
                assert one.reason == (None if equal(x, value) else "not_grounded")
                two = guard.call(ToolCall(f"n{number}", "near", encode({"x": x, "k": k})), session, conversation=name)
                assert two.reason == (None if equal(x, value) and equal(k, key) else "not_grounded")

        decides()
