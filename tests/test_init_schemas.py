"""`guard init` writes the schemas of other dialects in JSON Schema, and as many tools as there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from init_kit import Desk, desk, guesses


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return desk(tmp_path, monkeypatch, capfd)


DIALECTS = {
    "gemini types": ({"type": "ARRAY", "items": {"type": "STRING"}}, {"type": "array", "items": {"type": "string"}}),
    "python types": (
        {"type": "dict", "properties": {"a": {"type": "float"}}},
        {"type": "object", "properties": {"a": {"type": "number"}}},
    ),
    "any": ({"type": "any", "description": "x"}, {"description": "x"}),
    "nullable": ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    "nullable enum": (
        {"type": "string", "enum": ["a"], "nullable": True, "description": "d"},
        {"description": "d", "anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
    ),
    "not nullable": ({"type": "string", "nullable": False}, {"type": "string"}),
    "exclusive": ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 1}),
    "not exclusive": ({"type": "number", "minimum": 1, "exclusiveMinimum": False}, {"type": "number", "minimum": 1}),
    "unknown keyword": (
        {"type": "string", "x-thing": {"a": 1}, "example": "e"},
        {"type": "string", "x-thing": {"a": 1}, "example": "e"},
    ),
    "a field called type": (
        {"type": "object", "properties": {"type": {"type": "string"}}},
        {"type": "object", "properties": {"type": {"type": "string"}}},
    ),
    "null keywords": (
        {"type": "string", "description": None, "enum": None, "default": None},
        {"type": "string", "default": None},
    ),
    "a field called required": (
        {"type": "object", "properties": {"required": {"type": "boolean"}}},
        {"type": "object", "properties": {"required": {"type": "boolean"}}},
    ),
    "required as a flag": (
        {"type": "object", "properties": {"b": {"type": "string", "required": True}, "c": {"required": False}}},
        {"type": "object", "properties": {"b": {"type": "string"}, "c": {}}, "required": ["b"]},
    ),
    "digits": ({"type": "number", "multipleOf": 0.01, "maximum": 1e30}, {"type": "number", "multipleOf": 0.01, "maximum": 1e30}),
    "default that does not fit": ({"type": "string", "default": None}, {"type": "string", "default": None}),
}


@pytest.mark.parametrize(("given", "meant"), DIALECTS.values(), ids=DIALECTS.keys())
def test_a_schema_of_another_dialect_is_said_in_json_schema(given: Any, meant: Any, here: Desk) -> None:
    """What would be judged otherwise is translated and noted, everything else stays as it is."""
    told = here.init([{"name": "get_x", "parameters": {"type": "object", "properties": {"a": given}}}])

    assert json.loads(json.dumps(here.schema("get_x")["properties"]["a"], default=float)) == meant
    assert not told["tools"][0]["notes"] or given != meant


def test_a_default_that_contradicts_its_schema_is_left_out_where_the_loader_refuses_it(here: Desk) -> None:
    """An action's arguments are judged with their defaults: one that can never fit would make the entry useless."""
    told = here.init(
        [{"name": "send", "parameters": {"type": "object", "properties": {"to": {"type": "string", "default": None}}}}]
    )

    assert here.schema("send")["properties"]["to"] == {"type": "string"}
    assert "the default of to does not fit" in told["tools"][0]["notes"][0]


@pytest.mark.slow
def test_many_tools_fall_into_files_that_the_loader_reads(here: Desk) -> None:
    """More values than one file may hold are spread over several, and progress is told."""
    shape = {
        "type": "object",
        "properties": {f"f{n}": {"type": "string", "enum": [str(m) for m in range(20)]} for n in range(30)},
    }
    done = here.guard("init", here.file("many.json", [{"name": f"get_{n}", "parameters": shape} for n in range(200)]), "--json")

    assert done.code == 0
    assert len(json.loads(done.out)["files"]) > 1
    assert len(here.loaded().policy.tools) == 200
    assert guesses(json.loads(done.out), "get_7") == {"kind": ("read", True)}
