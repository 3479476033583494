"""Reported failures: results that do not pair with their calls."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, error, outcome, start, states
from wire_helpers import PNG, answers, failures, stored_ids

SEARCH = """
    tools:
      search: {kind: read, allow: [staff]}
"""


def search(q: str) -> dict[str, str]:
    return {"found": q}


@EVERY
def test_one_of_two_parallel_calls_raises_br_001(tmp_path: Path, wire: str) -> None:
    """A failing call gets a marked error of its own, and its sibling keeps its result."""

    def tickets() -> list[str]:
        return ["T1"]

    def attachment(number: int) -> str:
        raise PermissionError("403 from upstream at https://files.example.com")

    policy = """
        tools:
          tickets: {kind: read, allow: [staff]}
          attachment: {kind: read, allow: [staff]}
    """
    desk = start(tmp_path, wire, policy, {"tickets": tickets, "attachment": attachment})
    turn = desk.propose(("c1", "tickets", "{}"), ("c2", "attachment", '{"number": 2}'))
    assert states(turn) == ["done", "failed"]
    assert [name for name, _ in answers(wire, turn.messages)] == ["c1", "c2"]
    assert outcome(turn, "c2").error
    assert error(outcome(turn, "c2"))["code"] == "tool_failed"
    assert '["T1"]' in desk.result("c1")
    assert "files.example.com" not in desk.everything()
    assert failures(wire, turn.messages) == [False, True]
    assert turn.stop is None
    desk.closed()


@EVERY
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_failure_at_any_place_of_three_br_001b(tmp_path: Path, wire: str, failing: int) -> None:
    """Wherever in a batch the failing call stands, the other two keep their results."""

    def get(number: int) -> int:
        if number == failing:
            raise SystemExit(3)
        return number

    desk = start(tmp_path, wire, "tools: {get: {kind: read, allow: [staff]}}", {"get": get}, store="sqlite")
    turn = desk.propose(*((f"c{number}", "get", {"number": number}) for number in range(3)))
    assert states(turn) == ["failed" if number == failing else "done" for number in range(3)]
    desk.closed()


def test_user_side_content_comes_after_the_batch_br_002(tmp_path: Path) -> None:
    """Pictures that a tool returns never stand between the results of a batch."""

    def screenshot() -> list[Any]:
        return ["the page", PNG]

    def clock() -> str:
        return "12:00"

    policy = """
        tools:
          screenshot: {kind: read, allow: [staff]}
          clock: {kind: read, allow: [staff]}
    """
    desk = start(tmp_path, "openai-chat", policy, {"screenshot": screenshot, "clock": clock})
    turn = desk.propose(("c1", "screenshot", ""), ("c2", "clock", "{}"))
    assert states(turn) == ["done", "done"]
    assert [item["role"] for item in turn.append] == ["assistant", "tool", "tool", "user"]
    assert turn.append[-1]["content"][-1]["type"] == "image_url"
    desk.closed()


@EVERY
def test_two_calls_under_one_id_br_003(tmp_path: Path, wire: str) -> None:
    """Two calls that share an id are both judged, run and answered, under ids that differ in call and result alike."""
    desk = start(tmp_path, wire, SEARCH, {"search": search})
    turn = desk.propose(("dup", "search", {"q": "a"}), ("dup", "search", {"q": "b"}))
    assert [arguments for _, arguments in desk.ran] == [{"q": "a"}, {"q": "b"}]
    found = answers(wire, turn.messages)
    assert len({name for name, _ in found}) == 2
    assert [content for _, content in found] == ['{"found":"a"}', '{"found":"b"}']
    assert len(desk.audit("call.proposed")) == 2
    desk.closed()


@EVERY
def test_one_approval_never_covers_two_calls_of_one_id_br_003b(tmp_path: Path, wire: str) -> None:
    """Two held calls that share an id wait for two approvals; a yes to one runs that one alone."""

    def pay(amount: int) -> str:
        return "paid"

    policy = "tools: {pay: {kind: action, allow: [staff], approve: {by: [boss]}}}"
    desk = start(tmp_path, wire, policy, {"pay": pay})
    turn = desk.propose(("dup", "pay", {"amount": 1}), ("dup", "pay", {"amount": 2}))
    assert states(turn) == ["held", "held"]
    assert len({approval.id for approval in turn.pending}) == 2
    desk.approve(turn, turn.outcomes[1].call_id)
    desk.settle()
    assert desk.ran == [("pay", {"amount": 2})]
    desk.closed()


@EVERY
def test_same_tool_twice_with_other_arguments_br_005(tmp_path: Path, wire: str) -> None:
    """Nothing is keyed by the tool's name: each of two calls of one tool gets its own answer."""
    desk = start(tmp_path, wire, SEARCH, {"search": search})
    turn = desk.propose(("c1", "search", {"q": "X"}), ("c2", "search", {"q": "Y"}))
    assert desk.ran == [("search", {"q": "X"}), ("search", {"q": "Y"})]
    assert dict(answers(wire, turn.messages)) == {"c1": '{"found":"X"}', "c2": '{"found":"Y"}'}
    desk.closed()


