"""Grants: given once, counted and summed where a call is taken, revoked for good.

What is drawn on a grant stands with the budgets, so that calls give it back by the same rule as every sum: one that turns out not to have run gives back
everything, an action that failed gives back what it summed, a look-up gives back nothing. Shared by every store; may only ask the tables. Comes after
`approvals` and `budgets`, before `claims` and `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from guard.core.covering import covers, drawn, fits, reaches, room
from guard.core.granting import Asking, FindGrants, LiveGrants, UseGrant
from guard.core.grants import Grant, Use
from guard.core.model import Approval, ConversationRef
from guard.core.names import alike
from guard.core.ports import CallRow, Charge, Conflict, Event
from guard.core.replacing import replace
from guard.core.values import JsonObject
from guard.errors import ApprovalError
from guard.stores.approvals import LIVE, look
from guard.stores.budget_tables import SUM
from guard.stores.budgets import draw
from guard.stores.owners import home_of, own, visible
from guard.stores.stamp import time_text
from guard.stores.tables import Home, Place, Tables

_NARROWEST = {"same_call": 0, "amount": 1, "tool_here": 2}
_ENDLESS = Decimal("Infinity")
_ENDS = frozenset({"expired", "cancelled", "revoked", "rejected"})
_USES, _SUMMED = "uses", "summed"


def counted(tables: Tables, grant: Grant) -> Grant:
    """The grant with what is drawn on it."""
    uses, *sums = (tables.meter(tables.budget(_charge(grant, name, Decimal(0))))[0] for name in (_USES, _SUMMED, SUM + _SUMMED))
    return replace(grant, used=int(uses), summed=sum(sums, Decimal(0)))


def _charge(grant: Grant, name: str, amount: Decimal) -> Charge:
    return Charge(scope=f"grant {grant.id}", name=name, amount=amount, limit=_ENDLESS)


def _charges(grant: Grant, asked: Decimal) -> tuple[Charge, ...]:
    """What one call draws: one use and, of an amount, so much; whether it fits is judged by the grant."""
    named = SUM + _SUMMED if grant.kind == "action" else _SUMMED
    summed = (_charge(grant, named, asked),) if grant.scope == "amount" else ()
    return (_charge(grant, _USES, Decimal(1)), *summed)


# -- finding -----------------------------------------------------------------------------------------------------------------


def find(tables: Tables, command: FindGrants) -> tuple[LiveGrants, ...]:
    """What may cover these calls, the narrowest first. See FindGrants."""
    return tuple(_standing(tables, one) for one in command.calls)


def _standing(tables: Tables, asking: Asking) -> LiveGrants:
    ref = asking.key.ref
    grants = tables.granted_to(ref.tenant, ref.principal, asking.tool)
    home, place = home_of(ref), (asking.key.turn, asking.key.position)
    known = visible(tables, ref)
    taken = tables.under(home, place) if known else None
    if taken is not None and all(grant.id != taken for grant in grants):
        one = tables.granted(taken)
        grants = (*grants, one) if one is not None and one.revoked_at is None else grants
    if known and grants and refused(tables, home, asking.fingerprint):
        return LiveGrants(taken=taken)
    found = sorted((counted(tables, grant) for grant in grants), key=_order)
    return LiveGrants(grants=tuple(found), taken=taken)


def _order(grant: Grant) -> tuple[int, float, float]:
    return _NARROWEST[grant.scope], float("inf") if grant.until is None else grant.until, grant.at


def refused(tables: Tables, home: Home, fingerprint: str) -> bool:
    """Whether a person said no to this very call in this conversation."""
    return any(asked.approval.status == "rejected" for asked in tables.about(home, fingerprint))


def answers(tables: Tables, row: CallRow, before: float) -> bool:
    """Whether a grant that was given at this time or before covers a held call whose question is open. Whether today's policy offers it is not known here."""
    asked = next((one for one in tables.about(home_of(row.key.ref), row.fingerprint) if one.approval.id == row.approval), None)
    approval = None if asked is None else asked.approval
    if approval is None or approval.status != "pending" or tables.now >= approval.ends_at:
        return False
    found = _standing(tables, Asking(key=row.key, tool=approval.tool, fingerprint=row.fingerprint)).grants
    call = ((approval.tool, approval.definition), approval.arguments, approval.fingerprint, tables.now)
    return any(one.givers[-1].at <= before and covers(one, row.key.ref, *call) for one in found)


# -- using -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawing:
    """A use that was checked and is yet to be written. `fresh`: the call has drawn nothing on this grant so far."""

    grant: Grant
    use: Use
    asked: Decimal
    fresh: bool


def checked(
    tables: Tables, use: Use, ref: ConversationRef, place: Place, tool: str, arguments: JsonObject, fingerprint: str
) -> Drawing | Conflict:
    """What the call draws on the grant now, or why it cannot. From here on nobody else changes the grant. Writes nothing."""
    grant = tables.granted(use.grant)
    if grant is None or grant.terms != use.terms:
        return _short("there is no such grant")
    if not reaches(grant, ref, tool, use.definition) or not fits(grant, arguments, fingerprint):
        return _short("the grant is for other calls")
    if refused(tables, home_of(ref), fingerprint):
        return Conflict(why="a person said no to this call", approval=True)
    grant, fresh = counted(tables, grant), tables.under(home_of(ref), place) != grant.id
    if fresh and _ended(tables, home_of(ref), place, fingerprint):
        return Conflict(why="the question about this call has ended", approval=True)
    status = grant.status(tables.now)
    if status == "revoked" or (fresh and status != "live"):
        return _short(f"the grant is {status}")
    asked = drawn(grant, arguments)
    if fresh and not room(grant, asked):
        return _short("the grant has not so much left")
    return Drawing(grant, use, asked, fresh)


