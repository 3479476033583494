"""The scripted provider rejects what providers reject, and takes everything that the wires make, through the real clients."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from provider import Provider, anthropic_client, openai_client
from wire_helpers import PNG, answers, both, function, make_tool, message, outcome, use

from guard.core.model import ToolCall
from guard.core.reasons import Reason
from guard.wires import wire

HI = {"role": "user", "content": "hi"}
TOOL = make_tool("search", {"properties": {"q": {"type": "string"}}}, "Looks things up.")


def ask(name: str, provider: Provider, messages: list[Any], tools: list[Any] | None = None) -> object:
    """One request through the real client."""
    offered = {"tools": tools} if tools else {}
    if name == "anthropic":
        with anthropic_client(provider) as client:
            return client.messages.create(model="m", max_tokens=99, messages=messages, **offered)
    with openai_client(provider) as client:
        return client.chat.completions.create(model="m", messages=messages, **offered)


def calls(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [function(text) for text in ids]}


def said(call_id: str, content: Any = "x") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def uses(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [use(text) for text in ids]}


def told(*ids: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": text, "content": "x", **more} for text in ids]}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,x"}}
BLANK = {"type": "text", "text": " "}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
BAD = {
    "openai: no result": ("openai-chat", [HI, calls("a", "b"), said("a")]),
    "openai: no result before the user": ("openai-chat", [HI, calls("a"), HI]),
    "openai: no call": ("openai-chat", [HI, said("a")]),
    "openai: result of another message": ("openai-chat", [HI, calls("a"), said("a"), HI, said("a")]),
    "openai: two results": ("openai-chat", [HI, calls("a"), said("a"), said("a")]),
    "openai: not contiguous": ("openai-chat", [HI, calls("a", "b"), said("a"), HI, said("b")]),
    "openai: repeated ids": ("openai-chat", [HI, calls("a", "a"), said("a"), said("a")]),
    "openai: empty id": ("openai-chat", [HI, calls(""), said("")]),
    "openai: no calls in the list": ("openai-chat", [HI, calls()]),
    "openai: 129 calls": ("openai-chat", [HI, calls(*map(str, range(129))), *(said(str(number)) for number in range(129))]),
    "openai: picture in a result": ("openai-chat", [HI, calls("a"), said("a", [PICTURE])]),
    "openai: result is no text": ("openai-chat", [HI, calls("a"), said("a", {"x": 1})]),
    "openai: null result": ("openai-chat", [HI, calls("a"), said("a", None)]),
    "openai: nothing said": ("openai-chat", [HI, {"role": "assistant", "content": None}]),
    "openai: illegal tool name": ("openai-chat", [HI, {**calls(), "tool_calls": [function("a", "x.y")]}, said("a")]),
    "openai: broken arguments": ("openai-chat", [HI, {**calls(), "tool_calls": [function("a", "x", "{")]}, said("a")]),
    "openai: no messages": ("openai-chat", []),
    "anthropic: no result": ("anthropic", [HI, uses("a", "b"), told("a")]),
    "anthropic: no result at the end": ("anthropic", [HI, uses("a")]),
    "anthropic: no call": ("anthropic", [told("a")]),
    "anthropic: result of another message": ("anthropic", [HI, uses("a"), told("a"), uses("b"), told("b", "a")]),
    "anthropic: two results": ("anthropic", [HI, uses("a"), told("a", "a")]),
    "anthropic: split results": ("anthropic", [HI, uses("a", "b"), told("a"), told("b")]),
    "anthropic: not contiguous": ("anthropic", [HI, uses("a"), HI, told("a")]),
    "anthropic: results not first": ("anthropic", [HI, uses("a"), {**HI, "content": [{**BLANK, "text": "x"}, *told("a")["content"]]}]),
    "anthropic: repeated ids": ("anthropic", [HI, uses("a", "a"), told("a")]),
    "anthropic: illegal id": ("anthropic", [HI, uses("a.b"), told("a.b")]),
    "anthropic: blank text": ("anthropic", [{**HI, "content": [BLANK]}]),
    "anthropic: blank text in a result": ("anthropic", [HI, uses("a"), told("a", content=[BLANK])]),
    "anthropic: picture in an error": ("anthropic", [HI, uses("a"), told("a", content=[IMAGE], is_error=True)]),
    "anthropic: empty message": ("anthropic", [HI, {"role": "assistant", "content": []}, HI]),
    "anthropic: thinking last": ("anthropic", [HI, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}]),
    "anthropic: input no object": ("anthropic", [HI, {**HI, "role": "assistant", "content": [use("a", "x", "{}")]}, told("a")]),
    "anthropic: unknown field": ("anthropic", [{**HI, "stop_reason": "end_turn"}]),
}  # fmt: skip


@pytest.mark.parametrize(("name", "messages"), BAD.values(), ids=BAD.keys())
def test_the_provider_rejects(name, messages):
    """A history that providers reject raises the client's own BadRequestError, and the script does not move."""
    problem = anthropic.BadRequestError if name == "anthropic" else openai.BadRequestError
    with Provider([{"role": "assistant", "content": "never"}]) as provider:
        with pytest.raises(problem) as caught:
            ask(name, provider, messages)

        assert provider.requests == []
        assert provider.rejections[0] in str(caught.value)
        assert len(provider.script) == 1


