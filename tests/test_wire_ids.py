"""Ids and what is stored: unique, legal, the same on both sides, and as the provider takes it back."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from steps_kit import calls_of
from wire_helpers import (
    ANTHROPIC,
    OPENAI,
    answers,
    both,
    fingerprint,
    given_results,
    message,
    stored_ids,
    use,
)

from guard.wires import wire
from guard.wires.plain import UNREADABLE

IDS = {
    "fine": (["a", "b"], ["a", "b"]),
    "repeated": (["dup", "dup", "dup"], ["dup", "dup_2", "dup_3"]),
    "repeated beside its own stand-in": (["dup", "dup", "dup_2"], ["dup", "dup_3", "dup_2"]),
    "number": ([7, "b"], ["7", "b"]),
}


@both
@pytest.mark.parametrize(("ids", "expected"), IDS.values(), ids=IDS.keys())
def test_ids_become_unique(name, ids, expected):
    """The first bearer keeps its id, later ones get a suffix that no other id of the message has."""
    reply = wire(name).read(message(name, *((text, "a", "{}" if name == "openai-chat" else {}) for text in ids)))

    assert expected == [call.id for call in reply.calls] == [call.id for call in reply.kept]
    assert tuple(map(str, ids)) == reply.ids


@both
@pytest.mark.parametrize("empty", ["", None, "  ", False, []], ids=repr)
def test_empty_ids_get_the_same_new_id_each_time(name, empty):
    """An empty or missing id is replaced by one that depends on the message alone, and two such calls stay apart."""
    arguments = "{}" if name == "openai-chat" else {}
    said = message(name, (empty, "a", arguments), (empty, "a", arguments))
    first, second = (wire(name).read(said) for _ in range(2))
    hinted = wire(name).read(said, turn_hint="7")

    assert first == second
    assert first.calls[0].id.startswith("call_0_")
    assert len({call.id for call in (*first.calls, *hinted.calls)}) == 4
    assert [call.id for call in first.calls] == [text for text, _ in answers(name, given_results(name, first))]


@both
@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(lambda n: ["x"] * n, id="equal"),
        pytest.param(lambda n: ["x"] * (n // 2) + [f"x_{k}" for k in range(n // 2)], id="equal beside their stand-ins"),
        pytest.param(lambda n: [""] * n, id="empty"),
        pytest.param(lambda n: ["a.b"] * n, id="equal and illegal"),
    ],
)
def test_ids_cost_linear_work(name, ids):
    """Twice as many calls under one id take about twice as many steps."""

    def steps(given_ids):
        said = message(name, *((text, "a", "{}" if name == "openai-chat" else {}) for text in given_ids))
        read = []
        counted = calls_of(lambda: read.append(wire(name).read(said)))
        assert len(given_ids) == len({call.id for call in read[0].calls})
        return counted

    assert steps(ids(2_000)) < steps(ids(1_000)) * 2.5


def test_illegal_ids_are_mapped_alike_on_both_sides():
    """Anthropic takes letters, digits, _ and - only: other ids are mapped in message and results alike, and never meet."""
    ids = ["functions.search:0", "functions:search.0", "é", "a\n", "fine", "x" * 200 + "."]
    reply = ANTHROPIC.read(message("anthropic", *((text, "a", {}) for text in ids)))
    sent = stored_ids("anthropic", ANTHROPIC.stored(reply)[0])

    assert ids == [call.id for call in reply.calls]
    assert len(ids) == len(set(sent))
    assert all(set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") for text in sent)
    assert sent == [text for text, _ in answers("anthropic", given_results("anthropic", reply))]
    assert sent[4] == "fine"


def test_an_illegal_id_never_takes_the_id_of_a_sibling():
    """A sibling that bears the stand-in of an illegal id keeps it; the illegal one gets another."""
    [stand_in] = [call.id for call in ANTHROPIC.read(message("anthropic", ("a.b", "a", {}))).kept]
    reply = ANTHROPIC.read(message("anthropic", ("a.b", "a", {}), (stand_in, "a", {})))

    assert [f"{stand_in}_2", stand_in] == [call.id for call in reply.kept]


anything = st.one_of(st.text(max_size=6), st.sampled_from(["", "a", "a_2", "a.b", "call_0"]), st.none(), st.integers(0, 3))


@both
@settings(deadline=None)
@given(data=st.data())
def test_what_is_stored_reads_the_same_again(name, data):
    """For any ids, names and arguments: stored and results pair one to one, and reading what was stored changes nothing."""
    objects = st.dictionaries(st.text(max_size=3), st.one_of(st.text(max_size=3), st.integers(), st.none()), max_size=2)
    texts = st.one_of(st.text(max_size=5), objects.map(json.dumps), st.none())
    arguments = st.one_of(texts, objects)
    calls = data.draw(st.lists(st.tuples(anything, anything, arguments), max_size=5))
    said = message(
        name, *((first, second, third if third is not None or name != "anthropic" else []) for first, second, third in calls)
    )
    reply = wire(name).read(said)
    stored = wire(name).stored(reply)[0]
    again = wire(name).read(stored)
    results = given_results(name, reply)

    assert len(calls) == len(reply.calls) == len(reply.kept)
    assert (reply.kept, stored) == (again.kept, wire(name).stored(again)[0])
    assert again.calls == again.kept
    assert [call.id for call in reply.kept] == [text for text, _ in answers(name, results)]
    json.dumps([stored, *results], allow_nan=False, ensure_ascii=False).encode()


ARGUMENTS = {
    "fine": ('{"q": "a"}', '{"q": "a"}', '{"q": "a"}'),
    "spaces and order kept": ('{ "b":1,"a":2 }', '{ "b":1,"a":2 }', '{ "b":1,"a":2 }'),
    "null": (None, "", "{}"),
    "empty": ("", "", "{}"),
    "cut off": ('{"q": ', '{"q": ', "{}"),
    "NaN": ('{"a": NaN}', '{"a": NaN}', "{}"),
    "double-encoded stays": ('"{}"', '"{}"', '"{}"'),
    "an object": ({"q": 1}, {"q": 1}, '{"q":1}'),
    "a list": ([1], "[1]", "[1]"),
    "long integer": ('{"n": 2512292042121000001}', '{"n": 2512292042121000001}', '{"n": 2512292042121000001}'),
}


@pytest.mark.parametrize(("sent", "raw", "stored"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_openai_arguments_stay_raw_and_are_stored_as_json_text(sent, raw, stored):
    """The core sees what the model wrote; the history holds JSON text, so that no later request is rejected for it."""
    reply = OPENAI.read(message("openai-chat", ("c1", "a", sent)))

    assert raw == reply.calls[0].arguments
    assert stored == OPENAI.stored(reply)[0]["tool_calls"][0]["function"]["arguments"]


DEEP: Any = {}
for _ in range(5_000):
    DEEP = {"a": DEEP}

INPUTS = {
    "fine": ({"q": ["a", None, 1]}, {"q": ["a", None, 1]}, {"q": ["a", None, 1]}),
    "text of an object": ('{"q": 1}', '"{\\"q\\": 1}"', {"q": 1}),
    "broken text": ('{"q": ', '"{\\"q\\": "', {}),
    "blank text": (" ", " ", {}),
    "list": ([1], "[1]", {}),
    "too deep": (DEEP, UNREADABLE, {}),
    "no data": ({"q": object()}, UNREADABLE, {}),
    "lone half": ({"q": "\ud83c", "n": 1}, {"q": "\ud83c", "n": 1}, {"q": "\ufffd", "n": 1}),
    "key no text": ({"q": {1: 2}}, UNREADABLE, {}),
    "number of a class of its own": ({"n": HTTPStatus.OK}, {"n": 200}, {"n": 200}),
    "text of an object with a number beyond floats": ('{"q": 1e400}', '"{\\"q\\": 1e400}"', {}),
}


@pytest.mark.parametrize(("sent", "raw", "stored"), INPUTS.values(), ids=INPUTS.keys())
def test_anthropic_input_stays_raw_and_is_stored_as_an_object(sent, raw, stored):
    """The core sees what the model wrote; the history holds an object that a client can send."""
    reply = ANTHROPIC.read(message("anthropic", ("c1", "a", sent)))

    assert raw == reply.calls[0].arguments
    assert stored == ANTHROPIC.stored(reply)[0]["content"][1]["input"]


def test_anthropic_missing_input_is_an_empty_object():
    """A call without input, or with null, has empty arguments."""
    blocks = [{"type": "tool_use", "id": "a", "name": "a"}, {"type": "tool_use", "id": "b", "name": "a", "input": None}]

    assert [call.arguments for call in ANTHROPIC.read({"role": "assistant", "content": blocks}).calls] == [{}, {}]


@both
@pytest.mark.parametrize("tool", ["multi_tool_use.parallel", "", None, 7, "x" * 300, "naïve"], ids=lambda name: repr(name)[:20])
def test_illegal_tool_names_stay_raw_and_are_stored_legally(name, tool):
    """The core sees the name that was proposed, to refuse it; the history holds one that the provider takes back."""
    reply = wire(name).read(message(name, ("c1", tool, "{}" if name == "openai-chat" else {})))

    assert (tool if isinstance(tool, str) else "") == reply.calls[0].tool
    assert reply.kept[0].tool.replace("_", "").replace("-", "").isalnum()
    assert reply.kept[0].tool.isascii()
    assert 64 >= len(reply.kept[0].tool) > 0


def test_openai_custom_tools_are_calls_too():
    """A custom tool's input arrives raw, its stored form stays its own, and its result pairs."""
    custom = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "rm -rf /"}}
    strange = {"id": "c2", "type": "mcp", "mcp": {"name": "x", "arguments": "{}"}}
    empty = {"id": "c3"}
    reply = OPENAI.read({"role": "assistant", "tool_calls": [custom, strange, empty]})
    stored = OPENAI.stored(reply)[0]["tool_calls"]

    assert [(call.tool, call.arguments) for call in reply.calls] == [("shell", "rm -rf /"), ("x", "{}"), ("", "")]
    assert [custom, strange] == stored[:2]
    assert stored[2]["function"]["arguments"] == "{}"
    assert [text for text, _ in answers("openai-chat", given_results("openai-chat", reply))] == ["c1", "c2", "c3"]


