"""The part of the SQL tables that keeps kills. What somebody wrote of one stands in its payload; nothing that stops a call does, so that no key is needed to obey.

A row that cannot be read stops more, never less. Comes after `sql_budgets` and before `sql_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guard.core import names
from guard.core.kills import Kill, Stop
from guard.core.rowed import said
from guard.errors import StoreError
from guard.stores import rows, sql
from guard.stores.locks import Lock
from guard.stores.sql_budgets import SqlBudgets
from guard.stores.tables import Asked, Home, Place

STOPS = (
    "SELECT id, tenant, conversation, tool FROM kills WHERE cleared IS NULL AND (tenant IS NULL OR tenant = ?)"
    " AND (conversation IS NULL OR conversation = ?) ORDER BY at, id"
)
_KILL = "SELECT k.id, k.tenant, k.conversation, k.tool, k.at, k.cleared, k.detail, p.body FROM kills k LEFT JOIN payloads p ON p.id = k.payload"
_IN_ORDER = " ORDER BY k.at, k.id"
KILL = _KILL + " WHERE k.id = ?"
LIVE = _KILL + " WHERE k.cleared IS NULL" + _IN_ORDER
ALL = _KILL + _IN_ORDER
KEEP = (
    "INSERT INTO kills (id, tenant, conversation, tool, at, cleared, detail, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET cleared = excluded.cleared, detail = excluded.detail"
)
AGED = "SELECT k.id FROM kills k JOIN payloads p ON p.id = k.payload WHERE k.cleared <= ? ORDER BY k.cleared, k.id LIMIT ?"
WIPE = "DELETE FROM payloads WHERE id = (SELECT payload FROM kills WHERE id = ?)"
_DETAIL = ("by", "assurance", "via", "cancelled", "revoked", "cleared_by")
_WIPED: dict[str, Any] = {"reason": "", "cleared_why": "", "names": {}}
"""What is read of a kill that was cleared and whose payload was erased."""


class SqlKills(SqlBudgets):
    """Kills in a table."""

    def heed(self, home: Home, *, still: bool = True) -> None:
        """Asking one thing after the other costs nothing in a file, and nobody else writes."""

    def stops(self, home: Home) -> tuple[Stop, ...]:
        """Kills in force."""
        return stops_of(self._stopping(home))

    def _stopping(self, home: Home) -> Sequence[Any]:
        """Rows of `STOPS`."""
        return self.all(STOPS, home)

    def stand_still(self) -> None:
        """Nobody else writes."""

    def kill(self, kill_id: str) -> Kill | None:
        """One kill."""
        found = self.one(KILL, kill_id)
        return None if found is None else kill_row(found, self.lock)

    def kills(self, *, live: bool) -> tuple[Kill, ...]:
        """Kills, oldest first."""
        return tuple(kill_row(row, self.lock) for row in self.all(LIVE if live else ALL, ()))

    def keep_kill(self, kill: Kill) -> None:
        """Add or replace a kill."""
        stop, whose = kill.stop, names.pairs(kill.people)
        raw = {"reason": kill.reason, "cleared_why": kill.cleared_why, "names": whose}
        payload = self.payload(f"kill:{kill.id}", "kill", rows.dump(raw))
        detail = rows.dump({name: getattr(kill, name) for name in _DETAIL})
        self.run(KEEP, stop.id, stop.tenant, stop.conversation, stop.tool, kill.at, kill.cleared_at, detail, payload)
        self.marks.add("kills", stop.id, told((stop.tenant, stop.conversation, stop.tool, kill.at, kill.cleared_at), detail))

    def aged_kills(self, before: float, limit: int) -> tuple[str, ...]:
        """Kills that have a payload, and were cleared."""
        return tuple(str(name) for (name,) in self.all(AGED, (before, limit)))

    def wipe_kill(self, kill: Kill) -> None:
        """Drop the payload: everything else of a kill may be shown."""
        self.run(WIPE, kill.id)

    def open_under(self, stop: Stop) -> tuple[Asked, ...]:
        """Live approvals about calls that it covers."""
        wanted = {"tenant": stop.tenant, "conversation": stop.conversation, "tool": stop.tool}
        given = {name: value for name, value in wanted.items() if value is not None}
        found = [self._asked(row) for row in self.all(sql.open_under(tuple(given)), tuple(given.values()))]
        return tuple(one for one in found if stop.covers((one.approval.tenant, one.approval.conversation), one.approval.tool))

    def foresee_ends(self, spots: Sequence[tuple[Home, Place]]) -> None:
        """As for `heed`."""


def told(columns: Sequence[Any], detail: Any) -> dict[str, str]:
    """Tenant, conversation, tool, when it was set and cleared, and the detail by its parts, as texts."""
    tenant, conversation, tool, at, cleared = columns
    found = {"tenant": tenant, "conversation": conversation, "tool": tool}
    return said({**found, "at": at, "cleared": cleared}, detail, ("at", "cleared"))


def stops_of(found: Sequence[Any]) -> tuple[Stop, ...]:
    """Rows of `STOPS`. What is no text there (a file holds whatever is put into it) says nothing, and so covers everything."""
    return tuple(Stop(str(row[0]), *(one if isinstance(one, str) else None for one in row[1:4])) for row in found)


def kill_row(columns: Any, lock: Lock) -> Kill:
    """A kill from the columns of `KILL`. What of it cannot be read is told as that: it is in force all the same."""
    at, cleared, detail, body = columns[4:8]
    (stop,) = stops_of((columns,))
    try:
        gone = body is None and cleared is not None
        fields, raw = rows.load(detail), dict(_WIPED) if gone else rows.load(lock.open(f"kill:{stop.id}", body))
        return _kill(stop, (_moment(at), None if cleared is None else _moment(cleared)), fields, raw)
    except (StoreError, TypeError, ValueError, KeyError, AttributeError):
        ends: dict[str, Any] = {} if cleared is None else {"cleared_by": "?", "cleared_at": _moment(cleared), "cleared_why": ""}
        return Kill(stop=stop, by="?", at=_moment(at), reason="(what stands in the store of it cannot be read)", **ends)


def _kill(stop: Stop, times: tuple[float, float | None], fields: dict[str, Any], raw: dict[str, Any]) -> Kill:
    said = {name: fields[name] for name in _DETAIL}
    made = Kill(stop=stop, at=times[0], cleared_at=times[1], reason=raw["reason"], cleared_why=raw["cleared_why"], **said)
    return made.calling(lambda one: names.restored(one, raw["names"]))


def _moment(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
