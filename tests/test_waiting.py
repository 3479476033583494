"""Two callers with one call: the one who did not get it waits for the one who did, as long as that may come to something."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar, Self

import pytest
from life_kit import DONE, LEASE, UNKNOWN, DiedError, Life, Mortal, a_life, error, lives, plain_lives, reply, said, until

from guard.core.acting import Joined
from guard.errors import StoreError
from guard.runner import drivers, drivers_async
from guard.runner.waiting import Watch


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


plainly = pytest.mark.parametrize("life", plain_lives, indirect=True)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers whose patience ends soon."""
    for module in (drivers, drivers_async):
        monkeypatch.setattr(module, "PATIENCE", 0.1)


class Work:
    """A tool that goes on until it is let go, in whatever thread it runs."""

    def __init__(self, life: Life, tool: str = "once") -> None:
        self.life, self.running, self.go = life, threading.Event(), threading.Event()
        self.results: list[Any] = []
        life.answers[tool] = self._run
        self.thread = threading.Thread(target=self._propose, args=(tool,))

    def _run(self, n: int) -> Any:
        self.running.set()
        self.go.wait(5)
        return {"n": n}

    def _propose(self, tool: str) -> None:
        self.results += self.life.propose(self.life.process(), (tool, 1))

    def __enter__(self) -> Self:
        self.thread.start()
        assert self.running.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self.thread.join(5)


@pytest.mark.parametrize("call_id", ["c", "d"], ids=["same reply", "equal call elsewhere"])
@pytest.mark.parametrize("tool", ["once", "same", "safe", "back"])
def test_the_loser_gives_the_outcome_of_the_one_run(life: Life, tool: str, call_id: str) -> None:
    """It waits, runs nothing itself, and both say that it is done."""
    with Work(life, tool) as work:
        threading.Timer(0.05, work.go.set).start()
        one = life.propose(life.process(), (tool, 1), call_id=call_id)[0]
    assert (said(one), said(work.results[0]), len(life.ran)) == (DONE, DONE, 1)
    assert life.asked == []


@pytest.mark.parametrize("tool", ["once", "same"])
def test_patience_ends(life: Life, hasty: None, tool: str) -> None:
    """What is still under way by then is unknown for the one who waits; the row stays started, and the end is the winner's to tell."""
    with Work(life, tool) as work:
        one = life.propose(life.process(), (tool, 1))[0]
        assert said(one) == UNKNOWN
        assert "It is still under way." in error(one)["message"]
        assert life.statuses()[0] == "started"
    assert said(work.results[0]) == DONE
    assert life.statuses()[0] == "done"
    assert said(life.propose(life.process(), (tool, 1))[0]) == DONE
    assert len(life.ran) == 1


class Counting(Watch):
    """A watch that says until when it may look, and how often it looked when that was over."""

    made: ClassVar[list[Counting]] = []

    def __init__(self, store: Any, row: Any, until: float) -> None:
        super().__init__(store, row, until)
        self.until, self.looks, self.over = until, 0, 0
        self.made.append(self)

    def look(self) -> Joined | None:
        self.looks += 1
        self.over += monotonic() >= self.until
        return super().look()


