"""Reported failures: one answer for two questions, two answers to one, waiting, and a user who goes on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from report_child import effect, effects
from report_processes import job, together
from reports import BOTH, Desk, start, states
from wire_helpers import answers, message

from guard import AsyncGuard, Session

HELD = pytest.mark.parametrize("held", ["answer", "suspend"])
ANY = "schema: {type: object, additionalProperties: {}}"


def asking(tmp_path: Path, wire: str, tool: str, more: str = "", **given: Any) -> Desk:
    """A desk with one tool that a person must approve within five minutes."""
    policy = f"tools: {{{tool}: {{kind: action, allow: [staff], {ANY}, {more} approve: {{by: [boss], expires: 300s}}}}}}"
    return start(tmp_path, wire, policy, {tool: effect(tmp_path, tool)}, store="sqlite", **given)


# -- BR-099 ------------------------------------------------------------------------------------------------------------

PAY = ("c1", "pay", {"amount": 5})


@BOTH
@HELD
@pytest.mark.parametrize("second", ["approve", "reject"])
def test_two_answers_at_once_br_099(tmp_path: Path, wire: str, held: str, second: str) -> None:
    """Of answers from four processes at the same instant one decides, the others hear so; and all of them using it run it once."""
    desk = asking(tmp_path, wire, "pay", held=held)
    name = desk.waiting(desk.propose(PAY), "c1")
    votes = [["approve" if number % 2 else second, name, f"b{number}"] for number in range(4)]
    use = ["settled"] if held == "answer" else ["handle", [["c1", "pay", desk._spelled(PAY[2])]], desk.history]
    found = together(*[job(desk, tmp_path, {"pay": False}, vote, use) for vote in votes])
    decided = sorted(answer[0] for answer in found)
    assert decided[:3] == ["already_decided"] * 3
    assert decided[3] in {"approved", "rejected"}
    assert len(effects(tmp_path)) == (decided[3] == "approved")
    assert len(desk.audit("approval.resolved")) == 1
    assert len(desk.audit("approval.vote")) == 3, "the late ones are on record"
    desk.restart()
    assert states(desk.propose(("c2", *PAY[1:]))) == ["done" if decided[3] == "approved" else "refused"]
    assert len(effects(tmp_path)) == (decided[3] == "approved")
    desk.closed()


@BOTH
def test_two_answers_at_once_in_asyncio_br_099b(tmp_path: Path, wire: str) -> None:
    """The same within one asyncio program, whose two chats settle at once besides."""
    desk = asking(tmp_path, wire, "pay")
    name = desk.waiting(desk.propose(PAY), "c1")

    async def main() -> tuple[list[Any], list[Any]]:
        guard = desk.load(AsyncGuard)
        bosses = [Session(principal=f"b{number}", roles=("boss",)) for number in range(3)]
        votes = await asyncio.gather(*(guard.approvals.approve(name, approver=boss) for boss in bosses), return_exceptions=True)
        chats = [guard.open(**desk.opening) for _ in range(3)]
        told = await asyncio.gather(*(chat.settled() for chat in chats))
        guard.close()
        return votes, told

    votes, told = asyncio.run(main())
    assert sorted(getattr(vote, "code", "approved") for vote in votes) == ["already_decided", "already_decided", "approved"]
    assert "did" in json.dumps(told)
    assert "refused" not in json.dumps(told)
    assert len(effects(tmp_path)) == 1
    desk.closed()


# -- BR-100 ------------------------------------------------------------------------------------------------------------

PRESS = (("c1", "press", {"b": "door"}), ("c2", "press", {"b": "door"}))


@BOTH
@HELD
@pytest.mark.parametrize("repeat", ["", "repeat: allow,"], ids=["once", "repeat"])
def test_one_click_is_one_execution_br_100(tmp_path: Path, wire: str, held: str, repeat: str) -> None:
    """Two equal calls of a turn are one question and one execution; a further execution is a further question.

    The report expects the second call to be held still. Here it is the first one, and shares its outcome.
    """
    desk = asking(tmp_path, wire, "press", repeat, held=held)
    turn = desk.propose(*PRESS)
    assert states(turn) == ["held", "held"]
    assert len(desk.pending()) == 1
    desk.approve(turn, "c1")
    if held == "answer":
        assert "did" in desk.settle()
    else:
        assert states(desk.propose(*PRESS)) == ["done", "done"]
    assert len(effects(tmp_path)) == 1
    assert not desk.pending()
    if not repeat:
        desk.say("Once more.")
    assert states(desk.propose(("c3", *PRESS[0][1:]))) == ["held"]
    assert len(desk.pending()) == 1
    assert len(effects(tmp_path)) == 1
    desk.closed()


@BOTH
def test_one_click_among_processes_br_100b(tmp_path: Path, wire: str) -> None:
    """Equal calls of a parent and its child, used by three processes at once: one click, one execution."""
    desk = asking(tmp_path, wire, "press")
    turn = desk.propose(PRESS[0])
    desk.propose(PRESS[1], chat=desk.chat.child(name="clerk"))
    assert len(desk.pending()) == 1
    desk.approve(turn, "c1")
    together(*[job(desk, tmp_path, {"press": False}, ["settled"], seconds=0.05) for _ in range(3)])
    desk.restart()
    desk.chat.child(name="clerk").settled()
    assert len(effects(tmp_path)) == 1
    assert not desk.pending()
    desk.seen.clear()
    desk.closed()


# -- BR-101 ------------------------------------------------------------------------------------------------------------


@BOTH
@HELD
def test_waiting_in_vain_decides_nothing_br_101(tmp_path: Path, wire: str, held: str) -> None:
    """A client looks for ten seconds and gives up; at sixty the yes still counts, and nobody said no meanwhile."""
    desk = asking(tmp_path, wire, "pay", held=held)
    turn = desk.propose(PAY)
    for _ in range(5):
        desk.clock.now += 2
        desk.guard.store.wait(0)
        assert desk.chat.settled() == []
        if held == "suspend":
            assert states(desk.propose(PAY)) == ["held"]
    [waiting] = desk.pending()
    assert (waiting.status, waiting.decided_by) == ("pending", None)
    assert not desk.audit("approval.resolved") + desk.audit("approval.vote") + desk.audit("approval.expired")
    desk.clock.now += 50
    desk.approve(turn, "c1")
    assert "did" in (desk.settle() if held == "answer" else json.dumps(desk.propose(PAY).messages))
    assert len(effects(tmp_path)) == 1
    desk.closed()


@BOTH
def test_a_wait_that_is_cancelled_br_101b(tmp_path: Path, wire: str) -> None:
    """A poll of an asyncio client that times out, or whose task is cancelled, leaves the question as it was."""
    desk = asking(tmp_path, wire, "pay")
    turn = desk.propose(PAY)

    async def poll() -> None:
        guard = desk.load(AsyncGuard)
        chat = guard.open(**desk.opening)

        async def forever() -> None:
            for _ in range(1000):
                assert not await chat.settled()
                await asyncio.sleep(0.005)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(forever(), 0.05)
        guard.close()

    asyncio.run(poll())
    desk.clock.now += 60
    desk.approve(turn, "c1")
    assert "did" in desk.settle()
    assert [event["actor"]["ref"] for event in desk.audit("approval.resolved")] == ["b1"]
    desk.closed()


# -- BR-102 ------------------------------------------------------------------------------------------------------------


@BOTH
@HELD
@pytest.mark.parametrize("word", ["approve", "reject"])
def test_the_user_goes_on_while_a_call_waits_br_102(tmp_path: Path, wire: str, held: str, word: str) -> None:
    """The next request is legal, with one result for the call; what is decided later is told beside it, and a withdrawn call never runs."""
    desk = asking(tmp_path, wire, "pay", held=held)
    turn = desk.propose(PAY)
    if held == "suspend":  # the loop was waiting: the host closes what is open before it sends something else
        desk.history = desk.chat.resume([*desk.history, message(wire, ("c1", "pay", desk._spelled(PAY[2])))])
    desk.say("make it 4 instead")
    desk.legal()
    found = answers(wire, desk.history)
    assert [(name, "held_for_approval" in content) for name, content in found] == [("c1", True)]
    second = desk.propose(("c2", "pay", {"amount": 4}))
    assert states(second) == ["held"]
    if held == "suspend":
        desk.history = desk.chat.resume([*desk.history, message(wire, ("c2", "pay", desk._spelled({"amount": 4})))])
    desk.approve(turn, "c1") if word == "approve" else desk.reject(turn, "c1", "withdrawn")
    assert ("did" if word == "approve" else "withdrawn") in desk.settle()
    desk.legal()
    assert [name for name, _ in answers(wire, desk.history)] == ["c1", "c2"], "no second result"
    assert desk.settle() == "[]"
    assert [arguments["amount"] for _, arguments, _ in effects(tmp_path)] == ([5] if word == "approve" else [])
    assert [approval.arguments for approval in desk.pending()] == [{"amount": 4}]
    desk.closed()
