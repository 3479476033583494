"""Schemas of functions: parameters, types and defaults become the JSON Schema that a reader expects."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from tools_kit import Line, hard, lambda_copy, lambda_named, look, one

from guard.core.values import encode
from guard.errors import GuardError
from guard.tools import tool


def property_of(annotation: Any) -> dict[str, Any]:
    def f(x):
        return x

    f.__annotations__ = {"x": annotation}
    schema = one(f).schema
    assert schema is not None
    return schema["properties"]["x"]


def test_schema_of_a_function() -> None:
    """The schema names each parameter, which are required and that there are no others; nothing is made up."""
    assert one(look).schema == {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "page": {"type": "integer", "default": 1}},
        "required": ["order_id"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("annotation", "shape"),
    [
        pytest.param(str, {"type": "string"}, id="text"),
        pytest.param(bool, {"type": "boolean"}, id="bool"),
        pytest.param(float, {"type": "number"}, id="float"),
        pytest.param(Decimal, {"type": "number"}, id="a decimal is a plain number"),
        pytest.param(
            Annotated[Decimal, Field(gt=0, le=50)], {"type": "number", "exclusiveMinimum": 0, "maximum": 50}, id="bounds"
        ),
        pytest.param(Decimal | None, {"anyOf": [{"type": "number"}, {"type": "null"}]}, id="or null"),
        pytest.param(list[Decimal], {"type": "array", "items": {"type": "number"}}, id="a list of decimals"),
        pytest.param(datetime, {"type": "string", "format": "date-time"}, id="datetime"),
        pytest.param(date, {"type": "string", "format": "date"}, id="date"),
        pytest.param(Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, id="literal"),
        pytest.param(
            Annotated[str, Field(description="The order.")], {"type": "string", "description": "The order."}, id="described"
        ),
        pytest.param(Any, {}, id="anything"),
    ],
)
def test_schema_of_an_annotation(annotation: Any, shape: dict[str, Any]) -> None:
    """Each annotation becomes the JSON Schema that a reader expects."""
    assert shape == property_of(annotation)


def test_no_annotation_is_an_open_schema() -> None:
    """A parameter without an annotation takes any JSON value."""
    assert one(lambda_named).schema["properties"] == {"x": {}}


def test_nested_models_are_closed() -> None:
    """Unknown fields of a model inside are refused by the schema, since pydantic would drop them silently."""

    def order(line: Line) -> None: ...

    order.__annotations__["line"] = Line
    schema = one(order).schema
    shape = schema["$defs"]["Line"]

    assert shape["additionalProperties"] is False
    assert shape["properties"]["price"] == {"type": "number"}


def test_a_default_inside_a_pydantic_field() -> None:
    """`x: int = Field(3)` means the default 3, in the schema and at the call."""

    def f(x=Field(3, description="How many.")):  # noqa: B008 - the spelling under test
        return x

    f.__annotations__ = {"x": int}

    assert one(f).schema["properties"] == {"x": {"type": "integer", "description": "How many.", "default": 3}}
    assert one(f).run({}, "k") == 3
    assert one(f).run({"x": 4}, "k") == 4


def test_an_own_schema_replaces_the_signature() -> None:
    """A schema given with the mark is used as it is; naming what the function does not take is an error."""
    schema = {"type": "object", "properties": {"x": {"type": "string", "maxLength": 3}}, "additionalProperties": False}

    assert one(tool(schema=schema)(lambda_copy())).schema == schema
    with pytest.raises(GuardError, match="names y"):
        one(tool(schema={"type": "object", "properties": {"y": {}}})(lambda_copy()))


def test_the_schema_is_json() -> None:
    """Every schema can be written as JSON by the standard library, so that any SDK can send it."""
    found = one(hard)

    assert encode(found.schema).startswith("{")
