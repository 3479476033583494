"""A number that has to be hidden becomes text that says what it was; everything else about a result keeps its type, and whoever reads it is told."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import jsonschema
import pytest

from guard import Guard, Session, ToolCall
from guard.core.hiding import hide
from guard.core.telling import HIDDEN
from guard.integrations.mcp.listing import loosened
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]


@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
@pytest.mark.parametrize(
    ("name", "number", "mask"),
    [
        ("phone", 4155550182, "[phone]"),
        ("card", 4111111111111111, "[card]"),
        ("ssn", 123456789, "[ssn]"),
        ("x", Decimal("4111111111111111.0"), "[card]"),
    ],
)
def test_a_hidden_number_says_what_it_was(name: str, number: Any, mask: str, one: Any) -> None:
    """As a value and in a JSON text, never as null and never as other digits: null would say that there is none."""
    assert hide({name: number, "total": Decimal("1.10")}, one, set()) == {name: mask, "total": Decimal("1.10")}
    assert hide(f'{{"{name}":{number},"total":1.10}}', one, set()) == f'{{"{name}":"{mask}","total":1.10}}'


SCHEMA = {
    "type": "object",
    "properties": {"phone": {"type": ["integer", "null"]}, "n": {"type": "integer"}, "at": {"type": "string"}},
}


def test_a_schema_that_is_shown_allows_for_it() -> None:
    """What a client is promised of a tool's output is still true of what it gets."""
    shown = hide({"phone": 4155550182, "n": 7, "at": "noon"}, BOTH[0], set())
    assert loosened(SCHEMA)["properties"]["phone"]["type"] == ["integer", "null", "string"]
    assert loosened(SCHEMA)["properties"]["at"]["type"] == "string"
    jsonschema.validate(shown, loosened(SCHEMA))


def test_the_schema_of_a_result_judges_what_the_tool_returned(tmp_path: Any) -> None:
    """Before anything is hidden, so hiding breaks no form; and the description of the tool tells the model what may stand there."""
    schema = json.dumps(SCHEMA)
    (tmp_path / "tools.yaml").write_text(
        f"tools: {{find: {{kind: read, allow: [a], result: {{schema: {schema}}}}}, other: {{kind: read, allow: [a]}}}}\nlimits: {{run: {{steps: 8}}}}"
    )
    answers = iter([{"phone": 4155550182, "n": 7}, {"phone": "4155550182", "n": 7}])

    def find() -> Any:
        return next(answers)

    def other() -> str:
        return ""

    guard = Guard.load(tmp_path, tools=[find, other], store="memory://")
    session = Session(principal="E1", roles=("a",))
    first, second = (guard.call(ToolCall(str(at), "find", "{}"), session, conversation="c") for at in (1, 2))
    assert first.content == '{"phone":"[phone]","n":7}'
    assert second.reason == "result_invalid"
    chat = guard.open(session, conversation="d", wire="openai-chat")
    told = {tool["function"]["name"]: tool["function"].get("description", "") for tool in chat.tools}
    assert HIDDEN in told["find"]
    assert HIDDEN not in told["other"]
