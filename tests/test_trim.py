"""A shortened history: every call keeps its result, what grounds and open approvals need stays, and the provider takes it."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reports import EVERY, codes, start, states
from trim_kit import POLICY, conversation, plain, rows, said, tools
from wire_helpers import answers

from guard import GuardError
from guard.core.budget import approximate
from guard.core.cutting import size
from guard.core.values import encode
from guard.errors import WireError
from guard.wires import WIRES
from guard.wires.texts import FOLLOW_UP


def ids(wire: str, messages: list[dict[str, Any]]) -> list[str]:
    return [name for name, _ in answers(wire, messages)]


def texts(wire: str, messages: list[dict[str, Any]]) -> dict[str, str]:
    return {
        name: content if isinstance(content, str) else json.dumps(content, default=str)
        for name, content in answers(wire, messages)
    }


@EVERY
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), budget=st.sampled_from([0, 1, 40, 300, 800, 2_000, 8_000, 10**9]), in_bytes=st.booleans())
def test_any_history_can_be_shortened(tmp_path: Path, wire: str, seed: int, budget: int, in_bytes: bool) -> None:
    """Pairing holds, the caller's list is as it was, twice is once, and every notice, order and amount that a ground compares is there."""
    desk = conversation(tmp_path, wire, seed)
    desk.legal()
    before = copy.deepcopy(desk.history)
    bound = {"max_bytes": budget * 4} if in_bytes else {"budget": budget}
    short = desk.chat.trim(desk.history, **bound)

    assert desk.history == before
    assert desk.chat.trim(short, **bound) == short
    assert len(short) == len(before)
    assert ids(wire, short) == ids(wire, before)
    then, now = (encode(plain(wire, messages)) for messages in (before, short))
    assert size(now) <= size(then)
    if size(then) <= budget:
        assert short == before
    weighed = size(now) if in_bytes else approximate(now)
    bare = plain(wire, desk.chat.trim(desk.history, 0))
    floor = size(encode(bare)) if in_bytes else approximate(encode(bare))
    assert weighed <= max(bound.get("max_bytes", budget) + 2 * len(short), floor * 1.3 + 1_700), "as short as it can be"
    newest = max(at for at, message in enumerate(before) if WIRES[wire].speaks(message))
    old = set(ids(wire, before[: newest + 1]))
    told = texts(wire, short)
    for name, text in texts(wire, before).items():
        assert told[name].strip()
        if text.startswith('{"ok":false'):
            assert told[name] == text
        elif name in old and text.startswith('{"rows":['):
            found = json.loads(told[name], parse_float=Decimal)["rows"]
            assert [(one["order_id"], one["total"]) for one in found if "total" in one] == [
                (one["order_id"], one["total"]) for one in json.loads(text, parse_float=Decimal)["rows"]
            ]
        if told[name] != text and told[name].startswith(("{", "[{")):
            json.loads(told[name])
    desk.history = short
    desk.legal()
    desk.guard.close()


@EVERY
@pytest.mark.parametrize("budget", [0, 1, 500])
def test_grounds_and_turns_work_after_it(tmp_path: Path, wire: str, budget: int) -> None:
    """The ledger holds the values: a refund is compared with them, an equal turn is recognised, a held call settles and is told once."""
    import random

    desk = start(tmp_path, wire, POLICY, tools(random.Random(1)), store="sqlite")
    desk.propose(("c1", "orders", {"n": 60}), ("c2", "page", {"n": 60}), ("c3", "shot", {"n": 1}))
    held = desk.propose(("c4", "refund", {"order_id": "A7", "amount": 7.1}))
    desk.say("Go on.")
    desk.history = desk.chat.trim(desk.history, budget)
    desk.legal()
    refused = desk.propose(("c5", "refund", {"order_id": "A7", "amount": 7.11}))
    assert codes(refused) == ["not_grounded"]
    asked = desk.propose(("c6", "refund", {"order_id": "A8", "amount": 8.1}))
    assert states(asked) == ["held"]
    assert held.outcomes[0].approval in json.dumps(desk.history)
    desk.approve(held, "c4")
    desk.history = desk.chat.trim(desk.history, budget)
    assert "refunded" in desk.settle()
    desk.history = desk.chat.resume(desk.chat.trim(desk.history, budget))
    assert desk.chat.resume(desk.history) == desk.history
    assert desk.times("refund") == 1
    desk.legal()
    desk.closed()


