"""The contract of every store: Ctrl-C at any moment leaves the lock free, the transaction whole or undone, and the store usable."""

from __future__ import annotations

import dis
import gc
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import CodeType, FrameType
from typing import Any

import psycopg
import pytest
from stores_kit import (
    REF,
    Clock,
    ask,
    asking,
    charge,
    claim,
    event,
    key,
    kinds,
    proposal,
    quota,
    row,
    turn,
    vote,
)

from guard.core.ports import Store
from guard.errors import AnsweredInterrupt, StoreError
from guard.stores.chain import verify

STORES_CODE = f"{os.sep}guard{os.sep}stores{os.sep}"


def elsewhere(work: Callable[[], Any]) -> Any:
    """What `work` gives in another thread; fails where it does not come back, as behind a lock that nobody opens."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(5)
    assert found, "the store is locked for ever"
    return found[0]


def _moments(code: CodeType) -> frozenset[int]:
    """Where the interpreter looks for Ctrl-C: when a function begins, behind each call, and before it jumps back."""
    found, before = set(), ""
    for instruction in dis.get_instructions(code):
        if instruction.opname in {"CACHE", "PRECALL"}:
            continue
        if before in {"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX"} or instruction.opname.startswith("JUMP_BACKWARD"):
            found.add(instruction.offset)
        before = instruction.opname
    return frozenset(found)


class Interrupts:
    """Raises KeyboardInterrupt at the `at`th moment of the store's code, and again `more` moments later."""

    def __init__(self, at: int, *, again: int = 0) -> None:
        self.left = {at, at + again}
        self.seen = 0
        self.known: dict[CodeType, frozenset[int]] = {}

    def __call__(self, frame: FrameType, kind: str, _: Any) -> Any:
        code = frame.f_code
        if STORES_CODE not in code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if code not in self.known:
            self.known[code] = _moments(code)
        if kind == "opcode" and frame.f_lasti in self.known[code]:
            self.seen += 1
            if self.seen in self.left:
                raise KeyboardInterrupt
        return self


def interrupted(work: Callable[[], Any], hook: Interrupts) -> KeyboardInterrupt | None:
    """The interrupt by which `work` ended, though everything else in it went well."""
    gc.disable()  # a finaliser of some other store swallows what is raised in it
    before = sys.gettrace()
    sys.settrace(hook)
    try:
        work()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
        gc.enable()
    return None


def state(store: Store) -> tuple[Any, ...]:
    """What can be seen of a store: its audit, calls, approvals and what is drawn on the budgets."""
    drawn = store._tables.read(lambda tables: [tables.meter(tables.budget(charge(name=name))) for name in ("calls", "sum:x")])
    return kinds(store), store.rows(REF), store.approvals(), drawn


