"""Grants for asyncio callers: the same as `grants`, awaited: the store is asked in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from guard.core.approval import Approval, Assurance
from guard.core.grants import Grant
from guard.core.model import Session
from guard.core.offers import Offer
from guard.runner.giving import Choice, Read
from guard.runner.grant_bounds import Giving
from guard.runner.grants import Grants

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


class AsyncGrants:
    """The same, awaited: the store is asked in a thread."""

    def __init__(self, guard: GuardBase) -> None:
        self._plain = Grants(guard)

    async def list(self, **wanted: Any) -> tuple[Grant, ...]:
        """See `Grants.list`."""
        return await asyncio.to_thread(partial(self._plain.list, **wanted))

    async def show(self, grant_id: str | Grant) -> Grant:
        """See `Grants.show`."""
        return await asyncio.to_thread(self._plain.show, grant_id)

    async def offers(self, approval_id: str | Approval, *, by: Session) -> Sequence[Offer]:
        """See `Grants.offers`."""
        return await asyncio.to_thread(partial(self._plain.offers, approval_id, by=by))

    async def choices(self, approval_id: str | Approval, *, by: Session, assurance: Assurance = "host") -> Sequence[Choice]:
        """See `Grants.choices`."""
        return await asyncio.to_thread(partial(self._plain.choices, approval_id, by=by, assurance=assurance))

    async def approve(self, approval_id: str | Approval, read: Read, **how: Any) -> tuple[Approval, Grant]:
        """See `Grants.approve`."""
        return await asyncio.to_thread(partial(self._plain.approve, approval_id, read, **how))

    async def draft(self, approval_id: str | Approval, **how: Unpack[Giving]) -> Grant:
        """See `Grants.draft`."""
        return await asyncio.to_thread(partial(self._plain.draft, approval_id, **how))

    async def give(self, approval_id: str | Approval, **how: Unpack[Giving]) -> Grant:
        """See `Grants.give`."""
        return await asyncio.to_thread(partial(self._plain.give, approval_id, **how))

    async def give_read(
        self, approval_id: str | Approval, draft: Grant, *, by: Session, reason: str | None = None, assurance: Assurance = "host"
    ) -> Grant:
        """See `Grants.give_read`."""
        return await asyncio.to_thread(
            partial(self._plain.give_read, approval_id, draft, by=by, reason=reason, assurance=assurance)
        )

    async def revoke(self, grant_id: str | Grant, *, by: Session, reason: str | None = None) -> Grant:
        """See `Grants.revoke`."""
        return await asyncio.to_thread(partial(self._plain.revoke, grant_id, by=by, reason=reason))

    def words(self, grant: Grant) -> tuple[str, ...]:
        """See `Grants.words`; it asks nobody."""
        return self._plain.words(grant)

    def stands(self, grant: Grant) -> bool:
        """See `Grants.stands`; it asks nobody."""
        return self._plain.stands(grant)
