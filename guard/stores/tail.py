"""The tail: what the searches of one store know of records that are not filed yet: copies of these in a small database in memory, which answers as the store does.

The copies are made by the statements that file, so a record is found in the same way before and after it is filed; and each is read once, not by every search. A search
sees one state of the store, which may be older or newer than what another thread has asked for meanwhile: what is filed in it leaves, what it does not have leaves, and
what is missing is read. Where the newest record is another than is known, a backup was put back, and everything is read anew. Comes after `filing_sql`, before
`sql_search`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from guard.core.log import Sealed
from guard.stores import filing_sql, steps_query, steps_revisions

T = TypeVar("T")
MOST: Final = 200_000
"""Records of which copies are kept, some hundred bytes each; a longer tail is read by each search. See `refiling`: even a rush leaves half as many."""
_PORTION: Final = 10_000  # records that are read at once
_INDEXES: Final = frozenset({"kind", "approval", "verdict", "spoof", "shadow", "asked"})  # of most of these there are few
_STEPS: Final = (*steps_query.TABLES, *steps_revisions.STEP)
_TABLES: Final = (
    *(one for one in _STEPS if one.startswith("CREATE TABLE")),
    *(one for one in _STEPS if one.startswith("CREATE INDEX filed_") and one.split()[2].removeprefix("filed_") in _INDEXES),
)
_BODIES: Final = "CREATE TABLE audit (chain, seq, body, PRIMARY KEY (chain, seq)) WITHOUT ROWID"
_PUT: Final = "INSERT INTO audit (chain, seq, body) VALUES (?, ?, ?)"
_PUT_OUT: Final = "DELETE FROM audit"
_LEAVE: Final = tuple(f"DELETE FROM {table} WHERE chain = ? AND (seq <= ? OR seq > ?)" for table in ("filed", "tags"))  # noqa: S608 - our own names
_all: weakref.WeakSet[Tail] = weakref.WeakSet()


class Lying(NamedTuple):
    """Where a chain stands: the last record that is filed, and number and hash of its newest."""

    chain: int
    filed: int
    newest: int
    own: str


Fetch = Callable[[int, int, int], Sequence[Sealed]]
"""The records of a chain behind the first number, up to the second."""
Ask = Callable[[sqlite3.Connection], T]


class Tail:
    """What is known. One thread asks at a time."""

    def __init__(self) -> None:
        self._database: sqlite3.Connection | None = None
        self._renew()
        _all.add(self)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[
            int, dict[int, str]
        ] = {}  # by chain the hash of each record that is copied, in order; never changed, only replaced
        self.size = 0
        """How many records were not filed when they were last asked for."""

    def _forget(self) -> None:
        database, self._database, self._known = self._database, None, {}
        if database is not None:
            database.close()

    def __del__(self) -> None:
        self._forget()

    def missing(self, chains: Iterable[Lying]) -> int:
        """About how many of these records would have to be read."""
        last = {chain: next(reversed(hashes)) for chain, hashes in self._known.items() if hashes}
        return sum(max(one.newest - max(one.filed, last.get(one.chain, 0)), 0) for one in chains)

    def ask(self, chains: Sequence[Lying], fetch: Fetch, work: Ask[T]) -> T:
        """What `work` gives, over the tables `filed` and `tags` as they would be of exactly the records that are not filed."""
        with self._lock:
            try:
                database = self._database or self._made()
                database.execute("BEGIN")
                for chain in self._known.keys() - {one.chain for one in chains}:
                    self._leave(database, chain)
                for one in chains:
                    self._follow(database, one, fetch)
                database.execute("COMMIT")
                self.size = sum(map(len, self._known.values()))
                found = work(database)
            except BaseException:
                self._forget()
                raise
            if self.size > MOST:
                self._forget()
            return found

    def _made(self) -> sqlite3.Connection:
        self._database = made = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for statement in (*_TABLES, _BODIES):
            made.execute(statement)
        return made

    def _follow(self, database: sqlite3.Connection, lying: Lying, fetch: Fetch) -> None:
        """Have the unfiled records of one chain, by what is known of it."""
        chain, filed, newest, own = lying
        known = self._known.get(chain, {})
        if known and (next(iter(known)) <= filed or next(reversed(known)) > newest):
            known = self._leave(database, chain, filed, newest)
        if known and next(iter(known)) != filed + 1:
            known = self._leave(database, chain)
        last = next(reversed(known), filed)
        missing = fetch(chain, last, min(last + _PORTION, newest))
        if known and known[last] != (missing[0].prev if missing else own):
            self._leave(database, chain)
            last = filed
            missing = fetch(chain, last, min(last + _PORTION, newest))
        while missing:
            self._put(database, chain, missing)
            last += _PORTION
            missing = fetch(chain, last, min(last + _PORTION, newest)) if last < newest else ()

    def _leave(self, database: sqlite3.Connection, chain: int, filed: int = 0, newest: int = 0) -> dict[int, str]:
        """Forget the records up to `filed` and those behind `newest`, at first all; the others."""
        for statement in _LEAVE:
            database.execute(statement, (chain, filed, newest))
        known = {seq: own for seq, own in self._known.get(chain, {}).items() if filed < seq <= newest}
        self._known = {**self._known, chain: known}
        return known

    def _put(self, database: sqlite3.Connection, chain: int, records: Sequence[Sealed]) -> None:
        """Copy what is to be filed about these."""
        database.executemany(_PUT, ((one.chain, one.seq, one.body) for one in records))
        for statement in (filing_sql.FILL, filing_sql.FILL_TAGS):
            database.execute(statement, (chain, 0, records[-1].seq))
        database.execute(_PUT_OUT)
        self._known = {**self._known, chain: {**self._known.get(chain, {}), **{one.seq: one.hash for one in records}}}


_left: list[object] = []  # of the parent: another thread may have been at it, so that it cannot even be closed


def _forked() -> None:
    for one in list(_all):
        _left.append(one._database)  # noqa: SLF001 - of this module
        one._database = None  # noqa: SLF001
        one._renew()  # noqa: SLF001


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
