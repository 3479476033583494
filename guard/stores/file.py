"""The file: how a connection to it is opened, and whether it is still the one that was opened first.

Only its owner may read it, every connection keeps to the pragmas that durability needs, and none makes a checkpoint unless it is told to. A
file that was moved, replaced or deleted is never made anew. Knows nothing of threads. Comes after `migrate` and `faults`,
before `pen` and `readers`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from guard.errors import StoreError
from guard.stores import schema
from guard.stores.faults import warn_of_version
from guard.stores.migrate import migrate

_NOWHERE: Final = (0, 0)
_OURS: Final = (("wal_autocheckpoint", "0", 0), ("temp_store", "MEMORY", 2))
"""As `schema.PRAGMAS`: a commit makes no checkpoint on its way, and what a savepoint puts aside stays out of other files."""
_KNOWN: Final = 1_000  # things that are remembered from one transaction to the next
_READING: Final = (("query_only", "ON", 1),)


class Connection(sqlite3.Connection):
    """A connection with room for what works have learnt of the file. It stays known until a work is undone, or somebody else has written."""

    def __init__(self, *where: Any, **how: Any) -> None:
        super().__init__(*where, **how)
        self._learnt: dict[Any, Any] = {}
        self._version: int | None = None  # of the file as it was learnt
        self._sure = False

    def begins(self, *, alone: bool) -> None:
        """A transaction begins. `alone`: in which nobody else writes, so that what was learnt before may still be so."""
        self._sure = not alone
        if not alone:
            self.forget()

    @property
    def known(self) -> dict[Any, Any]:
        """What is known, within a transaction."""
        if not self._sure:
            (version,) = self.execute(schema.DATA_VERSION).fetchone()
            if version != self._version or len(self._learnt) > _KNOWN:
                self.forget()
            self._version, self._sure = version, True
        return self._learnt

    def forget(self) -> None:
        """Know nothing."""
        self._learnt.clear()


class File:
    """One database file. `busy` is how many seconds to wait for another process's write."""

    def __init__(self, path: str, busy: float, prepare: Callable[[Connection], None] | None = None) -> None:
        self.path = Path(path).absolute()
        self.busy = busy
        self._prepare = prepare
        self._identity = _NOWHERE

    def to_write(self) -> Connection:
        """A connection that may write, the schema up to date; the first one makes the file where there is none."""
        if self._identity == _NOWHERE:
            _create(self.path)
            warn_of_version()
        else:
            self.check()  # opened before: a missing file is a loss, not a fresh start
        connection = self._connect("rw", ())
        try:
            migrate(connection)
            if self._prepare is not None:
                self._prepare(connection)
            self._identity = self._identity if self._identity != _NOWHERE else _identity(self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def to_read(self) -> Connection:
        """A connection that can neither write nor make a checkpoint, also not as the last one that is closed."""
        self.check()
        return self._connect("ro", _READING)

    def to_checkpoint(self) -> Connection:
        """A connection that only makes checkpoints."""
        self.check()
        return self._connect("rw", ())

    def check(self) -> None:
        """Raise StoreError when the open file is no longer the one at the path: what is written there would be lost."""
        if _identity(self.path) != self._identity:
            raise StoreError("the database file was moved, replaced or deleted while it was open", code="moved")

    def _connect(self, mode: str, more: tuple[tuple[str, str, int], ...]) -> Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            timeout=self.busy,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=Connection,
        )
        try:
            _write_ahead(connection, self.busy)
            _keep_to(connection, (*schema.PRAGMAS, *_OURS, *more))
        except BaseException:
            connection.close()
            raise
        return connection


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


def _keep_to(connection: sqlite3.Connection, pragmas: tuple[tuple[str, str, int], ...]) -> None:
    for name, value, wanted in pragmas:
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
