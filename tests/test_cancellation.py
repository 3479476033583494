"""Cancelling the caller's task in asyncio: every call of the turn is closed, nothing new starts, and the cancellation goes on up."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from driver_kit import NAMES, SESSION, load, reply

from guard import AsyncGuard
from guard.core.ports import Store


async def cancelled_while(chat: Any, calls: Any, running: asyncio.Event) -> None:
    task = asyncio.ensure_future(chat.handle(reply(*calls)))
    await asyncio.wait_for(running.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


@pytest.mark.parametrize("store", ["memory://", "sqlite"])
@pytest.mark.parametrize("second", ["act", "hurry", "look", "brief"])
@pytest.mark.parametrize("quiet", [False, True], ids=["tool lets go", "tool keeps the cancellation"])
def test_cancelling_while_the_second_of_four_tools_runs(tmp_path: Path, store: str, second: str, quiet: bool) -> None:
    """The first keeps its result, the second is closed, the others never start, and the cancellation goes on up."""
    url = store if store != "sqlite" else f"sqlite:///{tmp_path / 'guard.db'}"
    others = ("act", "hurry") if second not in {"act", "hurry"} else (second, second)
    started: list[int] = []

    async def main() -> Any:
        running = asyncio.Event()

        async def waiting(n: int) -> str:
            started.append(n)
            if n != 2:
                return "ok"
            running.set()
            try:
                await asyncio.sleep(0.05 if second in {"hurry", "brief"} else 30)
            except asyncio.CancelledError:
                if not quiet:
                    raise
            return "kept"

        guard = load(AsyncGuard, tmp_path, store=url, waits=True, **dict.fromkeys(NAMES, waiting))
        chat = guard.open(SESSION, wire="openai-chat", conversation="c")
        calls = [("act", 1), (second, 2), (others[0], 3), (others[1], 4)]
        await cancelled_while(chat, calls, running)
        again = await chat.handle(reply(*calls), history=[])
        return guard.store, chat.ref, again

    ledger, ref, again = asyncio.run(main())
    until = time.monotonic() + 5
    while quiet and second == "hurry" and ledger.rows(ref)[1].status == "unknown" and time.monotonic() < until:
        time.sleep(0.005)  # given up as unknown; what it gave all the same is written down by a thread of its own
    statuses = [row.status for row in ledger.rows(ref)]
    assert started == [1, 2]
    assert statuses[0] == "done"
    lost = "unknown" if second in {"act", "hurry"} else "failed"
    assert statuses[1] == ("done" if quiet and second != "brief" else lost)
    assert statuses[2:] == ["refused", "refused"]
    assert [outcome.call_id for outcome in again.outcomes] == ["c0", "c1", "c2", "c3"]


class Slow:
    """A store whose claims take long enough to be cancelled under."""

    def __init__(self, inner: Store, reached: threading.Event, go: threading.Event) -> None:
        self.inner, self.reached, self.go, self.blocking = inner, reached, go, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def claim(self, command: Any) -> Any:
        self.reached.set()
        self.go.wait(5)
        return self.inner.claim(command)


def test_cancelling_while_the_stores_thread_runs(tmp_path: Path) -> None:
    """The statement is waited for, the claimed call is closed without running, and the cancellation goes on up."""
    ran: list[int] = []

    async def main() -> list[str]:
        guard = load(AsyncGuard, tmp_path, act=ran.append)
        reached, go = threading.Event(), threading.Event()
        guard.hands.store = Slow(guard.store, reached, go)
        chat = guard.open(SESSION, wire="openai-chat", conversation="c")
        task = asyncio.ensure_future(chat.handle(reply(("act", 1), ("act", 2))))
        await asyncio.to_thread(reached.wait, 5)
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [row.status for row in guard.store.rows(chat.ref)]

    assert asyncio.run(main()) == ["refused", "refused"]
    assert ran == []
