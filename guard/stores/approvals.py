"""Approvals: asking a person once about one fingerprint, counting the vote, and letting windows end.

Whoever looks first after the window writes down that it ended. Whether somebody is entitled to vote is not judged here. Shared by every
store; may only ask the tables. Comes after `budgets` and before `claims` and `ledger`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

from guard.core.model import Approval, ApprovalStatus, ConversationRef
from guard.core.ports import AskApproval, Charge, Event
from guard.core.values import canonical
from guard.errors import ApprovalError, StoreError
from guard.stores.budgets import release
from guard.stores.owners import home_of, own, visible
from guard.stores.stamp import time_text
from guard.stores.tables import ZERO, Asked, Home, Tables, Wanted

LIVE = frozenset({"pending", "approved"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A vote: `approved` or `rejected`, by whom, in which of their roles, why, and its event."""

    status: str
    by: str
    roles: tuple[str, ...]
    reason: str | None
    event: Event


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


def ask(tables: Tables, command: AskApproval) -> Approval | None:
    """The approval that answers this proposal, or the proposal itself, now pending; None where too many wait. See AskApproval."""
    proposal = command.proposal
    if proposal.status != "pending":
        raise ValueError("a proposal is pending; only a vote decides it")
    ref = ConversationRef(tenant=proposal.tenant, principal=proposal.requester, conversation=proposal.conversation)
    home = own(tables, ref)
    known = tables.about(home, proposal.fingerprint)
    answer = _answer([_judged(asked, tables.now) for asked in known], proposal, command.run)
    if answer is None and tables.asked(proposal.id) is not None:
        raise StoreError("an approval with this id exists already")
    for asked in known:
        look(tables, asked)
    if answer is None:
        if command.most is not None and _waiting(tables, proposal) >= command.most:
            return None
        tables.append(command.event() if callable(command.event) else command.event)
        tables.open(Asked(approval=proposal, run=command.run))
        return proposal
    return answer


def _waiting(tables: Tables, proposal: Approval) -> int:
    """How many questions of this person are open. Whoever asks for the same person at the same time waits for this transaction."""
    one = Charge(scope=f"questions of {canonical([proposal.tenant, proposal.requester])}", name="open", amount=ZERO, limit=ZERO)
    tables.expect({tables.budget(one)})
    tables.meter(tables.budget(one))
    return tables.waiting(proposal.tenant, proposal.requester)


def answered(tables: Tables, command: AskApproval) -> Approval | None:
    """The approval that answers this proposal; None where one has to be opened, or the end of one written down."""
    proposal = command.proposal
    ref = ConversationRef(tenant=proposal.tenant, principal=proposal.requester, conversation=proposal.conversation)
    known = tables.about(home_of(ref), proposal.fingerprint) if visible(tables, ref) else ()
    return None if any(is_due(asked, tables.now) for asked in known) else _answer(known, proposal, command.run)


def _answer(known: Iterable[Asked], proposal: Approval, run: int) -> Approval | None:
    """A live approval first; then a rejection of this run or of this very call; then this very call's own, ended otherwise."""
    best: Approval | None = None
    for asked in known:
        status = asked.approval.status
        mine = _place(asked.approval) == _place(proposal)
        if status in LIVE:
            return asked.approval
        told = status == "rejected" and (mine or asked.decided_run == run)
        lapsed = status in {"expired", "consumed", "cancelled"} and mine and (best is None or best.status == "expired")
        if told or lapsed:
            best = asked.approval
    return best


def _place(approval: Approval) -> tuple[str, int, int]:
    return approval.branch, approval.turn, approval.position


def vote(tables: Tables, approval_id: str, given: Vote) -> Approval | ApprovalError:
    """Decide a pending approval, or say why it cannot be decided. Returned, not raised: an expiry found here must be kept."""
    if given.status not in {"approved", "rejected"}:
        raise ValueError("a vote is `approved` or `rejected`")
    asked = tables.asked(approval_id)
    if asked is None:
        return ApprovalError("not_found", "there is no such approval")
    asked = look(tables, asked)
    if asked.approval.status != "pending":
        return _too_late(asked.approval)
    return _decide(tables, asked, given)


def _decide(tables: Tables, asked: Asked, given: Vote) -> Approval:
    home: Home = (asked.approval.tenant, asked.approval.conversation)
    tables.append(given.event)
    decided = replace(
        asked.approval,
        status=cast("ApprovalStatus", given.status),
        decided_by=given.by,
        decided_roles=given.roles,
        decided_at=tables.now,
        reason=given.reason,
    )
    tables.close_asked(replace(asked, approval=decided, decided_run=tables.talk(home).run))
    tables.vote(decided)
    if decided.status == "rejected":
        _give_back(tables, decided)
    return decided


def cancel(tables: Tables, approval_id: str, event: Event) -> bool:
    """End an approval that was not spent yet, whatever was voted; its call will be refused. False where there is nothing to end."""
    asked = tables.asked(approval_id)
    if asked is None or look(tables, asked).approval.status not in LIVE:
        return False
    tables.append(event)
    ended = replace(asked, approval=replace(asked.approval, status="cancelled"))
    tables.close_asked(ended)
    _give_back(tables, ended.approval)
    return True


def _too_late(approval: Approval) -> ApprovalError:
    if approval.status == "expired":
        return ApprovalError("expired", f"nobody decided in time: the approval expired at {time_text(approval.expires_at)}")
    if approval.decided_by is None or approval.decided_at is None:
        return ApprovalError("already_decided", f"the approval is {approval.status} already")
    verb = "rejected" if approval.status == "rejected" else "approved"
    when = time_text(approval.decided_at)
    return ApprovalError("already_decided", f"already {verb} by {approval.decided_by} at {when}")


def seen(tables: Tables, approval_id: str) -> tuple[Approval | None, bool]:
    """The approval as it is written, and whether its end has yet to be written down."""
    asked = tables.asked(approval_id)
    return (None, False) if asked is None else (asked.approval, is_due(asked, tables.now))


def looked(tables: Tables, approval_id: str) -> Approval | None:
    """The approval as it stands, in a transaction that may write."""
    asked = tables.asked(approval_id)
    return None if asked is None else look(tables, asked).approval


def listable(tables: Tables, wanted: Wanted) -> tuple[Approval, ...] | None:
    """Approvals, oldest first; None where the end of one has yet to be written down."""
    return None if tables.listed(_due(wanted, tables.now)) else tuple(asked.approval for asked in tables.listed(wanted))


def listed(tables: Tables, wanted: Wanted) -> tuple[Approval, ...]:
    """Approvals, oldest first, in a transaction that may write."""
    for asked in tables.listed(_due(wanted, tables.now)):
        look(tables, asked)
    return tuple(asked.approval for asked in tables.listed(wanted))


def _due(wanted: Wanted, now: float) -> Wanted:
    return replace(wanted, status=None, due=now)