def test_patience_is_for_the_whole_reply(life: Life, hasty: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for three calls of others waits no longer than for one: all end at the same moment, and are looked at once more at most after it."""
    for module in (drivers, drivers_async):
        monkeypatch.setattr(module, "Watch", Counting)
    monkeypatch.setattr(Counting, "made", [])
    for n in (1, 2, 3):
        life.dies("once", n, call_id=f"x{n}", lost=False)
    found = life.propose(life.process(), ("once", 1), ("once", 2), ("once", 3))
    assert [said(one) for one in found] == [UNKNOWN] * 3
    first, second, third = Counting.made
    assert first.until == second.until == third.until
    assert (second.looks, third.looks) == (1, 1)
    assert max(one.over for one in Counting.made) <= 1


def test_one_who_is_lost_meanwhile_is_not_waited_for(life: Life, hasty: None) -> None:
    """The lease of the one who took it ends while somebody waits: unknown for good."""
    life.dies("once", lost=False)
    threading.Timer(0.03, lambda: setattr(life.clock, "now", life.clock.now + 31)).start()
    one = life.propose(life.process(), ("once", 1))[0]
    assert said(one) == UNKNOWN
    assert "still under way" not in str(one.content)
    assert life.statuses()[0] == "unknown"


@pytest.mark.parametrize("tool", ["same", "safe", "twice"])
def test_a_lost_call_is_taken_again_by_one_of_many(life: Life, tool: str) -> None:
    """Three processes find it at once: one of them runs it, with its key, and all three say that it is done."""
    if tool == "twice":
        life.propose(life.process(), (tool, 1))
        life.approve(life.process())
        with pytest.raises(DiedError):
            life.settled(life.process(Mortal(life.store)))
        life.clock.now += LEASE + 1
    else:
        life.dies(tool)
    life.answers[tool] = lambda n: (sleep(0.05), {"n": n})[1]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda name: life.propose(life.process(), (tool, 1), call_id=name)[0], "xyz"))
    assert [said(one) for one in found] == [DONE] * 3
    assert (len(life.ran), life.rows()[0].attempt) == (1, 2)


@plainly
def test_ctrl_c_while_waiting_goes_on_up(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interruption is the caller's; the other one's call is left alone, and later looks say how it ended."""

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    with Work(life):
        monkeypatch.setattr("guard.runner.drivers.time.sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            life.propose(life.process(), ("once", 1), ("once", 2))
        monkeypatch.undo()
        assert life.statuses()[0] == "started"
    assert [n for _, n, _ in life.ran] == [1]
    assert said(life.propose(life.process(), ("once", 1))[0]) == DONE


@pytest.mark.parametrize("life", [pytest.param(("async, async tools", "sqlite"), id="async")], indirect=True)
def test_cancelling_while_waiting_goes_on_up(life: Life) -> None:
    """As Ctrl-C in a plain program: nothing new starts, and the call that was waited for stays the winner's."""

    async def main() -> None:
        chat = life.chat(life.process())
        task = asyncio.ensure_future(chat.handle(reply(("once", 1), ("once", 2))))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Work(life):
        asyncio.run(main())
        assert life.statuses()[0] == "started"
    assert [n for _, n, _ in life.ran] == [1]
    assert life.statuses()[0] == "done"


class Failing:
    """A store that fails at the second look at a call."""

    def __init__(self, life: Life) -> None:
        self.inner, self.blocking, self.secret = life.store, life.store.blocking, life.store.secret
        self.looks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def call(self, key: Any) -> Any:
        self.looks += 1
        if self.looks == 2:
            raise StoreError("down")
        return self.inner.call(key)


@pytest.mark.parametrize("call_id", ["c", "d"], ids=["same reply", "equal call elsewhere"])
def test_a_store_that_fails_while_somebody_waits_leaves_it_unknown(life: Life, call_id: str) -> None:
    """Not refused: it was started, and may take effect at any moment."""
    with Work(life) as work:
        one = life.propose(life.process(Failing(life)), ("once", 1), call_id=call_id)[0]
        assert said(one) == UNKNOWN
    assert said(work.results[0]) == DONE
    until(lambda: life.statuses()[0] == "done")


@pytest.mark.parametrize("life", [pytest.param(("async, async tools", "memory"), id="one loop")], indirect=True)
def test_two_tasks_of_one_loop(life: Life) -> None:
    """The one who waits leaves the loop to the one who runs."""

    async def slow(n: int) -> Any:
        await asyncio.sleep(0.05)
        return {"n": n}

    async def main() -> list[Any]:
        life.answers["once"] = slow
        chat = life.chat(life.process())
        turns = await asyncio.gather(*(chat.handle(reply(("once", 1), call_id=name)) for name in "abc"))
        return [said(turn.outcomes[0]) for turn in turns]

    assert asyncio.run(main()) == [DONE] * 3
    assert len(life.ran) == 1
