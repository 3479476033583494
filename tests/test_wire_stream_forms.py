"""What a stream may look like: each form gives the calls that its pieces say, or none that runs. Events are plain dicts here."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk
from wire_helpers import every, message, spelled
from wire_talk import EVENTS, chunk

from guard.core.model import ToolCall
from guard.errors import WireError
from guard.wires import Reply, wire
from guard.wires.streams import Collector


def collected(name: str, events: list[Any]) -> tuple[Reply, Collector]:
    collector = Collector(wire(name))
    for event in events:
        collector.add(event)
    return wire(name).read(collector.reply()), collector


def opened(call: ToolCall) -> tuple[str, str, Any]:
    return call.id, call.tool, json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments


TEXTS = st.dictionaries(
    st.text(max_size=8), st.integers() | st.text(max_size=12) | st.lists(st.booleans(), max_size=3), max_size=4
)


@every
@given(given=st.lists(st.tuples(st.sampled_from(["look", "act"]), TEXTS), max_size=4), seed=st.integers(0, 999))
def test_streamed_and_whole_give_the_same_calls(name: str, given: list[tuple[str, dict[str, Any]]], seed: int) -> None:
    """However the arguments are cut, and whatever stands between the pieces, the calls, their order and the stored message are the same."""
    calls = [(f"c{at}", tool, json.dumps(arguments)) for at, (tool, arguments) in enumerate(given)]
    events = EVENTS[name](calls)
    noise = random.Random(seed)
    for _ in range(3):
        events.insert(noise.randrange(len(events) + 1), {"type": "ping"} if name != "bedrock-converse" else {})
    reply, collector = collected(name, events)
    whole = wire(name).read(message(name, *((call, tool, spelled(name, text)) for call, tool, text in calls)))

    assert [opened(call) for call in whole.calls] == [opened(call) for call in reply.calls]
    assert (collector.ended, reply.truncated) == (True, False)
    assert wire(name).read(wire(name).joined(wire(name).stored(reply))).kept == reply.kept
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (100, 20)


@every
@pytest.mark.parametrize("text", ['{"q": "a b c d e f g h"}'])
def test_a_stream_cut_anywhere_runs_nothing_that_it_did_not_end(name: str, text: str) -> None:
    """Cut after any number of events: before the provider's word that it is over there is no whole reply, and each id keeps its call."""
    events = EVENTS[name]([("c1", "look", text), ("c2", "act", text)])
    for at in range(1, len(events)):
        collector = Collector(wire(name))
        for event in events[:at]:
            collector.add(event)
        try:
            reply = wire(name).read(collector.reply())
        except WireError:
            continue  # nothing that is a reply has come
        assert collector.ended or reply.truncated or not reply.calls
        assert [call.id for call in reply.calls] == ["c1", "c2"][: len(reply.calls)]
        assert len(reply.calls) >= sum(f'"{call}"' in json.dumps(events[:at]) for call in ("c1", "c2"))


def fn(**given: Any) -> dict[str, Any]:
    """An entry of tool_calls: `name` and `arguments` go into its function."""
    inner = {key: given.pop(key) for key in ("name", "arguments") if key in given}
    return {**given, **({"function": inner} if inner else {})}


