"""Defaults of parameters: what JSON can say exactly stands in the schema, and what it cannot is named."""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
from tools_kit import Colour, Desk, Line, Place, one

from guard.core.values import encode
from guard.tools import tool

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LONG = Decimal("0.12345678901234567890123")


class Word(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Odd(Enum):
    PAIR = (1, 2)


def with_default(annotation: Any, default: Any) -> Any:
    def f(x=default):
        return x

    f.__annotations__ = {} if annotation is None else {"x": annotation}
    return one(f)


@pytest.mark.parametrize(
    ("annotation", "default", "told"),
    [
        pytest.param(None, None, None, id="null"),
        pytest.param(None, "x", "x", id="text"),
        pytest.param(None, True, True, id="bool"),
        pytest.param(None, 0.1, 0.1, id="float"),
        pytest.param(None, [1, {"a": (Decimal("0.5"), None)}], [1, {"a": [Decimal("0.5"), None]}], id="a list of everything"),
        pytest.param(None, (), [], id="a tuple"),
        pytest.param(int, 7, 7, id="int"),
        pytest.param(float, 100, 100, id="an integer where a float is asked"),
        pytest.param(float, Decimal("0.5"), Decimal("0.5"), id="a decimal where a float is asked"),
        pytest.param(Decimal, LONG, LONG, id="a decimal of many digits"),
        pytest.param(str | None, None, None, id="null where it is allowed"),
        pytest.param(list[Decimal], [LONG, 1], [LONG, 1], id="decimals in a list"),
        pytest.param(Colour, Colour.RED, "red", id="an enum"),
        pytest.param(Word, Word.RED, "red", id="an enum of texts"),
        pytest.param(Level, Level.HIGH, 3, id="an enum of numbers"),
        pytest.param(list[Colour], [Colour.RED], ["red"], id="enums in a list"),
        pytest.param(datetime, NOON, "2026-05-01T12:00:00Z", id="a time"),
        pytest.param(list[datetime], [NOON], ["2026-05-01T12:00:00Z"], id="times in a list"),
        pytest.param(PurePosixPath, PurePosixPath("a/b"), "a/b", id="a path"),
        pytest.param(set[str], {"b", "a", "c"}, ["a", "b", "c"], id="a set, in one order"),
        pytest.param(Line, Line(sku="a", price=LONG), {"sku": "a", "price": LONG, "weight": 1.0}, id="a model"),
        pytest.param(Place, Place(city="a"), {"city": "a", "tier": 1}, id="a dataclass"),
        pytest.param(bytes, b"x", "x", id="bytes that are text"),
    ],
)
def test_a_default_that_json_can_say_stands_in_the_schema(annotation: Any, default: Any, told: Any) -> None:
    """It is written with all its digits, the judge takes it, and the function gets the same as without it."""
    found = with_default(annotation, default)

    assert told == found.schema["properties"]["x"]["default"]
    assert type(told) is type(found.schema["properties"]["x"]["default"])
    assert "required" not in found.schema
    assert found.silent == frozenset()
    assert found.accepts({"x": told}) == ()
    assert default == found.run({}, "k")
    encode(found.schema)


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        pytest.param(float, float("inf"), id="infinity"),
        pytest.param(Decimal, Decimal("NaN"), id="NaN as a decimal"),
        pytest.param(list[float], [float("nan")], id="NaN in a list"),
        pytest.param(int, 10**5_000, id="thousands of digits"),
        pytest.param(Decimal, Decimal("1E+5000"), id="a large exponent"),
        pytest.param(str, "\ud83c", id="half a character"),
        pytest.param(str, None, id="null where the type allows none"),
        pytest.param(Annotated[int, Field(ge=1)], 0, id="beyond its own bounds"),
        pytest.param(Annotated[str, Field(min_length=1)], "", id="shorter than it may be"),
        pytest.param(int, Decimal("0.5"), id="a fraction where an integer is asked"),
        pytest.param(None, Colour.RED, id="an enum that no annotation would make again"),
        pytest.param(None, Word.RED, id="an enum of texts that no annotation would make again"),
        pytest.param(Odd, Odd.PAIR, id="an enum of something else"),
        pytest.param(None, NOON, id="a time that no annotation would make again"),
        pytest.param(None, object(), id="no data"),
        pytest.param(Any, {1: 2}, id="a key that is no text"),
        pytest.param(bytes, b"\xff", id="bytes that are no text"),
    ],
)
def test_a_default_that_json_cannot_say_is_named(annotation: Any, default: Any) -> None:
    """It is not in the schema, the function still gets it, and the tool says that it is there."""
    found = with_default(annotation, default)

    assert "default" not in found.schema["properties"]["x"]
    assert found.silent == {"x"}
    assert found.run({}, "k") is default


def test_only_what_may_be_left_out_can_be_silent() -> None:
    """Required parameters, those that a partial fixes and the guard's own key have no default to tell."""

    def f(a, b=object(), c=object(), d=1, idempotency_key=None):  # noqa: B008 - a default that JSON cannot say
        return a

    assert one(f).silent == {"b", "c"}
    assert one(functools.partial(f, c=1)).silent == {"b"}


def test_a_schema_that_does_not_tell_the_defaults_leaves_them_silent() -> None:
    """A schema of the host's own stays as it is; what it does not say about a parameter is said nowhere. So it is without any schema."""

    def f(x: int = 1, y: int = 2):
        return x, y

    def g(client: Desk, x: int = 1):
        return x

    f.__annotations__, g.__annotations__ = {"x": int, "y": int}, {"client": Desk, "x": int}
    own = {"type": "object", "properties": {"x": {"type": "integer", "default": 1}, "y": {"type": "integer"}}}

    assert one(tool(schema=own)(f)).silent == {"y"}
    assert one(g).schema is None
    assert one(g).silent == {"x"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | st.text() | st.binary() | st.just(object),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_every_default_is_said_or_silent(default: Any) -> None:
    """Whatever a default is: it is in the schema exactly when the tool is not silent about it, and every schema can be written."""
    found = with_default(None, default)

    assert ("default" in found.schema["properties"]["x"]) == (found.silent == frozenset())
    encode(found.schema).encode()
