"""The schema that the model sees, and the fields and paths that a schema can hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from policy_schemas_kit import fields, tool

from guard.errors import PolicyError
from guard.policy.fields import gap, normal, visible


def test_a_bound_field_is_taken_by_the_tool_and_hidden_from_the_model(tmp_path: Path) -> None:
    """The full schema has the field, the visible one does not, neither in properties nor in required."""
    source = fields(user_id={"type": "string"}, q={"type": "string"}) | {"required": ["user_id", "q"]}
    compiled = tool(tmp_path, "bind: {user_id: session.principal}", schema=source)

    assert compiled.schema["required"] == ["user_id", "q"]
    assert compiled.visible == {
        "type": "object",
        "properties": {"q": {"type": "string"}},
        "required": ["q"],
        "additionalProperties": False,
    }


ROOM = {
    "the function has the parameter": (fields(q={}), frozenset({"q", "user_id"}), True),
    "the function lacks it": (fields(q={}), frozenset({"q"}), False),
    "anything goes": ({}, None, True),
    "a remote tool that says nothing": (fields(q={}), None, True),
    "a remote tool that forbids more": (fields(q={}) | {"additionalProperties": False}, None, False),
}


@pytest.mark.parametrize(("source", "parameters", "fits"), ROOM.values(), ids=ROOM.keys())
def test_a_bound_field_that_the_tool_cannot_take_is_found_at_load(
    tmp_path: Path, source: dict[str, Any], parameters: frozenset[str] | None, fits: bool
) -> None:
    """Either the field is added to the schema, or the load says that the tool cannot take it."""
    line = "bind: {user_id: session.principal}"
    if not fits:
        with pytest.raises(PolicyError, match="t cannot take the bound field user_id"):
            tool(tmp_path, line, schema=source, parameters=parameters)
        return
    compiled = tool(tmp_path, line, schema=source, parameters=parameters)

    assert compiled.validate({"user_id": "E1"}) == ()
    assert "user_id" not in compiled.visible["properties"]


def test_the_visible_schema_stands_alone() -> None:
    """Definitions, null branches and defaults stay; a lone root reference is opened; hidden fields leave branches, too."""
    source = {
        "$ref": "#/$defs/Args",
        "$defs": {
            "Args": fields(note={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, me={}) | {"required": ["me"]}
        },
    }
    shown = visible(normal(source, signature=True), frozenset({"me"}))

    assert shown["properties"] == {"note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}}
    assert not {"required", "$ref"} & shown.keys()
    assert "$defs" in shown
    assert visible({"allOf": [fields(me={}, q={})]}, frozenset({"me"}))["allOf"] == [fields(q={})]
    assert visible({}, frozenset()) == {"type": "object", "properties": {}}


def test_the_visible_schema_is_plain_json(tmp_path: Path) -> None:
    """Clients write the schema with the standard json module: exact numbers stay inside."""
    line = "schema: {type: object, properties: {n: {multipleOf: 0.10, maximum: 50}}}"

    assert json.dumps(tool(tmp_path, line).visible["properties"]) == '{"n": {"multipleOf": 0.1, "maximum": 50}}'


GAPS = {
    "known": (fields(a=fields(b={})), ("a", "b"), None),
    "unknown below": (fields(a=fields(b={})), ("a", "c"), "c"),
    "open": ({**fields(a={}), "additionalProperties": True}, ("z",), None),
    "any item": (fields(a={"type": "array", "items": fields(b={})}), ("a", "[*]", "c"), "c"),
    "no list": (fields(a={"type": "string"}), ("a", "[*]"), "[*]"),
    "through a reference": ({**fields(a={"$ref": "#/$defs/A"}), "$defs": {"A": fields(b={})}}, ("a", "c"), "c"),
    "in one alternative": (fields(a={"anyOf": [fields(b={}), {"type": "null"}]}), ("a", "b"), None),
    "in no alternative": (fields(a={"anyOf": [fields(b={}), {"type": "null"}]}), ("a", "c"), "c"),
    "nothing known": ({}, ("a",), None),
    "in a type that combines itself": (
        {
            **fields(a={"$ref": "#/$defs/N"}),
            "$defs": {"N": {"anyOf": [{"$ref": "#/$defs/N"}, {"$ref": "#/$defs/N"}, fields(b={})]}},
        },
        ("a", "c"),
        "c",
    ),
}


@pytest.mark.parametrize(("source", "steps", "missing"), GAPS.values(), ids=GAPS.keys())
def test_a_path_that_the_schema_cannot_hold_is_found(source: dict[str, Any], steps: tuple[str, ...], missing: str | None) -> None:
    """Only what certainly finds nothing is a mistake."""
    found = gap(source, steps)

    assert (found and found.step) == missing
