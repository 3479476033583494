"""The SQLite store: the tables in one file, shared by threads and processes of one host.

Write-ahead log, every commit flushed to the disk, one thread a process that writes for all. Says only how a transaction begins; the statements are
in `sql_tables`. Comes after it and `database`.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from guard.stores import rows, schema
from guard.stores.database import Database
from guard.stores.file import Connection
from guard.stores.ledger import LedgerStore
from guard.stores.sql_tables import SqlTables
from guard.stores.stamp import Stamps
from guard.stores.tables import T, Tables


class SqliteBackend:
    """The tables in one SQLite file."""

    blocking = True

    def __init__(self, path: str, *, clock: Callable[[], float], busy: float) -> None:
        self.clock = clock
        self.stamps = Stamps()
        self.database = Database(path, busy=busy)
        self.database.forked = self.stamps.renew
        try:
            self.secret = self.database.transact(_secret, writes=False)
        except BaseException:
            self.close()
            raise

    def read(self, work: Callable[[Tables], T]) -> T:
        """A transaction that sees one state of the file."""
        return self._transact(work, writes=False)

    def write(self, work: Callable[[Tables], T]) -> T:
        """A transaction that is the only writer."""
        return self._transact(work, writes=True)

    def _transact(self, work: Callable[[Tables], T], *, writes: bool) -> T:
        def on(connection: Connection) -> T:
            return work(SqlTables(connection, self.clock(), self.stamps, connection.known))

        return self.database.transact(on, writes=writes)

    def wait(self, seconds: float) -> None:
        """A file wakes nobody: whoever waits looks again."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def _secret(connection: sqlite3.Connection) -> bytes:
    found = connection.execute(schema.READ_KEY).fetchone()
    return rows.key(None if found is None else found[0], schema.KEY_BYTES)


def sqlite_store(path: str, *, clock: Callable[[], float], busy: float = 10.0) -> LedgerStore:
    """Open a file, or make it. `busy` is how many seconds to wait for another process's write. Raises StoreError."""
    return LedgerStore(SqliteBackend(path, clock=clock, busy=busy))
