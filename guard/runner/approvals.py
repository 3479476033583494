"""Approvals: a person's yes or no to one exact call. It executes nothing.

Who the approver is comes from the host as a `Session`; whether the vote counts is judged here against the policy in force and written by
the store in one transaction. A stranger learns nothing, not even whether the approval exists.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

from guard.core import audit
from guard.core.approve import may_decide
from guard.core.model import Approval, CallKey, ConversationRef, Session
from guard.core.ports import Authorizer
from guard.errors import ApprovalError
from guard.runner.behind import hiding

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


class Approvals:
    """The approvals of a guard's store."""

    def __init__(self, guard: GuardBase) -> None:
        self._guard = guard

    def list(
        self, *, status: str | None = "pending", tenant: str | None = None, conversation: str | None = None
    ) -> tuple[Approval, ...]:
        """Approvals, oldest first; pending ones unless `status` says otherwise (None: all)."""
        return self._guard.store.approvals(status=status, tenant=tenant, conversation=conversation)

    def show(self, approval_id: str | Approval) -> Approval:
        """One approval, by its id (or itself, looked up anew), with its final arguments in full. Raises ApprovalError (`not_found`)."""
        approval_id = approval_id.id if isinstance(approval_id, Approval) else str(approval_id)
        found = self._guard.store.approval(approval_id)
        return found if found is not None else _not_found(approval_id)

    def approve(self, approval_id: str | Approval, *, approver: Session, reason: str | None = None) -> Approval:
        """Say yes to this exact call. Runs nothing. Raises ApprovalError when the vote does not count."""
        return self._vote(approval_id, "approved", approver, reason)

    def reject(self, approval_id: str | Approval, *, approver: Session, reason: str | None = None) -> Approval:
        """Say no; the model may read `reason`. Raises ApprovalError when the vote does not count."""
        return self._vote(approval_id, "rejected", approver, reason)

    def _vote(self, approval_id: str | Approval, decision: str, approver: Session, reason: str | None) -> Approval:
        if not isinstance(approver, Session):
            raise ApprovalError("not_entitled", "an approver is a Session that the host authenticated")
        approval = self.show(approval_id)
        authorizer = self._guard.policy.authorizer  # read once: a vote is judged by one version
        counts = _entitled(approval, approver, authorizer)
        hides = hiding(self._guard, _key(approval), approval.arguments) if reason else self._guard.redactor
        event = audit.voted(approval, approver, decision, reason, hides, counts=counts)
        if not counts:
            self._guard.store.record((), (event,))
            if approver.principal == approval.requester and approver.tenant == approval.tenant:
                raise ApprovalError("not_entitled", "the requester may not decide about this call; another person must")
            _not_found(approval.id)
        store = self._guard.store
        roles = tuple(sorted(authorizer.roles(approver)))
        try:
            return store.vote(approval.id, status=decision, by=approver.principal, reason=reason, event=event, roles=roles)
        except ApprovalError:  # decided or expired before: a vote that came too late is on record, too
            store.record((), (audit.voted(approval, approver, decision, reason, hides, counts=False),))
            raise

    def entitled(self, approval: Approval, approver: Session) -> bool:
        """Whether the policy in force lets this person decide about the approval. Says nothing about its status."""
        return _entitled(approval, approver, self._guard.policy.authorizer)


def _entitled(approval: Approval, approver: Session, authorizer: Authorizer) -> bool:
    try:
        roles = authorizer.roles(approver)
        verdict = authorizer.decide(approver, approval.tool, "approve")
    except Exception:  # noqa: BLE001 - a policy that cannot be evaluated entitles nobody
        return False
    if not may_decide(approval, approver.principal, approver.tenant, roles):
        return False
    own = approver.principal == approval.requester
    return not verdict.denied and (own or verdict.allowed)


def _key(approval: Approval) -> CallKey:
    names = {"tenant": approval.tenant, "principal": approval.requester, "conversation": approval.conversation}
    return CallKey(ConversationRef(**names, branch=approval.branch), approval.turn, approval.position)


def _not_found(approval_id: str) -> NoReturn:
    raise ApprovalError("not_found", f"there is no approval {approval_id} that this person may decide about")


class AsyncApprovals:
    """The same, awaited: the store is asked in a thread."""

    def __init__(self, guard: GuardBase) -> None:
        self._plain = Approvals(guard)

    async def list(
        self, *, status: str | None = "pending", tenant: str | None = None, conversation: str | None = None
    ) -> tuple[Approval, ...]:
        """See `Approvals.list`."""
        return await asyncio.to_thread(self._plain.list, status=status, tenant=tenant, conversation=conversation)

    async def show(self, approval_id: str | Approval) -> Approval:
        """See `Approvals.show`."""
        return await asyncio.to_thread(self._plain.show, approval_id)

    async def approve(self, approval_id: str | Approval, *, approver: Session, reason: str | None = None) -> Approval:
        """See `Approvals.approve`."""
        return await asyncio.to_thread(self._plain.approve, approval_id, approver=approver, reason=reason)

    async def reject(self, approval_id: str | Approval, *, approver: Session, reason: str | None = None) -> Approval:
        """See `Approvals.reject`."""
        return await asyncio.to_thread(self._plain.reject, approval_id, approver=approver, reason=reason)
