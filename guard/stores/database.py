"""The database file: one SQLite connection a process, made safe, and its transactions.

Every failure becomes a StoreError whose text holds no data. Around a fork the file is closed, so that parent and child each open it anew; a
file that was moved, replaced or deleted while it is open is noticed before anything is written. Knows no tables but the schema's version
and the file's key. Comes after `gate` and `schema`, before `sqlite`.
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, TypeVar

from guard.errors import StoreError
from guard.stores import schema
from guard.stores.gate import Gate

_CAUSES: Final = (
    ("SQLITE_BUSY", "another process keeps it locked"),
    ("SQLITE_LOCKED", "another process keeps it locked"),
    ("SQLITE_READONLY", "it is read-only"),
    ("SQLITE_CORRUPT", "it is damaged"),
    ("SQLITE_NOTADB", "it is not a database"),
    ("SQLITE_FULL", "the disk is full"),
    ("SQLITE_CANTOPEN", "it cannot be opened"),
    ("SQLITE_IOERR", "the disk reports an error"),
)
_CAUGHT = (sqlite3.Error, OSError, UnicodeError, OverflowError)
_NOWHERE: Final = (0, 0)
T = TypeVar("T")
_open: weakref.WeakSet[Database] = weakref.WeakSet()
_forking: list[Database] = []  # locked while the process is doubled


def store_error(error: Exception) -> StoreError:
    """A StoreError for what went wrong below, without the data that it was about."""
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    cause = next((text for prefix, text in _CAUSES if name.startswith(prefix)), f"it answered {name}")
    return StoreError(f"the database failed: {cause}")


class Database:
    """One file. `busy` is how many seconds to wait for another process's write."""

    def __init__(self, path: str, *, busy: float) -> None:
        self.path = Path(path).absolute()
        self.busy = busy
        self._gate = Gate()
        self.lock = self._gate.lock
        self._closed = False
        self._connection: sqlite3.Connection | None = None
        self._identity = _NOWHERE
        self.forked: Callable[[], None] | None = None  # called in a forked child
        _open.add(self)
        with self.lock:
            self.connection()

    def connection(self) -> sqlite3.Connection:
        """This process's connection. The caller holds the lock."""
        if self._closed:
            raise StoreError("the store is closed")
        if self._connection is None:
            try:
                self._connection = self._connect()
            except _CAUGHT as error:
                raise store_error(error) from None
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        if self._identity == _NOWHERE:
            _create(self.path)
        else:
            self.same_file()  # opened before: a missing file is a loss, not a fresh start
        connection = sqlite3.connect(
            self.path, timeout=self.busy, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            _prepare(connection, self.busy)
            _migrate(connection)
        except BaseException:
            connection.close()
            raise
        self._identity = _identity(self.path)
        return connection

    def same_file(self) -> None:
        """Raise StoreError when the open file is no longer the one at the path: what is written there would be lost."""
        if _identity(self.path) != self._identity:
            raise StoreError("the database file was moved, replaced or deleted while it was open")

    def transact(self, work: Callable[[sqlite3.Connection], T], *, writes: bool) -> T:
        """What `work` gives, in one transaction: committed when it returns, undone when it raises. Raises StoreError."""

        def whole() -> T:
            connection = self._begin(writes=writes)
            answer = work(connection)
            connection.execute("COMMIT")
            return answer

        try:
            return self._gate.run(whole, self._undo)
        except _CAUGHT as error:
            raise store_error(error) from None

    def _begin(self, *, writes: bool) -> sqlite3.Connection:
        connection = self.connection()
        if connection.in_transaction:  # the one before was interrupted, and interrupted again while it was undone
            self._undo()
            connection = self.connection()
        if writes:
            self.same_file()
        connection.execute(schema.BEGIN_WRITE if writes else schema.BEGIN_READ)
        return connection

    def _undo(self) -> None:
        """Roll back; where even that fails, the connection is dropped, which rolls back too."""
        connection = self._connection
        try:
            if connection is not None and connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            self.drop()

    def drop(self) -> None:
        """Forget a connection in an unknown state; the next transaction opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close the file for good."""
        with self.lock:
            self._closed = True
            self.drop()


def _before_fork() -> None:
    """Close every file between two transactions: a child that inherits an open one sees locks that nobody holds."""
    for database in list(_open):
        _forking.append(database)  # first, so that an interrupt in between leaves no lock behind
        database.lock.acquire()
        database.drop()


def _after_fork_in_parent() -> None:
    while _forking:
        with suppress(RuntimeError):  # interrupted before it was taken
            _forking.pop().lock.release()


def _after_fork_in_child() -> None:
    for database in _forking:
        if database.forked is not None:
            database.forked()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 - on the path of every write, and twice as fast as Path.stat
    except FileNotFoundError:
        return _NOWHERE
    return found.st_dev, found.st_ino


def _create(path: Path) -> None:
    """Make the file, readable by its owner only, before SQLite would make it readable by all."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def _prepare(connection: sqlite3.Connection, busy: float) -> None:
    _write_ahead(connection, busy)
    for name, value, wanted in schema.PRAGMAS:
        connection.execute(f"PRAGMA {name} = {value}")
        row = connection.execute(f"PRAGMA {name}").fetchone()
        if row is not None and row[0] != wanted:  # None: an older SQLite that does not know it
            raise StoreError(f"the database does not keep to {name} = {value}")


def _write_ahead(connection: sqlite3.Connection, busy: float) -> None:
    """Switch to the write-ahead log. SQLite does not wait for others here, so this does."""
    until = time.monotonic() + busy
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                raise
            time.sleep(0.02)
            continue
        if mode != "wal":
            raise StoreError("the database cannot keep a write-ahead log here; use a local disk")
        return


def _migrate(connection: sqlite3.Connection) -> None:
    if _version(connection) == schema.VERSION:
        return
    connection.execute(schema.BEGIN_WRITE)
    try:
        found = _version(connection)
        if found is None:
            connection.execute(schema.CREATE_VERSION)
            connection.execute(schema.CREATE_KEY)
            connection.execute(schema.WRITE_KEY, (token_hex(schema.KEY_BYTES),))
        for number in range(found or 0, schema.VERSION):
            for statement in schema.STEPS[number]:
                connection.execute(statement)
            connection.execute(schema.WRITE_VERSION, (number + 1,))
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int | None:
    """The version of the schema found, or None. Raises StoreError when it is newer than this program."""
    if not connection.execute(schema.HAS_VERSION).fetchone()[0]:
        return None
    found: Any = connection.execute(schema.READ_VERSION).fetchone()[0] or 0
    if not isinstance(found, int) or found > schema.VERSION:
        raise StoreError(f"the database is of version {found}, newer than this program's {schema.VERSION}; update the program")
    return found
