"""The store's part in grants: each method of its port one transaction over the tables. It holds no rule; the rules are in `grants`.

Comes after `grants` and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable

from guard.core.granting import FindGrants, LiveGrants, UseGrant
from guard.core.grants import Grant
from guard.core.kills import Killed
from guard.core.ports import Conflict, Event
from guard.errors import ApprovalError, StoreError
from guard.stores import grants, kills
from guard.stores.backend import Backend
from guard.stores.owners import home_of
from guard.stores.tables import Tables
from guard.stores.watermark import older


class GrantLedger:
    """What a store does with grants, over any `Backend`."""

    __slots__ = ()
    _tables: Backend
    _epoch: int

    def find_grants(self, command: FindGrants) -> tuple[LiveGrants, ...]:
        """What may cover these calls, in order."""
        return self._tables.read(lambda tables: grants.find(tables, command))

    def use_grant(self, command: UseGrant) -> Conflict | Killed | None:
        """Let a look-up use a grant, or say why it cannot."""
        if self._tables.older:
            raise older()
        return self._tables.write(lambda tables: self._used(tables, command))

    def _used(self, tables: Tables, command: UseGrant) -> Conflict | Killed | None:
        tables.heed(home_of(command.key.ref))
        if tables.epoch() != self._epoch:
            raise StoreError("a backup was put back since the store was opened; open it again", code="restored")
        stop = kills.stopped(tables, home_of(command.key.ref), command.tool)
        return grants.use(tables, command) if stop is None else Killed(stop)

    def give(self, grant: Grant, event: Callable[[Grant], Event]) -> Grant:
        """Keep a grant, or add its giver to the one that is proposed."""
        return _good(self._tables.write(lambda tables: grants.give(tables, grant, event)))

    def grant(self, grant_id: str) -> Grant | None:
        """One grant."""
        return self._tables.read(lambda tables: grants.shown(tables, grant_id))

    def grants(
        self, *, tenant: str | None = None, principal: str | None = None, approval: str | None = None
    ) -> tuple[Grant, ...]:
        """Grants, oldest first."""
        return self._tables.read(lambda tables: grants.listed(tables, tenant=tenant, principal=principal, approval=approval))

    def revoke_grant(self, grant_id: str, *, by: str, reason: str | None, event: Callable[[Grant], Event]) -> Grant:
        """End a grant for good."""
        return _good(self._tables.write(lambda tables: grants.revoke(tables, grant_id, by, reason, event)))


def _good(answer: Grant | ApprovalError) -> Grant:
    if isinstance(answer, ApprovalError):
        raise answer
    return answer
