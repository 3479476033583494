"""The approvals of a guard for asyncio callers: the same, awaited; the store is asked in a thread. Comes after `approvals`; decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from guard.core.approval import Approval, Assurance, Seen, Via
from guard.core.model import Session
from guard.core.values import Json
from guard.runner import editing
from guard.runner.approvals import Approvals, View
from guard.runner.drivers_async import AsyncRun

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


class AsyncApprovals:
    """The approvals of a guard's store, awaited."""

    def __init__(self, guard: GuardBase) -> None:
        self._guard, self._plain = guard, Approvals(guard)

    async def list(
        self, *, status: str | None = "pending", tenant: str | None = None, conversation: str | None = None
    ) -> tuple[Approval, ...]:
        """See `Approvals.list`."""
        return await asyncio.to_thread(self._plain.list, status=status, tenant=tenant, conversation=conversation)

    async def show(self, approval_id: str | Approval) -> Approval:
        """See `Approvals.show`."""
        return await asyncio.to_thread(self._plain.show, approval_id)

    async def view(self, approval_id: str | Approval, viewer: Session) -> View:
        """See `Approvals.view`."""
        return await asyncio.to_thread(self._plain.view, approval_id, viewer)

    async def approve(
        self,
        approval_id: str | Approval,
        *,
        approver: Session,
        reason: str | None = None,
        seen: Seen | None = None,
        via: Via = "program",
        assurance: Assurance = "host",
    ) -> Approval:
        """See `Approvals.approve`."""
        return await asyncio.to_thread(
            self._plain.approve, approval_id, approver=approver, reason=reason, seen=seen, via=via, assurance=assurance
        )

    async def reject(
        self,
        approval_id: str | Approval,
        *,
        approver: Session,
        reason: str | None = None,
        note: str | None = None,
        seen: Seen | None = None,
        via: Via = "program",
        assurance: Assurance = "host",
    ) -> Approval:
        """See `Approvals.reject`."""
        return await asyncio.to_thread(
            self._plain.reject, approval_id, approver=approver, reason=reason, note=note, seen=seen, via=via, assurance=assurance
        )

    async def edit(
        self,
        approval_id: str | Approval,
        *,
        editor: Session,
        changes: Mapping[str, Json],
        reason: str,
        seen: Seen | None = None,
        via: Via = "program",
        assurance: Assurance = "host",
    ) -> Approval:
        """See `Approvals.edit`."""
        plain, guard = self._plain, self._guard
        approval, edit = await asyncio.to_thread(plain.to_edit, approval_id, editor, changes, reason, seen, via, assurance)
        _, walk = await asyncio.to_thread(editing.flow, guard, approval, editor, edit)
        found = await AsyncRun(guard.hands).run(walk)
        return await asyncio.to_thread(plain.edited, approval, editor, edit, found)

    async def cancel(
        self, approval_id: str | Approval, *, by: Session, reason: str, via: Via = "program", assurance: Assurance = "host"
    ) -> Approval:
        """See `Approvals.cancel`."""
        return await asyncio.to_thread(self._plain.cancel, approval_id, by=by, reason=reason, via=via, assurance=assurance)

    async def revoke(
        self, approval_id: str | Approval, *, by: Session, reason: str, via: Via = "program", assurance: Assurance = "host"
    ) -> Approval:
        """See `Approvals.revoke`."""
        return await asyncio.to_thread(self._plain.revoke, approval_id, by=by, reason=reason, via=via, assurance=assurance)

    async def entitled(self, approval: Approval, approver: Session) -> bool:
        """See `Approvals.entitled`."""
        return await asyncio.to_thread(self._plain.entitled, approval, approver)
