"""Eight threads decide while policies are swapped back to back: no wrong decision, no exception, one version a turn."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from reload_kit import BASE, BROKEN, CLERK, CLOSED, load, write
from stores_kit import records

from guard import AsyncGuard, Guard, PolicyError, ToolCall

pytestmark = pytest.mark.slow
SECONDS = 4.0
DENIED = "p, suspended, *, look, call, deny\ng, role:clerk, role:suspended, *\n"
SAME = [(BASE, DENIED), (BASE + "# another\n", DENIED + "p, clerk, *, look, call, allow\ng, role:clerk, role:other, *\n")]
"""The answer is always no: a deny that is reached through a role."""


@pytest.fixture(autouse=True)
def hurried() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@contextmanager
def reloading(guard: Guard, folder: Path, policies: list[tuple[str, str]]) -> Iterator[list[int]]:
    """Another thread swaps the policies as fast as it can; gives how often it did."""
    stop, count = threading.Event(), [0]

    def swap() -> None:
        while not stop.is_set():
            for text, rules in policies:
                write(folder, text, rules)
                with suppress(PolicyError):
                    count[0] += guard.reloader.reload().changed

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield count
    finally:
        stop.set()
        thread.join()


def hammer(work: Callable[[int], Any]) -> list[Any]:
    """What eight threads got for some seconds; raises what any of them raised."""
    end = time.monotonic() + SECONDS

    def run(number: int) -> list[Any]:
        found = []
        while time.monotonic() < end:
            found.append(work(number))
        return found

    with ThreadPoolExecutor(8) as pool:
        return [one for found in pool.map(run, range(8)) for one in found]


@pytest.mark.parametrize("broken", [False, True], ids=["good policies", "with broken ones between them"])
def test_a_deny_through_a_role_never_vanishes(tmp_path: Path, broken: bool) -> None:
    """Whole calls and bare questions to the authorizer: always denied, never an exception."""
    folder = write(tmp_path / "p", *SAME[0])
    with load(folder) as guard:

        def work(number: int) -> bool:
            verdict = guard.policy.authorizer.decide(CLERK, "look", "call")
            outcome = guard.call(ToolCall("1", "look", {"n": 1}), CLERK, conversation=f"c{number}")
            return bool(verdict.denied and not verdict.allowed and outcome.reason == "not_authorized")

        policies = [SAME[0], (BROKEN, DENIED), SAME[1]] if broken else SAME
        with reloading(guard, folder, policies) as count:
            found = hammer(work)

        assert count[0] > 5
        assert len(found) > 50
        assert all(found)


def test_each_turn_is_judged_by_exactly_one_version(tmp_path: Path) -> None:
    """Where the answers alternate, the calls of a turn agree, and the version in each record is the one that answers so."""
    folder = write(tmp_path / "p", BASE, "")
    with load(folder) as guard:
        allowed = guard.policy.version
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": f'{{"n": {n}}}'}} for n in (1, 2, 3)
        ]

        def work(number: int) -> set[str]:
            chat = guard.open(CLERK, wire="openai-chat", conversation=f"c{number}")
            return {one.status for one in chat.handle({"role": "assistant", "tool_calls": calls}).outcomes}

        with reloading(guard, folder, [(CLOSED, ""), (BASE, "")]) as count:
            found = hammer(work)
        decided = [body for one in records(guard.store) if (body := json.loads(one.body))["kind"] == "call.decided"]

    assert count[0] > 5
    assert {"done"} in found
    assert {"refused"} in found
    assert all(len(one) == 1 for one in found)
    assert len(decided) == 3 * len(found)
    assert {(one["policy"] == allowed, one["verdict"]) for one in (body["decision"] for body in decided)} == {
        (True, "allow"),
        (False, "refuse"),
    }


def test_tasks_of_one_loop_are_never_wrong_either(tmp_path: Path) -> None:
    """The same for AsyncGuard, with reloads awaited beside the calls."""
    folder = write(tmp_path / "p", *SAME[0])

    async def run() -> list[Any]:
        guard = load(folder, AsyncGuard)
        end, found = time.monotonic() + SECONDS, []

        async def ask(number: int) -> None:
            while time.monotonic() < end:
                outcome = await guard.call(ToolCall("1", "look", {"n": 1}), CLERK, conversation=f"c{number}")
                found.append(outcome.reason)
                await asyncio.sleep(0)

        async def swap() -> None:
            while time.monotonic() < end:
                for one in SAME:
                    write(folder, *one)
                    await guard.reload()

        await asyncio.gather(swap(), *(ask(number) for number in range(8)))
        loads = guard.policy_state.loads
        guard.close()
        assert loads > 5
        return found

    assert set(asyncio.run(run())) == {"not_authorized"}


def test_reloads_at_once_end_with_what_was_read_last(tmp_path: Path) -> None:
    """Eight threads reload at the same time: no exception, and the newest folder is in force."""
    folder = write(tmp_path / "p", BASE, "")
    with load(folder, watch=0.01) as guard:
        for number in range(4):
            write(folder, CLOSED if number % 2 else BASE + f"# {number}\n", "")
            with ThreadPoolExecutor(8) as pool:
                done = list(pool.map(lambda _: guard.reload(), range(8)))
            assert {one.version for one in done} == {guard.policy_state.version}
            assert sum(one.changed for one in done) <= 1