ONE = [("c1", "look", {"q": "ab"})]
FORMS: dict[str, tuple[list[list[dict[str, Any]]], list[tuple[str, str, Any]]]] = {
    "id and name in each piece": (
        [[fn(index=0, id="c1", name="look", arguments=text)] for text in ('{"q":', '"ab"', "}")],
        ONE,
    ),
    "empty id and no name later": (
        [[fn(index=0, id="c1", name="look", arguments="")], [fn(index=0, id="", name="", arguments='{"q":"ab"}')]],
        ONE,
    ),
    "no index": ([[fn(id="c1", name="look")], [fn(arguments='{"q":')], [fn(arguments='"ab"}')]], ONE),
    "name in pieces": ([[fn(index=0, id="c1", name="lo")], [fn(index=0, name="ok")], [fn(index=0, arguments='{"q":"ab"}')]], ONE),
    "an object at once": ([[fn(index=0, id="c1", name="look", arguments={"q": "ab"})]], ONE),
    "empty pieces": ([[fn(index=0, id="c1", name="look")], [fn(index=0)], [fn(index=0, arguments="")], [fn(index=0, arguments='{"q":"ab"}')], [fn(index=0, arguments="")]], ONE),
    "id after the name": ([[fn(index=0, name="look")], [fn(index=0, id="c1", arguments='{"q":"ab"}')]], ONE),
    "a new index for each piece of one id": (
        [[fn(index=0, id="c1", name="look", arguments='{"q":')], [fn(index=1, id="c1", arguments='"ab"}')]],
        ONE,
    ),
    "interleaved": (
        [[fn(index=0, id="a", name="look"), fn(index=1, id="b", name="act")], [fn(index=1, arguments='{"n":')], [fn(index=0, arguments='{"q":')], [fn(index=1, arguments="2}"), fn(index=0, arguments="1}")]],
        [("a", "look", {"q": 1}), ("b", "act", {"n": 2})],
    ),
    "interleaved on one index": (
        [[fn(index=0, id="a", name="look", arguments='{"q"')], [fn(index=0, id="b", name="act", arguments='{"n"')], [fn(index=0, id="a", arguments=":1}")], [fn(index=0, id="b", arguments=":2}")]],
        [("a", "look", {"q": 1}), ("b", "act", {"n": 2})],
    ),
    "one id for two calls": (
        [[fn(index=0, id="a", name="look", arguments='{"q":1}')], [fn(index=1, id="a", name="act", arguments='{"n":2}')]],
        [("a", "look", {"q": 1}), ("a_2", "act", {"n": 2})],
    ),
    "no ids": (
        [[fn(index=0, name="look", arguments='{"q":1}')], [fn(index=1, name="act", arguments='{"n":2}')]],
        [("", "look", {"q": 1}), ("", "act", {"n": 2})],
    ),
    "another name on the index": (
        [[fn(index=0, name="look", arguments='{"q":1}')], [fn(index=0, name="act", arguments='{"n":2}')]],
        [("", "look", {"q": 1}), ("", "act", {"n": 2})],
    ),
    "no arguments": ([[fn(index=0, id="a", name="look")], [fn(index=1, id="b", name="act")]], [("a", "look", None), ("b", "act", None)]),
}  # fmt: skip


@pytest.mark.parametrize(("deltas", "wanted"), FORMS.values(), ids=FORMS)
def test_chat_chunks_of_every_host(deltas: list[list[dict[str, Any]]], wanted: list[tuple[str, str, Any]]) -> None:
    """Pieces find their call by id, index or order, whichever the host gives."""
    reply, _ = collected("openai-chat", [*(chunk({"tool_calls": delta}) for delta in deltas), chunk({}, "tool_calls")])
    found = [opened(call) if call.arguments else (call.id, call.tool, None) for call in reply.calls]

    assert [(tool, arguments) for _, tool, arguments in wanted] == [(tool, arguments) for _, tool, arguments in found]
    assert all(given in ("", call) for (given, _, _), (call, _, _) in zip(wanted, found, strict=True))
    assert not reply.truncated


MESSAGES = {
    "at once": [{"tool_calls": [fn(index=0, id="c1", name="look", arguments='{"q":"ab"}')]}],
    "in pieces": [
        {"tool_calls": [fn(index=0, id="c1", name="look", arguments='{"q":')]},
        {"tool_calls": [fn(index=0, arguments='"ab"}')]},
    ],
}


@pytest.mark.parametrize("form", [dict, ChatCompletionChunk.model_construct], ids=["dicts", "the SDK's"])
@pytest.mark.parametrize(
    "besides",
    [{}, {"delta": None}, {"delta": {}}, {"delta": {"role": "assistant", "content": ""}}],
    ids=["no delta", "null", "an empty one", "a role"],
)
@pytest.mark.parametrize("messages", MESSAGES.values(), ids=MESSAGES)
def test_a_message_in_place_of_deltas_is_read(messages: list[dict[str, Any]], besides: dict[str, Any], form: Any) -> None:
    """A host that streams the form of a whole reply loses no call."""
    chunks = [chunk({}) | {"choices": [{"index": 0, "message": one, "finish_reason": None, **besides}]} for one in messages]
    reply, _ = collected("openai-chat", [form(**one) for one in (*chunks, chunk({}, "tool_calls"))])
    assert [opened(call) for call in reply.calls] == ONE
    assert not reply.truncated