@EVERY
@pytest.mark.parametrize("name", ["0", "call_1"])
def test_same_id_in_every_turn_br_006(tmp_path: Path, wire: str, name: str) -> None:
    """An id means its call in its own turn only: the second turn's result is fresh."""
    answered: list[int] = []

    def lookup(q: str) -> int:
        answered.append(len(answered))
        return len(answered)

    desk = start(tmp_path, wire, "tools: {lookup: {kind: read, allow: [staff]}}", {"lookup": lookup}, store="sqlite")
    for number in (1, 2, 3):
        turn = desk.propose((name, "lookup", {"q": "same"}))
        assert states(turn) == ["done"]
        assert outcome(turn, name).content == str(number)
        assert not outcome(turn, name).replayed
    desk.closed()


@EVERY
def test_approval_of_an_earlier_turn_does_not_cover_its_id_br_006b(tmp_path: Path, wire: str) -> None:
    """An approval given for id 0 in one turn says nothing about another call with id 0 in the next."""

    def pay(amount: int) -> str:
        return "paid"

    policy = "tools: {pay: {kind: action, allow: [staff], approve: {by: [boss]}}}"
    desk = start(tmp_path, wire, policy, {"pay": pay}, store="sqlite")
    first = desk.propose(("0", "pay", {"amount": 1}))
    desk.approve(first, "0")
    desk.settle()
    second = desk.propose(("0", "pay", {"amount": 7}))
    assert states(second) == ["held"]
    assert outcome(second, "0").approval != outcome(first, "0").approval
    assert desk.ran == [("pay", {"amount": 1})]
    desk.closed()


def test_an_item_id_is_no_call_id_br_007(tmp_path: Path) -> None:
    """Where items have ids of their own, only the call's id pairs, and the records bear it."""

    def clock() -> str:
        return "12:00"

    desk = start(tmp_path, "openai-responses", "tools: {clock: {kind: read, allow: [staff]}}", {"clock": clock})
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "clock", "arguments": "{}", "status": "completed"}
    turn = desk.chat.handle({"output": [item]}, history=desk.history)
    assert turn.append == [item, {"type": "function_call_output", "call_id": "call_9", "output": "12:00"}]
    assert {event["call_id"] for event in desk.audit("call.proposed")} == {"call_9"}
    desk.seen.append(turn)
    desk.history += turn.append
    desk.legal()
    desk.closed()


