"""The part of the SQL tables that keeps grants. The constraint, which holds raw values, stands in its payload; everything else may be shown.

A row that cannot be read is one grant less: it lets nothing run. Comes after `sql_budgets` and before `sql_tables`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from guard.core import names
from guard.core.grants import Giver, Grant
from guard.core.offers import SCOPES
from guard.core.ports import CallRow
from guard.core.rowed import said
from guard.errors import StoreError
from guard.stores import rows, sql
from guard.stores.locks import Lock
from guard.stores.rows import name_of
from guard.stores.sql_budgets import SqlBudgets
from guard.stores.tables import Home, Place

LOG = logging.getLogger("guard")
_GRANT = "SELECT g.id, g.detail, p.body FROM grants g JOIN payloads p ON p.id = g.payload"
_IN_ORDER = " ORDER BY g.at, g.id"
GRANT = _GRANT + " WHERE g.id = ?"
GRANTED_TO = (
    _GRANT
    + " WHERE g.tenant = ? AND g.principal = ? AND g.tool = ? AND g.revoked IS NULL AND (g.until IS NULL OR g.until > ?)"
    + _IN_ORDER
)
KEEP = (
    "INSERT INTO grants (id, tenant, principal, tool, approval, at, until, revoked, detail, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET revoked = excluded.revoked, detail = excluded.detail"
)
UNDER = "SELECT grant_id FROM grant_uses WHERE conversation = ? AND turn = ? AND position = ?"
PUT_UNDER = (
    "INSERT INTO grant_uses (conversation, turn, position, grant_id, amount, at) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (conversation, turn, position) DO UPDATE SET grant_id = excluded.grant_id, amount = excluded.amount, at = excluded.at"
)
_FROM = "SELECT g.id, g.detail, p.body, a.turn, a.position FROM approvals a JOIN grants g ON g.approval = a.id JOIN payloads p ON p.id = g.payload"
FROM = _FROM + " WHERE a.conversation = ?" + _IN_ORDER
AGED = (
    "SELECT DISTINCT t.tenant, t.conversation FROM grants g JOIN approvals a ON a.id = g.approval JOIN conversations t ON t.id = a.conversation"
    " WHERE g.erased IS NULL AND (g.revoked <= ? OR g.until <= ? OR (g.until IS NULL AND g.at <= ?)) LIMIT ?"
)
WIPED = "UPDATE grants SET erased = ? WHERE id = ?"
_RAW = ("constraint", "reason", "revoked_why", "salt", "veil")
_DRAWN = ("used", "summed")
_NAMED = ("tenant", "principal", "tool", "approval", "at", "until", "revoked")


class SqlGrants(SqlBudgets):
    """Grants in a table."""

    def granted(self, grant_id: str) -> Grant | None:
        """One grant."""
        row = self.one(GRANT, grant_id)
        return None if row is None else grant_row(row, self.lock)

    def granted_to(self, tenant: str, principal: str, tool: str) -> tuple[Grant, ...]:
        """Live grants of a person for a tool."""
        return _read(self.all(GRANTED_TO, (tenant, principal, tool, self.now)), self.lock)

    def grants(self, *, tenant: str | None, principal: str | None, approval: str | None) -> tuple[Grant, ...]:
        """Grants that meet every field."""
        given = {"tenant": tenant, "principal": principal, "approval": approval}
        wanted = {name: value for name, value in given.items() if value is not None}
        where = " AND ".join(f"g.{name} = ?" for name in wanted)
        return _read(self.all(_GRANT + (f" WHERE {where}" if where else "") + _IN_ORDER, tuple(wanted.values())), self.lock)

    def keep_grant(self, grant: Grant) -> None:
        """Add or replace a grant. The part that holds its constraint is written first, and again only with what a person said of it."""
        fields = {name: value for name, value in asdict(grant).items() if name not in _DRAWN}
        raw = {name: fields.pop(name) for name in _RAW}
        raw |= {"names": whose} if (whose := names.pairs(grant.people)) else {}
        payload = self.payload(f"grant:{grant.id}", "grant", rows.dump(raw))
        columns = (grant.tenant, grant.principal, grant.tool, grant.approval, grant.at, grant.until, grant.revoked_at)
        detail = rows.dump(fields)
        self.run(KEEP, grant.id, *columns, detail, payload)
        self.marks.add("grants", grant.id, told(columns, detail))

    def grants_from(self, home: Home) -> tuple[tuple[Place, Grant], ...]:
        """Grants that came from calls of a conversation."""
        found = [((turn, position), grant_row(row, self.lock)) for *row, turn, position in self.all(FROM, (name_of(home),))]
        return tuple((place, one) for place, one in found if one is not None)

    def aged_grants(self, before: float, limit: int) -> tuple[Home, ...]:
        """The conversations of grants that may be over."""
        found = self.all(AGED, (before, before, before, limit))
        return tuple((tenant, conversation) for tenant, conversation in found)

    def wipe_grant(self, grant: Grant) -> None:
        """Write an erased grant."""
        self.keep_grant(grant)
        self.run(WIPED, self.now, grant.id)

    def answerable(self, before: float, limit: int) -> tuple[CallRow, ...]:
        """Held calls that a grant may answer."""
        found = self.all(sql.ANSWERABLE, (before, self.now, self.now, before, limit))
        return tuple(rows.call_row(one, self.lock) for one in found)

    def waits(self, home: Home, place: Place) -> CallRow | None:
        """A held call that nobody has picked."""
        return self._waits(sql.WAITS, home, place)

    def _waits(self, statement: str, home: Home, place: Place) -> CallRow | None:
        found = self.one(statement, name_of(home), *place, self.now)
        return None if found is None else rows.call_row(found, self.lock)

    def under(self, home: Home, place: Place) -> str | None:
        """The grant that a call used."""
        found = self.one(UNDER, name_of(home), *place)
        return None if found is None else str(found[0])

    def put_under(self, home: Home, place: Place, grant_id: str, amount: Decimal) -> None:
        """Remember which grant a call uses."""
        name = name_of(home)
        self.run(PUT_UNDER, name, *place, grant_id, str(amount), self.now)
        self.marks.add("grant_uses", "/".join(map(str, (name, *place))), use_told(grant_id, str(amount), self.now))


def told(columns: Sequence[Any], detail: Any) -> dict[str, str]:
    """The columns of a grant from its tenant to when it was revoked, and the detail by its parts, as texts."""
    return said(dict(zip(_NAMED, columns, strict=True)), detail, ("at", "until", "revoked"))


def use_told(grant_id: Any, amount: Any, at: Any) -> dict[str, str]:
    """The columns of a use, as texts."""
    return said({"grant_id": grant_id, "amount": amount, "at": at}, None, ("at",))


def _read(found: list[Any], lock: Lock) -> tuple[Grant, ...]:
    return tuple(one for row in found if (one := grant_row(row, lock)) is not None)


def grant_row(columns: rows.Columns, lock: Lock) -> Grant | None:
    """A grant from the columns of `GRANT`; None for one that cannot be read."""
    try:
        name, detail, body = columns
        return _grant((name, detail, lock.open(f"grant:{name}", body)))
    except StoreError:
        LOG.warning("the stored grant %s cannot be read: it lets nothing run", ascii(columns[0]))
        return None


@rows.whole
def _grant(columns: rows.Columns) -> Grant:
    name, detail, body = columns
    fields, raw = rows.load(detail), rows.load(body)
    whose = raw.pop("names", {})
    givers = tuple(
        Giver(by=one["by"], roles=tuple(one["roles"]), at=_moment(one["at"]), assurance=one["assurance"])
        for one in fields.pop("givers")
    )
    times = {key: None if fields[key] is None else _moment(fields.pop(key)) for key in ("at", "until", "revoked_at")}
    fields["secret"] = tuple(fields["secret"])
    grant = Grant(**{**fields, **raw, **times, "givers": givers}).calling(lambda one: names.restored(one, whose))
    if name != grant.id or grant.scope not in SCOPES or not isinstance(grant.constraint, dict) or not givers:
        raise ValueError("a grant of another form")
    return grant


def _moment(value: Any) -> float:
    """A stored time, exactly as it was."""
    return float(value)
