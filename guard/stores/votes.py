"""Votes: counting people's yes and no, and ending an approval otherwise. Votes are only ever added.

Every vote is compared with what stands in the transaction that writes it: revision, fingerprint, who voted already. Whether somebody is
entitled is not judged here: the caller says of each stored vote whether it counts still. Shared by every store; may only ask the tables.
Comes after `approvals` and before `ledger`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from guard.core.approval import BALLOT, Approval, Ballot, Ending, Vote
from guard.core.commands import Told
from guard.core.names import alike, distinct
from guard.core.ports import CallRow, Charge, Event, TakeQuota
from guard.core.replacing import replace
from guard.errors import ApprovalError, StoreError
from guard.stores.approvals import LIVE, give_back, look
from guard.stores.budgets import take
from guard.stores.grant_ends import withdrawn
from guard.stores.stamp import time_text
from guard.stores.tables import Asked, Home, Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A vote: `approved` or `rejected`, by whom, in which roles the host vouched for, why, its record, and what it carries."""

    status: str
    by: str
    roles: tuple[str, ...]
    reason: str | None
    event: Told
    ballot: Ballot = BALLOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised:
    """The next revision of a question: what is asked now, the row that waits for it, what the call draws, the record, and what the editor saw."""

    question: Approval
    row: CallRow
    charges: tuple[Charge, ...]
    event: Event
    ballot: Ballot = BALLOT


def vote(tables: Tables, approval_id: str, given: Given) -> Approval | ApprovalError:
    """Count a vote about a pending approval, or say why it cannot be. Returned, not raised: an expiry found here must be kept."""
    if given.status not in {"approved", "rejected"}:
        raise ValueError("a vote is `approved` or `rejected`")
    asked = tables.asked(approval_id)
    if asked is None:
        return ApprovalError("not_found", "there is no such approval")
    asked = look(tables, asked)
    return _why_not(asked.approval, given) or _count(tables, asked, given)


def _why_not(approval: Approval, given: Given) -> ApprovalError | None:
    """Why a vote comes too late, is about something else, or was given before."""
    if approval.status == "superseded" or (approval.status == "pending" and given.ballot.stale(approval)):
        return stale(approval)
    if approval.status != "pending":
        return too_late(approval)
    if any(alike(one.by, given.by) and given.ballot.counts(approval, one) for one in approval.votes):
        return ApprovalError("voted", f"{given.by} has voted about this approval already")
    return None


def _count(tables: Tables, asked: Asked, given: Given) -> Approval:
    """Write the vote, and what it decides with those that still count: each person once."""
    home: Home = (asked.approval.tenant, asked.approval.conversation)
    one = _vote(asked.approval, given, tables.now)
    voted = replace(asked.approval, votes=(*asked.approval.votes, one))
    counts = given.ballot.counts
    yes = distinct(earlier.by for earlier in voted.yes if earlier is one or counts(voted, earlier))
    decided = voted if given.status == "approved" and yes < voted.need else _decided(voted, given, tables.now)
    tables.append(given.event(decided) if callable(given.event) else given.event)
    run = asked.decided_run if decided is voted else tables.talk(home).run
    tables.close_asked(replace(asked, approval=decided, decided_run=run))
    tables.vote(decided, one)
    if decided.status == "rejected":
        withdrawn(tables, decided)
        give_back(tables, decided)
    return decided


def _vote(approval: Approval, given: Given, now: float) -> Vote:
    ballot = given.ballot
    return Vote(
        number=len(approval.votes) + 1,
        decision=cast("Literal['approved', 'rejected']", given.status),
        by=given.by,
        roles=given.roles,
        at=now,
        revision=approval.revision,
        fingerprint=approval.fingerprint,
        presented=ballot.presented,
        assurance=ballot.assurance,
        via=ballot.via,
        reason=given.reason,
        note=ballot.note,
    )


def _decided(approval: Approval, given: Given, now: float) -> Approval:
    yes = given.status == "approved"
    use_by = approval.expires_at if approval.use_within is None else now + approval.use_within
    return replace(
        approval,
        status="approved" if yes else "rejected",
        decided_by=given.by,
        decided_roles=given.roles,
        decided_at=now,
        reason=given.reason,
        use_by=use_by if yes else None,
    )


