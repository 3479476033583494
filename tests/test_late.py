"""What ends after it was given up, and what the store did not take: it is written down after all, and told once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from life_kit import BOSS, ENTRIES, UNKNOWN, Life, a_life, lives, living, plain_lives, said, until
from stores_kit import STORES, Clock

from guard import ToolError
from guard.core.ports import Store
from guard.stores import open_store


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


in_threads = [*plain_lives, pytest.param(("async, plain tools", STORES[-1]), id="async, plain tools")]
plainly = pytest.mark.parametrize("life", plain_lives, indirect=True)

HURRY = {"once": f"{ENTRIES['once']}, timeout: 50ms"}
ENDS: dict[str, tuple[Any, str, str]] = {
    "done": (lambda n: {"late": n}, "done", '\\"late\\":1'),
    "failed": (ToolError("No such account."), "failed", "No such account."),
    "cut off": (ConnectionResetError(), "unknown", ""),
}


@pytest.mark.parametrize("life", in_threads, indirect=True)
@pytest.mark.parametrize("case", ENDS)
def test_what_ends_after_its_time_out_is_told_once(life: Life, case: str) -> None:
    """The model hears that it is unknown; when the thread ends after all, how it ended is written down and told."""
    body, status, told = ENDS[case]
    go, left = threading.Event(), threading.Event()

    def slow(n: int) -> Any:
        go.wait(5)
        try:
            if isinstance(body, BaseException):
                raise body
            return body(n)
        finally:
            left.set()

    life.answers["once"] = slow
    guard = life.process(**HURRY)
    assert said(life.propose(guard, ("once", 1))[0]) == UNKNOWN
    assert life.settled(guard) == ""
    go.set()
    left.wait(5)
    if status == "unknown":
        time.sleep(0.1)
    until(lambda: life.statuses() == [status])
    assert told in life.settled(guard)
    assert life.settled(guard) == ""


@plainly
def test_a_late_end_that_is_done_outranks_a_persons_mistaken_word(life: Life) -> None:
    """Nobody may run it again because somebody looked too early: it is done, told so, and both words are on record."""
    go = threading.Event()
    life.answers["once"] = lambda n: (go.wait(5), {"late": 1})[1]
    guard = life.process(**HURRY)
    life.propose(guard, ("once", 1))
    one = life.run(guard.unknown.list())[0]
    owner = replace(BOSS, principal="E1")
    guard.unknown.resolve(one, happened=False, approver=owner, reason="Looked it up.")
    go.set()
    until(lambda: life.events("call.end"))
    assert life.statuses() == ["done"]
    assert [one["exec"]["status"] for one in (*life.events("call.reconciled"), life.events("call.end")[-1])] == [
        "error",
        "ok",
        "ok",
    ]
    assert [one["effect"].get("agrees") for one in life.events("call.reconciled")] == [None, False]
    assert "late" in life.settled(guard)


class Down:
    """A store that does not take outcomes while it is `down`; with `after` it takes them and the answer is lost."""

    def __init__(self, inner: Store, after: bool = False) -> None:
        self.inner, self.blocking, self.secret, self.down, self.after = inner, inner.blocking, inner.secret, True, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def record(self, rows: Any, events: Any) -> None:
        ends = any(row.attempt and row.status != "started" for row in rows)
        if self.after or not (ends and self.down):
            self.inner.record(rows, events)
        if ends and self.down:
            raise OSError("the disk is gone")


@pytest.mark.parametrize("after", [False, True], ids=["not written", "answer lost"])
def test_an_outcome_that_the_store_did_not_take_is_written_when_it_is_back(life: Life, after: bool) -> None:
    """Unknown for the model at first; once it is written it is done, told once, and on record once."""
    store = Down(life.store, after)
    guard = life.process(store)
    assert said(life.propose(guard, ("once", 1))[0]) == UNKNOWN
    assert life.statuses() == ["done" if after else "started"]
    store.down = False
    until(lambda: not guard.hands.keeper._owed)
    until(lambda: life.statuses() == ["done"])
    assert len(life.events("call.end")) == 1
    if not after:
        assert '\\"n\\":1' in life.settled(guard)
    assert life.settled(guard) == ""


def test_an_outcome_that_is_owed_when_the_process_ends_leaves_the_call_unknown(life: Life) -> None:
    """`close` tries once more; what the store does not take then nobody knows, and it is not tried behind the program's back."""
    store = Down(life.store)
    guard = life.process(store)
    life.propose(guard, ("once", 1))
    guard.hands.keeper.close()
    store.down = False
    time.sleep(0.3)
    assert life.statuses() == ["started"]
    life.clock.now += 31
    assert said(life.propose(life.process(), ("once", 1))[0]) == UNKNOWN
    assert life.statuses()[0] == "unknown"


def test_an_owed_outcome_after_a_persons_word_is_on_record(life: Life) -> None:
    """That it was done outranks the mistaken word, and the audit has both."""
    store = Down(life.store)
    guard = life.process(store)
    life.propose(guard, ("once", 1))
    life.clock.now += 31
    one = life.run(guard.unknown.list())[0]
    life.run(guard.unknown.resolve(one, happened=False, approver=replace(BOSS, principal="E1"), reason="Looked it up."))
    store.down = False
    until(lambda: life.events("call.end"))
    assert life.statuses() == ["done"]


class Racing:
    """A store in which a tool that was given up ends right before its time-out is written down."""

    def __init__(self, inner: Store, go: threading.Event) -> None:
        self.inner, self.blocking, self.secret, self.go, self.held = inner, inner.blocking, inner.secret, go, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def record(self, rows: Any, events: Any) -> None:
        if any(row.status == "unknown" for row in rows) and not self.held:
            self.held = True
            self.go.set()
            until(lambda: any(row.status == "done" for row in self.inner.rows(rows[0].key.ref)))
        self.inner.record(rows, events)


@plainly
def test_an_end_that_overtakes_its_time_out_is_told_too(life: Life) -> None:
    """The model hears that it is unknown although the ledger knows more already: the truth follows, once."""
    go = threading.Event()
    life.answers["once"] = lambda n: (go.wait(5), {"late": 1})[1]
    guard = life.process(Racing(life.store, go), **HURRY)
    assert said(life.propose(guard, ("once", 1))[0]) == UNKNOWN
    assert life.statuses() == ["done"]
    assert '\\"late\\":1' in life.settled(guard)
    assert life.settled(guard) == ""


def test_an_interrupt_while_an_outcome_is_written_does_not_lose_it(tmp_path: Path) -> None:
    """Ctrl-C goes on up; what is known is written down in the background."""

    class Interrupting(Down):
        def record(self, rows: Any, events: Any) -> None:
            if any(row.attempt and row.status == "done" for row in rows) and self.down:
                self.down = False
                raise KeyboardInterrupt
            self.inner.record(rows, events)

    store = open_store("memory://")
    life = Life(tmp_path, "sync", store, Clock())
    with living(life):
        guard = life.process(Interrupting(store))
        with pytest.raises(KeyboardInterrupt):
            life.propose(guard, ("once", 1))
        until(lambda: life.statuses() == ["done"])
        assert '\\"n\\":1' in life.settled(guard)
