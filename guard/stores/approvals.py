"""Approvals: asking a person once about one fingerprint, counting the vote, and letting windows end.

Whoever looks first after the window writes down that it ended. Whether somebody is entitled to vote is not judged here. Shared by every
store; may only ask the tables. Comes after `budgets` and before `claims` and `ledger`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias, cast

from guard.core.model import Approval, ApprovalStatus, ConversationRef
from guard.core.ports import AskApproval, Event
from guard.errors import ApprovalError, StoreError
from guard.stores.budgets import release
from guard.stores.stamp import time_text
from guard.stores.tables import Asked, Home, Tables, Wanted, own

LIVE = frozenset({"pending", "approved"})
Vote: TypeAlias = tuple[str, str, str | None, Event]
"""A vote: (`approved` or `rejected`, by whom, why, its event)."""


def is_due(asked: Asked, now: float) -> bool:
    """Whether the approval's window has ended, though it is still written as live."""
    return asked.approval.status in LIVE and now >= asked.approval.expires_at


def look(tables: Tables, asked: Asked) -> Asked:
    """The approval as it stands now: past its window it becomes expired, with an event, and its call gives back what it reserved."""
    ended = _judged(asked, tables.now)
    if ended is asked:
        return asked
    tables.append(_expired(ended.approval))
    tables.close_asked(ended)
    _give_back(tables, ended.approval)
    return ended


def _judged(asked: Asked, now: float) -> Asked:
    return replace(asked, approval=replace(asked.approval, status="expired")) if is_due(asked, now) else asked


def _expired(approval: Approval) -> Event:
    return {
        "kind": "approval.expired",
        "tenant": approval.tenant,
        "conversation": approval.conversation,
        "turn": approval.turn,
        "position": approval.position,
        "principal": approval.requester,
        "actor": {"type": "clock"},
        "call_id": approval.call_id,
        "approval": approval.id,
        "tool": {"name": approval.tool, "definition": approval.definition, "kind": approval.kind},
        "args": {"digest": approval.fingerprint},
    }


def _give_back(tables: Tables, approval: Approval) -> None:
    release(tables, (approval.tenant, approval.conversation), (approval.turn, approval.position))


def ask(tables: Tables, command: AskApproval) -> Approval:
    """The approval that answers this proposal, or the proposal itself, now pending. See AskApproval."""
    proposal = command.proposal
    if proposal.status != "pending":
        raise ValueError("a proposal is pending; only a vote decides it")
    ref = ConversationRef(tenant=proposal.tenant, principal=proposal.requester, conversation=proposal.conversation)
    home = own(tables, ref)
    tables.check(command.event)
    known = tables.about(home, proposal.fingerprint)
    answer = _answer([_judged(asked, tables.now) for asked in known], proposal, command.run)
    if answer is None and tables.asked(proposal.id) is not None:
        raise StoreError("an approval with this id exists already")
    for asked in known:
        look(tables, asked)
    if answer is None:
        tables.append(command.event)
        tables.open(Asked(approval=proposal, run=command.run))
        return proposal
    return answer


def _answer(known: Iterable[Asked], proposal: Approval, run: int) -> Approval | None:
    """A live approval first; then a rejection of this run or of this very call; then this very call's own expiry."""
    best: Approval | None = None
    for asked in known:
        status = asked.approval.status
        mine = _place(asked.approval) == _place(proposal)
        if status in LIVE:
            return asked.approval
        told = status == "rejected" and (mine or asked.decided_run == run)
        lapsed = status == "expired" and mine and (best is None or best.status == "expired")
        if told or lapsed:
            best = asked.approval
    return best


def _place(approval: Approval) -> tuple[str, int, int]:
    return approval.branch, approval.turn, approval.position


def vote(tables: Tables, approval_id: str, given: Vote) -> Approval | ApprovalError:
    """Decide a pending approval, or say why it cannot be decided. Returned, not raised: an expiry found here must be kept."""
    status, by, reason, event = given
    if status not in {"approved", "rejected"}:
        raise ValueError("a vote is `approved` or `rejected`")
    asked = tables.asked(approval_id)
    if asked is None:
        return ApprovalError("not_found", "there is no such approval")
    asked = look(tables, asked)
    if asked.approval.status != "pending":
        return _too_late(asked.approval)
    return _decide(tables, asked, cast("ApprovalStatus", status), (by, reason, event))


def _decide(tables: Tables, asked: Asked, status: ApprovalStatus, given: tuple[str, str | None, Event]) -> Approval:
    by, reason, event = given
    home: Home = (asked.approval.tenant, asked.approval.conversation)
    tables.append(event)
    decided = replace(asked.approval, status=status, decided_by=by, decided_at=tables.now, reason=reason)
    tables.close_asked(replace(asked, approval=decided, decided_run=tables.talk(home).run))
    tables.vote(decided.id, status, by, reason)
    if status == "rejected":
        _give_back(tables, decided)
    return decided


def _too_late(approval: Approval) -> ApprovalError:
    if approval.status == "expired":
        return ApprovalError("expired", f"nobody decided in time: the approval expired at {time_text(approval.expires_at)}")
    if approval.decided_by is None or approval.decided_at is None:
        return ApprovalError("already_decided", f"the approval is {approval.status} already")
    verb = "rejected" if approval.status == "rejected" else "approved"
    when = time_text(approval.decided_at)
    return ApprovalError("already_decided", f"already {verb} by {approval.decided_by} at {when}")


def due(wanted: Wanted, now: float) -> Wanted:
    """Of the approvals wanted, those whose window ended without anybody having written it down."""
    return replace(wanted, status=None, due=now)


def listed(tables: Tables, wanted: Wanted) -> tuple[Approval, ...]:
    """Approvals, oldest first, in a transaction that may write."""
    for asked in tables.listed(due(wanted, tables.now)):
        look(tables, asked)
    return tuple(asked.approval for asked in tables.listed(wanted))
