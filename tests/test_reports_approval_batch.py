"""Reported failures: several calls of one turn of which some wait for a person."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, Desk, error, outcome, start, states
from wire_helpers import answers

HELD = pytest.mark.parametrize("held", ["answer", "suspend"])

TWO = """
    tools:
      a: {kind: action, allow: [staff], approve: {by: [boss]}}
      b: {kind: action, allow: [staff], approve: {by: [boss]}}
"""
BOTH_TOOLS = {"a": lambda: "did a", "b": lambda: "did b"}


def decided(desk: Desk, held: str, *calls: tuple[str, str, Any]) -> dict[str, str]:
    """What is known of each call after the decisions, as the model is told: id → text."""
    if held == "suspend":
        turn = desk.propose(*calls)
        assert turn.stop is None
        return {name: str(content) for name, content in answers(desk.wire, turn.messages)}
    told = desk.settle()
    return {name: told for name, _, _ in calls}


@BOTH
@HELD
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_mixed_decisions_br_076(tmp_path: Path, wire: str, held: str, store: str) -> None:
    """Each call of the turn has its own decision and its own result: the approved one runs, the rejected one is told so."""
    desk = start(tmp_path, wire, TWO, BOTH_TOOLS, held=held, store=store)
    calls = (("c1", "a", {}), ("c2", "b", {}))
    turn = desk.propose(*calls)
    assert states(turn) == ["held", "held"]
    desk.approve(turn, "c1")
    desk.reject(turn, "c2", "not today")
    told = decided(desk, held, *calls)
    assert desk.ran == [("a", {})]
    assert "did a" in told["c1"]
    assert "approval_rejected" in told["c2"]
    assert "not today" in told["c2"]
    assert not desk.pending()
    desk.closed()


FREE = """
    tools:
      search: {kind: read, allow: [staff]}
      add_comment: {kind: action, allow: [staff], approve: {by: [boss]}}
"""
SEARCHING = {"search": lambda q: f"found {q}", "add_comment": lambda t: "added"}


@BOTH
@HELD
@pytest.mark.parametrize("order", [("search", "add_comment"), ("add_comment", "search")])
def test_free_calls_do_not_wait_br_078(tmp_path: Path, wire: str, held: str, order: tuple[str, str]) -> None:
    """Only the gated call of a batch asks; the free one runs at once, whichever stands first, and is not run again later."""
    arguments = {"search": {"q": "x"}, "add_comment": {"t": "ok"}}
    desk = start(tmp_path, wire, FREE, SEARCHING, held=held, store="sqlite")
    calls = tuple((f"c-{tool}", tool, arguments[tool]) for tool in order)
    turn = desk.propose(*calls)
    assert (outcome(turn, "c-search").status, outcome(turn, "c-add_comment").status) == ("done", "held")
    assert [approval.tool for approval in desk.pending()] == ["add_comment"]
    assert turn.stop == ("held" if held == "suspend" else None)
    if held == "answer":
        assert "found x" in desk.result("c-search")
        assert error(outcome(turn, "c-add_comment"))["executed"] is False
    desk.approve(turn, "c-add_comment")
    told = decided(desk, held, *calls)
    assert "added" in told["c-add_comment"]
    assert (desk.times("search"), desk.times("add_comment")) == (1, 1)
    if held == "suspend":
        assert "found x" in told["c-search"]
    desk.closed()


DRAW = "tools: {draw: {kind: action, allow: [staff], approve: {by: [boss]}}}"


@BOTH
@HELD
@pytest.mark.parametrize("order", list(permutations("pqr"))[::2], ids="".join)
def test_three_questions_at_once_br_079(tmp_path: Path, wire: str, held: str, order: tuple[str, ...]) -> None:
    """Every gated call is pending at once and they can be decided in any order; deciding one runs nothing of the others."""
    desk = start(tmp_path, wire, DRAW, {"draw": lambda name: f"drew {name}"}, held=held)
    calls = tuple((f"c-{name}", "draw", {"name": name}) for name in "pqr")
    turn = desk.propose(*calls)
    assert states(turn) == ["held"] * 3
    assert sorted(approval.arguments["name"] for approval in desk.pending()) == ["p", "q", "r"]
    assert len(turn.pending) == 3
    for number, name in enumerate(order):
        desk.approve(turn, f"c-{name}")
        assert len(desk.pending()) == 2 - number
        assert not desk.ran
    decided(desk, held, *calls)
    assert sorted(arguments["name"] for _, arguments in desk.ran) == ["p", "q", "r"]
    desk.closed()


MIXED = """
    tools:
      load: {kind: read, allow: [staff]}
      t1: {kind: action, allow: [staff], approve: {by: [boss]}}
      t2: {kind: action, allow: [staff], approve: {by: [boss]}}
