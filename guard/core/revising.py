"""Revising: a held call as a person changed it, walked again up to where a person is asked. Nothing is written and nothing runs here.

With the requester's session every room judges it; without one, the rooms up to validate do, with the bound fields as they stand in the
approval, and the others do when it is walked in the requester's own session, which is always before it runs. Comes after pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guard.core import answer
from guard.core import ports as p
from guard.core.approve import question
from guard.core.authorize import asks
from guard.core.board import Board
from guard.core.context import Context, Item, salt_of
from guard.core.model import Approval, AuthorizedCall, Outcome, Refusal, Session, ToolCall, ValidCall
from guard.core.paths import Path
from guard.core.persons import named
from guard.core.pipeline import judge
from guard.core.quotas import wanted
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.core.rules import Tool
from guard.core.spoken import again
from guard.core.validate import fingerprint
from guard.core.values import Json, digest

LATER = "what needs the requester's session, or the program's own schema, judges it before it runs"
_NOBODY = Refusal(reason=Reason.APPROVAL_INVALID, detail="The policy asks nobody about a call like that.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The question about the changed call, the row that waits for it, and what it draws on budgets (None: not known before it is walked)."""

    question: Approval
    row: p.CallRow
    charges: tuple[p.Charge, ...] | None


def revise(
    old: Approval, row: p.CallRow, changes: Mapping[str, Json], context: Context, editor: str, *, known: bool
) -> p.Flow[Revision | Outcome]:
    """The next revision of an approval, whose call was changed as `row.edits` say; or the outcome by which the policy refuses it.

    `known`: the context's session is the requester's, from the host. Else the newest `changes` are made to the arguments as they stand in the
    approval, since whoever edits outside of the program may lack its schema, and so its defaults and its definition of the tool.
    """
    given = row if known else replace(row, call=ToolCall(row.call.id, row.call.tool, old.arguments), edits=changes)
    board = Board(
        items=(Item(key=row.key, call=given.call, row=given, since=row.key.turn, salt=row.salt),), context=context, opened=None
    )
    ledgers = yield from judge(board, known=known)
    drawn = wanted(board, ledgers) if known else []
    state = board.states[0]
    if isinstance(state, ValidCall) and not known:
        scope = {"arguments": state.arguments, "session": context.session.facts(), "resource": {}, "resolved": {}}
        rule, valid, origins = asks(state.tool, scope), state, dict(state.origins)
    elif isinstance(state, AuthorizedCall):
        rule, valid, origins = state.approval, state.valid, dict(state.grounded.origins)
    else:
        return _refused(board)
    if rule is None:
        board.put(0, _NOBODY)
        return _refused(board)
    asked = question(valid, origins, rule, row.key, context.policy.version, context.now, row.edits)
    if not known:  # bound to the definition that the program knows: with another one it will be another call
        mark = fingerprint(replace(valid.tool, definition=old.definition), valid.digest, context.ref)
        asked = replace(asked, definition=old.definition, fingerprint=mark)
    new = _next(old, asked, editor, () if known else (LATER,))
    new = replace(new, words=again(new, board.redactor(0), salt_of(row, "")))
    waits = replace(
        row,
        fingerprint=new.fingerprint,
        mark=valid.mark,
        arguments=valid.arguments,
        approval=new.id,
        outcome=None if row.outcome is None else replace(row.outcome, approval=new.id, arguments=valid.arguments),
    )
    charges = tuple(charge for _, (_, found) in drawn for charge in found)
    return Revision(question=new, row=waits, charges=charges if known else None)


def _refused(board: Board) -> Outcome:
    state, item = board.states[0], board.items[0]
    if isinstance(state, Outcome):
        return state
    refusal = state if isinstance(state, Refusal) else Refusal(reason=Reason.INTERNAL_ERROR)
    return answer.refused(item.call, item.key, refusal, board.arguments(0), board.redactor(0))


def _next(old: Approval, asked: Approval, editor: str, later: tuple[str, ...]) -> Approval:
    """The question of the next revision. It ends when the first one would have ended."""
    return replace(
        asked,
        id="ap_" + digest("guard-revision-v1", old.id, str(old.revision + 1), asked.fingerprint)[:20],
        revision=old.revision + 1,
        supersedes=old.id,
        edited_by=editor,
        words=old.words,
        veil=old.veil or asked.veil,
        authors=tuple(dict.fromkeys((*old.authors, editor))),
        expires_at=min(old.expires_at, asked.expires_at),
        by=tuple(dict.fromkeys((*asked.by, *old.escalate_to))) if old.escalated_at is not None else asked.by,
        escalate_at=old.escalate_at if asked.escalate_at is not None else None,
        escalated_at=old.escalated_at,
        why=(*asked.why, *later),
    )


def as_then(approval: Approval, tool: Tool) -> Session:
    """A session that holds no right: the requester's name, and what the bound fields of the call were filled with then."""
    attributes: dict[str, Json] = {}
    for binding in tool.bindings:
        if binding.field in approval.arguments:
            _fill(attributes, binding.source, approval.arguments[binding.field])
    name = named(approval.requester)
    return Session(
        principal=name or approval.requester, tenant=approval.tenant, attributes=attributes, names=(approval.requester,)
    )


def _fill(inside: dict[str, Json], path: Path, value: Json) -> None:
    for step in path.steps[:-1]:
        below = inside.setdefault(step, {})
        inside = below if isinstance(below, dict) else {}
    inside[path.steps[-1]] = value


def owned(tool: Tool) -> frozenset[str]:
    """The arguments that are not the model's to write, and so nobody's to change."""
    return frozenset((*(binding.field for binding in tool.bindings), *tool.supplied))
