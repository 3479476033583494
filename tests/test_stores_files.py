"""The SQLite store's connections: reads beside the writer, checkpoints, and the names of what goes wrong."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from writer_kit import TABLE, a_database, put, things

from guard.errors import StoreError
from guard.stores import faults
from guard.stores.database import Database


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "guard.db"


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    with a_database(file) as made:
        yield made


# -- reads


def test_reads_do_not_wait_for_a_write(database: Database) -> None:
    """While a work takes its time, others read what was committed before; its own rows show once it is done."""
    begun, free = threading.Event(), threading.Event()

    def slow(connection: Any) -> None:
        put(1)(connection)
        begun.set()
        free.wait(10)

    writer = threading.Thread(target=lambda: database.transact(slow, writes=True))
    writer.start()
    begun.wait(10)
    count = lambda: database.transact(lambda c: c.execute("SELECT COUNT(*) FROM things").fetchone()[0], writes=False)
    assert count() == 0
    free.set()
    writer.join()
    assert count() == 1


def test_a_read_sees_one_state_and_does_not_hold_up_writes(database: Database) -> None:
    """Two looks within one read are the same though something was committed in between."""

    def twice(connection: Any) -> tuple[int, int]:
        first = connection.execute("SELECT COUNT(*) FROM things").fetchone()[0]
        database.transact(put(1), writes=True)
        return first, connection.execute("SELECT COUNT(*) FROM things").fetchone()[0]

    assert database.transact(twice, writes=False) == (0, 0)
    assert database.transact(lambda c: c.execute("SELECT COUNT(*) FROM things").fetchone()[0], writes=False) == 1


def test_a_caller_reads_what_it_wrote(database: Database) -> None:
    """Eight threads write and look at once: none misses its own row."""

    def work(number: int) -> bool:
        for step in range(50):
            place = number * 1000 + step
            database.transact(put(place), writes=True)
            found = database.transact(
                lambda c, place=place: c.execute("SELECT 1 FROM things WHERE n = ?", (place,)).fetchone(), writes=False
            )
            if found is None:
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_a_reader_cannot_write(database: Database, file: Path) -> None:
    """Its connection is open for reading only, whatever the work tries."""
    with pytest.raises(StoreError) as caught:
        database.transact(put(1), writes=False)
    assert caught.value.code == "read_only"
    assert things(file) == {}


# -- the log


def test_every_connection_is_durable_and_makes_no_checkpoint_by_itself(database: Database) -> None:
    """Flushed commits and no automatic checkpoints, whether it writes, reads or makes the checkpoints."""
    names = ("journal_mode", "synchronous", "wal_autocheckpoint")
    look = lambda c: {name: c.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
    with closing(database.pen._file.to_checkpoint()) as helper:
        found = [look(helper), database.transact(look, writes=False), database.transact(look, writes=True)]
    assert found == [{"journal_mode": "wal", "synchronous": 2, "wal_autocheckpoint": 0}] * 3


def test_the_writer_makes_checkpoints(database: Database, file: Path) -> None:
    """However much is written, the log stays of a bounded size, and what was written reaches the file itself."""
    for number in range(600):
        database.transact(lambda c, n=number: c.execute("INSERT INTO things VALUES (?, ?)", (n, "x" * 20_000)), writes=True)
    assert (file.parent / "guard.db-wal").stat().st_size < 8_000_000
    assert file.stat().st_size > 8_000_000


def test_a_checkpoint_keeps_other_writers_out(database: Database, file: Path) -> None:
    """While the log is copied nobody can begin it anew: the writer holds the lock. An SQLite with the fault is safe by that."""
    seen = []
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)) as other:

        def looked(statement: str) -> None:
            if "wal_checkpoint" in statement:
                try:
                    other.execute("BEGIN IMMEDIATE")
                    seen.append("free")
                except sqlite3.OperationalError as error:
                    seen.append(error.sqlite_errorname)

        helper = database.pen._helper = database.pen._file.to_checkpoint()
        helper.set_trace_callback(looked)
        for number in range(200):
            database.transact(put(number), writes=True)
        database.transact(put(0), writes=True)  # the checkpoint before it is over
    assert seen
    assert set(seen) == {"SQLITE_BUSY"}
    assert database.pen.at_rest


def test_a_process_that_only_reads_makes_no_checkpoint(file: Path) -> None:
    """It leaves the log as it is, also when it is the last to close the file; the next one that writes empties it."""
    database = Database(str(file), busy=1)
    database.transact(lambda c: c.execute(TABLE), writes=True)
    keeper = database.pen._file.to_read()  # so that the log is there after the close
    keeper.execute("SELECT * FROM things").fetchall()
    database.transact(put(1), writes=True)
    database.close()
    keeper.close()
    log = file.parent / "guard.db-wal"
    size, content = log.stat().st_size, file.read_bytes()
    reads = Database(str(file), busy=1)
    assert reads.transact(lambda c: c.execute("SELECT n FROM things").fetchall(), writes=False) == [(1,)]
    reads.close()
    assert (log.stat().st_size, file.read_bytes()) == (size, content)
    writes = Database(str(file), busy=1)
    writes.transact(put(2), writes=True)
    writes.close()
    assert not log.exists()
    assert things(file) == {1: 1, 2: 1}


@pytest.mark.skipif(os.name == "nt", reason="needs file modes")
def test_every_file_is_its_owners_only(database: Database, file: Path) -> None:
    """The file, its log and the log's index."""
    database.transact(put(1), writes=True)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    assert modes == {"guard.db": 0o600, "guard.db-wal": 0o600, "guard.db-shm": 0o600}