def test_openai_function_call_is_one_call_with_a_function_result():
    """The deprecated form has no id: its result is a message of role `function` under the tool's name."""
    said = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": '{"q": "a"}'}}
    reply = OPENAI.read(said)
    results = given_results("openai-chat", reply, "found")

    assert (reply.calls[0].tool, reply.calls[0].arguments) == ("search", '{"q": "a"}')
    assert said == OPENAI.stored(reply)[0]
    assert results == [{"role": "function", "name": "search", "content": "found"}]
    assert [fingerprint(reply.kept)] == OPENAI.answered([said, *results], fingerprint)
    assert OPENAI.open_calls([said]) is not None


STORED = {
    "openai: no content and no calls": ("openai-chat", {"role": "assistant", "content": None}, {"role": "assistant", "content": ""}),
    "openai: empty call list": (
        "openai-chat",
        {"role": "assistant", "content": "hi", "tool_calls": [], "function_call": None},
        {"role": "assistant", "content": "hi"},
    ),
    "openai: lone half": ("openai-chat", {"role": "assistant", "content": "\ud83c"}, {"role": "assistant", "content": "\ufffd"}),
    "openai: unknown fields kept": (
        "openai-chat",
        {"role": "assistant", "content": None, "refusal": "no", "reasoning_content": "hm", "x": {"y": None}},
        {"role": "assistant", "content": None, "refusal": "no", "reasoning_content": "hm", "x": {"y": None}},
    ),
    "anthropic: text": ("anthropic", {"role": "assistant", "content": "hi"}, {"role": "assistant", "content": "hi"}),
    "anthropic: blank text": (
        "anthropic",
        {"role": "assistant", "content": [{"type": "text", "text": " \n"}, use()]},
        {"role": "assistant", "content": [use()]},
    ),
    "anthropic: nothing": (
        "anthropic",
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": [{"type": "text", "text": "(no text)"}]},
    ),
    "anthropic: thinking alone": (
        "anthropic",
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "(no text)"}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "said", "stored"), STORED.values(), ids=STORED.keys())
def test_what_a_provider_sends_and_then_rejects_is_mended(name, said, stored):
    """Messages that providers send but do not take back are stored in the nearest form that they take."""
    assert stored == wire(name).stored(wire(name).read(said))[0]


def test_provider_run_tools_are_not_calls_of_ours():
    """Server tools stay untouched, in order, and are neither calls nor answered; the tool_use beside them is."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "server_tool_use", "id": "srv.1", "name": "web_search", "input": {"query": "a"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv.1", "content": [{"type": "web_search_result", "page_age": None}]},
        {"type": "mcp_tool_use", "id": "m.1", "name": "x", "input": {}, "server_name": "s"},
        use(),
    ]
    reply = ANTHROPIC.read({"role": "assistant", "content": content})

    assert [call.id for call in reply.calls] == ["c1"]
    assert content == ANTHROPIC.stored(reply)[0]["content"]