def test_a_message_beside_deltas_repeats_them() -> None:
    """And is not read: what it says came in pieces before."""
    told = [fn(index=0, id="c1", name="look", arguments='{"q":"ab"}')]
    last = chunk({}) | {"choices": [{"index": 0, "delta": {}, "message": {"tool_calls": told}, "finish_reason": "tool_calls"}]}
    reply, _ = collected("openai-chat", [chunk({"tool_calls": told}), last])
    assert [opened(call) for call in reply.calls] == ONE


ENDS = {
    "two good ones": (["tool_calls", "stop"], False),
    "cut, then good": (["length", "tool_calls"], True),
    "good, then cut": (["tool_calls", "length"], True),
    "an unknown word between": (["stop", "eaten_by_a_bear", "tool_calls"], True),
    "none": ([], True),
    "empty": ([""], True),
}


@pytest.mark.parametrize(("reasons", "truncated"), ENDS.values(), ids=ENDS)
def test_of_ends_that_contradict_the_bad_one_counts(reasons: list[str], truncated: bool) -> None:
    """A reply is whole only if every word about its end says so, and one was said."""
    head = chunk({"tool_calls": [fn(index=0, id="c1", name="look", arguments="{}")]})
    reply, collector = collected("openai-chat", [head, *(chunk({}, reason) for reason in reasons)])

    assert reply.truncated == truncated
    assert collector.ended == bool(any(reasons))


def item(**given: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": "c1", "name": "look", **given}


def added(at: Any, **given: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", **({} if at is None else {"output_index": at}), "item": item(**given)}


def finished(at: Any, **given: Any) -> dict[str, Any]:
    return {**added(at, **given), "type": "response.output_item.done"}


def piece(at: Any, text: str, item_id: str | None = "i1") -> dict[str, Any]:
    place = {key: value for key, value in (("output_index", at), ("item_id", item_id)) if value is not None}
    return {"type": "response.function_call_arguments.delta", "delta": text, **place}


def closing(status: str = "completed", kind: str = "completed", *output: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"status": status, "output": list(output)}}


ITEMS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]], bool]] = {
    "a last word without output": ([added(0, id="i1"), piece(0, "{}"), finished(0, id="i1", arguments="{}"), closing()], [("c1", "{}")], False),
    "another id at the end of an item": ([added(0, id="i1"), piece(0, "{}"), finished(0, id="i2", arguments="{}"), closing()], [("c1", "{}")], False),
    "no index": ([added(None, id="i1"), piece(None, "{}"), finished(None, id="i1", arguments="{}"), closing()], [("c1", "{}")], False),
    "one index for two": ([added(0, id="i1"), finished(0, id="i1", arguments="{}"), added(0, id="i2", call_id="c2"), piece(0, "[1", "i2"), finished(0, id="i2", call_id="c2", arguments="{}"), closing()], [("c1", "{}"), ("c2", "{}")], False),
    "never finished": ([added(0, id="i1"), piece(0, '{"q"'), closing()], [("c1", '{"q"')], True),
    "the last word over the pieces": ([added(0, id="i1"), piece(0, '{"q": 1}'), closing("completed", "completed", item(id="i1", arguments="{}", status="completed"))], [("c1", "{}")], False),
    "finished twice": ([added(0, id="i1"), finished(0, id="i1", arguments="{}"), finished(0, id="i1", arguments="{}"), closing()], [("c1", "{}")], False),
    "a piece of nothing": ([piece(0, "{}", None), closing()], [("", "{}")], True),
    "a good event with a bad status": ([finished(0, id="i1", arguments="{}"), closing("incomplete")], [("c1", "{}")], True),
    "a bad event with a good status": ([finished(0, id="i1", arguments="{}"), closing("completed", "failed")], [("c1", "{}")], True),
    "two ends": ([finished(0, id="i1", arguments="{}"), closing("incomplete", "incomplete"), closing()], [("c1", "{}")], True),
    "no end": ([finished(0, id="i1", arguments="{}")], [("c1", "{}")], True),
}  # fmt: skip


