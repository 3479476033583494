"""Approvals: asking people once about one fingerprint, letting windows end, and letting others decide after a while.

Whoever looks first after the window writes down that it ended. Votes are counted in `votes`. Shared by every store; may only ask the tables.
Comes after `budgets` and before `votes`, `claims` and `ledger`.
"""

from __future__ import annotations

from collections.abc import Iterable

from guard.core.model import Approval, ConversationRef
from guard.core.ports import AskApproval, Charge, Event
from guard.core.replacing import replace
from guard.core.values import Json, canonical
from guard.errors import StoreError
from guard.stores.budget_tables import ZERO
from guard.stores.budgets import release
from guard.stores.owners import home_of, own, visible
from guard.stores.tables import Asked, Tables, Wanted

LIVE = frozenset({"pending", "approved"})
ENDED = frozenset({"rejected", "expired", "cancelled", "revoked", "superseded"})
"""A question that ended without its call being taken."""


def is_due(asked: Asked, now: float) -> bool:
    """Whether something about the approval has yet to be written down: its window has ended, or others may decide by now."""
    return _is_over(asked.approval, now) or _escalates(asked.approval, now)


def _is_over(approval: Approval, now: float) -> bool:
    return approval.status in LIVE and now >= approval.ends_at


def _escalates(approval: Approval, now: float) -> bool:
    waits = approval.status == "pending" and approval.escalated_at is None
    return waits and approval.escalate_at is not None and now >= approval.escalate_at


def look(tables: Tables, asked: Asked) -> Asked:
    """The approval as it stands now: past its window it becomes expired, with an event, and its call gives back what it reserved."""
    now = _judged(asked, tables.now)
    if now is asked:
        return asked
    if now.approval.status == "expired":
        tables.append(told("approval.expired", now.approval, was=asked.approval.status))
        tables.close_asked(now)
        give_back(tables, now.approval)
    else:
        tables.append(told("approval.escalated", now.approval, by=list(now.approval.by)))
        tables.close_asked(now)
    return now


def _judged(asked: Asked, now: float) -> Asked:
    approval = asked.approval
    if _is_over(approval, now):
        return replace(asked, approval=replace(approval, status="expired"))
    if _escalates(approval, now):
        by = tuple(dict.fromkeys((*approval.by, *approval.escalate_to)))
        return replace(asked, approval=replace(approval, by=by, escalated_at=now))
    return asked


def withdraw(tables: Tables, asked: Asked, by: str) -> None:
    """The user went on talking, and the policy says that a question does not outlast that. What was approved stays approved."""
    now = look(tables, asked)
    if now.approval.status != "pending":
        return
    ended = replace(now.approval, status="cancelled", ended_by=by, ended_at=tables.now)
    tables.append(
        {
            **_named("approval.cancelled", ended, why="the user went on talking"),
            "actor": {"type": "human", "ref": by, "assurance": "host"},
        }
    )
    tables.close_asked(replace(now, approval=ended))
    give_back(tables, ended)


def told(kind: str, approval: Approval, actor: str = "clock", **state: Json) -> Event:
    """The record of what became of an approval by itself. It holds no argument, and no call id: a model chose that, and nobody here hides anything."""
    return _named(kind, approval, actor, **state)


def _named(kind: str, approval: Approval, actor: str = "clock", **state: Json) -> dict[str, Json]:
    return {
        "kind": kind,
        "tenant": approval.tenant,
        "conversation": approval.conversation,
        "turn": approval.turn,
        "position": approval.position,
        "principal": approval.requester,
        "actor": {"type": actor},
        "approval": approval.id,
        "tool": {"name": approval.tool, "definition": approval.definition, "kind": approval.kind},
        "args": {"digest": approval.fingerprint},
        "approval_state": {"status": approval.status, "revision": approval.revision, **approval.counts, **state},
    }


def give_back(tables: Tables, approval: Approval) -> None:
    """The call of an ended approval holds no budget any more."""
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
        if command.most is not None and _waiting(tables, command) >= command.most:
            return None
        tables.append(command.event() if callable(command.event) else command.event)
        old = _superseded(tables, command.instead, proposal) if command.instead else None
        same = old is not None and not proposal.words.digest  # the call goes on with what the model wrote beside it then
        kept = replace(proposal, words=old.words) if old is not None and same else proposal
        tables.open(Asked(approval=kept, run=command.run))
        return proposal
    return answer


def _superseded(tables: Tables, name: str, by: Approval) -> Approval | None:
    """The call is another one now than when it was asked about: what was said about that counts for nothing any more."""
    asked = tables.asked(name)
    home = (by.tenant, by.conversation)
    if asked is None or (asked.approval.tenant, asked.approval.conversation) != home or asked.approval.status not in LIVE:
        return None
    old = replace(asked.approval, status="superseded", superseded_by=by.id, ended_at=tables.now)
    tables.append(told("approval.superseded", old, "policy", by=by.id))
    tables.close_asked(replace(asked, approval=old))
    return old


def _waiting(tables: Tables, command: AskApproval) -> int:
    """How many questions of this person are open. Whoever asks for the same person at the same time waits for this transaction."""
    tenant, names = command.proposal.tenant, (command.proposal.requester, *command.also)
    if not tables.one_writer:
        _queue_up(tables, tenant, names)
    return sum(tables.waiting(tenant, name) for name in names)


def _queue_up(tables: Tables, tenant: str, names: Iterable[str]) -> None:
    """Wait for whoever asks for the same person at the same time."""
    scopes = [f"questions of {canonical([tenant, name])}" for name in names]
    locks = [tables.budget(Charge(scope=scope, name="open", amount=ZERO, limit=ZERO)) for scope in scopes]
    tables.expect(locks)
    for lock in locks:
        tables.meter(lock)


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
        lapsed = (
            status in {"expired", "consumed", "cancelled", "revoked", "superseded"}
            and mine
            and (best is None or best.status == "expired")
        )
        if told or lapsed:
            best = asked.approval
    return best


def _place(approval: Approval) -> tuple[str, int, int]:
    return approval.branch, approval.turn, approval.position


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


def due(tables: Tables, most: int) -> tuple[str, ...]:
    """At most so many of which something has yet to be written down."""
    return tuple(asked.approval.id for asked in tables.listed(_due(Wanted(), tables.now))[:most])


def _due(wanted: Wanted, now: float) -> Wanted:
    return replace(wanted, status=None, due=now)
