"""What grants need of a place that keeps data: the part of `Tables` about them. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol

from guard.core.grants import Grant
from guard.core.ports import CallRow


class GrantTables(Protocol):
    """What grants need of the tables. What is drawn on a grant stands with the budgets, not in it."""

    def granted(self, grant_id: str) -> Grant | None:
        """One grant; from here to the end of the transaction nobody else changes it."""

    def granted_to(self, tenant: str, principal: str, tool: str) -> tuple[Grant, ...]:
        """Grants of a person for a tool that are not revoked and whose time is not over, oldest first."""

    def grants(self, *, tenant: str | None, principal: str | None, approval: str | None) -> tuple[Grant, ...]:
        """Grants that meet every field that is not None, oldest first."""

    def keep_grant(self, grant: Grant) -> None:
        """Add or replace a grant."""

    def answerable(self, before: float, limit: int) -> tuple[CallRow, ...]:
        """Held calls of no child, waiting since this time or before, whose person had a grant for their tool by then; nobody has picked them. Oldest first."""

    def waits(self, home: tuple[str, str], place: tuple[int, int]) -> CallRow | None:
        """A call, if it is held and nobody has picked it or is about to."""

    def under(self, home: tuple[str, str], place: tuple[int, int]) -> str | None:
        """The grant that a call used last."""

    def put_under(self, home: tuple[str, str], place: tuple[int, int], grant_id: str, amount: Decimal) -> None:
        """Remember which grant a call uses, and how much it draws on it."""
