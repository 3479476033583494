"""The wires read every form of a reply, and raise WireError for everything else."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from wire_helpers import (
    ANTHROPIC,
    OPENAI,
    both,
    function,
    message,
    use,
)

from guard.core.model import ToolCall
from guard.errors import WireError
from guard.wires import WIRES, wire


def test_unknown_wire_names_the_known_ones():
    """An unknown wire is a WireError that names the known wires."""
    with pytest.raises(WireError, match=f"known are {', '.join(sorted(WIRES))}"):
        wire("smoke-signals")


@both
def test_each_wire_bears_its_name(name):
    """The name in the table is the name that the wire bears."""
    assert name == wire(name).name


COMPLETION = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m-1",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message("openai-chat", ("c1", "search", '{"q": "a"}'))}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
}
RESPONSE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m-1",
    "content": message("anthropic", ("c1", "search", {"q": "a"}))["content"],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 4, "cache_read_input_tokens": 3, "cache_creation_input_tokens": None, "output_tokens": 3},
}


def as_objects(value: Any) -> Any:
    """The same data as objects with attributes."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: as_objects(item) for key, item in value.items()})
    return tuple(as_objects(item) for item in value) if isinstance(value, list) else value


@dataclass
class Said:
    content: Any
    role: str = "assistant"
    tool_calls: list[Any] = field(default_factory=list)


class Role(StrEnum):
    ASSISTANT = "assistant"


OPENAI_FORMS = {
    "dict": COMPLETION,
    "SDK response": ChatCompletion.model_validate(COMPLETION),
    "SDK response, unvalidated": ChatCompletion.construct(**COMPLETION),
    "SDK message": ChatCompletion.model_validate(COMPLETION).choices[0].message,
    "message": COMPLETION["choices"][0]["message"],
    "read-only mapping": MappingProxyType(COMPLETION["choices"][0]["message"]),
    "message dumped with every null": ChatCompletion.model_validate(COMPLETION).choices[0].message.model_dump(),
    "attributes": as_objects({**COMPLETION, "choices": COMPLETION["choices"]}),
    "dataclass": Said(content="Let me see.", tool_calls=[function()]),
    "enum role": {**COMPLETION["choices"][0]["message"], "role": Role.ASSISTANT},
    "no role": {key: item for key, item in COMPLETION["choices"][0]["message"].items() if key != "role"},
    "no type": message("openai-chat") | {"tool_calls": [{"id": "c1", "function": function()["function"]}]},
    "SDK additions": message("openai-chat") | {"parsed": None, "tool_calls": [
        function() | {"function": function()["function"] | {"parsed_arguments": {"q": "a"}}}]},
}  # fmt: skip
ANTHROPIC_FORMS = {
    "dict": RESPONSE,
    "SDK response": Message.model_validate(RESPONSE),
    "SDK response, unvalidated": Message.construct(**RESPONSE),
    "message": message("anthropic", ("c1", "search", {"q": "a"})),
    "SDK blocks in a dict": {"role": "assistant", "content": Message.model_validate(RESPONSE).content},
    "dumped with every null": Message.model_validate(RESPONSE).model_dump(),
    "attributes": SimpleNamespace(role="assistant", content=[SimpleNamespace(**block) for block in RESPONSE["content"]]),
}


@pytest.mark.parametrize("form", OPENAI_FORMS.values(), ids=OPENAI_FORMS.keys())
def test_openai_reads_every_form(form):
    """Dicts, SDK objects and objects with attributes all give the same call and the message to store, without invented nulls."""
    reply = OPENAI.read(form)

    assert (ToolCall("c1", "search", '{"q": "a"}'),) == reply.calls == reply.kept
    stored = {key: item for key, item in OPENAI.stored(reply)[0].items() if key != "refusal"}
    assert message("openai-chat", ("c1", "search", '{"q": "a"}')) == stored


