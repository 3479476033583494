"""The SQLite store's writer: works of many threads in one commit, each whole or absent."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from stores_kit import Clock, claim, event, key, row
from writer_kit import Spy, a_database, put, things, together

from guard.core.ports import Won
from guard.errors import StoreError
from guard.stores import open_store
from guard.stores.batch import LIMIT
from guard.stores.chain import verify
from guard.stores.database import Database


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "guard.db"


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    with a_database(file) as made:
        yield made


def test_works_that_wait_together_are_one_commit(database: Database, file: Path) -> None:
    """Forty callers pay for one flush, and each gets its own answer."""
    spy = Spy(database)
    assert together(database, [put(n) for n in range(40)]) == list(range(40))
    assert spy.seen["COMMIT"] == 1
    assert spy.seen["SAVEPOINT"] == 0
    assert things(file) == Counter(range(40))


def test_a_batch_has_a_bound(database: Database, file: Path) -> None:
    """The first of many waits for a limited number of others."""
    spy = Spy(database)
    together(database, [put(n) for n in range(LIMIT + 10)])
    assert spy.seen["COMMIT"] == 2
    assert len(things(file)) == LIMIT + 10


def test_those_who_come_back_share_a_commit_again(database: Database, file: Path) -> None:
    """Eight callers that come back as soon as they are answered pay for hardly more flushes than one of them would."""
    spy = Spy(database)

    def often(number: int) -> None:
        for turn in range(50):
            database.transact(put(number * 50 + turn), writes=True)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(often, range(8)))
    assert len(things(file)) == 400
    assert spy.seen["COMMIT"] < 200


def test_a_batch_waits_for_nobody_who_stays_away(database: Database) -> None:
    """After many shared a commit, a lone work is done within a moment, and the next one waits for nobody."""
    together(database, [put(n) for n in range(40)])
    assert database.writer._last >= 40
    assert [database.transact(put(n), writes=True) for n in (1, 2)] == [1, 2]
    assert (database.writer._last, database.writer._patience < 0.01) == (1, True)


def test_one_work_is_a_plain_transaction(database: Database) -> None:
    """It pays for no savepoint."""
    spy = Spy(database)
    database.transact(put(1), writes=True)
    assert spy.seen == {"BEGIN": 1, "INSERT": 1, "COMMIT": 1}


@pytest.mark.parametrize("bad", [{0}, {2}, {4}, {0, 1, 2, 3, 4}], ids=["first", "middle", "last", "all"])
def test_a_work_that_fails_is_undone_alone(database: Database, file: Path, bad: set[int]) -> None:
    """Its exception goes to its own caller, nothing of it is kept, and the others are written."""
    answers = together(database, [put(n, times=3, fails=n in bad) for n in range(5)])
    assert [isinstance(answer, ValueError) for answer in answers] == [n in bad for n in range(5)]
    assert things(file) == {n: 3 for n in range(5) if n not in bad}


def test_a_commit_that_fails_fails_all(database: Database, file: Path) -> None:
    """Where the one commit is refused, every caller of the batch gets a StoreError, nothing counts, and the next batch works."""
    connection = database.pen.open()
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE owners (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE owned (id INTEGER REFERENCES owners DEFERRABLE INITIALLY DEFERRED)")
    spoils = [put(1), lambda c: c.execute("INSERT INTO owned VALUES (7)"), put(2)]  # refused by the commit, not by the insert
    answers = together(database, spoils)
    assert [type(answer) for answer in answers] == [StoreError] * 3
    assert len(set(map(id, answers))) == 3
    assert things(file) == {}
    assert database.transact(put(3), writes=True) == 3
    assert things(file) == {3: 1}


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on the size of files")
def test_a_disk_that_takes_no_more_fails_all(database: Database, file: Path) -> None:
    """The log cannot grow: both callers hear of it, with a code, and when there is room again the store goes on."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (file.parent / "guard.db-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, before[1]))
    try:
        answers = together(database, [lambda c: c.execute("INSERT INTO things VALUES (1, ?)", ("x" * 100_000,)), put(2)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [getattr(answer, "code", None) for answer in answers] in (["io_error"] * 2, ["disk_full"] * 2)
    assert things(file) == {}
    database.transact(put(3), writes=True)
    assert things(file) == {3: 1}


def test_a_transaction_that_sqlite_undoes_fails_all(database: Database, file: Path) -> None:
    """An error that ends the whole transaction is every caller's, also of those whose own work was whole."""
    answers = together(database, [put(1), lambda c: c.execute("ROLLBACK") and c.execute("nonsense"), put(2)])
    assert [type(answer) for answer in answers[:2]] == [StoreError] * 2
    assert things(file) == ({} if isinstance(answers[2], StoreError) else {2: 1})


def test_a_lock_that_is_not_got_fails_all_at_once(file: Path) -> None:
    """Callers that wait together for another process's lock wait once, not one after the other."""
    with (
        a_database(file, busy=0.3) as database,
        closing(sqlite3.connect(file, isolation_level=None)) as other,
        ThreadPoolExecutor(20) as pool,
    ):
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        waiting = [pool.submit(database.transact, put(n), writes=True) for n in range(20)]
        codes = [getattr(one.exception(10), "code", None) for one in waiting]
        took = time.monotonic() - began
        other.execute("ROLLBACK")
    assert codes == ["locked"] * 20
    assert took < 2


def test_sixteen_threads_share_commits(file: Path) -> None:
    """Claims of many threads are each whole, in one chain, with fewer flushes than claims."""
    store = open_store(f"sqlite:///{file}", clock=Clock())
    spy = Spy(store._tables.database)

    def work(number: int) -> list[bool]:
        places = range(number * 50, number * 50 + 50)
        return [isinstance(store.claim(claim(key(place + 1), mark=f"m{place}")), Won) for place in places]

    with ThreadPoolExecutor(16) as pool:
        won = [one for part in pool.map(work, range(16)) for one in part]
    assert won == [True] * 800
    assert verify(store.audit()).records == 800
    assert spy.seen["COMMIT"] < 800
    assert spy.seen["SAVEPOINT"] == 0
    store.close()


def test_what_works_of_one_batch_learn_is_forgotten_when_undone(file: Path) -> None:
    """A record that was undone is nobody's predecessor: the chain holds however records and failures mix."""
    store = open_store(f"sqlite:///{file}", clock=Clock())
    fine = [lambda n=n: store.record([row(at=key(n + 1))], [event("fine")]) for n in range(10)]
    bad = [lambda: store.record([row(at=key(99), value=float("nan"))], [event("bad")]) for _ in range(10)]
    with ThreadPoolExecutor(20) as pool:
        for _ in range(20):
            done = [pool.submit(one) for pair in zip(fine, bad, strict=True) for one in pair]
            assert [one.exception(10) is None for one in done] == [True, False] * 10
    assert verify(store.audit()).ok
    assert verify(store.audit()).records == 200
    store.close()


def test_a_work_that_fails_before_it_wrote_costs_the_others_nothing(database: Database, file: Path) -> None:
    """It is told, and the transaction goes on without a savepoint; only one that had written has the others done again, each in its own."""
    spy = Spy(database)
    answers = together(database, [put(1), lambda c: c.execute("SELECT * FROM nothing"), put(2)])
    assert [isinstance(answer, StoreError) for answer in answers] == [False, True, False]
    assert (spy.seen["BEGIN"], spy.seen["COMMIT"], spy.seen["SAVEPOINT"]) == (1, 1, 0)
    together(database, [put(3), put(4, fails=True), put(5)])
    assert (spy.seen["ROLLBACK"], spy.seen["COMMIT"]) == (1, 2)
    assert spy.seen["SAVEPOINT"] == spy.seen["RELEASE"] == 2
    assert things(file) == Counter([1, 2, 3, 5])


def test_a_thread_that_finds_nobody_writes_itself(database: Database, file: Path) -> None:
    """Its work runs in it, committed when it returns; one of the main thread never does, so that Ctrl-C comes in the middle of none."""
    found: list[int] = []

    def mine(connection: Any) -> int:
        put(1)(connection)
        return threading.get_ident()

    def run() -> None:
        found.extend((threading.get_ident(), database.transact(mine, writes=True)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found[0] == found[1]
    assert database.transact(lambda _: threading.get_ident(), writes=True) not in (found[0], threading.get_ident())
    assert things(file) == Counter([1])


def test_nobody_writes_alone_while_batches_are_shared(database: Database) -> None:
    """After a batch of several the next work goes to the writer, so that the others can share its flush; after one that nobody shared, none need."""

    def alone() -> bool:
        return database.transact(lambda _: threading.get_ident(), writes=True) == threading.get_ident()

    together(database, [put(1), put(2)])
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(alone).result()
        assert any(pool.submit(alone).result() for _ in range(1_000))  # the writer may have the pen for a moment more


def test_a_work_in_its_callers_thread_cannot_call_the_store(database: Database) -> None:
    """As in the writer's: it would wait for itself."""

    def nested(_: Any) -> Any:
        return database.transact(put(1), writes=True)

    with ThreadPoolExecutor(1) as pool, pytest.raises(StoreError, match="own transaction"):
        pool.submit(database.transact, nested, writes=True).result()