def at_rest(store: Store) -> bool:
    """Whether nothing is left open: other processes can write, and nothing is waiting to be undone."""
    tables: Any = store._tables
    if hasattr(tables, "pool"):
        deadline = time.monotonic() + 5  # what makes records findable may just be at work
        while not tables.pool.at_rest and time.monotonic() < deadline:
            time.sleep(0.01)
        return tables.pool.at_rest
    if not hasattr(tables, "database"):
        return not tables._undo._log
    with closing(sqlite3.connect(tables.database.pen._file.path, timeout=5, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
    return not any(reader.connection.in_transaction for reader in tables.database.readers._idle)


WAYS: dict[str, Callable[[Store], Any]] = {
    "say": lambda store: store.say(REF, "x", event("user.said")),
    "open_turn": lambda store: store.open_turn(turn("new", told=lambda number: (event("call.proposed", turn=number),))),
    "record": lambda store: store.record([row(at=key(5)), row("refused", key(1, 1))], [event("one"), event("two")]),
    "take": lambda store: store.take(quota((key(5), (charge(2), charge(3, name="sum:x"))), (key(6), (charge(),)))),
    "ask": lambda store: store.ask(asking(proposal("new", now=store.now(), fingerprint="g", at=key(5)))),
    "vote": lambda store: vote(store, "a1", "rejected"),
    "claim": lambda store: store.claim(claim(key(7), "a2", mark="g")),
    "rows": lambda store: store.rows(REF),
}


def prepared(store: Store) -> None:
    """A conversation with something of everything, so that every way above changes something."""
    store.say(REF, "go", event("user.said"))
    store.open_turn(turn())
    store.take(quota((key(1, 1), (charge(4), charge(4, name="sum:x")))))
    store.record([row("held", key(1, 1), fingerprint="h", mark="h")], [event()])
    ask(store, "a1", fingerprint="h", at=key(1, 1), run=1)
    ask(store, "a2", run=1, at=key(7))
    vote(store, "a2")


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a connection that was interrupted while it was made
@pytest.mark.parametrize(
    ("way", "again"), [*((way, 0) for way in WAYS), ("record", 1), ("rows", 1)], ids=[*WAYS, "record-twice", "rows-twice"]
)
def test_an_interrupt_at_any_moment_undoes_the_transaction(store: Store, way: str, again: int) -> None:
    """Wherever Ctrl-C arrives, once or twice: another thread gets in at once and finds all of the command or nothing."""
    prepared(store)
    before = state(store)
    at, step = 1, 1 if store.chains == 1 else 41  # each of them costs a connection there
    while stopped := interrupted(lambda: WAYS[way](store), Interrupts(at, again=again)):
        assert again or at_rest(store)
        after = elsewhere(lambda: state(store))
        assert after != before or not isinstance(stopped, AnsweredInterrupt)
        if after != before:
            break  # it came when everything was written, or could not be stopped any more
        at += step
    assert at > 10
    assert verify(store.audit()).ok
    WAYS["say"](store)


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Somebody else keeps every conversation locked."""
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE conversations IN EXCLUSIVE MODE")
        yield


@pytest.mark.skipif(os.name == "nt", reason="a process that is sent a signal there ends")
def test_an_interrupt_while_it_waits_for_the_lock(store: Store) -> None:
    """A thread that gives up waiting takes nothing away from the one that is inside."""
    taken, free = threading.Event(), threading.Event()

    def hold(_: Any = None) -> None:
        taken.set()
        free.wait(5)

    def hold_all() -> None:
        with locked(store._tables.pool._url):
            hold()

    holder = threading.Thread(target=hold_all if hasattr(store._tables, "pool") else lambda: store._tables.write(hold))
    holder.start()
    taken.wait(5)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        store.record([row()], [event()])
    assert not isinstance(caught.value, AnsweredInterrupt)
    assert holder.is_alive()
    free.set()
    holder.join()
    assert elsewhere(lambda: store.rows(REF)) == ()
    store.record([row()], [event()])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that signals")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a signal may hit a finaliser, which swallows it
def test_a_storm_of_signals(store: Store) -> None:
    """A second of real signals at odd moments: nothing hangs, nothing is half there, the chain holds."""

    def storm(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, storm)
    until, number, hit = time.monotonic() + 1, 0, 0
    try:
        while time.monotonic() < until:
            number += 1
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 + (number * 37 % 400) / 1_000_000)
                store.claim(claim(key(number), mark=f"m{number}"))
                store.record([row(at=key(number), mark=f"m{number}")], [event("call.end", turn=number)])
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                hit += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    rows = elsewhere(lambda: store.rows(REF))
    told = kinds(store)
    assert hit
    assert len(rows) == told.count("call.begin")
    assert sum(one.status == "done" for one in rows) == told.count("call.end")


def test_a_store_that_is_called_from_within_its_own_transaction(store: Store, clock: Clock) -> None:
    """As by a signal handler: a StoreError for the inner call, and the outer one is not disturbed."""
    seen: list[str] = []

    def told(_: int) -> tuple[Any, ...]:
        with pytest.raises(StoreError, match="within its own transaction") as caught:
            store.record([row()], [event("inner")])
        seen.append(str(caught.value))
        return (event("outer"),)

    assert store.open_turn(turn(told=told)).turn == 1
    assert seen
    assert kinds(store) == ["outer"]
    assert elsewhere(lambda: store.rows(REF)) == ()


def test_a_clock_that_fails_leaves_the_store_usable(store: Store) -> None:
    """What the host's clock raises goes up, the transaction is undone, and the next one works."""
    tables = store._tables._backend
    clock = tables.clock

    def broken() -> float:
        raise KeyboardInterrupt

    tables.clock = broken
    with pytest.raises(KeyboardInterrupt):
        store.record([row()], [event()])
    tables.clock = clock
    assert elsewhere(lambda: store.rows(REF)) == ()
    store.record([row()], [event()])
