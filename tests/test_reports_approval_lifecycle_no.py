"""Reported failures: a no that was taken for advice, or that another way led around."""

from __future__ import annotations

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from report_child import effect, effects
from reports import BOSS, BOTH, U1, codes, outcome, start, states
from wire_helpers import message

from guard import AsyncGuard, ToolCall

HELD = pytest.mark.parametrize("held", ["answer", "suspend"])
ANY = "schema: {type: object, additionalProperties: {}}"

# -- BR-104 ------------------------------------------------------------------------------------------------------------

WIPE = ("c1", "wipe", {"db": "prod"})


class Typed(BaseModel):
    db: str


def forms(ran: list[Any]) -> dict[str, Any]:
    """The kinds of tool that there are; each would note that it was reached, and with what."""

    class Callable:
        def __call__(self, db: str, confirmed: bool = False) -> None:
            ran.append((db, confirmed))

        def method(self, db: str, tool_context: Any = None) -> None:
            ran.append((db, tool_context))

    async def awaited(db: str) -> None:
        ran.append(db)

    def model(db: str, confirmation: Typed | None = None) -> None:
        ran.append((db, confirmation))

    def plain(db: str) -> None:
        ran.append(db)

    return {
        "plain": plain, "any": lambda **arguments: ran.append(arguments), "object": Callable(), "method": Callable().method,
        "partial": functools.partial(lambda where, db: ran.append(db), "x"), "async": awaited, "model": model,
    }  # fmt: skip


@BOTH
@HELD
@pytest.mark.parametrize("form", sorted(forms([])))
@pytest.mark.parametrize("verdict", ["reject", "approve"])
def test_a_no_is_no_advice_br_104(tmp_path: Path, wire: str, held: str, form: str, verdict: str) -> None:
    """The function of a rejected call is not reached, with or without a flag, whatever kind of tool it is; that of an approved one is."""
    ran: list[Any] = []
    schema = f"{ANY}, " if form == "any" else ""
    policy = f"tools: {{wipe: {{kind: action, allow: [staff], {schema}approve: {{by: [boss]}}}}}}"
    desk = start(tmp_path, wire, policy, {"wipe": lambda db: None}, store="sqlite", held=held, watched=False)
    desk.given["tools"] = {"wipe": forms(ran)[form]}
    guard = desk.load(AsyncGuard)
    chat = guard.open(**desk.opening)
    reply = message(wire, ("c1", "wipe", desk._spelled(WIPE[2])))

    async def main() -> str:
        history = [chat.user("go")]
        turn = await chat.handle(reply, history=history)
        await getattr(guard.approvals, verdict)(turn.pending[0], approver=BOSS)
        told = await chat.settled() if held == "answer" else (await chat.handle(reply, history=history)).messages
        return json.dumps(told + await chat.settled())

    told = asyncio.run(main())
    assert ("approval_rejected" in told) == (verdict == "reject")
    assert len(ran) == (verdict == "approve")
    guard.close()
    desk.closed()


# -- BR-105 ------------------------------------------------------------------------------------------------------------


@BOTH
@HELD
@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "new process"])
def test_no_other_way_to_a_rejected_call_br_105(tmp_path: Path, wire: str, held: str, fresh: bool) -> None:
    """Whoever hands the message in again, by whatever way, is told that it was rejected: the gate stands before the function."""
    policy = f"tools: {{wipe: {{kind: action, allow: [staff], {ANY}, approve: {{by: [boss]}}}}}}"
    desk = start(tmp_path, wire, policy, {"wipe": effect(tmp_path, "wipe")}, store="sqlite", held=held)
    before = list(desk.history)
    turn = desk.propose(WIPE)
    desk.reject(turn, "c1")
    assert "approval_rejected" in (desk.settle() if held == "answer" else json.dumps(desk.propose(WIPE).messages))
    if fresh:
        desk.restart()
    reply = message(wire, ("c1", "wipe", desk._spelled(WIPE[2])))
    second = desk.load().open(**desk.opening)
    ways = [
        desk.chat.handle(reply, history=before),
        desk.chat.handle(reply),
        second.handle(reply, history=desk.history),
        desk.chat.child(name="clerk").handle(reply),
        desk.chat.child(tools=["wipe"]).handle(message(wire, ("x9", "wipe", desk._spelled(WIPE[2])))),
    ]
    assert [codes(one) for one in ways] == [["approval_rejected"]] * len(ways)
    for key in (None, "k1"):
        one = desk.guard.call(ToolCall("c1", "wipe", WIPE[2]), U1, conversation="conv-1", key=key)
        assert (one.status, str(one.reason)) == ("refused", "approval_rejected")
    assert desk.chat.resume(desk.history) == desk.history
    assert desk.chat.settled() == []
    desk.say("Wipe it after all.")
    assert states(desk.propose(("c2", *WIPE[1:]))) == ["held"], "a new question, after the user has spoken"
    assert outcome(turn, "c1").status == "held"
    assert not effects(tmp_path)
    second.guard.close()
    desk.closed()