@pytest.mark.parametrize("form", ANTHROPIC_FORMS.values(), ids=ANTHROPIC_FORMS.keys())
def test_anthropic_reads_every_form(form):
    """Dicts, SDK objects and objects with attributes all give the same call and a message of role and content only."""
    reply = ANTHROPIC.read(form)
    stored = ANTHROPIC.stored(reply)[0]

    assert (ToolCall("c1", "search", {"q": "a"}),) == reply.calls == reply.kept
    assert {"role", "content"} == set(stored)
    assert use() == {key: item for key, item in stored["content"][1].items() if item is not None}


def test_reading_leaves_the_reply_alone():
    """What is stored is a copy: changing it changes neither the reply nor a later copy."""
    given_message = message("anthropic", ("c1", "search", {"q": ["a"]}))
    reply = ANTHROPIC.read(given_message)
    ANTHROPIC.stored(reply)[0]["content"][1]["input"]["q"].append("b")

    assert {"q": ["a"]} == given_message["content"][1]["input"] == ANTHROPIC.stored(reply)[0]["content"][1]["input"]
    assert reply.calls[0].arguments == {"q": ["a"]}


NONSENSE = {
    "None": None,
    "text": "hello",
    "bytes": b"hello",
    "number": 3,
    "list": [message("openai-chat")],
    "empty dict": {},
    "no choices": {"choices": []},
    "choices of nothing": {"choices": [None]},
    "choice without message": {"choices": [{"text": "hi"}]},
    "user message": {"role": "user", "content": "hi"},
    "content is a number": {"role": "assistant", "content": 3},
    "a class": ChatCompletion,
    "a function": message,
    "a stream": iter([COMPLETION]),
    "responses api": {"output": [{"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"}]},
}


@both
@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_a_wire_error_that_says_what_was_expected(name, nonsense):
    """What is no reply raises WireError with the expected form, never another exception."""
    with pytest.raises(WireError, match="expects"):
        wire(name).read(nonsense)


OTHERS = {
    "openai: tool_use": ("openai-chat", message("anthropic", ("c1", "a", {}))),
    "openai: a whole Message": ("openai-chat", {**RESPONSE, "content": [{"type": "text", "text": "hi"}]}),
    "openai: tool_calls no list": ("openai-chat", {"role": "assistant", "tool_calls": {"id": "c1"}}),
    "openai: entry no object": ("openai-chat", {"role": "assistant", "tool_calls": ["c1"]}),
    "openai: key no text": ("openai-chat", {"role": "assistant", "content": "x", 3: 4}),
    "openai: an object that is no data": ("openai-chat", {"role": "assistant", "content": "x", "extra": object()}),
    "anthropic: tool_calls": ("anthropic", message("openai-chat", ("c1", "a", "{}"))),
    "anthropic: a completion": ("anthropic", COMPLETION),
    "anthropic: block no object": ("anthropic", {"role": "assistant", "content": ["hi"]}),
    "anthropic: block without type": ("anthropic", {"role": "assistant", "content": [{"text": "hi"}]}),
    "anthropic: no content": ("anthropic", {"role": "assistant", "content": None}),
}


@pytest.mark.parametrize(("name", "other"), OTHERS.values(), ids=OTHERS.keys())
def test_another_wires_message_is_a_wire_error(name, other):
    """A message of the other wire, or one that is broken, is refused: its calls would go unseen otherwise."""
    with pytest.raises(WireError):
        wire(name).read(other)


