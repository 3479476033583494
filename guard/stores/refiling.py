"""Refiling: makes the copies of audit records that have none yet. Touches no record.

`fill` runs inside the transaction of a migration, for a file of an earlier version. `Chore` files what this version has written, a portion at a time
and behind the decisions: what is filed in a chain has no gap, so the last record that is filed says where to go on. A portion is one transaction;
a crash leaves all or nothing of it, and two processes that file one chain wait for each other. For many records `fill` says how far it
is, through the logger `guard.stores.filing`. Comes after `filing_sql`, before `migrate` and `writer`.
"""

from __future__ import annotations

import logging
import sqlite3
from time import monotonic
from typing import Final

from guard.stores import filing_sql

LOG = logging.getLogger("guard.stores.filing")
_PAGE: Final = 50_000  # records at a time
PORTION: Final = 256
"""Records of one transaction: what a decision may have to wait for, some milliseconds."""
CALM: Final = 8_000
"""Records that may lie unfiled while decisions keep coming: every search reads these one by one."""
MOST: Final = 100_000
"""And while many more come than decisions make: such a rush is filed when it is over. Searches go through the texts of so many, see `sifting`."""
RUSH: Final = 10_000
"""Records a second that are a rush."""
_SHARE: Final = 32  # of what lies unfiled: the more there is, the more is filed at once
_LONG: Final = 2_048  # records of a portion at most, some hundredths of a second
_BEYOND: Final = 8  # of what lies unfiled, where it is too much: who writes many at once has many filed at once
_WINDOW: Final = 0.1  # seconds at least over which records are counted
WHOLE: Final = 4_096
"""Records of one transaction where no decision waits: when a file is opened or closed."""
MANY: Final = 1_000
"""Unfiled records that whoever opens a file files first: somebody died before they were."""
TIMES: Final = -(-MOST // WHOLE)  # such transactions at most: about a second, where somebody closes in a rush
_ROWS: Final = CALM // 2  # changed rows after which to look how much lies unfiled
_STEP: Final = 500  # and after which to look again: each time costs as much as some statements of a decision


def fill(connection: sqlite3.Connection) -> None:
    """File every record behind the last one that is filed, chain by chain."""
    for chain, newest, filed in connection.execute(filing_sql.FILLED).fetchall():
        for start in range(filed, newest, _PAGE):
            end = min(start + _PAGE, newest)
            _between(connection, chain, start, end)
            if newest - filed > _PAGE:
                LOG.warning("making %d audit records findable: %d of %d", newest - filed, end - filed, newest - filed)


def unfiled(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many records of the one chain of a file are filed, and how many are not yet."""
    newest, filed = connection.execute(filing_sql.MARK).fetchone()
    numbers = type(newest) is int and type(filed) is int  # else somebody put something else there, as whoever verifies will say
    return (filed, max(newest - filed, 0)) if numbers else (0, 0)


def portion(connection: sqlite3.Connection, most: int) -> int:
    """File the next records, in a transaction that is the only writer; how many are left."""
    filed, left = unfiled(connection)
    number = min(left, max(most, min(left // _SHARE, _LONG), min(left - MOST, left // _BEYOND)))
    if number:
        _between(connection, 0, filed, filed + number)
    return left - number


def _between(connection: sqlite3.Connection, chain: int, start: int, end: int) -> None:
    for statement in (filing_sql.FILL, filing_sql.FILL_TAGS):
        connection.execute(statement, (chain, start, end))


class Pace:
    """How fast records come, whoever writes them."""

    def __init__(self) -> None:
        self._from: tuple[float, int] | None = None  # monotonic seconds, and the newest record then
        self._rushing = True  # until it is known

    def rushing(self, newest: int, now: float) -> bool:
        """Whether more records come than `RUSH`, as far as known from when this was asked before."""
        began, before = self._from = self._from or (now, newest)
        if now - began >= _WINDOW:
            self._rushing = newest - before > RUSH * (now - began)
            self._from = now, newest
        return self._rushing


class Chore:
    """What the writer does when no decision waits, on its one connection: it knows when to look, and what failed."""

    def __init__(self) -> None:
        self._seen = -1  # rows that the connection had changed when nothing lay unfiled; at first nobody knows
        self._rest_until = 0  # so many, where filing failed
        self._look_at = 0  # so many, where not enough lay unfiled to press
        self._pace = Pace()

    def due(self, connection: sqlite3.Connection) -> bool:
        """Whether anything may lie unfiled. Asks nothing of the file."""
        return connection.total_changes != self._seen and connection.total_changes >= self._rest_until

    def left(self, connection: sqlite3.Connection) -> int:
        """How many records lie unfiled."""
        found = unfiled(connection)[1] if self.due(connection) else 0
        if not found:
            self._seen = connection.total_changes
        return found

    def pressing(self, connection: sqlite3.Connection) -> bool:
        """Whether so much lies unfiled that decisions have to wait for a portion."""
        changed = connection.total_changes
        if changed < self._look_at or changed - self._seen < _ROWS or not self.due(connection):
            return False
        filed, left = unfiled(connection)
        found = left > (MOST if self._pace.rushing(filed + left, monotonic()) else CALM)
        self._look_at = 0 if found else changed + _STEP
        return found

    def failed(self, connection: sqlite3.Connection, error: BaseException) -> None:
        """It is tried again after a while; searches read what is not filed."""
        self._rest_until = connection.total_changes + _ROWS
        if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
            LOG.warning("audit records are not made findable by index for now: %s", type(error).__name__)
