"""Judging arguments: what the signature means is accepted, and what would be bent or rounded is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, Field
from tools_kit import Colour, Line, Place, hard, look, one


def asks(annotation: Any, value: Any) -> tuple[tuple[str, str], ...]:
    def f(x):
        return x

    f.__annotations__ = {"x": annotation}
    accepts = one(f).accepts
    assert accepts is not None
    return tuple((issue.path, issue.rule) for issue in accepts({"x": value}))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        pytest.param(str, "a", id="text"),
        pytest.param(int, 5, id="int"),
        pytest.param(int, Decimal("5.0"), id="an integral decimal is an integer"),
        pytest.param(float, Decimal("0.1"), id="a decimal that a float says back"),
        pytest.param(float, 3, id="an integer is a number"),
        pytest.param(Decimal, Decimal("3860.00"), id="decimal"),
        pytest.param(Decimal, 2**70, id="a large integer as decimal"),
        pytest.param(float | None, None, id="null"),
        pytest.param(list[float], [1, Decimal("2.5")], id="numbers in a list"),
        pytest.param(dict[str, Decimal], {"a": Decimal("1.10")}, id="numbers in an object"),
        pytest.param(set[float], [Decimal("0.1"), 2], id="numbers in a set"),
        pytest.param(Line, {"sku": "a", "price": Decimal("1.10"), "weight": Decimal("0.5")}, id="a model"),
        pytest.param(Place, {"city": "a", "tier": 2}, id="a dataclass"),
        pytest.param(Colour, "red", id="an enum"),
        pytest.param(datetime, "2024-05-01T03:45:00Z", id="a datetime"),
        pytest.param(Literal["a"], "a", id="a literal"),
        pytest.param(Any, {"a": [Decimal("1.1")]}, id="anything"),
        pytest.param(str | list[str], ["a"], id="a union"),
    ],
)
def test_accepted(annotation: Any, value: Any) -> None:
    """Values that the signature means are accepted."""
    assert asks(annotation, value) == ()


@pytest.mark.parametrize(
    ("annotation", "value", "issue"),
    [
        pytest.param(str, 5, ("x", "type"), id="a number is no text"),
        pytest.param(str, None, ("x", "type"), id="null is no text"),
        pytest.param(int, True, ("x", "type"), id="true is no integer"),
        pytest.param(int, "5", ("x", "type"), id="text is no integer"),
        pytest.param(int, Decimal("5.5"), ("x", "type"), id="a fraction is no integer"),
        pytest.param(bool, 1, ("x", "type"), id="one is not true"),
        pytest.param(float, Decimal("0.1000000000000000055"), ("x", "precision"), id="more digits than a float has"),
        pytest.param(float, 2**53 + 1, ("x", "precision"), id="an integer that a float rounds"),
        pytest.param(float, Decimal("1e400"), ("x", "precision"), id="beyond the largest float"),
        pytest.param(float, 10**400, ("x", "precision"), id="an integer beyond the largest float"),
        pytest.param(list[float], [1, Decimal("0.1000000000000000055")], ("x.1", "precision"), id="rounded inside a list"),
        pytest.param(set[float], [Decimal("0.1000000000000000055")], ("x.0", "precision"), id="rounded inside a set"),
        pytest.param(list[int], [True], ("x.0", "type"), id="true inside a list of integers"),
        pytest.param(list[int], ["1"], ("x.0", "type"), id="text inside a list of integers"),
        pytest.param(list[bool], [1], ("x.0", "type"), id="one inside a list of bools"),
        pytest.param(datetime, 1_700_000_000, ("x", "type"), id="a number is no datetime"),
        pytest.param(Line, {"sku": "a", "price": "1"}, ("x.price", "type"), id="text is no price"),
        pytest.param(Line, {"sku": "a", "price": 1, "weight": 2**53 + 1}, ("x.weight", "precision"), id="rounded inside a model"),
        pytest.param(Line, {"sku": "a"}, ("x.price", "required"), id="a field is missing"),
        pytest.param(Place, {"city": "a", "tier": "2"}, ("x.tier", "type"), id="text is no tier"),
        pytest.param(Colour, "green", ("x", "enum"), id="no such colour"),
        pytest.param(Annotated[int, Field(ge=1)], 0, ("x", "greater_than_equal"), id="below the bound"),
        pytest.param(
            Annotated[float, AfterValidator(round)], Decimal("1.5"), ("x", "precision"), id="a validator that moves the number"
        ),
    ],
)
def test_refused(annotation: Any, value: Any, issue: tuple[str, str]) -> None:
    """Values that pydantic would bend, round or reject are issues with path and rule."""
    assert issue in asks(annotation, value)


def test_missing_and_unknown() -> None:
    """A missing parameter and an unknown argument are issues of their own."""
    rules = {(issue.path, issue.rule) for issue in one(look).accepts({"page": 1, "ctx": {}})}

    assert rules == {("order_id", "required"), ("ctx", "additionalProperties")}


def picky(value: str) -> str:
    raise ValueError(f"do not send {value}")


def broken(value: str) -> str:
    raise RuntimeError(value)


@pytest.mark.parametrize("check", [pytest.param(picky, id="refuses"), pytest.param(broken, id="breaks")])
def test_a_validator_of_the_hosts_refuses_without_its_text(check: Callable[[str], str]) -> None:
    """Whatever a validator raises refuses, and its text, which may hold the value, stays inside."""

    def f(x):
        return x

    f.__annotations__ = {"x": Annotated[str, AfterValidator(check)]}
    (issue,) = one(f).accepts({"x": "my-secret-value"})

    assert issue.rule == "signature"
    assert "my-secret-value" not in repr(issue)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def plain(s, i, f, d, o, a):
    return s, i, f, d, o, a


plain.__annotations__ = {"s": str, "i": int, "f": float, "d": Decimal, "o": float | None}


@pytest.mark.parametrize("function", [pytest.param(hard, id="through pydantic"), pytest.param(plain, id="plain")])
@given(st.data())
def test_judges_are_total_and_runs_follow(function: Callable[..., Any], data: st.DataObject) -> None:
    """For any JSON the judge answers without raising; what it accepts can be run, and no plain number has moved."""
    found = one(function)
    names = sorted(found.parameters or ())
    near = {"s": st.text(), "i": st.integers(), "f": st.decimals(-9, 9, places=3), "d": st.decimals(-9, 9), "o": st.none()}
    arguments = data.draw(st.fixed_dictionaries({name: near.get(name, JSON) | JSON for name in names}))

    issues = found.accepts(arguments)

    assert all(isinstance(issue.message, str) for issue in issues)
    if not issues:
        given_back = dict(zip(function.__code__.co_varnames, found.run(arguments, "k"), strict=False))
        for name in ("i", "d"):
            assert given_back[name] == arguments[name]
        assert Decimal(repr(given_back["f"])) == arguments["f"]


@given(st.decimals(allow_nan=False, allow_infinity=False) | st.integers())
def test_a_float_parameter_never_rounds(number: Decimal | int) -> None:
    """A number is accepted for a float exactly when the float says it back."""
    try:
        exact = Decimal(repr(float(number))) == number
    except OverflowError:
        exact = False

    assert exact == (asks(float, number) == ())