# -- faults

VERSIONS = {
    (3, 6, 23): False,
    (3, 7, 0): True,
    (3, 40, 1): True,
    (3, 44, 5): True,
    (3, 44, 6): False,
    (3, 44, 7): False,
    (3, 45, 0): True,
    (3, 45, 9): True,
    (3, 50, 6): True,
    (3, 50, 7): False,
    (3, 50, 8): False,
    (3, 51, 0): True,
    (3, 51, 2): True,
    (3, 51, 3): False,
    (3, 52, 0): False,
    (3, 53, 0): False,
    (4, 0, 0): False,
}


@pytest.mark.parametrize(("version", "faulty"), VERSIONS.items(), ids=[".".join(map(str, one)) for one in VERSIONS])
def test_versions_with_the_fault(version: tuple[int, int, int], faulty: bool) -> None:
    """The WAL-reset fault is in 3.7.0 to 3.51.2, but for what was carried back to 3.44.6 and 3.50.7."""
    assert faults.has_reset_fault(version) is faulty


@pytest.mark.skipif(not faults.has_reset_fault(sqlite3.sqlite_version_info), reason="this SQLite has no such fault")
def test_the_log_tells_of_the_fault_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One line a process, with the version and the cure, however many files are opened."""
    if faults._logged.locked():
        faults._logged.release()
    with caplog.at_level(logging.WARNING, logger="guard"):
        for name in ("a", "b"):
            Database(f"{tmp_path}/{name}.db", busy=1).close()
    assert [sqlite3.sqlite_version in line and "3.51.3" in line for line in caplog.messages] == [True]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SQLITE_BUSY_SNAPSHOT", "locked"),
        ("SQLITE_LOCKED", "locked"),
        ("SQLITE_READONLY_DBMOVED", "read_only"),
        ("SQLITE_CORRUPT_VTAB", "damaged"),
        ("SQLITE_NOTADB", "damaged"),
        ("SQLITE_FULL", "disk_full"),
        ("SQLITE_IOERR_FSYNC", "io_error"),
        ("SQLITE_CANTOPEN", "unavailable"),
        ("SQLITE_ERROR", "unavailable"),
    ],
)
def test_codes(name: str, code: str) -> None:
    """Each failure of SQLite has a code that a program can act on, and a text without data."""
    error = sqlite3.OperationalError("no such column: PLANTED")
    error.sqlite_errorname = name
    told = faults.store_error(error)
    assert told.code == code
    assert "PLANTED" not in str(told)


def test_a_file_that_went_away_has_a_code(database: Database, file: Path) -> None:
    """So has a store that was closed, and what has no code of its own is `unavailable`."""
    file.rename(file.with_name("elsewhere.db"))
    with pytest.raises(StoreError) as moved:
        database.transact(put(1), writes=True)
    database.close()
    with pytest.raises(StoreError) as shut:
        database.transact(put(1), writes=True)
    with pytest.raises(StoreError) as shut_too:
        database.transact(lambda c: None, writes=False)
    codes = [moved.value.code, shut.value.code, shut_too.value.code, StoreError("x").code]
    assert codes == ["moved", "closed", "closed", "unavailable"]


@pytest.mark.parametrize(("place", "said"), [("no/guard.db", "make the folder"), ("file/guard.db", "is no folder")])
def test_a_place_that_cannot_be_is_told_with_its_cure(place: str, said: str, tmp_path: Path) -> None:
    """A folder that is missing, or that is a file, is said in words, without the path."""
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(StoreError, match=said) as caught:
        Database(str(tmp_path / place), busy=1.0)
    assert (caught.value.code, str(tmp_path) in str(caught.value)) == ("unavailable", False)
