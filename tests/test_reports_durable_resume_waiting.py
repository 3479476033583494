"""Reported failures: a restart while a call waits for a person."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from report_child import effect, effects
from report_processes import job, together
from reports import BOSS, BOTH, STRANGER, Desk, start

from guard import AsyncGuard, ConversationError, Session

HELD = pytest.mark.parametrize("held", ["answer", "suspend"])

# -- BR-109 ------------------------------------------------------------------------------------------------------------

PAY = ("c1", "pay", {"amount": 5})
PAYING = """
    tools:
      pay:
        kind: action
        allow: [staff]
        schema: {type: object, properties: {amount: {type: integer}, by: {type: string}}, additionalProperties: false}
        bind: {by: session.principal}
        approve: {by: [boss]}
"""


def paying(tmp_path: Path, wire: str, held: str = "answer") -> Desk:
    return start(tmp_path, wire, PAYING, {"pay": effect(tmp_path, "pay")}, store="sqlite", held=held)


@BOTH
@HELD
def test_a_restart_while_a_call_waits_br_109(tmp_path: Path, wire: str, held: str) -> None:
    """The record, its arguments and its session survive: one new process has the button, another one runs it, once."""
    desk = paying(tmp_path, wire, held)
    before = desk.propose(PAY).pending[0]
    desk.restart()
    [after] = desk.pending()
    assert (after, after.arguments, after.requester) == (before, {"amount": 5, "by": "u1"}, "u1")
    assert together(job(desk, tmp_path, {"pay": False}, ["approve", after.id, "b1"])) == [["approved"]]
    assert not effects(tmp_path)
    runs: list[Any] = ["settled"] if held == "answer" else ["handle", [["c1", "pay", desk._spelled(PAY[2])]], desk.history]
    [[told]] = together(job(desk, tmp_path, {"pay": False}, runs))
    assert "did" in json.dumps(told)
    desk.restart()
    assert desk.settle() == "[]"
    assert effects(tmp_path) == [["pay", {"amount": 5, "by": "u1"}, ""]]
    desk.closed()


@BOTH
def test_a_restart_while_a_childs_call_waits_br_109b(tmp_path: Path, wire: str) -> None:
    """A sub-agent's question survives as well, and runs in the sub-agent's conversation; nobody else's session can have it run."""
    desk = paying(tmp_path, wire)
    turn = desk.propose(PAY, chat=desk.chat.child(name="clerk"))
    desk.restart()
    desk.approve(turn, "c1")
    with pytest.raises(ConversationError):
        desk.guard.open(STRANGER, wire=wire, conversation="conv-1")
    assert desk.chat.settled() == []
    assert "did" in json.dumps(desk.chat.child(name="clerk").settled())
    assert desk.chat.child(name="clerk").settled() == []
    assert effects(tmp_path) == [["pay", {"amount": 5, "by": "u1"}, ""]]
    desk.seen.clear()
    desk.closed()


@BOTH
def test_a_restart_into_asyncio_br_109c(tmp_path: Path, wire: str) -> None:
    """The program that comes back may be an asyncio one."""
    desk = paying(tmp_path, wire)
    desk.propose(PAY)

    async def back() -> list[Any]:
        guard = desk.load(AsyncGuard)
        [approval] = await guard.approvals.list()
        await guard.approvals.approve(approval, approver=BOSS)
        chat = guard.open(**desk.opening)
        told = [await chat.settled(), await chat.settled()]
        guard.close()
        return told

    first, second = asyncio.run(back())
    assert "did" in json.dumps(first)
    assert second == []
    assert len(effects(tmp_path)) == 1
    desk.closed()


@BOTH
def test_a_session_that_lost_its_role_meanwhile_br_109d(tmp_path: Path, wire: str) -> None:
    """What survives is the question, not the right: after the restart the walk is walked with the session of then."""
    desk = paying(tmp_path, wire)
    turn = desk.propose(PAY)
    desk.approve(turn, "c1")
    desk.opening["session"] = Session(principal="u1", roles=())
    desk.restart()
    assert "not_authorized" in desk.settle()
    assert not effects(tmp_path)
    desk.closed()
