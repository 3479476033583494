"""The SQLite store's writer: what Ctrl-C does to a caller that waits for it."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from test_stores_interrupts import Interrupts, interrupted
from writer_kit import TABLE, a_database, put, things

from guard.errors import AnsweredInterrupt
from guard.stores.database import Database

needs_signals = pytest.mark.skipif(os.name == "nt", reason="a process that is sent a signal there ends")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "guard.db"


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    with a_database(file) as made:
        yield made


@pytest.fixture
def presses() -> Iterator[Any]:
    """Presses Ctrl-C after so many seconds; a program that a shell started in the background would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timers: list[threading.Timer] = []

    def after(*seconds: float) -> None:
        main = threading.main_thread().ident
        timers.extend(threading.Timer(one, signal.pthread_kill, (main, signal.SIGINT)) for one in seconds)
        for timer in timers:
            timer.start()

    yield after
    for timer in timers:
        timer.join()
    signal.signal(signal.SIGINT, before)


def slowly(number: int, seconds: float = 0.4, *, fails: bool = False) -> Any:
    def work(connection: Any) -> int:
        time.sleep(seconds)
        return put(number, fails=fails)(connection)

    return work


@needs_signals
@pytest.mark.parametrize("times", [1, 3])
def test_a_work_that_was_begun_is_waited_for(database: Database, file: Path, presses: Any, times: int) -> None:
    """However often Ctrl-C is pressed: the interrupt comes when the work has ended, with its answer."""
    presses(*[0.1 + n * 0.05 for n in range(times)])
    with pytest.raises(AnsweredInterrupt) as caught:
        database.transact(slowly(1), writes=True)
    assert (caught.value.answer, caught.value.error, caught.value.result()) == (1, None, 1)
    assert things(file) == {1: 1}


@needs_signals
def test_a_begun_work_that_fails_says_so(database: Database, file: Path, presses: Any) -> None:
    """The interrupt carries what the work raised, and nothing is written."""
    presses(0.1)
    with pytest.raises(AnsweredInterrupt) as caught:
        database.transact(slowly(1, fails=True), writes=True)
    with pytest.raises(ValueError):
        caught.value.result()
    assert things(file) == {}


@needs_signals
def test_a_work_that_still_waits_is_taken_back(database: Database, file: Path, presses: Any) -> None:
    """Behind another's long work: the interrupt comes at once, nothing of it is ever written, and the other is not disturbed."""
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(database.transact, slowly(1, 0.6), writes=True)
        while database.pen.at_rest:
            time.sleep(0.001)
        presses(0.1)
        with pytest.raises(KeyboardInterrupt) as caught:
            database.transact(lambda c: put(2)(c) and c.execute("nonsense"), writes=True)
        assert not other.done()
        assert not isinstance(caught.value, AnsweredInterrupt)
        assert other.result(10) == 1
    database.transact(put(3), writes=True)
    assert things(file) == {1: 1, 3: 1}


@needs_signals
def test_a_signal_handler_may_use_the_store(database: Database, file: Path) -> None:
    """It interrupts a caller that waits: what it writes and reads itself works, and the caller gets its answer."""
    seen = []

    def handler(_: int, __: Any) -> None:
        database.transact(put(2), writes=True)
        seen.append(database.transact(lambda c: c.execute("SELECT n FROM things WHERE n = 2").fetchall(), writes=False))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert database.transact(slowly(1, 0.2), writes=True) == 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == [[(2,)]]
    assert things(file) == {1: 1, 2: 1}


@pytest.mark.parametrize("again", [0, 1, 2, 5])
def test_an_interrupt_at_any_moment_of_the_wait(database: Database, file: Path, again: int) -> None:
    """A plain KeyboardInterrupt says that nothing is written, unless it came when the call was all but over; an answered one is right."""
    told: dict[int, KeyboardInterrupt] = {}
    at = 1
    while stopped := interrupted(partial(database.transact, put(at), writes=True), Interrupts(at, again=again)):
        told[at] = stopped
        at += 1
    assert at > 20
    database.transact(put(-1), writes=True)  # behind whatever was still under way
    found = things(file)
    assert set(found.values()) == {1}
    for number, stopped in told.items():
        if isinstance(stopped, AnsweredInterrupt):
            assert (stopped.answer, number in found) == (number, True)
        elif number in found and not again:
            where = [frame.name for frame in traceback.extract_tb(stopped.__traceback__)]
            assert where == ["interrupted", "transact", "__call__"]  # the call had given its answer already
    assert database.transact(lambda c: c.execute(TABLE.replace("things", "more")), writes=True)
