"""Real models' answers, as recorded over HTTP, are read rightly, stored as they came, and answered with what the SDK's request models take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from corpora import CASES
from openai.lib.streaming.chat import ChatCompletionStreamState
from provider import Provider, anthropic_client, openai_client
from wire_helpers import OBJECTS, answers, fingerprint, make_tool, outcome
from wire_models import accepted
from wire_talk import CLIENTS, ask, legal

from guard import Guard, Session
from guard.core.reasons import Reason
from guard.wires import wire

pytestmark = pytest.mark.cases
WIRE_OF = {
    "openai_chat": "openai-chat",
    "openai_responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "bedrock_converse": "bedrock-converse",
}
ASKED = {"role": "user", "content": "hi"}
FIRST: dict[str, Any] = {
    "gemini": {"role": "user", "parts": [{"text": "hi"}]},
    "bedrock-converse": {"role": "user", "content": [{"text": "hi"}]},
}


def recordings(part: str) -> list[Any]:
    """The recorded answers that have `part`, as test rows; one skipped row when the folder is not there."""
    file = CASES / "wire_recordings" / "episodes.jsonl"
    if not file.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{file.parent} is missing; name the cases by GUARD_CASES"))]
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [pytest.param(row, id=row["id"]) for row in rows if row.get(part)]


def proposed(name: str, row: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """(id, tool, arguments) of the recorded calls: text or an object, as the wire has them."""
    arguments = "arguments" if name in OBJECTS else "arguments_raw"
    return [(call["id"], call["name"], call[arguments]) for call in row["turns"][0]["calls"]]


def bare(name: str, said: Any) -> list[Any]:
    """A recorded message as it may be sent back: without nulls of items, and without a kind that Converse gives and does not take."""
    if name == "openai-responses":
        return [{key: value for key, value in item.items() if value is not None} for item in said]
    for block in said["content"] if name == "bedrock-converse" else ():
        if "toolUse" in block:
            block["toolUse"].pop("type", None)
    return [said]


@pytest.mark.parametrize("row", recordings("assistant_message"))
def test_recorded_message(row: dict[str, Any]) -> None:
    """Each recorded message gives the recorded calls, is stored exactly as it came, and is answered by what SDK and provider take."""
    name = WIRE_OF[row["task"]["api"]]
    said = row["assistant_message"]
    reply = wire(name).read(said)
    stored = wire(name).stored(reply)
    outcomes = [outcome(call, '{"ok":false}', status="refused", reason=Reason.NOT_AUTHORIZED) for call in reply.calls]
    offered = wire(name).tools(
        [make_tool(call.tool, {"properties": {}}, "Does it.") for call in {one.tool: one for one in reply.calls}.values()]
    )

    wanted = proposed(name, row)
    assert [
        (call_id or call.id, tool, arguments) for (call_id, tool, arguments), call in zip(wanted, reply.calls, strict=True)
    ] == [(call.id, call.tool, call.arguments) for call in reply.calls]
    assert bare(name, said) == wire(name).dump(stored)
    assert reply.calls == reply.kept
    for found in ([outcome(call) for call in reply.calls], outcomes):
        results = wire(name).results(reply, found)
        history = [FIRST.get(name, ASKED), *stored, *results]
        assert len(answers(name, results)) == len(reply.calls)
        assert [fingerprint(reply.kept)] == wire(name).answered(history, fingerprint)
        accepted(name, history, offered)
        legal(name, history)
        assert wire(name).open_calls(wire(name).dump(history)) is None


def assembled(name: str, text: str) -> object:
    """The reply that the provider's own SDK puts together from a recorded stream; None where the SDK cannot."""
    said = {"model": "m", "messages": [ASKED]}
    with Provider([text]) as provider:
        if name == "anthropic":
            with anthropic_client(provider) as client, client.messages.stream(max_tokens=9, **said) as stream:
                return stream.get_final_message()
        if name != "openai-chat":
            return None
        state = ChatCompletionStreamState()
        with openai_client(provider) as client:
            for chunk in client.chat.completions.create(stream=True, **said):
                state.handle_chunk(chunk)
        return state.get_final_completion()


def opened(calls: Any) -> list[tuple[str, str, Any]]:
    return [
        (call.id, call.tool, json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments) for call in calls
    ]


class Through:
    """A chat's wire with a guard around it, for streams."""

    def __init__(self, folder: Any, names: list[str]) -> None:
        lines = "".join(
            f"  {name}: {{kind: read, schema: {{type: object, additionalProperties: true}}, allow: [staff]}}\n" for name in names
        )
        (folder / "tools.yaml").write_text(f"tools:\n{lines}limits: {{run: {{calls: 99}}}}\n")
        self.guard = Guard.load(folder, tools={name: lambda **given: "done" for name in names}, store="memory://")


@pytest.mark.parametrize("row", recordings("stream_text"))
def test_recorded_stream(row: dict[str, Any], tmp_path: Any) -> None:
    """A recorded stream through the real client gives the recorded calls, as the SDK's own collector does, and an answer that is taken."""
    name = WIRE_OF[row["task"]["api"]]
    calls = row["turns"][0]["calls"]
    chat = Through(tmp_path, sorted({call["name"] for call in calls})).guard.open(
        Session(principal="e", roles=("staff",)), wire=name, conversation="c"
    )
    with Provider([row["stream_text"]]) as provider, CLIENTS[name](provider) as client:
        history = [chat.user("hi")]
        stream = chat.stream(ask(name, client, history, chat.tools, stream=True), history=history)
        seen = list(stream)
        turn = stream.turn()

    assert len(seen) > 0
    assert stream.complete
    assert [(one.tool, one.arguments) for one in turn.outcomes] == [(call["name"], call["arguments"]) for call in calls]
    assert all(call["id"] in (None, one.call_id) for one, call in zip(turn.outcomes, calls, strict=True))
    assert {one.status for one in turn.outcomes} == {"done"}
    accepted(name, [*history, *turn.append], chat.tools)
    legal(name, [*history, *turn.append])
    if (whole := assembled(name, row["stream_text"])) is not None:
        reply = wire(name).read(whole)
        assert opened(reply.calls) == [(one.call_id, one.tool, one.arguments) for one in turn.outcomes]
