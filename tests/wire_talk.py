"""The real clients of all wires, spoken to in one way: ask whole or streamed, with what a chat gives; and a message cut into a stream.

For tests that run one scenario on every wire. The provider at the other end is `provider.Provider`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from provider import Provider, anthropic_client, bedrock_client, gemini_client, openai_client
from provider_rules import check_anthropic, check_openai, check_responses
from provider_rules_parts import check_bedrock, check_gemini
from wire_helpers import message

CLIENTS: dict[str, Callable[[Provider], Any]] = {
    "openai-chat": openai_client,
    "openai-responses": openai_client,
    "anthropic": anthropic_client,
    "gemini": gemini_client,
    "bedrock-converse": bedrock_client,
}


def ask(name: str, client: Any, messages: list[Any], tools: list[Any], *, stream: bool = False) -> Any:
    """One request through the real client: the SDK's own response, or its own stream of events."""
    offered = {"tools": tools} if tools else {}
    flow = {"stream": True} if stream else {}
    if name == "openai-responses":
        return client.responses.create(model="m", input=messages, **offered, **flow)
    if name == "anthropic":
        return client.messages.create(model="m", max_tokens=99, messages=messages, **offered, **flow)
    if name == "gemini":
        models = client.models
        call = models.generate_content_stream if stream else models.generate_content
        return call(model="m", contents=messages, config=offered or None)
    if name == "bedrock-converse":
        config = {"toolConfig": {"tools": tools}} if tools else {}
        call = client.converse_stream if stream else client.converse
        return call(modelId="m", messages=messages, **config)
    return client.chat.completions.create(model="m", messages=messages, **offered, **flow)


def legal(name: str, messages: list[Any]) -> None:
    """The provider would take these messages as the next request. Raises RejectedError when it would not."""
    checks: dict[str, Callable[[], None]] = {
        "openai-chat": lambda: check_openai({"messages": messages}),
        "openai-responses": lambda: check_responses({"input": messages}),
        "anthropic": lambda: check_anthropic({"max_tokens": 10, "messages": messages}),
        "gemini": lambda: check_gemini({"contents": messages}),
        "bedrock-converse": lambda: check_bedrock({"messages": _texts(messages)}),
    }
    checks[name]()


def _texts(value: Any) -> Any:
    """Bytes as the base64 text that goes over the wire."""
    import base64

    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    return [_texts(item) for item in value] if isinstance(value, list) else value


# -- a message as a stream -----------------------------------------------------------------------------------------------


def pieces(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def streamed(name: str, *calls: tuple[Any, str, Any]) -> Any:
    """`message(name, *calls)` as the provider would stream it; arguments are JSON text, sent in pieces."""
    return sse(name, EVENTS[name](calls))


def sse(name: str, events: list[dict[str, Any]]) -> Any:
    """Events as the body of a streamed answer: text, or the list that the provider frames."""
    if name == "bedrock-converse":
        return events
    typed = name in ("openai-responses", "anthropic")
    lines = [f"event: {event['type']}\n" if typed else "" for event in events]
    text = "".join(f"{line}data: {json.dumps(event)}\n\n" for line, event in zip(lines, events, strict=True))
    return text + ("data: [DONE]\n\n" if name == "openai-chat" else "")


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of a streamed chat completion."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


def _chat(calls: Any) -> list[dict[str, Any]]:
    events = [chunk({"role": "assistant", "content": ""}), chunk({"content": "Let me "}), chunk({"content": "see."})]
    for at, (call_id, tool, text) in enumerate(calls):
        head = {"index": at, "id": call_id, "type": "function", "function": {"name": tool, "arguments": ""}}
        events.append(chunk({"tool_calls": [head]}))
        events += [chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}) for piece in pieces(text)]
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return [*events, chunk({}, "tool_calls" if calls else "stop"), chunk(None, usage=usage)]


def _responses(calls: Any) -> list[dict[str, Any]]:
    output = message("openai-responses", *calls)["output"]
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True, "tools": []}
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**base, "status": "in_progress", "output": []}}]
    for at, item in enumerate(output):
        begun = {**item, "status": "in_progress", **({"arguments": ""} if "arguments" in item else {"content": []})}
        events.append({"type": "response.output_item.added", "output_index": at, "item": begun})
        if "arguments" in item:
            place = {"output_index": at, "item_id": item["id"]}
            stem = "response.function_call_arguments"
            events += [{"type": f"{stem}.delta", "delta": piece, **place} for piece in pieces(item["arguments"])]
            events.append({"type": f"{stem}.done", "arguments": item["arguments"], "name": item["name"], **place})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    closing = {**base, "status": "completed", "output": output, "usage": usage}
    events.append({"type": "response.completed", "response": closing})
    return [{**event, "sequence_number": at} for at, event in enumerate(events)]


def _anthropic(calls: Any) -> list[dict[str, Any]]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    head = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": head},
        *_block(0, {"type": "text", "text": ""}, "Let me see."),
    ]
    for at, (call_id, tool, text) in enumerate(calls, 1):
        events += _block(at, {"type": "tool_use", "id": call_id, "name": tool, "input": {}}, text)
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}, {"type": "message_stop"}]


def _block(at: int, block: dict[str, Any], text: str) -> list[dict[str, Any]]:
    kind, place = ("text_delta", "text") if block["type"] == "text" else ("input_json_delta", "partial_json")
    deltas = [
        {"type": "content_block_delta", "index": at, "delta": {"type": kind, place: piece}} for piece in ["", *pieces(text)]
    ]
    start = {"type": "content_block_start", "index": at, "content_block": block}
    return [start, *deltas, {"type": "content_block_stop", "index": at}]


def _gemini(calls: Any) -> list[dict[str, Any]]:
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    made = [
        {"functionCall": {**({} if call_id is None else {"id": call_id}), "name": tool, "args": json.loads(text)}}
        for call_id, tool, text in calls
    ]
    parts = [{"text": "Let me "}, {"text": "see."}, *made]
    events = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "modelVersion": "m"} for part in parts
    ]
    end = {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}]}
    return [*events, {**end, "usageMetadata": usage, "modelVersion": "m"}]


def _bedrock(calls: Any) -> list[dict[str, Any]]:
    def deltas(at: int, found: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        made = [{"contentBlockDelta": {"contentBlockIndex": at, "delta": delta}} for delta in found]
        return [*made, {"contentBlockStop": {"contentBlockIndex": at}}]

    events = [{"messageStart": {"role": "assistant"}}, *deltas(0, ({"text": piece} for piece in pieces("Let me see.")))]
    for at, (call_id, tool, text) in enumerate(calls, 1):
        start = {"toolUse": {"toolUseId": call_id, "name": tool}}
        events.append({"contentBlockStart": {"contentBlockIndex": at, "start": start}})
        events += deltas(at, ({"toolUse": {"input": piece}} for piece in pieces(text)))
    usage = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}
    stop = {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
    return [*events, stop, {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}]


EVENTS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock-converse": _bedrock,
}
