"""The SQLite store's writer: how it begins and ends, across forks and exits."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from stores_kit import Clock, event, kinds
from writer_kit import a_database, put, things

from guard.errors import StoreError
from guard.stores import open_store
from guard.stores.chain import verify
from guard.stores.database import Database

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "guard.db"


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    with a_database(file) as made:
        yield made


OTHERS: set[threading.Thread] = set()
"""Threads of stores that were open before a test: they belong to somebody else."""


@pytest.fixture(autouse=True)
def _others() -> None:
    OTHERS.clear()
    OTHERS.update(threading.enumerate())


def writers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "guard-writer" and thread not in OTHERS]


def gone(thread: threading.Thread) -> bool:
    thread.join(5)
    return not thread.is_alive()


# -- its end


def test_one_thread_a_file(database: Database) -> None:
    """However many threads write, one does it; a store that only reads has none."""
    before = writers()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: database.transact(put(n), writes=True), range(200)))
    assert writers() == before
    assert len(before) == 1


def test_threads_that_write_first_at_once_start_one_writer(file: Path) -> None:
    """Sixteen first writes together: one thread, and every work is done."""
    for number in range(20):
        with a_database(file.with_name(f"{number}.db")) as made:
            made.writer.rest()
            made.writer.go_on()
            gate = threading.Barrier(16)
            with ThreadPoolExecutor(16) as pool:
                list(pool.map(lambda n, made=made, gate=gate: gate.wait() and made.transact(put(n), writes=True), range(16)))
            assert len(writers()) == 1
            assert len(things(file.with_name(f"{number}.db"))) + 1 in (16, 17)


def test_close_waits_for_what_is_queued(database: Database, file: Path) -> None:
    """Works that were accepted are done, then the thread ends; what comes later is refused."""
    begun, free = threading.Event(), threading.Event()

    def slow(connection: Any) -> None:
        put(0)(connection)
        begun.set()
        free.wait(10)

    with ThreadPoolExecutor(10) as pool:
        accepted = [pool.submit(database.transact, slow, writes=True)]
        begun.wait(10)
        accepted += [pool.submit(database.transact, put(n), writes=True) for n in range(1, 6)]
        while len(database.writer._queue) < 5:
            time.sleep(0.001)
        closing = pool.submit(database.close)
        time.sleep(0.05)
        assert not closing.done()
        free.set()
        closing.result(10)
        assert [one.exception(10) for one in accepted] == [None] * 6
    assert set(things(file)) == set(range(6))
    assert not writers()
    database.close()
    with pytest.raises(StoreError, match="closed"):
        database.transact(put(9), writes=True)


def test_a_close_in_the_middle_of_writes(file: Path) -> None:
    """Eight threads write while it is closed: each work is written and answered, or refused and absent."""
    for _ in range(20):
        with a_database(file) as made, ThreadPoolExecutor(8) as pool:
            written: list[int] = []

            def work(number: int, made: Database = made, written: list[int] = written) -> None:
                for step in range(1000):
                    try:
                        written.append(made.transact(put(number * 1000 + step), writes=True))
                    except StoreError:
                        return

            threads = [pool.submit(work, number) for number in range(8)]
            time.sleep(0.01)
            made.close()
            for one in threads:
                one.result(10)
        assert things(file) == dict.fromkeys(written, 1)
        file.unlink()


def test_a_work_cannot_close_its_own_store(database: Database) -> None:
    """Nor read or write through it: a StoreError, and no deadlock."""
    for inner in (
        database.close,
        lambda: database.transact(put(1), writes=True),
        lambda: database.transact(put(1), writes=False),
    ):
        with pytest.raises(StoreError, match="within its own transaction"):
            database.transact(lambda c, inner=inner: inner(), writes=True)
    assert database.transact(put(1), writes=True) == 1


def test_a_store_that_is_forgotten_ends_its_thread(file: Path) -> None:
    """Without a close: the thread ends, and nothing keeps the store alive."""
    store = open_store(f"sqlite:///{file}", clock=Clock())
    store.record([], [event()])
    store.audit()
    thread, database = writers()[0], weakref.ref(store._tables.database)
    del store
    gc.collect()
    assert database() is None
    assert gone(thread)
    again = open_store(f"sqlite:///{file}")
    assert kinds(again) == ["call.decided"]
    again.close()


EXITS = {
    "falls-off": "",
    "exit": "sys.exit(0)",
    "in-a-thread": "threading.Thread(target=lambda: [store.record([], [event('late')]) for _ in range(50)]).start()",
    "daemon": (
        "def on():\n    while True: store.record([], [event('late')])\n"
        "threading.Thread(target=on, daemon=True).start(); time.sleep(0.1)"
    ),
    "at-exit": "import atexit; atexit.register(lambda: store.record([], [event('late')]))",
    "finaliser": "class Late:\n    def __del__(self): store.record([], [event('late')])\nlate = Late(); late.itself = late",
}


@pytest.mark.parametrize("how", EXITS)
def test_a_program_ends_with_an_open_store(file: Path, how: str) -> None:
    """It does not hang, and everything that a call returned from is on the disk."""
    program = "import sys, threading, time\nfrom stores_kit import event\nfrom guard.stores import open_store\n"
    program += f"store = open_store('sqlite:///{file}')\nstore.record([], [event('first')])\n{EXITS[how]}\n"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path, str(Path(__file__).parent.parent)])
    done = subprocess.run([sys.executable, "-c", program], timeout=30, check=False, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0
    store = open_store(f"sqlite:///{file}")
    assert kinds(store)[0] == "first"
    assert how != "in-a-thread" or kinds(store).count("late") == 50
    assert verify(store.audit()).ok
    store.close()


# -- forks


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_while_eight_threads_write_and_read(database: Database, file: Path) -> None:
    """Every child writes and reads with the same object, the parent's threads go on, and nothing is lost or doubled."""
    stop = threading.Event()

    def busy(number: int) -> int:
        step = 0
        while not stop.is_set():
            assert database.transact(put(number * 100_000 + step), writes=True) == number * 100_000 + step
            database.transact(lambda c: c.execute("SELECT COUNT(*) FROM things").fetchone(), writes=False)
            step += 1
        return step

    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(busy, number) for number in range(8)]
        children = []
        for number in range(10):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    database.transact(put(-1 - number), writes=True)
                    found = database.transact(lambda c: c.execute("SELECT 1 FROM things WHERE n < 0").fetchall(), writes=False)
                    code = 0 if found else 2
                finally:
                    os._exit(code)
            children.append(child)
            time.sleep(0.01)
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        stop.set()
        counts = [one.result(10) for one in running]
    assert ended == [0] * 10
    wanted = [n * 100_000 + step for n, count in enumerate(counts) for step in range(count)] + [-1 - n for n in range(10)]
    assert things(file) == dict.fromkeys(wanted, 1)


@needs_fork
def test_a_fork_finds_the_process_without_our_thread(database: Database) -> None:
    """A program with one thread of its own is forked with one: Python has nothing to warn of."""
    database.transact(put(1), writes=True)
    child = os.fork()
    if child == 0:
        os._exit(len(writers()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert database.transact(put(2), writes=True) == 2
