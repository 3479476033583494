"""Real models' answers, as recorded over HTTP, are read rightly and stored as they came."""

from __future__ import annotations

import json
from typing import Any

import pytest
from corpora import CASES
from openai.lib.streaming.chat import ChatCompletionStreamState
from provider import Provider, anthropic_client, openai_client
from wire_helpers import answers, fingerprint, outcome

from guard.wires import wire

pytestmark = pytest.mark.cases
WIRE_OF = {"openai_chat": "openai-chat", "anthropic": "anthropic"}


def recordings(part: str) -> list[Any]:
    """The recorded answers that have `part`, as test rows; one skipped row when the folder is not there."""
    file = CASES / "wire_recordings" / "episodes.jsonl"
    if not file.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{file.parent} is missing; name the cases by GUARD_CASES"))]
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [pytest.param(row, id=row["id"]) for row in rows if row["task"]["api"] in WIRE_OF and row.get(part)]


def proposed(name: str, row: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """(id, tool, arguments) of the recorded calls: text on openai-chat, an object on anthropic."""
    arguments = "arguments_raw" if name == "openai-chat" else "arguments"
    return [(call["id"], call["name"], call[arguments]) for call in row["turns"][0]["calls"]]


@pytest.mark.parametrize("row", recordings("assistant_message"))
def test_recorded_message(row):
    """Each recorded message gives the recorded calls, is stored exactly as it came, and pairs with one result a call."""
    name = WIRE_OF[row["task"]["api"]]
    said = row["assistant_message"]
    reply = wire(name).read(said)
    stored = wire(name).stored(reply)[0]
    results = wire(name).results(reply, [outcome(call) for call in reply.calls])

    assert proposed(name, row) == [(call.id, call.tool, call.arguments) for call in reply.calls]
    assert said == stored == wire(name).dump([said])[0]
    assert reply.calls == reply.kept
    assert [call.id for call in reply.calls] == [text for text, _ in answers(name, results)]
    assert [fingerprint(reply.kept)] == wire(name).answered([stored, *results], fingerprint)


def assembled(name: str, text: str) -> object:
    """The reply that the provider's own SDK puts together from a recorded stream."""
    said = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with Provider([text]) as provider:
        if name == "anthropic":
            with anthropic_client(provider) as client, client.messages.stream(max_tokens=9, **said) as stream:
                return stream.get_final_message()
        state = ChatCompletionStreamState()
        with openai_client(provider) as client:
            for chunk in client.chat.completions.create(stream=True, **said):
                state.handle_chunk(chunk)
        return state.get_final_completion()


@pytest.mark.parametrize("row", recordings("stream_text"))
def test_recorded_stream(row):
    """A recorded stream, collected by the provider's own SDK, gives the recorded calls."""
    name = WIRE_OF[row["task"]["api"]]
    reply = wire(name).read(assembled(name, row["stream_text"]))
    wanted = [(call["id"], call["name"], call["arguments"]) for call in row["turns"][0]["calls"]]
    read = [
        (call.id, call.tool, json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments)
        for call in reply.calls
    ]

    assert wanted == read
    assert reply.kept == wire(name).read(wire(name).stored(reply)[0]).calls
    json.dumps(wire(name).stored(reply)[0])