def end(tables: Tables, approval_id: str, status: Ending, by: str | None, event: Told) -> Approval | ApprovalError:
    """Cancel an approval that was not spent yet, or revoke one that was approved; its call will be refused."""
    asked = tables.asked(approval_id)
    if asked is None:
        return ApprovalError("not_found", "there is no such approval")
    approval = look(tables, asked).approval
    if approval.status not in (LIVE if status == "cancelled" else {"approved"}):
        return too_late(approval) if approval.status != "pending" else ApprovalError("pending", "nobody has approved it yet")
    ended = replace(asked, approval=replace(approval, status=status, ended_by=by, ended_at=tables.now))
    tables.append(event(ended.approval) if callable(event) else event)
    tables.close_asked(ended)
    give_back(tables, ended.approval)
    return ended.approval


class ExceededError(Exception):
    """The changed call does not fit a budget: nothing of the edit is written. Never leaves the stores."""

    def __init__(self, charge: Charge) -> None:
        super().__init__()
        self.charge = charge


def revise(tables: Tables, approval_id: str, given: Revised) -> Approval | ApprovalError:
    """Put the question about a changed call in the place of a pending one, with the rows that wait for it and what the call draws.

    Raises ExceededError, and then nothing is written.
    """
    asked = tables.asked(approval_id)
    if asked is None:
        return ApprovalError("not_found", "there is no such approval")
    old = look(tables, asked).approval
    if old.status == "superseded" or (old.status == "pending" and given.ballot.stale(old)):
        return stale(old)
    if old.status != "pending":
        return too_late(old)
    if tables.asked(given.question.id) is not None:
        raise StoreError("an approval with this id exists already")
    give_back(tables, old)
    taken = take(tables, TakeQuota(calls=((given.row.key, given.charges),))) if given.charges else ()
    if taken and isinstance(taken[0], Charge):
        raise ExceededError(taken[0])
    tables.append(given.event)
    ended = replace(old, status="superseded", superseded_by=given.question.id, ended_by=given.question.edited_by)
    ended = replace(ended, words=replace(ended.words, text=given.question.words.text))  # a secret of the new one may stand in it
    tables.close_asked(replace(asked, approval=replace(ended, ended_at=tables.now)))
    withdrawn(tables, ended)
    tables.open(Asked(approval=given.question, run=asked.run))
    for row in tables.unsettled((old.tenant, old.conversation)):
        if row.status == "held" and row.approval == old.id:
            tables.put(_waiting(row, given.row))
    return given.question


def _waiting(row: CallRow, edited: CallRow) -> CallRow:
    """A row that waited for the old question, as one that waits for the new one."""
    outcome = None if row.outcome is None else replace(row.outcome, approval=edited.approval, arguments=edited.arguments)
    names = ("fingerprint", "mark", "arguments", "approval", "edits")
    return replace(row, outcome=outcome, **{name: getattr(edited, name) for name in names})


def stale(approval: Approval) -> ApprovalError:
    """That a vote is about something that is no longer asked."""
    newer = f"; the one in force is {approval.superseded_by}" if approval.superseded_by else ""
    return ApprovalError("stale", f"this is not what is asked any more: look at revision {approval.revision} again{newer}")


def too_late(approval: Approval) -> ApprovalError:
    """That an approval was decided, or ended, before."""
    if approval.status == "expired":
        return ApprovalError("expired", _expired(approval))
    if approval.decided_by is None or approval.decided_at is None:
        return ApprovalError("already_decided", f"the approval is {approval.status} already")
    if approval.status == "revoked" and approval.ended_at is not None:
        return ApprovalError("already_decided", f"already revoked by {approval.ended_by} at {time_text(approval.ended_at)}")
    verb = "rejected" if approval.status == "rejected" else "approved"
    return ApprovalError("already_decided", f"already {verb} by {approval.decided_by} at {time_text(approval.decided_at)}")


def _expired(approval: Approval) -> str:
    if approval.use_by is not None:
        return f"it was approved and not used in time: the approval expired at {time_text(approval.use_by)}"
    return f"nobody decided in time: the approval expired at {time_text(approval.expires_at)}"
