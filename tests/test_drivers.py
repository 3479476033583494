"""Both drivers under fire: Ctrl-C, exceptions that are no Exception, overlap and order."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from driver_kit import SESSION, Body, found, guards, handle, load, raising, reply, rows
from wire_helpers import answers

from guard import AsyncGuard, Guard, Reason, ToolCall
from guard.core import ports as p
from guard.core.model import CallKey
from guard.core.values import canonical
from guard.errors import AnsweredInterrupt
from guard.stores import open_store


class OwnError(BaseException):
    """No Exception: frameworks use such things to stop a worker."""


# -- what a tool raises ------------------------------------------------------------------------------------------------

CONTAINED: list[BaseException] = [
    ValueError("x"),
    SystemExit(3),
    asyncio.CancelledError(),
    concurrent.futures.CancelledError(),
    StopIteration(1),
    StopAsyncIteration(1),
    TimeoutError("own"),
    RecursionError(),
    MemoryError(),
]


@guards
@pytest.mark.parametrize("name", ["look", "brief", "act", "hurry"])
@pytest.mark.parametrize("error", CONTAINED, ids=lambda error: type(error).__name__)
def test_what_a_tool_raises_is_its_own_failed_result(
    tmp_path: Path, kind: Any, waits: bool, name: str, error: BaseException
) -> None:
    """Also SystemExit and a cancellation that the tool raises by itself, with and without a time-out; siblings keep their results.

    An action that was cut off (a time-out of what stands behind it, its own task cancelled) may have happened: that is no failure, nobody knows.
    """
    guard = load(kind, tmp_path, waits=waits, **{name: raising(error)})
    turn = handle(guard, ("look" if name != "look" else "act", 1), (name, 2), ("act" if name != "act" else "look", 3))

    doubt = isinstance(error, TimeoutError | asyncio.CancelledError | concurrent.futures.CancelledError) and name in {
        "act",
        "hurry",
    }
    own = ("unknown", Reason.OUTCOME_UNKNOWN) if doubt else ("failed", Reason.TOOL_FAILED)
    assert found(turn) == [("done", None), own, ("done", None)]


@guards
@pytest.mark.parametrize("name", ["look", "brief", "act", "hurry"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OwnError()], ids=lambda error: type(error).__name__)
def test_an_interrupt_goes_up_with_every_call_closed(
    tmp_path: Path, kind: Any, waits: bool, name: str, error: BaseException
) -> None:
    """Nothing after it starts, every id has its row, and handling again or resuming gives one result for each."""
    guard = load(kind, tmp_path, waits=waits, **{name: raising(error)})
    calls = (
        (("act", 1), (name, 2), ("act", 3), ("look", 4)) if name != "act" else (("look", 1), (name, 2), ("hurry", 3), ("look", 4))
    )
    with pytest.raises(type(error)):
        handle(guard, *calls)

    closed = {row.key.position: (row.status, row.outcome and row.outcome.reason) for row in rows(guard.store, guard)}
    middle = ("unknown", Reason.OUTCOME_UNKNOWN) if name in {"act", "hurry"} else ("failed", Reason.INTERRUPTED)
    assert closed[0] == ("done", None)
    assert closed[1] == middle
    assert closed[2] == closed[3] == ("refused", Reason.INTERRUPTED)

    chat = guard.open(SESSION, wire="openai-chat", conversation="c")
    history = [{"role": "user", "content": "hi"}, reply(*calls)]
    resumed = chat.resume(history) if kind is Guard else asyncio.run(chat.resume(history))
    assert [call_id for call_id, _ in answers("openai-chat", resumed)] == ["c0", "c1", "c2", "c3"]


@guards
@pytest.mark.parametrize(
    "error", [LookupError("x"), SystemExit(1), asyncio.CancelledError()], ids=lambda error: type(error).__name__
)
def test_what_a_loader_raises_makes_the_fact_unavailable(tmp_path: Path, kind: Any, waits: bool, error: BaseException) -> None:
    """The call is refused, its siblings run."""
    guard = load(kind, tmp_path, waits=waits)
    guard.resource("thing")(raising(error))
    turn = handle(guard, ("owned", 1), ("look", 2))

    assert found(turn) == [("refused", Reason.FACT_UNAVAILABLE), ("done", None)]


@guards
def test_an_interrupt_in_a_loader_goes_up_and_nothing_runs(tmp_path: Path, kind: Any, waits: bool) -> None:
    """Ctrl-C while a record is looked up: nothing starts, every id is closed."""
    guard = load(kind, tmp_path, waits=waits)
    guard.resource("thing")(raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        handle(guard, ("owned", 1), ("act", 2), ("look", 3))

    assert [row.status for row in rows(guard.store, guard)] == ["refused"] * 3


# -- overlap and order -------------------------------------------------------------------------------------------------


def test_reads_of_a_turn_overlap_in_asyncio(tmp_path: Path) -> None:
    """Each of four look-ups waits until all four have started."""

    async def main() -> Any:
        started: list[int] = []
        everybody = asyncio.Event()

        async def meet(n: int) -> int:
            started.append(n)
            if len(started) == 4:
                everybody.set()
            await asyncio.wait_for(everybody.wait(), 5)
            return n

        guard = load(AsyncGuard, tmp_path, waits=True, look=meet)
        turn = await guard.open(SESSION, wire="openai-chat", conversation="c").handle(reply(*(("look", n) for n in range(4))))
        return started, [outcome.content for outcome in turn.outcomes]

    assert asyncio.run(main()) == ([0, 1, 2, 3], ["0", "1", "2", "3"])


@guards
def test_actions_run_in_call_order_one_at_a_time(tmp_path: Path, kind: Any, waits: bool) -> None:
    """No action starts before the one before it has ended, and look-ups keep their side of it."""
    log: list[str] = []

    def step(name: str) -> Body:
        def body(n: int) -> Any:
            log.append(f"{name}{n} starts")
            if waits:
                return ending(n)
            log.append(f"{name}{n} ends")
            return n

        async def ending(n: int) -> int:
            await asyncio.sleep(0.01 / n)
            log.append(f"{name}{n} ends")
            return n

        return body

    guard = load(kind, tmp_path, waits=waits, act=step("act"), look=step("look"))
    turn = handle(guard, ("look", 1), ("act", 2), ("act", 3), ("look", 4), ("act", 5))

    assert [outcome.content for outcome in turn.outcomes] == ["1", "2", "3", "4", "5"]
    assert log == [f"{name} {verb}" for name in ("look1", "act2", "act3", "look4", "act5") for verb in ("starts", "ends")]


def test_single_calls_are_interrupted_alike(tmp_path: Path) -> None:
    """`guard.call` lets Ctrl-C go up as well; the same key then gives the recorded outcome and runs nothing."""
    guard = load(Guard, tmp_path, act=raising(KeyboardInterrupt()))
    call = ToolCall("c", "act", {"n": 1})
    with pytest.raises(KeyboardInterrupt):
        guard.call(call, SESSION, conversation="c", key="k")
    outcome = guard.call(call, SESSION, conversation="c", key="k")

    assert (outcome.status, outcome.reason) == ("unknown", Reason.OUTCOME_UNKNOWN)


@pytest.mark.skipif(os.name == "nt", reason="needs a signal to one thread")
def test_ctrl_c_while_the_store_writes_is_answered(tmp_path: Path) -> None:
    """Wherever in a turn it comes while the store writes: the write counts, no tool starts any more, and no call is left open.

    The store's clock is asked within each write, so a clock can press Ctrl-C in the middle of one.
    """
    ran: list[int] = []
    moments, left = 0, -1
    main = threading.main_thread().ident

    def clock() -> float:
        nonlocal left
        left -= 1
        if left == 0 and threading.current_thread() is not threading.main_thread():
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.02)  # the caller hears of it before the write ends
        return 1_800_000_000.0

    for moment in range(1, 40):
        file = tmp_path / f"{moment}.db"
        guard = load(Guard, tmp_path, store=f"sqlite:///{file}", clock=clock, act=ran.append)
        chat = guard.open(SESSION, wire="openai-chat", conversation="c")
        ran.clear()
        left = moment
        try:
            chat.handle(reply(("act", 1), ("act", 2)))
        except AnsweredInterrupt:
            moments += 1
            left = -1
            store = open_store(f"sqlite:///{file}")
            statuses = [row.status for row in store.rows(chat.ref)]
            kinds = Counter(json.loads(record.body)["kind"] for record in store.audit())
            store.close()
            assert "started" not in statuses
            assert statuses.count("done") == len(ran)
            assert kinds["call.begin"] <= kinds["call.end"]
        if left > 0:
            break
    assert moments >= 4
    assert ran == [1, 2]


def test_an_action_that_nobody_took_is_not_run(tmp_path: Path) -> None:
    """The hands themselves refuse a command without a claim, whoever wrote it."""
    ran: list[int] = []
    guard = load(Guard, tmp_path, act=ran.append)
    tool = guard.policy.tools["act"]
    ref = guard.open(SESSION, wire="openai-chat", conversation="c").ref
    command = p.Execute(tool=tool, arguments={"n": 1}, canonical=canonical({"n": 1}), key=CallKey(ref, 1, 0), idempotency_key="k")

    found = guard.hands.prepare(command)

    assert (found, ran) == (p.Executed(error="NotTaken", started=False), [])