@pytest.mark.parametrize(("events", "wanted", "truncated"), ITEMS.values(), ids=ITEMS)
def test_items_of_every_host(events: list[dict[str, Any]], wanted: list[tuple[str, str]], truncated: bool) -> None:
    """Pieces find their item by id or place; the provider's last word counts, and of its words about the end the bad one."""
    reply, _ = collected("openai-responses", events)

    assert [arguments for _, arguments in wanted] == [call.arguments for call in reply.calls]
    assert all(call_id in ("", call.id) for (call_id, _), call in zip(wanted, reply.calls, strict=True))
    assert reply.truncated == truncated


@every
def test_an_event_that_cannot_be_read_makes_no_whole_reply(name: str) -> None:
    """The host gets the event; the calls of that stream are not run, whatever the provider says of its end."""

    class Hostile:
        __slots__ = ()

        def __getattr__(self, field: str) -> Any:
            raise RuntimeError(field)

    events = EVENTS[name]([("c1", "look", "{}")])
    reply, collector = collected(name, [*events[:-1], Hostile(), events[-1]])

    assert reply.truncated
    assert not collector.ended


@every
def test_a_stream_without_events_is_misuse(name: str) -> None:
    """There is no reply to handle, which is said."""
    with pytest.raises(WireError, match="no event"):
        Collector(wire(name)).reply()


ERRORS: dict[str, Any] = {
    "openai-chat": {"error": {"message": "overloaded"}},
    "openai-responses": {"type": "error", "message": "overloaded"},
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "x"}},
    "bedrock-converse": {"throttlingException": {"message": "x"}},
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_in_the_stream_makes_no_whole_reply(name: str) -> None:
    """An error event counts as a cut, also when the provider ends the reply as if nothing had been."""
    events = EVENTS[name]([("c1", "look", "{}")])
    reply, _ = collected(name, [*events[:-1], ERRORS[name], events[-1]])

    assert reply.truncated
    assert [call.id for call in reply.calls] == ["c1"]


PARTS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "texts joined": ([{"jsonPath": "$.a", "stringValue": "x", "willContinue": True}, {"jsonPath": "$.a", "stringValue": "y"}], {"a": "xy"}),
    "deep": ([{"jsonPath": "$.a.b[0].c", "numberValue": 1}, {"jsonPath": "$.a.b[1]", "boolValue": False}], {"a": {"b": [{"c": 1}, False]}}),
    "quoted names": ([{"jsonPath": "$['a b']", "nullValue": "NULL_VALUE"}, {"jsonPath": '$["c"]', "stringValue": ""}], {"a b": None, "c": ""}),
    "a number twice": ([{"jsonPath": "$.a", "numberValue": 1}, {"jsonPath": "$.a", "numberValue": 2}], None),
    "a hole in a list": ([{"jsonPath": "$.a[1]", "numberValue": 1}], None),
    "a search": ([{"jsonPath": "$..a", "numberValue": 1}], None),
    "no path": ([{"numberValue": 1}], None),
    "two values": ([{"jsonPath": "$.a", "numberValue": 1, "stringValue": "1"}], None),
    "a field of a text": ([{"jsonPath": "$.a", "stringValue": "x"}, {"jsonPath": "$.a.b", "stringValue": "y"}], None),
}  # fmt: skip


@pytest.mark.parametrize(("pieces", "wanted"), PARTS.values(), ids=PARTS)
def test_gemini_arguments_in_pieces(pieces: list[dict[str, Any]], wanted: Any) -> None:
    """Pieces are put where their path says; what cannot be understood is refused, never guessed."""
    calls: list[dict[str, Any]] = [
        {"name": "look", "willContinue": True},
        *({"partialArgs": [one], "willContinue": True} for one in pieces),
        {},
    ]
    made = [{"candidates": [{"content": {"role": "model", "parts": [{"functionCall": call}]}}]} for call in calls]
    reply, _ = collected("gemini", [*made, {"candidates": [{"finishReason": "STOP"}]}])

    [call] = reply.calls
    assert call.arguments == wanted if wanted is not None else isinstance(call.arguments, str)
    assert not reply.truncated
