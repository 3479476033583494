"""Reported failures: a resume with what no longer exists, with another verdict, or done twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from report_child import effect, effects
from report_processes import job, killed, together
from reports import BOSS, BOTH, Desk, codes, error, start, states
from wire_helpers import answers, message

from guard import ApprovalError, AsyncGuard, Session, ToolCall

HELD = pytest.mark.parametrize("held", ["answer", "suspend"])
ASKED = """
    tools:
      {}: {{kind: action, allow: [staff], approve: {{by: [boss]}}, schema: {{type: object, additionalProperties: {{}}}}}}
"""


def asked(tmp_path: Path, wire: str, tool: str, held: str = "answer", **given: Any) -> Desk:
    """A desk with one tool that a person must approve, on a file."""
    return start(tmp_path, wire, ASKED.format(tool), {tool: effect(tmp_path, tool)}, store="sqlite", held=held, **given)


def other(number: int) -> Session:
    return Session(principal=f"b{number}", roles=("boss",))


# -- BR-111 ------------------------------------------------------------------------------------------------------------

EXEC = ("c1", "exec", {"cmd": "ls"})


def wiped(desk: Desk, tmp_path: Path) -> None:
    """The store is lost, the transcript is not."""
    desk.guard.close()
    for file in tmp_path.glob("guard.db*"):
        file.unlink()
    desk.seen.clear()
    desk.guard = desk.load()
    desk.chat = desk.guard.open(**desk.opening)


@BOTH
def test_a_wiped_store_and_an_open_call_br_111(tmp_path: Path, wire: str) -> None:
    """A call that waited, of which nobody knows any more, gets one terminal result; its approval is unknown, and nobody is asked again."""
    desk = asked(tmp_path, wire, "exec", "suspend")
    turn = desk.propose(EXEC)
    stored = [*desk.history, message(wire, (EXEC[0], EXEC[1], desk._spelled(EXEC[2])))]
    wiped(desk, tmp_path)
    with pytest.raises(ApprovalError) as raised:
        desk.approve(turn, "c1")
    assert raised.value.code == "not_found"
    desk.history = desk.chat.resume(stored)
    for _ in range(3):
        desk.history = desk.chat.resume(desk.history)
        desk.legal()
    assert [(name, json.loads(content)["error"]["code"]) for name, content in answers(wire, desk.history)] == [
        ("c1", "interrupted")
    ]
    assert desk.settle() == "[]"
    assert not desk.pending()
    assert not effects(tmp_path)
    desk.closed()


@BOTH
def test_a_wiped_store_and_a_result_that_says_held_br_111b(tmp_path: Path, wire: str) -> None:
    """A result that says "held" under an approval that nobody knows is followed up, once: the model does not wait for ever."""
    desk = asked(tmp_path, wire, "exec")
    turn = desk.propose(EXEC)
    approval = desk.waiting(turn, "c1")
    wiped(desk, tmp_path)
    before = len(desk.history)
    desk.history = desk.chat.resume(desk.history)
    desk.legal()
    assert [name for name, _ in answers(wire, desk.history)] == ["c1"]
    told = json.dumps(desk.history[before:])
    assert approval in told, "the model still waits for an approval that is gone"
    assert len(desk.chat.resume(desk.history)) == len(desk.history)
    desk.closed()


@BOTH
@HELD
def test_a_wiped_store_and_no_loop_br_111c(tmp_path: Path, wire: str, held: str) -> None:
    """Proposed again, however often and under whatever ids, it is one new question, and the old id decides nothing."""
    desk = asked(tmp_path, wire, "exec", held)
    for _ in range(2):
        desk.propose(("c0", "exec", {"cmd": "pwd"}))
    old = desk.waiting(desk.propose(EXEC), "c1")
    wiped(desk, tmp_path)
    for number in range(4):
        assert states(desk.propose((f"c{number + 5}", "exec", {"cmd": "ls"}))) == ["held"]
    [new] = desk.pending()
    assert new.id != old
    with pytest.raises(ApprovalError):
        desk.guard.approvals.approve(old, approver=BOSS)
    assert not effects(tmp_path)
    desk.closed()


# -- BR-112 ------------------------------------------------------------------------------------------------------------

WIPE = ("c1", "wipe", {"db": "t"})


@BOTH
@HELD
@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "new process"])
def test_another_verdict_after_the_end_br_112(tmp_path: Path, wire: str, held: str, fresh: bool) -> None:
    """A rejected call stays rejected: the second resume is refused, on record, and runs nothing."""
    desk = asked(tmp_path, wire, "wipe", held)
    turn = desk.propose(WIPE)
    desk.reject(turn, "c1")
    told = desk.settle() if held == "answer" else json.dumps(desk.propose(WIPE).messages)
    assert "approval_rejected" in told
    if fresh:
        desk.restart()
    for approver in (BOSS, other(2)):
        with pytest.raises(ApprovalError) as raised:
            desk.approve(turn, "c1", approver)
        assert raised.value.code == "already_decided"
    late = desk.audit("approval.vote", approval=desk.waiting(turn, "c1"))
    assert [(event["actor"]["ref"], event["approval_state"]["wanted"]) for event in late] == [
        ("b1", "approved"),
        ("b2", "approved"),
    ]
    assert desk.settle() == "[]"
    assert codes(desk.propose(("c2", *WIPE[1:]))) == ["approval_rejected"]
    assert desk.chat.resume(desk.history) == desk.history
    assert not effects(tmp_path)
    desk.closed()


@BOTH
def test_a_no_after_it_has_run_br_112b(tmp_path: Path, wire: str) -> None:
    """Nor does a late no undo what ran: it is told, and it is on record."""
    desk = asked(tmp_path, wire, "wipe")
    turn = desk.propose(WIPE)
    desk.approve(turn, "c1")
    assert "did" in desk.settle()
    with pytest.raises(ApprovalError):
        desk.reject(turn, "c1", approver=other(2))
    assert [event["approval_state"]["wanted"] for event in desk.audit("approval.vote")] == ["rejected"]
    assert states(desk.propose(("c2", *WIPE[1:]))) == ["done"]
    assert len(effects(tmp_path)) == 1
    desk.closed()


@BOTH
def test_another_verdict_in_asyncio_br_112c(tmp_path: Path, wire: str) -> None:
    """The same awaited."""
    desk = asked(tmp_path, wire, "wipe")
    name = desk.waiting(desk.propose(WIPE), "c1")

    async def both() -> list[dict[str, Any]]:
        guard = desk.load(AsyncGuard)
        await guard.approvals.reject(name, approver=BOSS)
        chat = guard.open(**desk.opening)
        told: list[dict[str, Any]] = await chat.settled()
        with pytest.raises(ApprovalError, match="already rejected by b1"):
            await guard.approvals.approve(name, approver=other(2))
        told += await chat.settled()
        guard.close()
        return told

    assert "approval_rejected" in json.dumps(asyncio.run(both()))
    assert len(desk.audit("approval.vote")) == 1
    assert not effects(tmp_path)
    desk.closed()


# -- BR-114 ------------------------------------------------------------------------------------------------------------

PAY = ("c1", "pay", {"amount": 5})


def approved(tmp_path: Path, wire: str, held: str) -> tuple[Desk, list[Any]]:
    """A desk whose payment was approved, and the history that the host has stored by then."""
    desk = asked(tmp_path, wire, "pay", held)
    turn = desk.propose(PAY)
    desk.approve(turn, "c1")
    sent = message(wire, ("c1", "pay", desk._spelled(PAY[2])))
    return desk, list(desk.history) if held == "answer" else [*desk.history, sent]


@BOTH
@HELD
@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "new process"])
def test_the_same_resume_once_more_br_114(tmp_path: Path, wire: str, held: str, fresh: bool) -> None:
    """The host lost what it was given, and resumes the history that it stored before: it gets the stored result, and nothing is paid."""
    desk, stored = approved(tmp_path, wire, held)
    desk.chat.settled() if held == "answer" else desk.chat.handle(stored[-1], history=stored[:-1])
    if fresh:
        desk.restart()
    desk.history = desk.chat.resume(stored)
    desk.legal()
    assert len(effects(tmp_path)) == 1
    assert '"did' in json.dumps(desk.history[len(stored) :]), "the model is told the outcome"
    assert "not_found" not in json.dumps(desk.history)
    desk.closed()


@BOTH
@HELD
def test_every_other_way_to_the_stored_result_br_114b(tmp_path: Path, wire: str, held: str) -> None:
    """Handled again, proposed again, called without a wire: always the stored result of the one payment."""
    desk, stored = approved(tmp_path, wire, held)
    assert "did" in desk.settle() if held == "answer" else states(desk.propose(PAY)) == ["done"]
    reply = message(wire, ("c1", "pay", desk._spelled(PAY[2])))
    again = desk.chat.handle(reply, history=[one for one in stored if one["role"] == "user"][:1])
    assert (states(again), again.outcomes[0].replayed) == (["done"], True)
    more = desk.guard.call(ToolCall("c9", "pay", PAY[2]), desk.opening["session"], conversation="conv-1")
    assert (more.status, more.replayed, more.content) == ("done", True, again.outcomes[0].content)
    assert len(effects(tmp_path)) == 1
    desk.closed()


@BOTH
@HELD
def test_two_resumes_at_the_same_time_br_114c(tmp_path: Path, wire: str, held: str) -> None:
    """Three processes resume at once: one claim is won, one payment made, and nobody is told that there is nothing."""
    desk, stored = approved(tmp_path, wire, held)
    step: list[Any] = ["handle", [["c1", "pay", desk._spelled(PAY[2])]], stored[:-1]] if held == "suspend" else ["settled"]
    found = together(*[job(desk, tmp_path, {"pay": False}, step, seconds=0.05) for _ in range(3)])
    assert len(effects(tmp_path)) == 1
    assert len(desk.audit("call.begin")) == 1
    if held == "suspend":
        assert [answer[0][0][1] for answer in found] == ["done"] * 3
    else:
        assert any("did" in json.dumps(answer) for answer in found)
    assert not any("refused" in json.dumps(answer) or "outcome_unknown" in json.dumps(answer) for answer in found)
    desk.restart()
    desk.closed()


@BOTH
def test_the_resume_itself_dies_br_114d(tmp_path: Path, wire: str) -> None:
    """Killed inside the resume, right after the payment: the next resume says that the outcome is unknown, and does not pay."""
    desk, stored = approved(tmp_path, wire, "answer")
    killed(job(desk, tmp_path, {"pay": False}, ["resume", stored]), "pay")
    desk.restart()
    desk.history = desk.chat.resume(stored)
    desk.legal()
    assert error(desk.propose(("c2", *PAY[1:])).outcomes[0])["executed"] is None
    assert "outcome_unknown" in str(desk.history[-1])
    assert len(effects(tmp_path)) == 1
    desk.closed()
