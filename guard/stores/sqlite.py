"""The SQLite store: the tables in one file, shared by threads and processes of one host.

Write-ahead log, every commit flushed to the disk, one thread of a process at a time that writes for all. Says only how a transaction begins; the statements are
in `sql_tables`. Comes after it and `database`.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic

from guard.core.ports import Won
from guard.core.values import keyed
from guard.stores import locks, rows, schema, sql
from guard.stores.chain import GENESIS
from guard.stores.database import Database
from guard.stores.file import Connection
from guard.stores.haste import hastily
from guard.stores.ledger import LedgerStore
from guard.stores.locks import Lock, registered
from guard.stores.payload_keys import Keyring
from guard.stores.plain import Taking
from guard.stores.refiling import WHOLE, portion
from guard.stores.sqlite_take import FileTables, prepare
from guard.stores.stamp import Stamps
from guard.stores.tables import T, Tables
from guard.stores.tail import Tail
from guard.stores.watermark import Head, Note, Watermark, older


class SqliteBackend:
    """The tables in one SQLite file."""

    blocking = True
    one_writer = True

    def __init__(self, path: str, *, clock: Callable[[], float], busy: float, keys: Keyring | None = None) -> None:
        self.clock = clock
        self.stamps = Stamps()
        self.watermark = Watermark()
        self._head: Head | None = None
        self.tail = Tail()
        self.database = Database(path, busy=busy, prepare=prepare)
        self.database.forked = self.stamps.renew
        try:
            self.secret = self.database.transact(_secret, writes=False)
            self.lock = self._locked(keys)
            self.note = Note(Path(f"{Path(path).resolve()}-mark"), keyed(self.secret, "guard-store-v1"))
            self.older = self.note.contradicts(self._hash_of)
            if self.older:
                logging.getLogger("guard").error("%s", older())
        except BaseException:
            self.close()
            raise

    def read(self, work: Callable[[Tables], T]) -> T:
        """A transaction that sees one state of the file."""
        return self._transact(work, writes=False)

    def write(self, work: Callable[[Tables], T]) -> T:
        """A transaction that is the only writer."""
        return self._transact(work, writes=True)

    def hastily(self, call: Callable[[], T], within: float) -> tuple[T] | None:
        """What `call` gives, which uses this file; None where it would have had to wait longer for somebody who writes: see `haste`."""
        return hastily(call, within)

    def _transact(self, work: Callable[[Tables], T], *, writes: bool) -> T:
        done = _Work(self.tables, work)
        answer = self.database.transact(done, writes=writes, many=self._taken if writes and isinstance(work, Taking) else None)
        heads = done.heads
        if heads:
            self.watermark.keep(heads)
        if heads and not self.older:  # the note stands until a person has said that a backup was put back
            self.note.write(heads[0])
            self._head = heads[0]
        return answer

    def tables(self, connection: Connection) -> FileTables:
        """The tables on a connection that is in a transaction."""
        tables = FileTables(connection, self.clock(), self.stamps, connection.known, self.watermark, self.lock)
        tables.tail = self.tail
        tables.marks.secret = self.secret
        return tables

    def _taken(self, connection: Connection, works: Sequence[_Work[Any]]) -> Sequence[Won]:
        """Take the plain calls of some works at once: the answers of the first ones, as many as were taken."""
        if self.older:
            return ()
        tables = self.tables(connection)
        won = tables.take_many([one.work.given for one in works])
        for one in works[: len(won)]:
            one.heads = tables.heads
        return won

    def catch_up(self) -> None:
        """File every record that is there."""
        while self.database.transact(partial(portion, most=WHOLE), writes=True):
            pass

    def wait(self, seconds: float) -> None:
        """A file wakes nobody: whoever waits looks again."""
        time.sleep(seconds)

    def _locked(self, keys: Keyring | None) -> Lock:
        known = self.database.transact(lambda found: [name for (name,) in found.execute(locks.KEY_IDS)], writes=False)
        lock = Lock(keys, known)
        if lock.fresh is not None:
            self.database.transact(partial(self._register, lock), writes=True)
        return lock

    def _register(self, lock: Lock, connection: Connection) -> None:
        """Write the key's id down, unless another process just did."""
        first = connection.execute(locks.KEY_IDS).fetchone() is None
        registered(lock, connection.execute, self.clock(), locks.FORBID_SQLITE, first=first)

    def _hash_of(self, seq: int) -> str | None:
        found = self.database.transact(lambda connection: connection.execute(sql.HASH, (0, seq)).fetchone(), writes=False)
        return None if found is None else str(found[0])

    def accept(self) -> None:
        """A person has said that a backup was put back: what the file holds counts from here on."""
        self.watermark.forget()
        self.older = False
        head = self.database.transact(lambda connection: connection.execute(sql.HEAD, (0,)).fetchone(), writes=False)
        self.note.write((0, GENESIS) if head is None else (head[0], head[1]), now=True)

    def close(self) -> None:
        """Close the file."""
        if self._head is not None:
            self.note.write(self._head, now=True)
        self.database.close()


class _Work(Generic[T]):
    """A work on the tables, as the database is given it. `heads` counts once it is committed."""

    __slots__ = ("_tables", "heads", "work")

    def __init__(self, tables: Callable[[Connection], FileTables], work: Callable[[Tables], T]) -> None:
        self._tables = tables
        self.work: Any = work
        self.heads: dict[int, Head] = {}

    def __call__(self, connection: Connection) -> T:
        """What the work gives, done once more where a batch has to be."""
        tables = self._tables(connection)
        self.heads = tables.heads
        answer: T = self.work(tables)
        tables.flush()
        return answer


def _secret(connection: sqlite3.Connection) -> bytes:
    found = connection.execute(schema.READ_KEY).fetchone()
    return rows.key(None if found is None else found[0], schema.KEY_BYTES)


def sqlite_store(path: str, *, clock: Callable[[], float], busy: float = 10.0, keys: Keyring | None = None) -> LedgerStore:
    """Open a file, or make it. `busy` is how many seconds to wait for another process's write; `keys` shut the payloads. Raises StoreError."""
    return LedgerStore(SqliteBackend(path, clock=clock, busy=busy, keys=keys))
