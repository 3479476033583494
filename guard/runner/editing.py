"""Editing: a person changes a held call, which makes another question of it. Runs nothing, and lets nothing run.

The changed call walks every room: here at once where the host says who the requester is today (`guard.session`), else as far as it can be
judged without their session; and always again, in their own session, before it runs. The tool and what the session owns can never be changed.
Comes after approvals, which uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guard.core import answer, audit_votes
from guard.core import ports as p
from guard.core.approval import Approval, Assurance, Ballot, Via
from guard.core.board import Context
from guard.core.limit import exceeded
from guard.core.model import CallKey, ConversationRef, Outcome, Session
from guard.core.persons import called, named
from guard.core.pointers import pointer, steps, within
from guard.core.replacing import replace
from guard.core.revising import Revision, as_then, owned, revise
from guard.core.values import Json, encode, read_json
from guard.errors import ApprovalError

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a person wants to change: values by JSON Pointer into the arguments, and why."""

    changes: Mapping[str, Json]
    reason: str
    ballot: Ballot
    via: Via
    assurance: Assurance


def flow(guard: GuardBase, approval: Approval, editor: Session, edit: Edit) -> tuple[p.CallRow, p.Flow[Revision | Outcome]]:
    """The held call with what is changed, and the walk of it. Raises ApprovalError for what may not be changed."""
    editor = guard.known(editor)
    if approval.status == "superseded":
        raise ApprovalError("stale", f"this is not what is asked any more; the one in force is {approval.superseded_by}")
    changes = _allowed(guard, approval, edit.changes)
    row = guard.store.call(key_of(approval))
    if row is None or row.status != "held" or row.approval != approval.id:
        raise ApprovalError("not_editable", "its call does not wait for this approval any more")
    row = replace(row, edits={**row.edits, **changes})
    session, known = _requester(guard, approval)
    return row, revise(approval, row, changes, _context(guard, row, session), called(editor, approval.people), known=known)


def written(
    guard: GuardBase, approval: Approval, editor: Session, edit: Edit, found: Revision | Outcome, hides: p.Redactor
) -> Approval:
    """The new revision, kept; raises ApprovalError (`refused`, with the outcome) where the policy refuses the changed call."""
    editor = guard.known(editor)
    if isinstance(found, Outcome):
        raise _refused(guard, approval, editor, edit, found, hides)
    if found.question.fingerprint == approval.fingerprint:
        raise ApprovalError("not_editable", "nothing would change")
    state = {
        "status": "superseded",
        "by": found.question.id,
        "to": found.question.fingerprint,
        "need": found.question.need,
        "changed": sorted(edit.changes),
        "walked": found.charges is not None,
        "presented": edit.ballot.presented,
        **audit_votes.words(edit.reason, None, hides),
    }
    event = audit_votes.record("approval.edited", approval, editor, hides, state, assurance=edit.assurance, via=edit.via)
    question = replace(found.question, edited_why=edit.reason.strip())
    kept = guard.store.revise(
        approval.id, question=question, row=found.row, charges=found.charges or (), event=event, ballot=edit.ballot
    )
    if isinstance(kept, Approval):
        return kept
    over = answer.refused(found.row.call, found.row.key, exceeded(kept), found.row.arguments, hides)
    raise _refused(guard, approval, editor, edit, over, hides)


def _refused(
    guard: GuardBase, approval: Approval, editor: Session, edit: Edit, outcome: Outcome, hides: p.Redactor
) -> ApprovalError:
    """The policy refuses the changed call: on record, and what waits stays as it is."""
    state = {"status": "refused", "wanted": "edited", "code": str(outcome.reason or ""), "changed": sorted(edit.changes)}
    event = audit_votes.record("approval.vote", approval, editor, hides, state, assurance=edit.assurance, via=edit.via)
    guard.store.record((), (event,))
    why = f"the policy refuses the changed call ({outcome.reason or outcome.status}); what waits stays as it is"
    return ApprovalError("refused", why, outcome=outcome)


def _allowed(guard: GuardBase, approval: Approval, changes: Mapping[str, Json]) -> dict[str, Json]:
    """The changes as exact values. Raises ApprovalError for a place that may not be changed."""
    if not isinstance(changes, Mapping) or not changes:
        raise ApprovalError("not_editable", "say what to change: a JSON Pointer and its new value, such as /amount and 40")
    tool = guard.policy.tools.get(approval.tool)
    mine = owned(tool) if tool is not None else frozenset()
    exact: dict[str, Json] = {}
    for place, value in changes.items():
        try:
            first = steps(place)[0]
            exact[place] = read_json(encode(value))
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise ApprovalError("not_editable", "a change is a JSON Pointer such as /amount, and a JSON value") from None
        if tool is None or first in mine or not within(place, approval.editable):
            may = ", ".join(one for one in approval.editable if steps(one)[0] not in mine) or "nothing"
            raise ApprovalError("not_editable", f"{pointer(steps(place))} may not be changed here; what may be: {may}")
    return exact


def _requester(guard: GuardBase, approval: Approval) -> tuple[Session, bool]:
    """The requester as the host knows them today, and True; else a session without any right, and False. Raises ApprovalError for nobody."""
    if guard.sessions is None or approval.branch:  # only its host knows how much narrower a child is
        tool = guard.policy.tools[approval.tool]
        return as_then(approval, tool), False
    try:
        name = named(approval.requester)
        found = None if name is None else guard.sessions(name, approval.tenant)
    except Exception:  # noqa: BLE001 - nobody can be asked whether this person may
        found = None
    if found is None or (found.principal, found.tenant) != (name, approval.tenant):
        raise ApprovalError("not_editable", "who asked for the call may not act any more")
    return guard.known(found), True


def _context(guard: GuardBase, row: p.CallRow, session: Session) -> Context:
    now = guard.in_force
    offered = frozenset(now.policy.tools)
    return Context(
        policy=now.policy,
        session=session,
        ref=row.key.ref,
        offered=offered,
        visible=offered,
        redactor=now.hands.redactor,
        now=guard.store.now(),
        count=guard.count_tokens,
        sessions=guard.sessions,
    )


def key_of(approval: Approval) -> CallKey:
    """The place of the call that waits for an approval."""
    names = {"tenant": approval.tenant, "principal": approval.requester, "conversation": approval.conversation}
    return CallKey(ConversationRef(**names, branch=approval.branch), approval.turn, approval.position)