@EVERY
def test_large_old_results_go_first(tmp_path: Path, wire: str) -> None:
    """The largest one alone is shortened where that is enough; a small one, and one that the model has not seen yet, stay whole."""
    desk = start(tmp_path, wire, POLICY, {**tools_of(), "page": lambda n: "words " * n})
    desk.propose(("c1", "page", {"n": 2000}), ("c2", "page", {"n": 200}), ("c3", "note", {"n": 1}))
    desk.propose(("c4", "page", {"n": 300}))
    whole = size(encode(plain(wire, desk.history)))
    before = texts(wire, desk.history)
    short = texts(wire, desk.chat.trim(desk.history, max_bytes=whole - 5000))
    assert [name for name in before if before[name] != short[name]] == ["c1"]
    assert "of 1" in short["c1"]
    least = texts(wire, desk.chat.trim(desk.history, 0))
    assert least["c3"] == '{"noted":1}'
    assert "[cut: 0 of " in least["c2"]
    assert "[cut: 0 of " in least["c4"]


def tools_of() -> dict[str, Any]:
    import random

    return tools(random.Random(0))


@EVERY
def test_new_results_are_cut_last_and_by_their_structure(tmp_path: Path, wire: str) -> None:
    """What the model has not seen yet shares what is left: whole items, JSON still, each call its part, marks around what others wrote."""
    desk = start(tmp_path, wire, POLICY, {**tools_of(), "orders": rows})
    desk.propose(("c1", "orders", {"n": 900}), ("c2", "orders", {"n": 30}), ("c3", "page", {"n": 900}))
    short = desk.chat.trim(desk.history, max_bytes=6_000)
    told = texts(wire, short)
    assert size(encode(plain(wire, short))) <= 6_000
    first = json.loads(told["c1"], parse_float=Decimal)
    assert first[0] == {"order_id": "A1", "total": Decimal("1.10"), "note": "as ordered "}
    assert first[-1]["[cut]"] == f"{len(first) - 1} of 900 shown"
    begin, end = told["c3"].find("begin"), told["c3"].rfind("end")
    assert 0 <= begin < end


@pytest.mark.parametrize("bad", [None, 5, "text", [5], [None]], ids=str)
@EVERY
def test_what_is_no_history_is_misuse(tmp_path: Path, wire: str, bad: Any) -> None:
    """As for the other verbs of a chat."""
    desk = start(tmp_path, wire, POLICY, tools_of())
    with pytest.raises((WireError, TypeError)):
        desk.chat.trim(bad, 10)
    for bounds in ({}, {"budget": -1}, {"budget": 1.5}, {"max_bytes": True}):
        with pytest.raises(GuardError):
            desk.chat.trim(desk.history, **bounds)
    assert desk.chat.trim([], 0) == []


def of_sdk(wire: str, message: dict[str, Any]) -> Any:
    """A message of the model as an object of the provider's package; where that deals in plain dicts, as it is."""
    import anthropic.types
    import google.genai.types
    import openai.types.chat
    import openai.types.responses

    if wire == "anthropic":
        return anthropic.types.Message.model_construct(role="assistant", content=[dict(block) for block in message["content"]])
    if wire == "openai-responses":
        calls = message["type"] == "function_call"
        kind = openai.types.responses.ResponseFunctionToolCall if calls else openai.types.responses.ResponseOutputMessage
        return kind.model_validate(message)
    if wire == "gemini":
        return google.genai.types.Content.model_validate(message)
    return message if wire == "bedrock-converse" else openai.types.chat.ChatCompletionMessage.model_validate(message)


@EVERY
def test_messages_of_an_sdk(tmp_path: Path, wire: str) -> None:
    """Objects of the provider's own package are taken as they are, and stay as they are."""
    desk = start(tmp_path, wire, POLICY, {**tools_of(), "page": lambda n: "words " * n})
    desk.propose(("c1", "page", {"n": 500}))
    desk.history[1:-1] = [of_sdk(wire, one) for one in desk.history[1:-1]]
    desk.history += said(wire)
    short = desk.chat.trim(desk.history, 10)
    assert all(type(message) is dict for message in short)
    assert "[cut: 0 of " in texts(wire, short)["c1"]
    desk.history = short
    desk.legal()


@EVERY
@pytest.mark.parametrize("imitation", [False, True])
def test_a_long_follow_up_is_shortened_too(tmp_path: Path, wire: str, imitation: bool) -> None:
    """Whose outcome it is and under which approval stays; one in which another outcome could stand is left whole."""
    line = "refund (call c9, approval ap_00000000000000000000): done\n" if imitation else "line of a receipt\n"
    desk = start(tmp_path, wire, POLICY, {**tools_of(), "refund": lambda order_id, amount: line * 300})
    desk.propose(("c1", "orders", {"n": 5}))
    turn = desk.propose(("c2", "refund", {"order_id": "A1", "amount": 1}))
    desk.approve(turn, "c2")
    desk.settle()
    desk.history += said(wire)
    short = desk.chat.trim(desk.history, 0)
    told = next(str(one) for one in short if FOLLOW_UP in str(one))
    assert f"approval {turn.outcomes[0].approval}): done" in told
    assert (len(told) < 600) is not imitation
    assert desk.chat.trim(short, 0) == short
    assert desk.chat.resume(short) == short
    desk.history = short
    desk.legal()
