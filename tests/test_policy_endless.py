"""Schemas that refer to themselves about the same value stop the load, with file, line and cure; those that go into the value do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guard import Guard, PolicyError, Session, ToolCall
from guard.policy import load_policy

WORDS = "without end"
HEAD = "tools:\n  t:\n    kind: read\n    allow: [a]\n"
ENDLESS: dict[str, tuple[dict[str, Any], str]] = {
    # name: (schema, the key whose line is told)
    "itself": ({"$ref": "#"}, "$ref"),
    "itself beside others": ({"type": "object", "allOf": [{"$ref": "#"}]}, "allOf"),
    "any of itself": ({"type": "object", "anyOf": [{"required": ["a"]}, {"$ref": "#"}]}, "anyOf"),
    "not itself": ({"type": "object", "not": {"$ref": "#"}}, "not"),
    "if itself": ({"type": "object", "if": {"$ref": "#"}, "then": {"required": ["a"]}}, "if"),
    "a field that is itself": ({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}, "$ref"),
    "two definitions of each other": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/x"}},
            "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"allOf": [{"$ref": "#/$defs/x"}]}},
        },
        "$ref",
    ),
    "a definition that nobody uses": ({"type": "object", "$defs": {"x": {"oneOf": [{"$ref": "#/$defs/x"}]}}}, "oneOf"),
    "by a dynamic reference": ({"$dynamicAnchor": "top", "type": "object", "allOf": [{"$dynamicRef": "#top"}]}, "allOf"),
    "for one field": ({"type": "object", "dependentSchemas": {"a": {"$ref": "#"}}}, "dependentSchemas"),
}
FINE: dict[str, dict[str, Any]] = {
    "a tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}},
    "a list of lists": {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/x"}}]}}},
    "further fields": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "the same twice": {"type": "object", "allOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/x"}], "$defs": {"x": {"required": ["a"]}}},
    "a chain": {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"type": "string"}}},
}  # fmt: skip


def folder(path: Path, schema: dict[str, Any]) -> Path:
    """One key a line, so that the line says which key is meant."""
    lines = [f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in schema.items()]
    (path / "tools.yaml").write_text(HEAD + "    schema:\n" + "\n".join(lines) + "\nlimits: {run: {steps: 8}}\n", "utf-8")
    return path


@pytest.mark.parametrize(("schema", "key"), ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_stops_the_load(tmp_path: Path, schema: dict[str, Any], key: str) -> None:
    """One problem for one circle, at the line where it begins."""
    with pytest.raises(PolicyError) as caught:
        load_policy(folder(tmp_path, schema))
    [problem] = [one for one in caught.value.problems if WORDS in one.message]

    assert (problem.file, bool(problem.cure)) == ("tools.yaml", True)
    assert problem.line is not None
    line = (tmp_path / "tools.yaml").read_text("utf-8").splitlines()[problem.line - 1]
    assert f'"{key}"' in line


@pytest.mark.parametrize("schema", FINE.values(), ids=FINE)
def test_what_goes_into_the_value_loads_and_judges(tmp_path: Path, schema: dict[str, Any]) -> None:
    """The call is decided, not broken."""
    guard = Guard.load(folder(tmp_path, schema), tools={"t": lambda **_: {"ok": True}}, store="memory://")
    with guard:
        outcome = guard.call(ToolCall("1", "t", '{"a": "x"}'), Session(principal="p", roles=("a",)), conversation="c")
    assert outcome.reason is None or str(outcome.reason) == "invalid_arguments"
