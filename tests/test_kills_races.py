"""Kills under races: what was not taken when the kill was committed never starts, whoever is at it, and every approval is spent or ended, never both."""

from __future__ import annotations

import json
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, url_of

from guard import Guard, PolicyWarning, Session, ToolCall
from guard.cli.audit_verify import stored_report
from guard.core.reasons import Reason

POLICY = """
tools:
  pay: {kind: action, allow: [staff], approve: never, repeat: allow}
  send: {kind: action, allow: [staff], approve: {by: [boss], expires: 1h}}
"""
U1 = Session(principal="u1", roles=("staff",))
BOSS = Session(principal="b1", roles=("boss",))
THREADS = 64
KINDS = [pytest.param(one, marks=[pytest.mark.slow] if one == "postgres" else []) for one in STORES]


class Program:
    """Several guards on one store, as processes have them (one where it is in memory), and what ran."""

    def __init__(self, stack: ExitStack, folder: Path, kind: str) -> None:
        url = stack.enter_context(url_of(kind, folder))
        (folder / "tools.yaml").write_text(POLICY)
        self.ran: list[int] = []

        def pay(n: int) -> int:
            """Pay."""
            self.ran.append(n)
            return n

        def send(n: int) -> int:
            """Send."""
            self.ran.append(n)
            return n

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            count = 1 if kind == "memory" else 4
            self.guards = [stack.enter_context(Guard.load(folder, tools=[pay, send], store=url)) for _ in range(count)]

    def of(self, number: int) -> Guard:
        return self.guards[number % len(self.guards)]

    def begun(self) -> int:
        """How many calls were taken by now."""
        store = self.guards[0].store
        found = [json.loads(one.body)["kind"] for chain in range(store.chains) for one in store.audit(chain=chain)]
        return Counter(found)["call.begin"]


@pytest.fixture(params=KINDS)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """On each store; in the end the record, replayed, gives the tables."""
    with ExitStack() as stack:
        made = Program(stack, tmp_path, request.param)
        yield made
        assert stored_report(made.guards[0].store, [], None).problems == []


def together(program: Program, work: Callable[[int], Any], after: int) -> tuple[Any, list[Any]]:
    """64 threads at once; what the kill gave, set after so many of them have ended, with what was begun when it returned, and what each gave."""
    line, ended = threading.Barrier(THREADS), threading.Semaphore(0)

    def one(number: int) -> Any:
        line.wait()
        try:
            return work(number)
        finally:
            ended.release()

    with ThreadPoolExecutor(THREADS) as pool:
        found = [pool.submit(one, number) for number in range(THREADS)]
        for _ in range(after):
            ended.acquire()
        kill = program.guards[-1].kills.set(by=BOSS, reason="stop", tenant="default")
        begun = program.begun()
        return (kill, begun), [each.result() for each in found]


@pytest.mark.parametrize("after", [0, 7], ids=["at-once", "after-some"])
def test_nothing_starts_behind_a_kill(program: Program, after: int) -> None:
    """What was taken before it is all that ever begins: 64 callers, each either done or refused, several turns long."""

    def work(number: int) -> list[Any]:
        calls = [ToolCall("c", "pay", {"n": number * 10 + turn}) for turn in range(3)]
        return [program.of(number).call(one, U1, conversation=f"c{number}") for one in calls]

    (_, begun), found = together(program, work, after)
    outcomes = [one for each in found for one in each]
    assert {(one.status, one.reason) for one in outcomes} <= {("done", None), ("refused", Reason.KILLED)}
    done = sum(one.status == "done" for one in outcomes)
    assert done == len(program.ran) == program.begun() == begun
    assert all([one.status for one in each] == sorted((one.status for one in each), key="done refused".index) for each in found)


def test_an_approval_is_spent_or_ended_never_both(program: Program) -> None:
    """64 approved calls are run by their hosts while the kill comes: each ran and is consumed, or was revoked and is refused."""
    first = program.guards[0]
    names: dict[int, str] = {}
    for number in range(THREADS):
        held = first.call(ToolCall("c", "send", {"n": number}), U1, conversation=f"c{number}", key="k")
        names[number] = str(held.approval)
        first.approvals.approve(names[number], approver=BOSS)

    def work(number: int) -> Any:
        return program.of(number).call(ToolCall("c", "send", {"n": number}), U1, conversation=f"c{number}", key="k")

    (kill, begun), found = together(program, work, 3)
    ran = {number for number, one in enumerate(found) if one.status == "done"}
    assert ran == {*program.ran}
    assert len(program.ran) == len(ran) == program.begun() == begun
    assert {one.reason for number, one in enumerate(found) if number not in ran} <= {Reason.KILLED}
    ended = {number: first.approvals.show(name).status for number, name in names.items()}
    assert ended == {number: "consumed" if number in ran else "revoked" for number in names}
    assert (kill.cancelled, kill.revoked) == (0, THREADS - len(ran))
