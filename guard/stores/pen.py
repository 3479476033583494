"""The pen: the one connection of a process that writes, and its transactions; also where checkpoints are made and records are filed.

A checkpoint runs on a connection of its own while the pen holds the file's write lock. So no other writer can begin the log anew meanwhile,
which is the race that damages files with an SQLite before 3.51.3. Used by one thread at a time. Comes after `file`, before `batch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from guard.errors import StoreError
from guard.stores import schema
from guard.stores.faults import CAUGHT
from guard.stores.file import Connection, File
from guard.stores.refiling import PORTION, TIMES, WHOLE, Chore, portion, unfiled

_PAGES: Final = 1_500  # of the log: about how many make a checkpoint due
_BUSY: Final = 100  # milliseconds that filing waits for another process as a file is opened or closed
_FIRST, _LEAST, _MOST = 64, 16, 1_000  # works between two checkpoints


class Pen:
    """The writing connection: opened when it is needed, dropped when nobody knows its state."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._connection: Connection | None = None
        self._helper: Connection | None = None
        self._works = 0  # committed since the last checkpoint
        self._every = _FIRST
        self._chore = Chore()

    def open(self) -> Connection:
        """The connection."""
        if self._connection is None:
            self._connection = self._file.to_write()
        return self._connection

    @property
    def ready(self) -> bool:
        """Whether the connection is open."""
        return self._connection is not None

    @contextmanager
    def waiting(self, seconds: float | None) -> Iterator[None]:
        """Wait so long for another process at most; None: as long as the file says."""
        connection = self._connection
        if seconds is None or connection is None:
            yield
            return
        connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1e3)}")
        try:
            yield
        finally:
            if self._connection is connection:
                with suppress(*CAUGHT):  # what was done counts all the same
                    connection.execute(f"PRAGMA busy_timeout = {int(self._file.busy * 1e3)}")

    @property
    def at_rest(self) -> bool:
        """Whether no transaction is open."""
        return self._connection is None or not self._connection.in_transaction

    @property
    def wrote(self) -> bool:
        """Whether this connection ever changed anything."""
        return self._connection is not None and self._connection.total_changes > 0

    def begin(self) -> Connection:
        """Begin a transaction as the file's only writer. Raises StoreError when the file is gone, `CAUGHT` when it cannot.

        What the transactions before have learnt stays known while no other connection has written since.
        """
        connection = self.open()
        if connection.in_transaction:
            self.undo()
            connection = self.open()
        self._file.check()
        connection.execute(schema.BEGIN_WRITE)
        connection.begins(alone=True)
        return connection

    def commit(self, works: int) -> None:
        """Make the transaction durable."""
        self.open().execute("COMMIT")
        self._works += works

    def undo(self) -> None:
        """Roll back; where even that fails, the connection is dropped, which rolls back too."""
        connection = self._connection
        if connection is None:
            return
        connection.forget()
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except CAUGHT:
            self.drop()

    def checkpoint(self) -> None:
        """Copy the log into the file when that is due. What cannot be copied now is copied another time."""
        if self._works < self._every:
            return
        with suppress(*CAUGHT):
            self.begin()
            self._helper = self._helper or self._file.to_checkpoint()
            pages = self._helper.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
            self._every = min(max(self._works * _PAGES // max(pages, 1), _LEAST), _MOST)
        self._works = 0
        self.undo()

    def chore(self, most: int = PORTION) -> bool:
        """File a portion of the records that lie unfiled, where any do; whether it is worth asking again."""
        connection = self._connection
        if connection is None:
            return False
        try:
            if not self._chore.left(connection):
                return False
            portion(self.begin(), most)
            self.commit(1)
        except (StoreError, *CAUGHT) as error:
            self._chore.failed(connection, error)
            self.undo()
            return False
        self.checkpoint()
        return True

    def pressing(self) -> bool:
        """Whether so many records lie unfiled that a portion comes before what waits."""
        with suppress(*CAUGHT):
            return self._connection is not None and self._chore.pressing(self._connection)
        return False

    @property
    def due(self) -> bool:
        """Whether records may lie unfiled."""
        return self._connection is not None and self._chore.due(self._connection)

    def tidy(self, least: int = 1) -> None:
        """File what lies unfiled where it is so much, in few portions and only while nobody else writes: as a file is opened or closed."""
        connection = self._connection
        if connection is None or not self._chore.due(connection):
            return
        with suppress(StoreError, *CAUGHT):
            if unfiled(connection)[1] < least:
                return
            busy = connection.execute("PRAGMA busy_timeout").fetchone()[0]
            connection.execute(f"PRAGMA busy_timeout = {_BUSY}")
            try:
                for _ in range(TIMES):
                    if not self.chore(WHOLE):
                        break
            finally:
                connection.execute(f"PRAGMA busy_timeout = {int(busy)}")

    def drop(self) -> None:
        """Close; the next transaction opens another connection."""
        connection, self._connection = self._connection, None
        self._chore = Chore()
        helper, self._helper = self._helper, None
        for one in (helper, connection):
            if one is not None:
                one.close()
