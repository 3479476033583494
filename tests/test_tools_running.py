"""Running a tool: the function gets what its annotations ask for, and its result is untouched."""

from __future__ import annotations

import asyncio
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import pytest
from tools_kit import Colour, Desk, Line, Place, look_later, one


@pytest.mark.parametrize(
    ("annotation", "value", "got"),
    [
        pytest.param(str, "a", "a", id="text"),
        pytest.param(int, Decimal("5.0"), 5, id="int from an integral decimal"),
        pytest.param(float, Decimal("0.1"), 0.1, id="float from a decimal"),
        pytest.param(Decimal, Decimal("3860.00"), Decimal("3860.00"), id="decimal as it is"),
        pytest.param(Decimal, 5, Decimal(5), id="decimal from an integer"),
        pytest.param(float | None, None, None, id="null"),
        pytest.param(Any, Decimal("1.50"), Decimal("1.50"), id="no annotation: the JSON value"),
        pytest.param(Colour, "red", Colour.RED, id="enum"),
        pytest.param(date, "2024-05-01", date(2024, 5, 1), id="date"),
        pytest.param(Literal["a"], "a", "a", id="literal"),
        pytest.param(Place, {"city": "a"}, Place("a"), id="dataclass"),
        pytest.param(Line, {"sku": "a", "price": Decimal("1.10")}, Line(sku="a", price=Decimal("1.10")), id="model"),
        pytest.param(list[float], [1, Decimal("2.5")], [1.0, 2.5], id="list"),
    ],
)
def test_run_converts(annotation: Any, value: Any, got: Any) -> None:
    """The function gets what its annotation asks for, of exactly that type and with exactly those digits."""

    def f(x):
        return x

    f.__annotations__ = {"x": annotation}
    result = one(f).run({"x": value}, "k")

    assert result == got
    assert type(result) is type(got)
    assert str(result) == str(got)


def test_run_returns_what_the_function_returns() -> None:
    """The returned object is untouched; a coroutine function gives a coroutine; the arguments stay as they were."""
    marker = object()
    arguments = {"x": Decimal("1.0")}

    def f(x):
        return marker

    f.__annotations__ = {"x": int}

    assert one(f).run(arguments, "") is marker
    assert repr(arguments) == "{'x': Decimal('1.0')}"
    assert asyncio.run(one(look_later).run({"order_id": "o"}, "")) == "o"
    assert one(Desk("t").find).run({"order_id": "o"}, "") == "t/o"
