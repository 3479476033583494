"""Results, schemas and words: one result a call, in the form that the provider takes."""

from __future__ import annotations

import json
from decimal import Decimal
from types import MappingProxyType

import pytest
from wire_helpers import (
    ANTHROPIC,
    OPENAI,
    PNG,
    answers,
    both,
    make_tool,
    message,
    outcome,
    stored_ids,
)

from guard.core.model import Image, ToolCall
from guard.core.reasons import Reason
from guard.errors import WireError
from guard.wires import wire


@both
def test_results_come_in_call_order_and_carry_the_error_flag(name):
    """One result a call, in call order, contiguous; anthropic flags everything but `done`, in one user message."""
    arguments = "{}" if name == "openai-chat" else {}
    reply = wire(name).read(message(name, *((f"c{number}", "a", arguments) for number in range(3))))
    refused = {"status": "refused", "reason": Reason.NOT_AUTHORIZED}
    outcomes = [outcome(reply.calls[0]), outcome(reply.calls[1], '{"ok":false}', **refused), outcome(reply.calls[2], " ")]
    results = wire(name).results(reply, outcomes)

    assert answers(name, results) == [("c0", '{"ok":true}'), ("c1", '{"ok":false}'), ("c2", "(no output)")]
    if name == "anthropic":
        assert [block.get("is_error") for block in results[0]["content"]] == [None, True, None]
    assert len(results) == (1 if name == "anthropic" else 3)


@both
def test_no_calls_no_results(name):
    """A message without calls has no results."""
    assert wire(name).results(wire(name).read(message(name)), []) == []


@both
@pytest.mark.parametrize("pick", [(0,), (0, 1, 1), (1, 0), ()], ids=str)
def test_outcomes_that_do_not_fit_the_calls_raise(name, pick):
    """Too few, too many or swapped outcomes are never paired by guessing."""
    arguments = "{}" if name == "openai-chat" else {}
    reply = wire(name).read(message(name, ("a", "x", arguments), ("b", "x", arguments)))
    with pytest.raises(WireError, match="one outcome for each"):
        wire(name).results(reply, [outcome(reply.calls[at]) for at in pick])


def test_openai_pictures_follow_in_one_user_message():
    """A tool message is text only; all pictures follow after the last one, labelled as output of tools."""
    reply = OPENAI.read(message("openai-chat", ("c1", "shot", "{}"), ("c2", "clock", "{}"), ("c3", "shot", "{}")))
    first, second, third = reply.calls
    results = OPENAI.results(reply, [outcome(first, ("seen", PNG)), outcome(second, "noon"), outcome(third, (PNG,))])

    assert [item["role"] for item in results] == ["tool", "tool", "tool", "user"]
    assert [item["content"] for item in results[:3]] == ["seen\n[picture 1 follows]", "noon", "[picture 2 follows]"]
    kinds = [part["type"] for part in results[3]["content"]]
    assert kinds == ["text", "text", "image_url", "text", "image_url"]
    assert "not words of the user" in results[3]["content"][0]["text"]
    assert results[3]["content"][3]["text"] == "Picture 2, from shot (call c3):"
    assert results[3]["content"][2]["image_url"] == {"url": "data:image/png;base64,iVBORw0KGgo="}


def test_anthropic_pictures_stay_in_their_result_except_in_errors():
    """A picture is a block of its result; the provider takes none in an error, where a note stands for it."""
    reply = ANTHROPIC.read(message("anthropic", ("c1", "shot", {}), ("c2", "shot", {}), ("c3", "shot", {})))
    contents = [("seen", "", PNG), (PNG, "broken"), (Image(data="eA==", media_type="image/tiff"),)]
    states = [{}, {"status": "failed", "reason": Reason.TOOL_FAILED}, {}]
    outcomes = [outcome(call, content, **state) for call, content, state in zip(reply.calls, contents, states, strict=True)]
    seen, broken, unknown = ANTHROPIC.results(reply, outcomes)[0]["content"]

    assert [block["type"] for block in seen["content"]] == ["text", "image"]
    assert {"type": "base64", "media_type": "image/png", "data": PNG.data} == seen["content"][1]["source"]
    assert (broken["content"], broken["is_error"]) == ("[a picture was left out]\nbroken", True)
    assert "left out" in unknown["content"]


def test_openai_trims_message_and_results_together():
    """Of more calls than the provider takes back, the first 128 are kept on both sides and the last result says so."""
    reply = OPENAI.read(message("openai-chat", *((f"c{number}", "a", "{}") for number in range(130))))
    refused = {"status": "refused", "reason": Reason.LIMIT_REACHED}
    outcomes = [outcome(call, **(refused if at > 127 else {})) for at, call in enumerate(reply.calls)]
    results = OPENAI.results(reply, outcomes)

    assert 130 == len(reply.calls) == len(reply.ids)
    assert stored_ids("openai-chat", OPENAI.stored(reply)[0]) == [item["tool_call_id"] for item in results]
    assert 128 == len(results) == len(reply.kept) == OPENAI.most_calls
    assert "2 further calls" in results[-1]["content"]
    assert "2 refused" in results[-1]["content"]


@both
def test_schemas_are_copies_that_an_sdk_can_send(name):
    """The visible schema goes out as a copy, with numbers that an SDK can encode, and always as an object schema."""
    visible = MappingProxyType(
        {"properties": {"n": {"type": "number", "multipleOf": Decimal("0.01"), "maximum": Decimal("10.0")}}}
    )
    [sent] = wire(name).tools([make_tool("search", visible, "Looks things up.")])
    body = sent["function"] if name == "openai-chat" else sent
    parameters = body["parameters" if name == "openai-chat" else "input_schema"]

    assert (body["name"], body["description"]) == ("search", "Looks things up.")
    assert parameters == {"type": "object", "properties": {"n": {"type": "number", "multipleOf": 0.01, "maximum": 10}}}
    json.dumps(sent)
    parameters["properties"].clear()
    assert "n" in visible["properties"]


@both
def test_the_users_words_are_text(name):
    """A user's message holds the text; blank text and what is no text raise."""
    assert wire(name).user("hello") == {"role": "user", "content": "hello"}
    for nothing in ("", "  ", None):
        with pytest.raises(WireError, match="not blank"):
            wire(name).user(nothing)


@both
def test_a_follow_up_says_that_it_is_not_the_user(name):
    """Decided calls come in one user-role message that says who speaks, with tool, call id and content."""
    held = [outcome(ToolCall("c1", "refund"), '{"paid":"3860.00"}'), outcome(ToolCall("c2", "shot"), ("seen", PNG))]

    assert wire(name).follow_up([]) == []
    [text] = wire(name).follow_up(held[:1])
    assert text["role"] == "user"
    assert all(part in text["content"] for part in ("not from the user", "refund", "call c1", "3860.00"))
    [mixed] = wire(name).follow_up(held)
    assert ["text", "image_url" if name == "openai-chat" else "image"] == [part["type"] for part in mixed["content"]]
