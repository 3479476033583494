"""The part of the memory store that keeps grants. Holds no rule. Comes after `memory_budgets` and before `memory`."""

from __future__ import annotations

from decimal import Decimal

from guard.core.grants import Grant
from guard.core.log import Tabled
from guard.core.ports import CallRow
from guard.core.replacing import replace
from guard.core.values import copy
from guard.stores import tabled
from guard.stores.memory_budgets import MemoryBudgets
from guard.stores.tables import Home, Place


class MemoryGrants(MemoryBudgets):
    """Grants in a dict, in the order in which they were given. Their constraints are copied on both ways: nobody can change one in hand."""

    def __init__(self) -> None:
        super().__init__()
        self._grants: dict[str, Grant] = {}
        self._under: dict[tuple[Home, Place], str] = {}

    def granted(self, grant_id: str) -> Grant | None:
        """One grant."""
        found = self._grants.get(grant_id)
        return None if found is None else _own(found)

    def granted_to(self, tenant: str, principal: str, tool: str) -> tuple[Grant, ...]:
        """Live grants of a person for a tool."""
        return tuple(
            one for one in self.grants(tenant=tenant, principal=principal, approval=None) if one.tool == tool and self._lives(one)
        )

    def _lives(self, grant: Grant) -> bool:
        return grant.revoked_at is None and (grant.until is None or grant.until > self.now)

    def grants(self, *, tenant: str | None, principal: str | None, approval: str | None) -> tuple[Grant, ...]:
        """Grants that meet every field."""
        wanted = (("tenant", tenant), ("principal", principal), ("approval", approval))
        found = (one for one in self._grants.values() if all(value in (None, getattr(one, name)) for name, value in wanted))
        return tuple(map(_own, found))

    def tabled(self) -> dict[str, Tabled]:
        """Approvals with their votes, and grants."""
        return super().tabled() | {name: tabled.of_grant(one) for name, one in self._grants.items()}

    def keep_grant(self, grant: Grant) -> None:
        """Add or replace a grant."""
        self._undo.put(self._grants, grant.id, _own(grant))

    def grants_from(self, home: Home) -> tuple[tuple[Place, Grant], ...]:
        """Grants that came from calls of a conversation."""
        found = [(self._asked[one.approval].approval, one) for one in self._grants.values() if one.approval in self._asked]
        return tuple(
            ((asked.turn, asked.position), _own(one)) for asked, one in found if (asked.tenant, asked.conversation) == home
        )

    def aged_grants(self, before: float, limit: int) -> tuple[Home, ...]:
        """The conversations of grants that may be over."""
        found = {
            (asked.approval.tenant, asked.approval.conversation)
            for one in self._grants.values()
            if not one.erased and _aged(one, before) and (asked := self._asked.get(one.approval)) is not None
        }
        return tuple(sorted(found)[:limit])

    def wipe_grant(self, grant: Grant) -> None:
        """Write an erased grant."""
        self.keep_grant(grant)

    def answerable(self, before: float, limit: int) -> tuple[CallRow, ...]:
        """Held calls that a grant may answer."""
        found = [row for row in self._all("held") if not row.key.ref.branch and row.at <= before and self._free(row)]
        asked = [(one.approval, row) for row in found if (one := self._asked.get(row.approval or "")) is not None]
        open_ = [(one.requested_at, row) for one, row in asked if one.status == "pending" and one.expires_at > self.now]
        fit = [(at, row) for at, row in open_ if any(one.at <= before for one in self._of(row))]
        return tuple(row for _, row in sorted(fit, key=lambda pair: pair[0])[:limit])

    def _of(self, row: CallRow) -> tuple[Grant, ...]:
        return self.granted_to(row.key.ref.tenant, row.key.ref.principal, row.call.tool)

    def waits(self, home: Home, place: Place) -> CallRow | None:
        """A held call that nobody has picked."""
        row = self._rooms[home].turns.get(place[0], {}).get(place[1])
        return row if row is not None and row.status == "held" and self._free(row) else None

    def under(self, home: Home, place: Place) -> str | None:
        """The grant that a call used."""
        return self._under.get((home, place))

    def put_under(self, home: Home, place: Place, grant_id: str, amount: Decimal) -> None:  # noqa: ARG002 - the budgets know how much
        """Remember which grant a call uses."""
        self._undo.put(self._under, (home, place), grant_id)


def _aged(grant: Grant, before: float) -> bool:
    ends = [at for at in (grant.revoked_at, grant.until) if at is not None]
    return min(ends) <= before if ends else grant.at <= before


def _own(grant: Grant) -> Grant:
    return replace(grant, constraint=copy(grant.constraint))
