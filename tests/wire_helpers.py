"""Messages, calls and outcomes by hand, for the tests of the wires."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest

from guard.core.model import Image, Outcome, ToolCall
from guard.core.rules import Prepared, Tool
from guard.core.values import digest
from guard.wires import WIRES, Reply, wire

OPENAI, ANTHROPIC = wire("openai-chat"), wire("anthropic")
both = pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
"""For what was written of these two wires."""
every = pytest.mark.parametrize("name", sorted(WIRES))
"""For what holds on every wire."""
OBJECTS = frozenset({"anthropic", "gemini", "bedrock-converse"})
"""The wires whose whole replies hold arguments as objects; the others hold them as text."""
PNG = Image(data="iVBORw0KGgo=")


def function(call_id: Any = "c1", name: Any = "search", arguments: Any = '{"q": "a"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def use(call_id: Any = "c1", name: Any = "search", arguments: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"q": "a"} if arguments is None else arguments}


def spelled(name: str, arguments: Any) -> Any:
    """Arguments, given as an object or as JSON text, as a whole reply of the wire holds them."""
    if name in OBJECTS:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def message(name: str, *calls: tuple[Any, ...]) -> dict[str, Any]:
    """What a model says on the wire: a text and these (id, tool, arguments) calls. An id of None is left out where the wire can."""
    return _MESSAGES[name](calls)


def _chat(calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "Let me see.", "tool_calls": [function(*call) for call in calls]}


_numbers = count()  # the provider never gives an item's id twice


def _responses(calls: Any) -> dict[str, Any]:
    text = {"type": "output_text", "text": "Let me see.", "annotations": []}
    said = {"type": "message", "id": f"msg_{next(_numbers)}", "role": "assistant", "status": "completed", "content": [text]}
    made = [
        {
            "type": "function_call",
            "id": f"fc_{next(_numbers)}",
            "call_id": call_id,
            "name": tool,
            "arguments": sent,
            "status": "completed",
        }
        for call_id, tool, sent in calls
    ]
    return {"output": [said, *made]}


def _anthropic(calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, *(use(*call) for call in calls)]}


def _gemini(calls: Any) -> dict[str, Any]:
    parts = [
        {"functionCall": {**({} if call_id is None else {"id": call_id}), "name": tool, "args": sent}}
        for call_id, tool, sent in calls
    ]
    return {"role": "model", "parts": [{"text": "Let me see."}, *parts]}


def _bedrock(calls: Any) -> dict[str, Any]:
    blocks = [{"toolUse": {"toolUseId": call_id, "name": tool, "input": sent}} for call_id, tool, sent in calls]
    return {"role": "assistant", "content": [{"text": "Let me see."}, *blocks]}


_MESSAGES = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock-converse": _bedrock,
}


def outcome(call: ToolCall, content: Any = '{"ok":true}', **more: Any) -> Outcome:
    fields = {"status": "done", "reason": None, "arguments": {}, **more}
    return Outcome(call_id=call.id, tool=call.tool, content=content, **fields)


def answers(name: str, messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """(id, content) of every result in the messages; on gemini a result without an id counts by its tool's name."""
    if name == "openai-responses":
        return [(item["call_id"], item["output"]) for item in messages if item.get("type") == "function_call_output"]
    if name == "gemini":
        found = [part["functionResponse"] for item in messages for part in item["parts"] if "functionResponse" in part]
        return [(one.get("id", one["name"]), next(iter(one["response"].values()))) for one in found]
    blocks = [block for item in messages if isinstance(item["content"], list) for block in item["content"]]
    if name == "bedrock-converse":
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        return [
            (one["toolUseId"], one["content"][0].get("text") if len(one["content"]) == 1 else one["content"]) for one in results
        ]
    if name == "anthropic":
        return [(block["tool_use_id"], block["content"]) for block in blocks if block["type"] == "tool_result"]
    return [(item["tool_call_id"], item["content"]) for item in messages if item["role"] == "tool"]


def failures(name: str, messages: list[dict[str, Any]]) -> list[bool]:
    """Whether each result bears the wire's mark of a failure; on a wire without one, whether its text says so."""
    if name == "gemini":
        found = [part["functionResponse"] for item in messages for part in item["parts"] if "functionResponse" in part]
        return ["error" in one["response"] for one in found]
    if name == "bedrock-converse":
        found = [block["toolResult"] for item in messages for block in item["content"] if "toolResult" in block]
        return [one.get("status") == "error" for one in found]
    if name == "anthropic":
        found = [block for item in messages for block in item["content"] if block["type"] == "tool_result"]
        return [one.get("is_error", False) for one in found]
    return ['"ok":false' in str(content) for _, content in answers(name, messages)]


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


def stored_ids(name: str, stored: Any) -> list[str]:
    """Ids of the calls in what is stored of a reply: one message, or the items of one."""
    if name == "openai-responses":
        return [item["call_id"] for item in stored if item.get("type") == "function_call"]
    message = stored[0] if isinstance(stored, list) else stored
    if name == "gemini":
        calls = [part["functionCall"] for part in message["parts"] if "functionCall" in part]
        return [call.get("id", call["name"]) for call in calls]
    if name == "bedrock-converse":
        return [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
    blocks = message["content"] if name == "anthropic" else message["tool_calls"]
    return [block["id"] for block in blocks if block["type"] in ("tool_use", "function")]
