"""How much work a store does, in steps that no load of the machine changes: calls in memory, SQLite's instructions, rows that PostgreSQL reads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import ProgrammingError

import postgres_kit
from stores_kit import Clock, url_of

from guard.core.ports import Store
from guard.stores import open_store
from guard.stores.file import Connection

Work = Callable[[Store], object]
_READ = (
    "SELECT (SELECT SUM(seq_tup_read) FROM pg_stat_user_tables)::bigint,"
    " (SELECT COALESCE(SUM(idx_tup_read), 0) FROM pg_stat_user_indexes)::bigint"
)


def calls_of(work: Callable[[], object]) -> int:
    """How many calls and returns of functions a piece of work takes."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def watched(file: Connection, count: Callable[[], int] | None, every: int) -> bool:
    """Call `count` at every so many instructions. False where it is closed: one of a store of before that was not collected yet."""
    try:
        file.set_progress_handler(count, every)
    except ProgrammingError:
        return False
    return True


class Meter:
    """A store of one kind; `steps` gives what a piece of work takes of it."""

    def __init__(self, kind: str, url: str, clock: Clock) -> None:
        self._kind, self._url, self._clock = kind, url, clock
        self.store = open_store(url, clock=clock)

    def steps(self, work: Work) -> int:
        """How many."""
        return {"memory": self._calls, "sqlite": self._instructions, "postgres": self._rows}[self._kind](work)

    def _calls(self, work: Work) -> int:
        return calls_of(lambda: work(self.store))

    def _instructions(self, work: Work) -> int:
        work(self.store)  # every connection that it takes is open now
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        mine = [one for one in gc.get_objects() if isinstance(one, Connection) and watched(one, count, 10)]
        try:
            work(self.store)
        finally:
            for one in mine:
                watched(one, None, 0)
        return counted

    def _rows(self, work: Work) -> int:
        """A server's counts are sure once whoever did the work is gone."""
        self.store.close()
        before = read(self._url)
        self.store = open_store(self._url, clock=self._clock)
        work(self.store)
        self.store.close()
        after = read(self._url)
        self.store = open_store(self._url, clock=self._clock)
        return after - before


def read(url: str) -> int:
    """How many rows were read in a database that nobody uses now."""
    postgres_kit.left_alone(url)
    [row] = postgres_kit.run(url, _READ)
    return sum(row)


@contextmanager
def metered(kind: str, folder: Path, clock: Clock) -> Iterator[Meter]:
    """A meter on a new store."""
    with url_of(kind, folder) as url:
        made = Meter(kind, url, clock)
        yield made
        made.store.close()
