"""Reported failures: calls that were cancelled, timed out or cut off, and what was made of it afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_child import effect, effects
from report_processes import job, killed
from reports import BOTH, Desk, start, states
from wire_helpers import answers, message

from guard import AsyncGuard

SLOW = """
    tools:
      slow: {kind: read, allow: [staff], timeout: 1s}
      quick: {kind: read, allow: [staff]}
      send: {kind: action, allow: [staff], approve: never}
"""


def still(q: str) -> str:
    return q


def reply(desk: Desk, *calls: tuple[str, str, Any]) -> dict[str, Any]:
    return message(desk.wire, *((name, tool, desk._spelled(arguments)) for name, tool, arguments in calls))


def closed_history(desk: Desk, *calls: tuple[str, str, Any]) -> dict[str, dict[str, Any]]:
    """After the turn was lost: the errors that the stored history is closed with, by id."""
    desk.history = desk.chat.resume([*desk.history, reply(desk, *calls)])
    desk.legal()
    found = answers(desk.wire, desk.history)
    assert [name for name, _ in found] == [name for name, _, _ in calls], "one result for each id, in order"
    return {name: json.loads(content).get("error", {}) for name, content in found if str(content).startswith("{")}


async def cancelled(desk: Desk, running: asyncio.Event, *calls: tuple[str, str, Any]) -> None:
    """The host cancels the task while a tool runs; the cancellation must reach the host."""
    guard = desk.load(AsyncGuard)
    chat = guard.open(**desk.opening)
    task = asyncio.ensure_future(chat.handle(reply(desk, *calls), history=desk.history))
    await asyncio.wait_for(running.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled(), "the cancellation goes on"
    guard.close()


# -- BR-203 ------------------------------------------------------------------------------------------------------------


def hanging(running: asyncio.Event, error: BaseException | None = None) -> Callable[..., Any]:
    async def hang(q: str) -> str:
        running.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            if error is not None:
                raise error from None
            raise
        return "never"

    return hang


@BOTH
@pytest.mark.parametrize("instead", [None, RuntimeError("made of it")], ids=["cancelled", "raises something else"])
@pytest.mark.parametrize("tool", ["slow", "quick"])
def test_a_cancelled_look_up_br_203(tmp_path: Path, wire: str, tool: str, instead: Any) -> None:
    """Its call is stored as an error, once, whatever the tool makes of the cancellation; and the cancellation goes on."""
    desk = start(tmp_path, wire, SLOW, dict.fromkeys(("slow", "quick", "send"), still), store="sqlite", watched=False)
    calls = (("c1", tool, {"q": "x"}), ("c2", "send", {"q": "y"}))
    ran: list[str] = []

    def noted(q: str) -> None:
        ran.append(q)

    async def main() -> None:
        running = asyncio.Event()
        offered = {"slow": hanging(running, instead), "quick": hanging(running, instead), "send": noted}
        desk.given["tools"] = offered
        await cancelled(desk, running, *calls)

    asyncio.run(main())
    desk.given["tools"] = dict.fromkeys(("slow", "quick", "send"), still)
    desk.restart()
    found = closed_history(desk, *calls)
    assert found["c1"]["code"] in {"interrupted", "tool_failed"}
    assert found["c2"]["code"] == "interrupted"
    assert not ran
    assert [row.status for row in desk.guard.store.rows(desk.chat.ref)] == ["failed", "refused"]
    assert len(desk.audit("call.end", call_id="c1")) == 1
    desk.closed()


@BOTH
@pytest.mark.parametrize("tool", ["slow", "send"])
def test_a_tool_that_cancels_itself_br_203b(tmp_path: Path, wire: str, tool: str) -> None:
    """A cancellation that nobody asked for ends the tool alone: the host goes on, and so do the siblings. An action may have happened."""

    async def own(q: str) -> str:
        if q == "x":
            raise asyncio.CancelledError
        return "fine"

    desk = start(tmp_path, wire, SLOW, dict.fromkeys(("slow", "quick", "send"), still), watched=False)
    desk.given["tools"] = dict.fromkeys(("slow", "quick", "send"), own)

    async def main() -> Any:
        chat = desk.load(AsyncGuard).open(**desk.opening)
        chat.user("go")
        return await chat.handle(reply(desk, ("c1", tool, {"q": "x"}), ("c2", "quick", {"q": "y"})))

    turn = asyncio.run(main())
    assert states(turn) == ["unknown" if tool == "send" else "failed", "done"]
    assert [name for name, _ in answers(wire, turn.messages)] == ["c1", "c2"]
    desk.closed()


@BOTH
def test_ctrl_c_in_a_plain_program_br_203c(tmp_path: Path, wire: str) -> None:
    """KeyboardInterrupt is no ordinary exception either: the calls are closed, and it goes on."""

    def stop(q: str) -> str:
        raise KeyboardInterrupt

    tools = {"slow": lambda q: q, "quick": stop, "send": stop}
    desk = start(tmp_path, wire, SLOW, tools, store="sqlite")
    calls = (("c0", "slow", {"q": "x"}), ("c1", "quick", {"q": "x"}), ("c2", "send", {"q": "y"}))
    with pytest.raises(KeyboardInterrupt):
        desk.propose(*calls)
    desk.restart()
    found = closed_history(desk, *calls)
    assert desk.result("c0") == "x"
    assert [found[name]["code"] for name in ("c1", "c2")] == ["interrupted", "interrupted"]
    assert desk.times("send") == 0
    desk.closed()


@BOTH
def test_a_cancelled_action_br_203d(tmp_path: Path, wire: str) -> None:
    """Of an action that was cancelled while it ran nobody says that it did not happen."""
    desk = start(tmp_path, wire, SLOW, dict.fromkeys(("slow", "quick", "send"), still), store="sqlite", watched=False)
    calls = (("c1", "send", {"q": "x"}),)

    async def main() -> None:
        running = asyncio.Event()
        desk.given["tools"] = {"slow": still, "quick": still, "send": hanging(running)}
        await cancelled(desk, running, *calls)

    asyncio.run(main())
    desk.given["tools"] = dict.fromkeys(("slow", "quick", "send"), still)
    desk.restart()
    assert closed_history(desk, *calls)["c1"]["code"] == "outcome_unknown"
    assert states(desk.propose(("c2", "send", {"q": "x"}))) == ["unknown"]
    desk.closed()


# -- BR-205 ------------------------------------------------------------------------------------------------------------

STOPPED = """
    tools:
      a: {kind: read, allow: [staff], schema: {type: object, properties: {}, additionalProperties: false}}
      pay: {kind: action, allow: [staff], approve: never, EFFECT schema: {type: object, additionalProperties: {type: integer}}}
