"""The SQLite store: what happens when its file cannot be used: an error, never data and never a fresh start."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from stores_kit import REF, Clock, ask, charge, claim, edit, event, in_file, key, outcome, quota, row, turn

from guard.core.ports import Store
from guard.errors import StoreError
from guard.stores import open_store, schema
from guard.stores.sqlite import sqlite_store

MARK = "PLANTED-SECRET"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "guard.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with in_file(file) as made:
        yield made


def test_a_newer_schema_is_refused(store: Store, file: Path) -> None:
    """A file of a later version may mean what this program does not know."""
    edit(file, f"INSERT INTO schema_version VALUES ({schema.VERSION + 1})")  # noqa: S608 - a number of our own
    with pytest.raises(StoreError, match="newer than this program"):
        open_store(f"sqlite:///{file}")


def test_a_foreign_database_is_left_alone(file: Path) -> None:
    """Somebody else's database with a table of the same name is an error, and nothing is added to it."""
    edit(file, "CREATE TABLE calls (x)")
    with pytest.raises(StoreError):
        open_store(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("calls",)]


def unusable(file: Path, how: str) -> None:
    if how == "no-folder":
        file.parent.rmdir()
    elif how == "a-folder":
        file.mkdir()
    elif how == "not-a-database":
        file.write_text("PLANTED " * 1000)
    elif how == "folder-is-a-file":
        file.parent.rmdir()
        file.parent.write_text("")


@pytest.mark.parametrize("how", ["no-folder", "a-folder", "not-a-database", "folder-is-a-file"])
def test_a_file_that_cannot_be_opened(tmp_path: Path, how: str) -> None:
    """Opening fails with a StoreError that holds neither the path's content nor an SQL text."""
    (tmp_path / "d").mkdir()
    file = tmp_path / "d" / "guard.db"
    unusable(file, how)
    with pytest.raises(StoreError, match=r"^the database failed: its? ") as caught:
        open_store(f"sqlite:///{file}")
    assert "PLANTED" not in str(caught.value)


WAYS = {
    "record": lambda store: store.record([row()], [event()]),
    "claim": lambda store: store.claim(claim()),
    "say": lambda store: store.say(REF, "x", event()),
    "take": lambda store: store.take(quota((key(), (charge(),)))),
    "open_turn": lambda store: store.open_turn(turn()),
    "ask": ask,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_locked_file_is_an_outage_after_the_wait(file: Path, way) -> None:
    """While somebody else keeps the write lock, every write fails in bounded time, and works afterwards."""
    store = sqlite_store(str(file), clock=Clock(), busy=0.05)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process keeps it locked"):
            way(store)
        other.execute("ROLLBACK")
    way(store)
    store.close()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("how", ["deleted", "replaced", "folder-deleted"])
def test_a_file_that_went_away_is_noticed(store: Store, file: Path, way, how: str) -> None:
    """A record written into a deleted file is no record: nothing is written, and no new file is made in its place."""
    if how == "folder-deleted":
        shutil.rmtree(file.parent)
    else:
        file.unlink()
    if how == "replaced":
        edit(file, "CREATE TABLE x (y)")
    with pytest.raises(StoreError, match="moved, replaced or deleted"):
        way(store)
    assert file.exists() == (how == "replaced")


def test_a_damaged_file_is_an_outage(store: Store, file: Path) -> None:
    """Pages overwritten with noise: a StoreError, whatever is asked, and never another exception."""
    for number in range(300):
        store.record([row(at=key(number), value="x" * 300)], [event()])
    store.close()
    data = bytearray(file.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(StoreError, match="database"):
        written(file)


@pytest.mark.parametrize(
    "statement", ["UPDATE payloads SET body = '{'", "UPDATE payloads SET body = 'null'", "UPDATE calls SET outcome = '[1]'"]
)
def test_damaged_values_are_an_outage(store: Store, file: Path, statement: str) -> None:
    """A stored value that cannot be read is a StoreError, not a half-read row."""
    store.record([row(outcome=outcome())], [event()])
    edit(file, statement)
    with pytest.raises(StoreError, match="damaged"):
        store.rows(REF)


@contextmanager
def nobody(folder: Path) -> Iterator[None]:
    """Permissions count for everybody but root, so root steps down for a while."""
    if os.name == "nt" or os.geteuid() != 0:
        yield
        return
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="needs file modes")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_read_only_place_is_an_outage(what: str) -> None:
    """A file that may not be written, or a folder that takes no new file, refuses writes with a StoreError."""
    folder = Path(tempfile.mkdtemp())
    file = folder / "guard.db"
    try:
        if what == "file":
            open_store(f"sqlite:///{file}").close()
        (file if what == "file" else folder).chmod(0o400 if what == "file" else 0o500)
        with nobody(folder), pytest.raises(StoreError, match=r"read-only|this user may not open it"):
            written(file)
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


def written(file: Path) -> None:
    with closing(open_store(f"sqlite:///{file}")) as store:
        store.record([], [event()])


def test_a_closed_store_is_an_outage(store: Store) -> None:
    """After `close` everything is a StoreError; closing twice is fine."""
    store.close()
    store.close()
    for way in (*WAYS.values(), lambda one: one.rows(REF), lambda one: one.audit()):
        with pytest.raises(StoreError, match="closed"):
            way(store)


def test_what_cannot_be_stored_is_an_outage_without_its_data(store: Store) -> None:
    """A value that is no JSON, or a name that no database takes, is refused whole, and the error does not repeat it."""
    for bad in (
        row(value={MARK}),
        row(value=float("nan")),
        row(at=key(2**70)),
        row(at=key(ref=replace(REF, conversation=f"{MARK}\ud800"))),
    ):
        with pytest.raises(StoreError) as caught:
            store.record([bad], [event()])
        assert MARK not in str(caught.value)
    assert store.audit() == ()
    store.record([row()], [event()])
    assert json.loads(store.audit()[0].body)["seq"] == 1