"""


@BOTH
@HELD
def test_a_settled_call_reported_again_br_081(tmp_path: Path, wire: str, held: str) -> None:
    """Decisions for the held calls are enough; a result that the host sends along for a finished one changes nothing."""
    tools = {"load": lambda: "loaded", "t1": lambda: "one", "t2": lambda: "two"}
    desk = start(tmp_path, wire, MIXED, tools, held=held, store="sqlite")
    calls = (("c0", "load", {}), ("c1", "t1", {}), ("c2", "t2", {}))
    turn = desk.propose(*calls)
    assert states(turn) == ["done", "held", "held"]
    desk.approve(turn, "c1")
    desk.approve(turn, "c2")
    if held == "answer":
        desk.history = desk.chat.resume(desk.history)
        desk.legal()
        assert desk.result("c0") == "loaded"
        assert "two" in str(desk.history[-1]["content"])
    else:
        told = decided(desk, held, *calls)
        assert told == {"c0": "loaded", "c1": "one", "c2": "two"}
    assert sorted(name for name, _ in desk.ran) == ["load", "t1", "t2"]
    desk.closed()


SAVE = "tools: {save: {kind: action, allow: [staff], approve: {by: [boss]}}}"


@BOTH
@HELD
@pytest.mark.parametrize("yes", [1, 2])
def test_a_yes_touches_its_own_call_only_br_082(tmp_path: Path, wire: str, held: str, yes: int) -> None:
    """Deciding about one of two open questions leaves the other open."""
    desk = start(tmp_path, wire, SAVE, {"save": lambda n: f"saved {n}"}, held=held)
    calls = tuple((f"c{n}", "save", {"n": n}) for n in (1, 2))
    turn = desk.propose(*calls)
    desk.approve(turn, f"c{yes}")
    if held == "answer":
        assert f"saved {yes}" in desk.settle()
    else:
        again = desk.propose(*calls)
        assert [outcome(again, f"c{n}").status for n in (1, 2)] == ["done" if n == yes else "held" for n in (1, 2)]
        assert again.stop == "held"
    assert desk.ran == [("save", {"n": yes})]
    assert [approval.arguments["n"] for approval in desk.pending()] == [3 - yes]
    desk.closed()


@BOTH
@HELD
def test_equal_calls_of_a_batch_are_one_question_br_079b(tmp_path: Path, wire: str, held: str) -> None:
    """The same action twice in a turn is asked about once, run once, and answered twice."""
    desk = start(tmp_path, wire, SAVE, {"save": lambda n: f"saved {n}"}, held=held)
    calls = (("c1", "save", {"n": 1}), ("c2", "save", {"n": 1}))
    turn = desk.propose(*calls)
    assert states(turn) == ["held", "held"]
    assert len(desk.pending()) == 1
    desk.approve(turn, "c1")
    told = decided(desk, held, *calls)
    assert "saved 1" in told["c1"]
    assert desk.times("save") == 1
    if held == "suspend":
        assert "saved 1" in told["c2"]
    desk.closed()


@BOTH
@HELD
def test_a_refused_sibling_asks_nobody_br_076b(tmp_path: Path, wire: str, held: str) -> None:
    """A call that the policy refuses is answered at once beside one that waits."""
    policy = TWO.replace("b: {kind: action, allow: [staff]", "b: {kind: action, allow: [owner]")
    desk = start(tmp_path, wire, policy, BOTH_TOOLS, held=held)
    turn = desk.propose(("c1", "a", {}), ("c2", "b", {}))
    assert states(turn) == ["held", "refused"]
    assert [approval.tool for approval in desk.pending()] == ["a"]
    desk.closed()


@BOTH
@HELD
def test_nobody_answers_in_time_br_082b(tmp_path: Path, wire: str, held: str) -> None:
    """An open question past its window is closed as expired; the other one, decided in time, has run."""
    policy = SAVE.replace("by: [boss]", "by: [boss], expires: 1h")
    desk = start(tmp_path, wire, policy, {"save": lambda n: f"saved {n}"}, held=held, store="sqlite")
    calls = tuple((f"c{n}", "save", {"n": n}) for n in (1, 2))
    turn = desk.propose(*calls)
    desk.approve(turn, "c2")
    if held == "answer":
        desk.settle()
    else:
        desk.propose(*calls)
    desk.clock.now += 3601
    told = decided(desk, held, *calls)
    assert "approval_expired" in told["c1"]
    assert desk.ran == [("save", {"n": 2})]
    desk.closed()