@both
def test_the_provider_rejects_illegal_tool_names(name):
    """A schema with an illegal name is rejected; what the wire offers is taken."""
    problem = anthropic.BadRequestError if name == "anthropic" else openai.BadRequestError
    good = wire(name).tools([TOOL])
    bad = [{**good[0], "name": "x.y"}] if name == "anthropic" else [{"type": "function", "function": {"name": "x.y"}}]
    with Provider([{"role": "assistant", "content": "fine"}]) as provider:
        with pytest.raises(problem):
            ask(name, provider, [HI], bad)
        ask(name, provider, [HI], good)

        assert [good] == [request["tools"] for request in provider.requests]


def test_a_script_that_has_ended_says_so():
    """After its last turn the provider answers that there is no further one."""
    with Provider([]) as provider, pytest.raises(openai.NotFoundError, match="no further turn"):
        ask("openai-chat", provider, [HI])


ID_SETS = {
    "one": ["a"],
    "two": ["a", "b"],
    "64": [f"call_{number}" for number in range(64)],
    "repeated": ["a", "a", "a_2", "a"],
    "empty": ["", "", ""],
    "illegal": ["a.b", "a:b", "a_b", "functions.search:0", "ü"],
    "too many": [f"call_{number}" for number in range(130)],
}


def varied(position: int, call: ToolCall) -> Any:
    """Done with text, done with a picture, failed with a picture, and done with nothing, in turn."""
    contents = ['{"ok":true}', ("seen", PNG), (PNG, ""), ""]
    state = {"status": "failed", "reason": Reason.TOOL_FAILED} if position % 4 == 2 else {}
    return outcome(call, contents[position % 4], **state)


@both
@pytest.mark.parametrize("ids", ID_SETS.values(), ids=ID_SETS.keys())
def test_the_provider_takes_what_the_wires_make(name, ids):
    """Stored message and results are taken back for any ids, pictures and failures, and again when an open turn was closed."""
    arguments = "{}" if name == "openai-chat" else {}
    turn = message(name, *((text, "search", arguments) for text in ids))
    script = [turn, *({"role": "assistant", "content": "fine"} for _ in range(3))]
    with Provider(script) as provider:
        chat = [wire(name).user("hi")]
        reply = wire(name).read(ask(name, provider, chat, wire(name).tools([TOOL])))
        outcomes = [varied(position, call) for position, call in enumerate(reply.calls)]
        chat += [wire(name).stored(reply)[0], *wire(name).results(reply, outcomes)]
        ask(name, provider, chat)
        ask(name, provider, [*chat, *wire(name).follow_up(outcomes[:2]), wire(name).user("and now?")])
        index, found, _ = wire(name).open_calls(chat[:2])
        ask(name, provider, wire(name).close([*chat[:2], HI], index, found, dict(enumerate(outcomes))))

        assert len(ids) == len(reply.calls)
        assert min(len(ids), 128 if name == "openai-chat" else 999) == len(answers(name, chat))
        assert provider.rejections == []


ODD: dict[str, tuple[str, list[Any]]] = {
    "openai: broken and missing arguments": (
        "openai-chat",
        [function("a", "search", '{"q": '), function("b", "search", ""), function("c", "multi_tool_use.parallel", "{}")],
    ),
    "openai: custom tool": ("openai-chat", [{"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls"}}]),
    "anthropic: odd inputs and names": (
        "anthropic",
        [use("a", "x.y", {}), use("b", "search", "{}"), {"type": "text", "text": ""}],
    ),
    "anthropic: thinking last": ("anthropic", [use("a"), {"type": "thinking", "thinking": "hm", "signature": "s"}]),
}


@pytest.mark.parametrize(("name", "parts"), ODD.values(), ids=ODD.keys())
def test_what_models_get_wrong_does_not_end_the_conversation(name, parts):
    """A message that would itself be rejected later is stored in a form that the provider takes back."""
    turn = (
        {"role": "assistant", "content": parts}
        if name == "anthropic"
        else {"role": "assistant", "content": None, "tool_calls": parts}
    )
    with Provider([turn, {"role": "assistant", "content": "fine"}]) as provider:
        reply = wire(name).read(ask(name, provider, [HI]))
        results = wire(name).results(reply, [outcome(call, '{"ok":false}') for call in reply.calls])
        ask(name, provider, [HI, wire(name).stored(reply)[0], *results])

        assert len(provider.requests) == 2


def test_the_deprecated_function_call_goes_round():
    """A reply with `function_call` is answered in its own old form, which the provider takes."""
    old = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": "{}"}}
    with Provider([old, {"role": "assistant", "content": "fine"}]) as provider:
        reply = wire("openai-chat").read(ask("openai-chat", provider, [HI]))
        results = wire("openai-chat").results(reply, [outcome(call) for call in reply.calls])
        ask("openai-chat", provider, [HI, wire("openai-chat").stored(reply)[0], *results])

        assert provider.rejections == []


@both
def test_an_empty_last_word_can_be_sent_back(name):
    """A reply without any text is stored so that the conversation can go on."""
    empty = {"role": "assistant", "content": [] if name == "anthropic" else None}
    with Provider([empty, {"role": "assistant", "content": "fine"}]) as provider:
        reply = wire(name).read(ask(name, provider, [HI]))
        ask(name, provider, [HI, wire(name).stored(reply)[0], HI])

        assert (reply.calls, len(provider.requests)) == ((), 2)
