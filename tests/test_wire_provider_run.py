"""What a provider runs itself, and what it says of its own work: streamed, it is stored as it would have come whole, and is taken back."""

from __future__ import annotations

from typing import Any

import pytest
from wire_models import accepted
from wire_talk import legal

from guard.wires import wire
from guard.wires.streams import Collector

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "a b"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}", "status": "completed"},
]


def blocks(*steps: tuple[dict[str, Any], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Events of the Messages API for blocks and their deltas."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"role": "assistant", "content": []}}]
    for index, (block, deltas) in enumerate(steps):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    return [*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]


def converse(*steps: tuple[dict[str, Any] | None, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Events of ConverseStream for blocks and their deltas."""
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    for index, (start, deltas) in enumerate(steps):
        events += [{"contentBlockStart": {"contentBlockIndex": index, "start": start}}] if start else []
        events += [{"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}} for delta in deltas]
        events.append({"contentBlockStop": {"contentBlockIndex": index}})
    return [*events, {"messageStop": {"stopReason": "tool_use"}}]


def json_delta(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def candidate(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}]}


CODE: list[dict[str, Any]] = [
    {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
    {"functionCall": {"id": "c1", "name": "look", "args": {}}},
]
RUN = {"toolUseId": "s1", "name": "nova_code_interpreter", "type": "server_tool_use"}
RAN = {"toolUseId": "s1", "type": "nova_code_interpreter_result", "status": "success"}
STREAMS: dict[str, tuple[str, list[dict[str, Any]], list[Any]]] = {
    "Messages": (
        "anthropic",
        blocks(
            ({**SEARCH, "input": {}}, [json_delta('{"query": '), json_delta('"a b"}')]),
            (FOUND, []),
            ({"type": "tool_use", "id": "c1", "name": "look", "input": {}}, [json_delta("")]),
        ),
        [SEARCH, FOUND, {"type": "tool_use", "id": "c1", "name": "look", "input": {}}],
    ),
    "Responses": (
        "openai-responses",
        [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(ITEMS)]
        + [{"type": "response.completed", "response": {"status": "completed", "output": []}}],
        ITEMS,
    ),
    "Gemini": ("gemini", [*map(candidate, CODE), candidate(finishReason="STOP")], CODE),
    "Converse": (
        "bedrock-converse",
        converse(
            ({"toolUse": RUN}, [{"toolUse": {"input": '{"snippet": '}}, {"toolUse": {"input": '"1+1"}'}}]),
            ({"toolResult": RAN}, [{"toolResult": [{"json": {"out": "2"}}]}, {"toolResult": [{"text": "two"}]}]),
            ({"image": {"format": "png"}}, [{"image": {"source": {"bytes": b"x"}}}]),
            ({"toolUse": {"toolUseId": "c1", "name": "look"}}, [{"toolUse": {"input": "{}"}}]),
        ),
        [
            {"toolUse": {**RUN, "input": {"snippet": "1+1"}}},
            {"toolResult": {**RAN, "content": [{"json": {"out": "2"}}, {"text": "two"}]}},
            {"image": {"format": "png", "source": {"bytes": b"x"}}},
            {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}},
        ],
    ),
    "Converse, arguments and results that never came": (
        "bedrock-converse",
        converse(({"toolUse": RUN}, [{"toolUse": {"input": '{"snip'}}]), ({"toolResult": RAN}, []), (None, [{"text": "hm"}])),
        [{"toolUse": {**RUN, "input": {}}}, {"toolResult": {**RAN, "content": []}}, {"text": "hm"}],
    ),
}


@pytest.mark.parametrize(("name", "events", "wanted"), STREAMS.values(), ids=STREAMS)
def test_what_the_provider_ran_itself_is_stored_as_it_came(name: str, events: list[Any], wanted: list[Any]) -> None:
    """In place, whole and in the SDK's own form; only the call beside it is the guard's."""
    collector = Collector(wire(name))
    for event in events:
        collector.add(event)
    reply = wire(name).read(collector.reply())
    stored = wire(name).stored(reply)

    assert (stored if name == "openai-responses" else stored[0].get("content", stored[0].get("parts"))) == wanted
    assert [call.id for call in reply.calls] == ["c1"] * ("c1" in str(wanted))
    assert not reply.truncated
    accepted(name, stored)


def test_a_summary_that_the_provider_makes_of_a_history_is_kept() -> None:
    """Of the beta of Messages: its text comes as a delta, and a reply that is nothing else wants to be sent back, not the loop to end."""
    summary = {"type": "compaction", "content": None}
    deltas = [{"type": "compaction_delta", "content": "So far: ", "encrypted_content": "e"}]
    deltas.append({"type": "compaction_delta", "content": "nothing."})
    events = blocks((summary, deltas))
    events[-2]["delta"]["stop_reason"] = "compaction"
    collector = Collector(wire("anthropic"))
    for event in events:
        collector.add(event)
    reply = wire("anthropic").read(collector.reply())

    assert reply.paused
    assert wire("anthropic").stored(reply)[0]["content"] == [
        {"type": "compaction", "content": "So far: nothing.", "encrypted_content": "e"}
    ]


def test_what_the_provider_ran_is_taken_back_beside_our_result() -> None:
    """On Converse, where both kinds of calls look alike: the history with the one result is legal."""
    name, events, _ = STREAMS["Converse"]
    collector = Collector(wire(name))
    for event in events:
        collector.add(event)
    reply = wire(name).read(collector.reply())
    result = {"toolResult": {"toolUseId": "c1", "content": [{"text": "x"}]}}
    history = [wire(name).user("hi"), *wire(name).stored(reply), {"role": "user", "content": [result]}]
    assert wire(name).open_calls(history) is None
    legal(name, history)
