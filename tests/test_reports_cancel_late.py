"""Reported failures: calls that end after their time-out."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from report_child import effect, effects
from report_processes import job, killed
from reports import BOTH, Desk, codes, error, outcome, start, states
from wire_helpers import message

from guard import AsyncGuard


def reply(desk: Desk, *calls: tuple[str, str, Any]) -> dict[str, Any]:
    return message(desk.wire, *((name, tool, desk._spelled(arguments)) for name, tool, arguments in calls))


# -- BR-206 ------------------------------------------------------------------------------------------------------------

LATE = """
    tools:
      send: {kind: action, allow: [staff], approve: APPROVE, timeout: 50ms}
"""


class Late:
    """A tool that ends when the test lets it, long after its time-out."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.go, self.error, self.times = threading.Event(), error, 0

    def send(self, to: str) -> dict[str, str]:
        self.times += 1
        self.go.wait(20)
        if self.error is not None:
            raise self.error
        return {"sent": to}

    def end(self, desk: Desk, status: str) -> None:
        """Let it end, and wait until the store says so and its worker is gone."""
        self.go.set()
        until = time.monotonic() + 5
        while time.monotonic() < until:
            workers = [thread for thread in threading.enumerate() if thread.name == "guard-tool"]
            if not workers and {row.status for row in desk.guard.store.rows(desk.chat.ref)} <= {status, "alias"}:
                return
            time.sleep(0.01)
        raise AssertionError("the worker goes on, or its end was not recorded")


MAIL = {"to": "Ann"}


@BOTH
@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("kind", ["plain", "asyncio"])
def test_a_late_finish_br_206(tmp_path: Path, wire: str, store: str, kind: str) -> None:
    """Timed out is unknown, not failed; the late finish is on record and stands in the way of a second send, and no worker is left."""
    late = Late()
    desk = start(tmp_path, wire, LATE.replace("APPROVE", "never"), {"send": late.send}, store=store)
    if kind == "asyncio":
        guard = desk.load(AsyncGuard) if store == "sqlite" else AsyncGuard(**_parts(desk))
        chat = guard.open(**desk.opening)
        turn = asyncio.run(chat.handle(reply(desk, ("c1", "send", MAIL)), history=desk.history))
        desk.history += turn.append
    else:
        turn = desk.propose(("c1", "send", MAIL))
    told = error(outcome(turn, "c1"))
    assert (states(turn), told["code"], told["retry"]) == (["unknown"], "outcome_unknown", False)
    assert "in time" in json.dumps(told)
    assert states(desk.propose(("c2", "send", MAIL))) == ["unknown"], "under way"
    late.end(desk, "done")
    [end] = desk.audit("call.end")
    assert end["exec"]["status"] == "ok"
    again = desk.propose(("c3", "send", MAIL))
    assert (states(again), again.outcomes[0].replayed) == (["done"], True)
    assert late.times == 1
    desk.closed()


def _parts(desk: Desk) -> dict[str, Any]:
    guard = desk.guard
    return {"policy": guard.policy, "store": guard.store, "tools": guard.hands.tools, "redactor": guard.redactor}


@BOTH
@pytest.mark.parametrize("approve", ["never", "{by: [boss]}"])
@pytest.mark.parametrize("fails", [False, True])
def test_the_late_truth_is_told_br_206b(tmp_path: Path, wire: str, approve: str, fails: bool) -> None:
    """What was told to be unknown and is known now is told, once, whether or not a person had approved it; a late failure is one."""
    late = Late(ValueError("no such address") if fails else None)
    desk = start(tmp_path, wire, LATE.replace("APPROVE", approve), {"send": late.send}, store="sqlite")
    turn = desk.propose(("c1", "send", MAIL))
    if approve != "never":
        desk.approve(turn, "c1")
        assert "outcome_unknown" in desk.settle()
    late.end(desk, "failed" if fails else "done")
    told = desk.settle()
    assert ("tool_failed" if fails else "sent") in told
    assert desk.settle() == "[]"
    assert late.times == 1
    desk.closed()


@BOTH
def test_a_late_finish_after_the_end_br_206c(tmp_path: Path, wire: str) -> None:
    """The process ends before the send does: it stays unknown for whoever comes after, and the send is not repeated."""
    tools = {"send": effect(tmp_path, "send")}
    policy = LATE.replace("APPROVE", "never, schema: {type: object, additionalProperties: {}}")
    desk = start(tmp_path, wire, policy, tools, store="sqlite")
    handle = ["handle", [["c1", "send", desk._spelled(MAIL)]], desk.history]
    killed(job(desk, tmp_path, {"send": False}, handle), "send", "after")
    desk.restart()
    assert codes(desk.propose(("c1", "send", MAIL))) == ["outcome_unknown"]
    assert states(desk.propose(("c2", "send", MAIL))) == ["unknown"]
    assert len(effects(tmp_path)) == 1
    desk.closed()


@BOTH
def test_a_coroutine_ends_at_its_time_out_br_206d(tmp_path: Path, wire: str) -> None:
    """An awaited tool is cancelled at its time-out, so that nothing goes on; what it had done by then is unknown all the same."""
    ended: list[str] = []

    async def send(to: str) -> str:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(to)
        return "never"

    desk = start(tmp_path, wire, LATE.replace("APPROVE", "never"), {"send": lambda to: to})
    desk.given["tools"] = {"send": send}

    async def main() -> Any:
        chat = desk.load(AsyncGuard).open(**desk.opening)
        chat.user("go")
        turn = await chat.handle(reply(desk, ("c1", "send", MAIL)))
        await asyncio.sleep(0)
        return turn, len(asyncio.all_tasks())

    turn, tasks = asyncio.run(main())
    assert states(turn) == ["unknown"]
    assert (ended, tasks) == (["Ann"], 1)
    desk.closed()
