"""Turns: what a framework brings call by call is walked as the message that it stands in, once, whoever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from conformance_scenarios import BOSS, STAFF
from wire_helpers import message

from guard import AsyncGuard, Guard, GuardError, ToolCall
from guard.core.reasons import Reason
from guard.integrations.turns import Message, Turns

POLICY = """
tools:
  price: {kind: read, allow: [staff]}
  after: {kind: read, allow: [staff], after: {tool: price}}
  act: {kind: action, allow: [staff], approve: never}
  held: {kind: action, allow: [staff], approve: {by: [boss]}}
limits: {run: {calls: 60}}
"""
RAN: list[int] = []


def act(n: int) -> int:
    RAN.append(n)
    return n


TOOLS: dict[str, Any] = {"price": lambda n=0: n, "after": lambda n=0: n, "act": act, "held": act}


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    RAN.clear()
    (tmp_path / "tools.yaml").write_text(POLICY)
    with Guard.load(tmp_path, tools=TOOLS, store="memory://") as made:
        yield made


def turns(guard: Any, **more: Any) -> Turns:
    return Turns(guard.open(STAFF, wire="openai-chat", conversation="c", **more), "openai-chat")


def said(*calls: Any, before: Any = ()) -> Message:
    made = [(f"c{place}", tool, f'{{"n": {n}}}') for place, (tool, n) in enumerate(calls)]
    return Message(reply=message("openai-chat", *made), before=before)


def test_siblings_do_not_satisfy_each_other(guard: Guard) -> None:
    """As in a loop of one's own: brought one after the other, they are still judged as one message."""
    one, given = turns(guard), said(("price", 1), ("after", 1))
    assert one.take(given, 0).outcome.status == "done"
    assert one.take(given, 1).outcome.reason == Reason.PREREQUISITE_MISSING


def test_threads_share_one_walk(guard: Guard) -> None:
    """Eight calls of one message at once: each gets its own outcome, and each action runs once, in call order."""
    one, given, start = turns(guard), said(*(("act", n) for n in range(8))), Barrier(8)

    def take(place: int) -> str:
        start.wait()
        return str(one.take(given, place).outcome.content)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(take, range(8))) == [str(n) for n in range(8)]
    assert [*range(8)] == RAN


def test_a_call_that_comes_again_runs_nothing_again(guard: Guard) -> None:
    """By another way, or after a restart: the recorded outcome, also from a layer that has seen nothing."""
    given = said(("act", 1), ("act", 2))
    first = turns(guard)
    for layer in (first, first, turns(guard)):
        assert [layer.take(given, place).outcome.content for place in (1, 0)] == ["2", "1"]
    assert RAN == [1, 2]


def test_what_waits_is_never_kept(guard: Guard) -> None:
    """A look, then a decision, then the call itself: it sees the decision."""
    one, given = turns(guard, held="suspend"), said(("act", 1), ("held", 2))
    answer = one.take(given, 1, look=True)
    assert (answer.suspended, answer.approval and answer.approval.tool) == (True, "held")
    assert one.take(given, 0).outcome.status == "done"
    assert one.take(given, 1).suspended
    guard.approvals.approve(str(answer.outcome.approval), approver=BOSS)
    assert one.take(given, 1).outcome.content == "2"
    assert RAN == [1, 2]


def test_a_call_by_itself_walks_the_whole_path(guard: Guard) -> None:
    """What stands in no message is a proposal of its own; a place that is not there is a mistake."""
    one = turns(guard)
    assert one.alone(ToolCall("c", "held", '{"n": 1}')).outcome.status == "held"
    with pytest.raises(GuardError, match="not in the message"):
        one.take(said(("act", 1)), 3)


def test_asyncio_shares_one_walk_and_only_the_last_who_waits_cancels_it(tmp_path: Path) -> None:
    """One of two is cancelled: the other gets its outcome. All are cancelled: each call is closed, then the cancellation goes on."""
    RAN.clear()
    (tmp_path / "tools.yaml").write_text(POLICY)
    begun = asyncio.Event()

    async def slow(n: int) -> int:
        RAN.append(n)
        if n == 0:
            begun.set()
        await asyncio.sleep(0.05 if n else 60)
        return n

    async def go(guard: AsyncGuard) -> None:
        one, given = turns(guard), said(("act", 1), ("act", 2))
        tasks = [asyncio.ensure_future(one.take_soon(given, place)) for place in (0, 1)]
        await asyncio.sleep(0.02)
        tasks[0].cancel()
        assert (await tasks[1]).outcome.content == "2"
        assert tasks[0].cancelled()

        given = said(("act", 0), ("act", 3))
        tasks = [asyncio.ensure_future(one.take_soon(given, place)) for place in (0, 1)]
        await begun.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() for task in tasks)
        reasons = [row.outcome and row.outcome.reason for row in guard.store.rows(one.chat.ref)]
        assert reasons[2:] == [Reason.OUTCOME_UNKNOWN, Reason.INTERRUPTED]
        with pytest.raises(GuardError, match="needs the framework's async way"):
            one.take(given, 0)

    with AsyncGuard.load(tmp_path, tools={**TOOLS, "act": slow}, store="memory://") as guard:
        asyncio.run(go(guard))
    assert RAN == [1, 2, 0]


def test_a_plain_conversation_works_where_the_framework_awaits(guard: Guard) -> None:
    """In a thread; each action still runs once."""

    async def go() -> list[Any]:
        one, given = turns(guard), said(("act", 1), ("act", 2))
        return await asyncio.gather(
            one.take_soon(given, 0), one.take_soon(given, 1), one.alone_soon(ToolCall("x", "price", "{}"))
        )

    assert [answer.outcome.status for answer in asyncio.run(go())] == ["done"] * 3
    assert RAN == [1, 2]
