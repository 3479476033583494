"""Both drivers with tools that take longer than they may: no data of a look-up, and an action of which nobody knows."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driver_kit import SESSION, Body, found, handle, load, reply, rows

from guard import AsyncGuard, Guard, Reason


def stubborn(go: threading.Event) -> Body:
    """A coroutine that keeps cancellation to itself until it is let go."""

    async def wait(n: int) -> str:
        while not go.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return "late"

    return wait


def slow(go: threading.Event) -> Body:
    return lambda n: go.wait(20) and "late"


def dozing(go: threading.Event) -> Body:
    async def wait(n: int) -> str:
        await asyncio.sleep(30)
        return "late"

    return wait


SLOW = [
    pytest.param(Guard, False, slow, id="sync tool in Guard"),
    pytest.param(AsyncGuard, False, slow, id="sync tool in AsyncGuard"),
    pytest.param(AsyncGuard, True, dozing, id="async tool"),
    pytest.param(AsyncGuard, True, stubborn, id="async tool that ignores cancellation"),
]


def begun(guard: Any) -> list[str]:
    """The actions that were started, in order."""
    bodies = [json.loads(record.body) for record in guard.store.audit()]
    return [body["tool"]["name"] for body in bodies if body["kind"] == "call.begin"]


@pytest.mark.parametrize(("kind", "waits", "body"), SLOW)
def test_a_timeout_is_no_data_and_an_action_is_unknown(
    tmp_path: Path, kind: Any, waits: bool, body: Callable[[threading.Event], Body]
) -> None:
    """A look-up failed, an action may have happened; siblings keep their results and an equal action is not run again while its end is not known."""
    go = threading.Event()
    guard = load(kind, tmp_path, waits=waits, brief=body(go), hurry=body(go))
    chat = guard.open(SESSION, wire="openai-chat", conversation="c")
    replies = [reply(("act", 0), ("brief", 1), ("hurry", 2), ("look", 3)), reply(("look", 9), ("hurry", 2))]

    async def main() -> list[Any]:  # one loop: the end of a loop waits for what keeps cancellation to itself
        try:
            return [await chat.handle(one) for one in replies]
        finally:
            go.set()

    try:
        turn, again = asyncio.run(main()) if kind is AsyncGuard else [chat.handle(one) for one in replies]
        assert found(turn) == [
            ("done", None),
            ("failed", Reason.TOOL_TIMED_OUT),
            ("unknown", Reason.OUTCOME_UNKNOWN),
            ("done", None),
        ]
        assert found(again)[1] == ("unknown", Reason.OUTCOME_UNKNOWN)
        assert begun(guard) == ["act", "hurry"]
    finally:
        go.set()


def test_what_ended_late_is_done_and_may_be_repeated(tmp_path: Path) -> None:
    """The end of the loop waits for the tool: its late end settles the call, and `repeat: allow` runs an equal one after `done`, as a call of its own."""
    go = threading.Event()
    guard = load(AsyncGuard, tmp_path, waits=True, hurry=stubborn(go))
    chat = guard.open(SESSION, wire="openai-chat", conversation="c")

    async def main() -> Any:
        turn = await chat.handle(reply(("hurry", 2)))
        go.set()
        return turn

    assert found(asyncio.run(main())) == [("unknown", Reason.OUTCOME_UNKNOWN)]
    assert [row.status for row in rows(guard.store, guard)] == ["done"]
    assert found(handle(guard, ("look", 9), ("hurry", 2))) == [("done", None)] * 2
    assert begun(guard) == ["hurry"] * 2