def _short(why: str) -> Conflict:
    return Conflict(why=why, approval=True, waits=True)


def _ended(tables: Tables, home: Home, place: Place, fingerprint: str) -> bool:
    """Whether a question about the call at this place ended, or is over, other than by a grant that answered it."""
    own = [one.approval for one in tables.about(home, fingerprint) if (one.approval.turn, one.approval.position) == place]
    over = [one for one in own if one.status == "pending" and tables.now >= one.ends_at]
    ended = [one for one in own if one.status in _ENDS and not (one.ended_by or "").startswith("gr_")]
    return bool(over or ended)


def write(tables: Tables, drawing: Drawing, home: Home, place: Place, fingerprint: str) -> None:
    """Draw it, with its record, and end the questions that it answers."""
    if not drawing.fresh:
        return
    grant, asked = drawing.grant, drawing.asked
    draw(tables, home, place, _charges(grant, asked))
    tables.put_under(home, place, grant.id, asked)
    tables.append(drawing.use.event(counted(tables, grant)))
    for question in tables.about(home, fingerprint):
        asked_here = (question.approval.turn, question.approval.position) == place
        ends = LIVE if asked_here else frozenset({"pending"})  # a yes of that very moment is not spent on a second call
        if question.approval.status in ends:
            tables.append(_answered(question.approval, grant))
            ended = replace(question.approval, status="cancelled", ended_by=grant.id, ended_at=tables.now)
            tables.close_asked(replace(question, approval=ended))


def _answered(approval: Approval, grant: Grant) -> Event:
    return {
        "kind": "approval.cancelled",
        "tenant": approval.tenant,
        "conversation": approval.conversation,
        "principal": approval.requester,
        "turn": approval.turn,
        "position": approval.position,
        "actor": {"type": "policy"},
        "tool": {"name": approval.tool, "definition": approval.definition, "kind": approval.kind},
        "approval": approval.id,
        "fingerprint": approval.fingerprint,
        "grant": {"id": grant.id},
        "approval_state": {"status": "cancelled", "revision": approval.revision, **approval.counts},
    }


def use(tables: Tables, command: UseGrant) -> Conflict | None:
    """Let a look-up use a grant. See UseGrant."""
    home, place = own(tables, command.key.ref), (command.key.turn, command.key.position)
    found = checked(tables, command.use, command.key.ref, place, command.tool, command.arguments, command.fingerprint)
    if isinstance(found, Conflict):
        return found
    write(tables, found, home, place, command.fingerprint)
    return None


# -- giving and taking back --------------------------------------------------------------------------------------------------


def give(tables: Tables, grant: Grant, event: Callable[[Grant], Event]) -> Grant | ApprovalError:
    """Keep a grant, or add its giver to the one that is proposed. Returned, not raised: an expiry found here must be kept. See GrantStore."""
    asked = tables.asked(grant.approval)
    if asked is None:
        return ApprovalError("not_found", "there is no such approval")
    approval = look(tables, asked).approval
    [giver] = grant.givers
    if approval.status not in ("approved", "consumed") and not _voted(approval, giver.by):
        return ApprovalError("not_approved", f"the approval is {approval.status}: a grant is given with a yes")
    known = tables.granted(grant.id)
    if known is not None and known.revoked_at is not None:
        return ApprovalError("already_given", f"the grant was revoked by {known.revoked_by} at {time_text(known.revoked_at)}")
    if known is not None and known.terms == replace(grant, at=known.at, salt=known.salt).terms:
        if any(alike(one.by, giver.by) for one in known.givers):
            return counted(tables, known)
        if len(known.givers) < known.need:
            return _kept(tables, replace(known, givers=(*known.givers, giver)), event)
    if known is not None:
        return ApprovalError(
            "already_given", f"another grant was given from this approval by {known.by} at {time_text(known.at)}"
        )
    return _kept(tables, grant, event)


def _voted(approval: Approval, person: str) -> bool:
    return approval.status == "pending" and any(alike(vote.by, person) for vote in approval.yes)


def _kept(tables: Tables, grant: Grant, event: Callable[[Grant], Event]) -> Grant:
    tables.append(event(grant))
    tables.keep_grant(grant)
    return counted(tables, grant)


def revoke(tables: Tables, grant_id: str, by: str, reason: str | None, event: Callable[[Grant], Event]) -> Grant | ApprovalError:
    """End a grant for good."""
    grant = tables.granted(grant_id)
    if grant is None:
        return ApprovalError("not_found", "there is no such grant")
    if grant.revoked_at is not None:
        return ApprovalError("already_decided", f"already revoked by {grant.revoked_by} at {time_text(grant.revoked_at)}")
    ended = replace(counted(tables, grant), revoked_by=by, revoked_at=tables.now, revoked_why=reason)
    tables.append(event(ended))
    tables.keep_grant(ended)
    return ended


def shown(tables: Tables, grant_id: str) -> Grant | None:
    """One grant, with what was drawn on it."""
    found = tables.granted(grant_id)
    return None if found is None else counted(tables, found)


def listed(tables: Tables, *, tenant: str | None, principal: str | None, approval: str | None) -> tuple[Grant, ...]:
    """Grants, oldest first, with what was drawn on them."""
    return tuple(counted(tables, one) for one in tables.grants(tenant=tenant, principal=principal, approval=approval))
