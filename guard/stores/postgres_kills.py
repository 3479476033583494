"""Kills on PostgreSQL: they are asked for together with what is asked first, behind the lock of their conversation, and set while nobody holds such a lock.

So whoever takes a call either sees a kill or has committed before it, and looking costs no round trip. Holds no rule. Comes after `sql_tables` and
`postgres_wire`, before `postgres_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from guard.core.kills import Kill, Stop
from guard.stores import postgres_sql, rows, sql, sql_kills
from guard.stores.budget_tables import Draw
from guard.stores.postgres_wire import Reply, Wire
from guard.stores.rows import name_of
from guard.stores.sql_tables import SqlTables
from guard.stores.tables import Home, Place


class Heeding(SqlTables):
    """The part of a writing transaction that is about kills. `_heeded` are answers to come by conversation, `_held` by call."""

    connection: Wire
    _heeded: dict[Home, Reply]
    _held: dict[tuple[Any, ...], Reply]
    _foreseen: dict[tuple[Any, ...], Any]

    if TYPE_CHECKING:

        def _lock(self, home: Home, *, start: bool = True) -> Reply: ...
        def _start(self) -> Reply: ...

    def heed(self, home: Home, *, still: bool = True) -> None:
        """Queue the question; behind the conversation's lock, or with the time of the transaction."""
        if home not in self._heeded:
            if still:
                self._lock(home)
            else:
                self._start()
            self._heeded[home] = self.connection.execute(sql_kills.STOPS, home)

    def stops(self, home: Home) -> tuple[Stop, ...]:
        """Kills in force."""
        reply = self._heeded.get(home)
        return super().stops(home) if reply is None else sql_kills.stops_of(reply.fetchall())

    def stand_still(self) -> None:
        """Wait until nobody holds the lock of a conversation, and keep others from getting one."""
        self.connection.execute(postgres_sql.LOCK_ALL)

    def kill(self, kill_id: str) -> Kill | None:
        """One kill; it stays so until the transaction ends."""
        self.run(postgres_sql.LOCK_KILL, kill_id)
        return super().kill(kill_id)

    def foresee_ends(self, spots: Sequence[tuple[Home, Place]]) -> None:
        """Queue what is asked about these calls, so that all of it costs one round trip."""
        for home, place in spots:
            at = (name_of(home), *place)
            self._lock(home, start=False)
            self._foreseen[sql.CALL, *at] = self.connection.execute(sql.CALL, at), 0, None
            self._held[at] = self.connection.execute(sql.DRAWS, (*at, 0))

    def draws(self, home: Home, place: Place, *, sums_only: bool) -> tuple[Draw, ...]:
        """What a call holds."""
        reply = None if sums_only else self._held.pop((name_of(home), *place), None)
        if reply is None:
            return super().draws(home, place, sums_only=sums_only)
        return tuple(Draw(budget, rows.number(amount), bool(window)) for budget, amount, window in reply.fetchall())