"""
BATCH = (("c1", "a", {}), ("c2", "pay", {"amount": 5}), ("c3", "pay", {"amount": 6}))


def stopped(tmp_path: Path, wire: str, effect_of: str = "once", when: str = "after") -> Desk:
    """The process ended in the first payment; what is left is the file, and a history that ends with the calls."""
    keyed = effect_of == "idempotent"
    tools = {"a": effect(tmp_path, "a"), "pay": effect(tmp_path, "pay", keyed=keyed)}
    desk = start(tmp_path, wire, STOPPED.replace("EFFECT", f"effect: {effect_of},"), tools, store="sqlite")
    handle = ["handle", [[name, tool, desk._spelled(given)] for name, tool, given in BATCH], desk.history]
    killed(job(desk, tmp_path, {"a": False, "pay": keyed}, handle), "pay", when)
    desk.restart()
    return desk


@BOTH
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("effect_of", ["once", "idempotent"])
def test_stop_before_results_are_stored_br_205(tmp_path: Path, wire: str, effect_of: str, when: str) -> None:
    """On the next load each open id gets one result: the look-up an error, the payment "unknown", what never started "interrupted"."""
    desk = stopped(tmp_path, wire, effect_of, when)
    found = closed_history(desk, *BATCH)
    assert [found[name]["code"] for name in ("c1", "c3")] == ["interrupted", "interrupted"]
    if effect_of == "once" or "code" in found["c2"]:
        assert found["c2"]["code"] == "outcome_unknown"
        assert found["c2"]["executed"] is None
        assert "may or may not" in found["c2"]["message"]
    else:  # with the guard's key it may be finished, under the key of the first attempt
        assert "did" in desk.result("c2")
    assert desk.chat.resume(desk.history) == desk.history
    desk.say("Go on.")
    done = desk.propose(("d1", "a", {}), ("d2", "pay", {"amount": 6}))
    assert states(done) == ["done", "done"], "the thread goes on"
    paid = [(arguments["amount"], key) for tool, arguments, key in effects(tmp_path) if tool == "pay"]
    fives = [key for amount, key in paid if amount == 5]
    assert len(paid) - len(fives) == 1
    assert len(set(fives)) <= 1
    assert len(fives) <= (1 if effect_of == "once" else 2)
    assert len(fives) >= (when == "after")
    desk.closed()


@BOTH
def test_stop_and_the_same_message_again_br_205b(tmp_path: Path, wire: str) -> None:
    """Handled again instead of closed: the look-up may run, the payment may not, and what never started does now."""
    desk = stopped(tmp_path, wire)
    again = desk.propose(*BATCH)
    assert states(again) == ["done", "unknown", "done"]
    assert [arguments["amount"] for tool, arguments, _ in effects(tmp_path) if tool == "pay"] == [5, 6]
    desk.closed()


@BOTH
def test_stop_in_asyncio_br_205c(tmp_path: Path, wire: str) -> None:
    """The user's stop cancels the task, and the program ends without storing what it was told: the next load tells the same."""
    desk = start(
        tmp_path,
        wire,
        STOPPED.replace("EFFECT", ""),
        {"a": lambda: "looked", "pay": lambda **arguments: "paid"},
        store="sqlite",
        watched=False,
    )

    async def main() -> None:
        running = asyncio.Event()

        async def pay(**arguments: Any) -> None:
            running.set()
            await asyncio.sleep(30)

        desk.given["tools"] = {"a": lambda: "looked", "pay": pay}
        await cancelled(desk, running, *BATCH)

    asyncio.run(main())
    desk.given["tools"] = {"a": lambda: "looked", "pay": lambda **arguments: "paid"}
    desk.restart()
    found = closed_history(desk, *BATCH)
    assert desk.result("c1") == "looked"
    assert [found[name]["code"] for name in ("c2", "c3")] == ["outcome_unknown", "interrupted"]
    desk.closed()