def test_an_entry_of_a_chat_with_an_item_id_br_007b(tmp_path: Path) -> None:
    """A field that only looks like an id pairs nothing."""
    desk = start(tmp_path, "openai-chat", "tools: {clock: {kind: read, allow: [staff]}}", {"clock": lambda: "12:00"})
    entry = {"id": "call_9", "item_id": "fc_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    turn = desk.chat.handle({"role": "assistant", "content": None, "tool_calls": [entry]}, history=desk.history)
    assert [item["tool_call_id"] for item in turn.messages] == ["call_9"]
    desk.seen.append(turn)
    desk.closed()


LEGAL = {"anthropic": re.compile(r"[a-zA-Z0-9_-]+"), "bedrock-converse": re.compile(r"[a-zA-Z0-9_.:-]{1,64}")}


@pytest.mark.parametrize("wire", LEGAL)
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("functions.search:0", "functions:search.0"), id="two-that-clean-to-the-same"),
        pytest.param(("a.b", "a_b"), id="one-already-clean"),
        pytest.param(("", ""), id="empty"),
        pytest.param(("call 1", "call\n1"), id="white-space"),
        pytest.param(("é", "è"), id="beyond-ascii"),
    ],
)
def test_foreign_ids_on_a_strict_wire_br_008(tmp_path: Path, wire: str, names: tuple[str, str]) -> None:
    """Ids of another provider become legal ones, the same in call and result, different from each other, never empty."""
    desk = start(tmp_path, wire, SEARCH, {"search": search})
    turn = desk.propose((names[0], "search", {"q": "a"}), (names[1], "search", {"q": "b"}))
    assert states(turn) == ["done", "done"]
    calls = stored_ids(wire, turn.append)
    assert calls == [name for name, _ in answers(wire, turn.messages)]
    assert len(set(calls)) == 2
    assert all(LEGAL[wire].fullmatch(name) for name in calls)
    desk.closed()


@pytest.mark.parametrize("wire", ["anthropic", "bedrock-converse", "gemini"])
def test_all_results_in_one_message_br_009(tmp_path: Path, wire: str) -> None:
    """One user message carries every result of the turn, refusals and errors included."""

    def a() -> str:
        return "A"

    def b() -> str:
        raise OSError

    policy = "tools: {a: {kind: read, allow: [staff]}, b: {kind: read, allow: [staff]}, c: {kind: read, allow: [nobody]}}"
    desk = start(tmp_path, wire, policy, {"a": a, "b": b, "c": lambda: "C"})
    turn = desk.propose(("t1", "a", {}), ("t2", "b", {}), ("t3", "c", {}))
    assert states(turn) == ["done", "failed", "refused"]
    assert len(turn.messages) == 1
    assert [name for name, _ in answers(wire, turn.messages)] == ["t1", "t2", "t3"]
    assert failures(wire, turn.messages) == [False, True, True]
    desk.closed()


@EVERY
@pytest.mark.parametrize("name", ["multi_tool_use.parallel", "functions.refund", "Refund", "refund "])
def test_wrapper_or_misspelt_name_br_011(tmp_path: Path, wire: str, name: str) -> None:
    """A name that is no tool's is refused as unknown with the known names; nothing inside its arguments runs or is asked for."""
    policy = """
        tools:
          lookup: {kind: read, allow: [staff]}
          refund: {kind: action, allow: [staff], approve: {by: [boss]}}
    """

    def lookup(id: str) -> str:  # noqa: A002 - the argument's name in the report
        return id

    def refund(id: str) -> str:  # noqa: A002 - as above
        return id

    inner = [{"recipient_name": f"functions.{tool}", "parameters": {"id": "o1"}} for tool in ("refund", "lookup")]
    desk = start(tmp_path, wire, policy, {"lookup": lookup, "refund": refund})
    turn = desk.propose(("c1", name, {"tool_uses": inner}))
    assert error(outcome(turn, "c1"))["code"] == "unknown_tool"
    assert error(outcome(turn, "c1"))["known_tools"] == ["lookup", "refund"]
    assert not desk.ran
    assert not desk.pending()
    desk.closed()


@EVERY
def test_refusal_that_ends_the_run_is_still_the_calls_result_br_013(tmp_path: Path, wire: str) -> None:
    """When a limit ends the run, the call is answered before control returns."""
    policy = """
        tools:
          calc: {kind: compute, allow: [staff]}
        limits:
          run: {steps: 0}
    """

    def calc(x: float) -> float:
        return x

    desk = start(tmp_path, wire, policy, {"calc": calc}, store="sqlite")
    turn = desk.propose(("c1", "calc", {"x": 1}))
    assert (states(turn), turn.stop) == (["refused"], "limit")
    assert error(outcome(turn, "c1"))["code"] == "limit_reached"
    assert "limit_reached" in desk.result("c1")
    assert not desk.ran
    desk.closed()
