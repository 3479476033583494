"""Messages, calls and outcomes by hand, for the tests of the wires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from guard.core.model import Image, Outcome, ToolCall
from guard.core.rules import Prepared, Tool
from guard.core.values import digest
from guard.wires import WIRES, Reply, wire

OPENAI, ANTHROPIC = wire("openai-chat"), wire("anthropic")
both = pytest.mark.parametrize("name", sorted(WIRES))
PNG = Image(data="iVBORw0KGgo=")


def function(call_id: Any = "c1", name: Any = "search", arguments: Any = '{"q": "a"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def use(call_id: Any = "c1", name: Any = "search", arguments: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"q": "a"} if arguments is None else arguments}


def message(name: str, *calls: tuple[Any, ...]) -> dict[str, Any]:
    """An assistant message of the wire with these (id, tool, arguments) calls."""
    if name == "anthropic":
        return {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, *(use(*call) for call in calls)]}
    return {"role": "assistant", "content": "Let me see.", "tool_calls": [function(*call) for call in calls]}


def outcome(call: ToolCall, content: Any = '{"ok":true}', **more: Any) -> Outcome:
    fields = {"status": "done", "reason": None, "arguments": {}, **more}
    return Outcome(call_id=call.id, tool=call.tool, content=content, **fields)


def answers(name: str, messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """(id, content) of every result in the messages."""
    if name == "anthropic":
        blocks = [block for item in messages if isinstance(item["content"], list) for block in item["content"]]
        return [(block["tool_use_id"], block["content"]) for block in blocks if block["type"] == "tool_result"]
    return [(item["tool_call_id"], item["content"]) for item in messages if item["role"] == "tool"]


def fingerprint(calls: tuple[ToolCall, ...]) -> str:
    return digest(*(f"{call.id} {call.tool} {call.arguments}" for call in calls))


def make_tool(name: str, visible: Mapping[str, Any], description: str = "") -> Tool:
    return Tool(
        name=name,
        kind="read",
        definition="d",
        description=description,
        schema={},
        visible=visible,
        validate=lambda arguments: (),
        prepare=lambda arguments: Prepared(arguments=arguments),
    )


def given_results(name: str, reply: Reply, content: Any = "x") -> list[dict[str, Any]]:
    return wire(name).results(reply, [outcome(call, content) for call in reply.calls])


def stored_ids(name: str, stored: dict[str, Any]) -> list[str]:
    blocks = stored["content"] if name == "anthropic" else stored["tool_calls"]
    return [block["id"] for block in blocks if block["type"] in ("tool_use", "function")]
