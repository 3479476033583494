"""Whatever stands in a reply, a history or an event: a wire raises WireError or gives every call its place, and nothing else happens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provider import Provider
from wire_helpers import every, fingerprint, message, outcome, spelled
from wire_talk import CLIENTS, EVENTS, ask

from guard import Guard, Session, WireError
from guard.wires import wire
from guard.wires.streams import Collector

KEYS = st.sampled_from(
    [
        "role",
        "type",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "call_id",
        "input",
        "parts",
        "functionCall",
        "args",
        "toolUse",
        "toolUseId",
        "toolResult",
        "functionResponse",
        "output",
        "candidates",
        "choices",
        "message",
        "status",
        "text",
        "index",
    ]
)
WORDS = st.sampled_from(
    ["assistant", "model", "user", "tool", "function_call", "tool_use", "tool_result", "text", "look", "c1", ""]
)
LEAVES = st.none() | st.booleans() | st.integers(-3, 10**6) | WORDS | st.text(max_size=4)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25)


def spoiled(value: Any, data: st.DataObject) -> Any:
    """The value with some leaf or branch of it replaced by something else."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 3)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: spoiled(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 3)):
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], spoiled(value[at], data), *value[at + 1 :]]
    return data.draw(JSON)


def only_wire_errors(call: Any) -> Any:
    try:
        return call()
    except WireError:
        return None


@pytest.mark.slow
@every
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_reply_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """Of a spoiled reply each call that is read has an id of its own, is stored as JSON, and is answered once."""
    said = message(name, ("c1", "look", spelled(name, "{}")), ("c2", "look", spelled(name, "{}")))
    reply = only_wire_errors(lambda: wire(name).read(spoiled(said, data)))
    if reply is None:
        return
    ids = [call.id for call in reply.calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    stored, results = wire(name).stored(reply), wire(name).results(reply, [outcome(call) for call in reply.calls])
    json.dumps(wire(name).dump([*stored, *results]))
    assert wire(name).open_calls([*stored, *results]) is None
    if stored:
        assert wire(name).read(wire(name).joined(stored)).kept == reply.kept


@pytest.mark.slow
@every
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_history_is_closed_or_refused(name: str, data: st.DataObject) -> None:
    """Of a spoiled history every open call gets its result, or the history is refused; nothing is left open."""
    reply = wire(name).read(message(name, ("c1", "look", spelled(name, "{}")), ("c2", "look", spelled(name, "{}"))))
    results = wire(name).results(reply, [outcome(call) for call in reply.calls])
    history = [wire(name).user("hi"), *wire(name).stored(reply), *results, wire(name).user("and?"), *wire(name).stored(reply)]
    broken = spoiled(wire(name).dump(history), data)
    if not isinstance(broken, list):
        return
    only_wire_errors(lambda: wire(name).answered(broken, fingerprint))
    closed = only_wire_errors(
        lambda: wire(name).close_all(broken, lambda found: {at: outcome(call) for at, call in enumerate(found.calls)})
    )
    if closed is not None:
        assert wire(name).open_calls(closed) is None


@pytest.mark.slow
@every
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_an_event_is_read_or_makes_a_cut(name: str, data: st.DataObject) -> None:
    """Spoiled events break nothing: what comes out is a reply that is read, or one that is refused."""
    events = EVENTS[name]([("c1", "look", '{"q": "a b c"}')])
    at = data.draw(st.integers(0, len(events) - 1))
    collector = Collector(wire(name))
    for event in [*events[:at], spoiled(events[at], data), *events[at + 1 :]]:
        collector.add(event)
    collector.calls()
    only_wire_errors(lambda: wire(name).read(collector.reply()))


SAID = {
    "openai-chat": lambda reply: [reply.choices[0].message],
    "openai-responses": lambda reply: reply.output,
    "anthropic": lambda reply: [{"role": reply.role, "content": reply.content}],
    "gemini": lambda reply: [reply.candidates[0].content],
    "bedrock-converse": lambda reply: [reply["output"]["message"]],
}


@every
def test_a_history_of_the_sdks_own_objects(tmp_path: Any, name: str) -> None:
    """A host that keeps its own copies of replies is understood, saved as JSON, and gone on with after a restart."""
    (tmp_path / "tools.yaml").write_text("tools:\n  look: {kind: read, allow: [staff]}\nlimits: {run: {calls: 9}}\n")
    ran: list[int] = []

    def look(n: int) -> int:
        ran.append(n)
        return n

    said = message(name, ("c1", "look", spelled(name, '{"n": 1}')), ("c2", "look", spelled(name, '{"n": 2}')))
    with (
        Guard.load(tmp_path, tools={"look": look}, store="memory://") as guard,
        Provider([said, message(name)]) as provider,
        CLIENTS[name](provider) as client,
    ):
        chat = guard.open(Session(principal="E1", roles=("staff",)), wire=name, conversation="c")
        history: list[Any] = [chat.user("go")]
        reply = ask(name, client, history, chat.tools)
        turn = chat.handle(reply, history=history)
        history += SAID[name](reply)
        lost = chat.resume(history)  # the results were lost: the ledger has them
        history += turn.messages
        assert len(chat.wire.answered(history, fingerprint)) == 1
        assert chat.resume(json.loads(json.dumps(chat.dump(history)))) == lost
        ask(name, client, lost, chat.tools)
        assert provider.rejections == []
    assert ran == [1, 2]


@every
def test_what_is_no_message_is_refused(name: str) -> None:
    """Texts, numbers, None and the like are no messages of any wire."""
    for nothing in (None, "hello", b"hello", 3, {}, {"role": "user", "content": "hi"}, object(), iter([])):
        with pytest.raises(WireError):
            wire(name).read(nothing)
    for nothing in (None, "hello", 3):
        with pytest.raises(WireError):
            wire(name).dump([nothing])
