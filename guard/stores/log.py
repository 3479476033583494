"""Log: the audit of an SQLite file, opened so that nothing can be written: not even a migration or a checkpoint.

Safe beside programs that write. A file of an earlier version is read as it is: without what is filed about its records every one of them is read. Comes after
`sql_tables`; used by whoever only looks.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from guard.core.log import NOTHING, Counted, Head, Rowed, Sealed, Segment, Stray, Tabled, left
from guard.core.searching import Filed, Sought
from guard.core.values import Json, keyed
from guard.stores import filing, rows, schema, sql
from guard.stores.faults import CAUGHT, store_error
from guard.stores.reading import to_read
from guard.stores.sql_tables import SqlTables
from guard.stores.stamp import Stamps
from guard.stores.tail import Tail
from guard.stores.watermark import Note

_PAGE: Final = 5000
_FILED: Final = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'filed'"


class FileLog:
    """The records of one file. Raises StoreError where it cannot be read."""

    chains = 1

    def __init__(self, path: Path, *, busy: float = 10.0) -> None:
        try:
            self._connection = to_read(path, busy)
            found = self._connection.execute(schema.READ_KEY).fetchone()
            self.indexed = bool(self._connection.execute(_FILED).fetchone()[0])
            self.current = self._connection.execute(schema.READ_VERSION).fetchone()[0] == schema.VERSION
        except sqlite3.Error as error:
            raise store_error(error) from None
        self.secret = rows.key(None if found is None else found[0], schema.KEY_BYTES)
        self._tables = SqlTables(self._connection, 0.0, Stamps())
        self._tables.tail = Tail()
        note = Note(Path(f"{path.resolve()}-mark"), keyed(self.secret, "guard-store-v1"))
        self.older = note.contradicts(self._hash_of)

    def _hash_of(self, seq: int) -> str | None:
        found = self._run(lambda: self._connection.execute(sql.HASH, (0, seq)).fetchone())
        return None if found is None else str(found[0])

    def _run(self, work: Any) -> Any:
        """What `work` gives, in one transaction: what is filed and what is not yet are looked through in the same state."""
        try:
            self._connection.execute(schema.BEGIN_READ)
            try:
                return work()
            finally:
                self._connection.execute("ROLLBACK")
        except CAUGHT as error:
            raise store_error(error) from None

    def audit(self, *, chain: int = 0, after: int = 0, limit: int | None = None) -> tuple[Sealed, ...]:
        """Records in order of seq."""
        found: tuple[Sealed, ...] = self._run(lambda: self._tables.audit(chain, after, limit))
        return found

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """Records that are looked for."""
        if not self.indexed:
            return tuple(one for _, one in filing.scan(self._every(), sought))
        found: tuple[Sealed, ...] = self._run(lambda: self._tables.search(sought))
        return found

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """How many records are looked for."""
        if not self.indexed:
            return filing.count(self._every(), sought, by)
        found: tuple[tuple[tuple[Json, ...], int], ...] = self._run(lambda: self._tables.tally(sought, by))
        return found

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """Columns of what is filed about records."""
        if not self.indexed:
            return filing.chosen(self._every(), sought, names)
        found: tuple[tuple[Any, ...], ...] = self._run(lambda: self._tables.filed(sought, names))
        return found

    def _every(self) -> Iterator[filing.Read]:
        after = 0
        while page := self.audit(after=after, limit=_PAGE):
            yield from map(filing.read, page)
            after = page[-1].seq

    def beginnings(self) -> Mapping[int, Head]:
        """By chain the record up to which records may have left."""
        return left(self.segments())

    def segments(self) -> tuple[Segment, ...]:
        """The months that were closed, oldest first."""
        found: tuple[Segment, ...] = self._run(self._tables.segments) if self.current else ()
        return found

    # for who verifies, in a file of this version

    def heads(self) -> Mapping[int, Head]:
        """The newest record of the one chain."""
        found: Mapping[int, Head] = self._run(self._tables.heads_now)
        return {0: found.get(0, NOTHING)}

    def strays(self) -> tuple[Stray, ...]:
        """Rows that stand where the log has no place for one."""
        found: tuple[Stray, ...] = self._run(lambda: self._tables.strays(self.chains))
        return found

    def tabled(self) -> Mapping[str, Tabled]:
        """What the tables say of each approval and each grant."""
        found: Mapping[str, Tabled] = self._run(self._tables.tabled)
        return found

    def ledgered(
        self, after: tuple[Any, ...] = (), limit: int = 1000
    ) -> tuple[tuple[Any, ...], Sequence[Rowed], Mapping[int, Head]]:
        """Calls as they stand."""
        found: tuple[tuple[Any, ...], Sequence[Rowed], Mapping[int, Head]] = self._run(
            lambda: (*self._tables.ledgered(after, limit), self._tables.heads_now())
        )
        return found

    def counted(self, after: str = "", limit: int = 1000) -> tuple[str, Sequence[Counted], Mapping[int, Head]]:
        """Counters of conversations as they stand."""
        found: tuple[str, Sequence[Counted], Mapping[int, Head]] = self._run(
            lambda: (*self._tables.counted(after, limit), self._tables.heads_now())
        )
        return found

    def overdrawn(self) -> tuple[str, ...]:
        """Budgets whose total is not the sum of what is drawn."""
        found: tuple[str, ...] = self._run(self._tables.overdrawn)
        return found

    def copies(self, *, chain: int = 0, after: int = 0, limit: int = 1000) -> tuple[Filed, ...]:
        """What is filed about the records behind `after`."""
        found: tuple[Filed, ...] = self._run(lambda: self._tables.copies(chain, after, limit))
        return found

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