STOPS = {
    "openai tool_calls": ("openai-chat", "tool_calls", True, False),
    "openai length": ("openai-chat", "length", True, True),
    "openai length without calls": ("openai-chat", "length", False, True),
    "openai content_filter with calls": ("openai-chat", "content_filter", True, True),
    "openai content_filter": ("openai-chat", "content_filter", False, False),
    "anthropic tool_use": ("anthropic", "tool_use", True, False),
    "anthropic max_tokens": ("anthropic", "max_tokens", True, True),
    "anthropic context window": ("anthropic", "model_context_window_exceeded", True, True),
    "anthropic refusal with calls": ("anthropic", "refusal", True, True),
    "anthropic refusal": ("anthropic", "refusal", False, False),
    "anthropic pause": ("anthropic", "pause_turn", False, False),
    **{f"openai {word}": ("openai-chat", word, True, False) for word in ("stop", "function_call", None)},
    **{f"anthropic {word}": ("anthropic", word, True, False) for word in ("end_turn", "stop_sequence", "pause_turn", None)},
    **{
        f"{name} {word!r} with calls": (name, word, True, True)
        for name in ("openai-chat", "anthropic")
        for word in (
            "model_length",
            "MAX_TOKENS",
            "error",
            "insufficient_system_resource",
            "a word of tomorrow",
            "",
            3,
            ["stop"],
            {},
        )
    },
    "openai an unknown word": ("openai-chat", "error", False, False),
    "openai another wire's word": ("openai-chat", "end_turn", True, True),
    "anthropic another wire's word": ("anthropic", "stop", True, True),
}


@pytest.mark.parametrize(("name", "stop", "calls", "truncated"), STOPS.values(), ids=STOPS.keys())
def test_truncated_replies_are_known(name, stop, calls, truncated):
    """A reply with calls is whole only by the words that are known to say so; without calls, by those that do not say cut off."""
    said = message(name, *([("c1", "a", {} if name == "anthropic" else "{}")] if calls else []))
    reply = {**said, "stop_reason": stop} if name == "anthropic" else {"choices": [{"message": said, "finish_reason": stop}]}

    assert truncated == wire(name).read(reply).truncated


def test_a_paused_turn_is_known():
    """A reply that the provider paused for its own tools is marked, since the host must send it back."""
    paused = {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]}

    assert ANTHROPIC.read({**paused, "stop_reason": "pause_turn"}).paused
    assert not ANTHROPIC.read({**paused, "stop_reason": "end_turn"}).paused


USAGES = {
    "openai": ("openai-chat", {"prompt_tokens": 7, "completion_tokens": 3}, (True, 7, 3, None)),
    "openai with a price": ("openai-chat", {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.0125}, (True, 7, 3, Decimal("0.0125"))),
    "openai with nonsense for a price": ("openai-chat", {"prompt_tokens": 7, "completion_tokens": 3, "cost": "free"}, (True, 7, 3, None)),
    "openai with a negative price": ("openai-chat", {"prompt_tokens": 7, "completion_tokens": 3, "cost": -1}, (True, 7, 3, None)),
    "openai half": ("openai-chat", {"prompt_tokens": 7}, (False, 0, 0, None)),
    "openai negative": ("openai-chat", {"prompt_tokens": -7, "completion_tokens": 3}, (False, 0, 0, None)),
    "openai truth value": ("openai-chat", {"prompt_tokens": True, "completion_tokens": 3}, (False, 0, 0, None)),
    "openai none": ("openai-chat", None, (False, 0, 0, None)),
    "anthropic": ("anthropic", {"input_tokens": 7, "output_tokens": 3}, (True, 7, 3, None)),
    "anthropic cache": ("anthropic", RESPONSE["usage"], (True, 7, 3, None)),
    "anthropic none": ("anthropic", None, (False, 0, 0, None)),
    "anthropic text": ("anthropic", "many", (False, 0, 0, None)),
}  # fmt: skip


@pytest.mark.parametrize(("name", "usage", "expected"), USAGES.values(), ids=USAGES.keys())
def test_usage_is_read_or_unknown(name, usage, expected):
    """Tokens are counted with the cache; a usage that is missing or makes no sense is unknown, never zero."""
    reply = {**(RESPONSE if name == "anthropic" else COMPLETION), "usage": usage}
    read = wire(name).read(reply).usage

    assert expected == (read.known, read.tokens_in, read.tokens_out, read.cost)
    assert read.model == "m-1"


@both
def test_a_bare_message_says_nothing_about_usage(name):
    """With only a message, usage is unknown."""
    assert not wire(name).read(message(name)).usage.known
