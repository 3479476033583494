"""Unresolved: a call whose target is in doubt is refused: an earlier one on it was started, and nobody knows whether it took effect.

The claim judges, in its own transaction; before a person is asked the ledger is looked at as well, so that nobody decides about what could not run. `pipeline`
alone says when. Comes after board and before concluding; yields commands, does no I/O.
"""

from __future__ import annotations

from guard.core import ports as p
from guard.core.acting import FindBlocked
from guard.core.board import Board
from guard.core.model import AuthorizedCall, CallKey, Refusal, ValidCall
from guard.core.reasons import Reason
from guard.core.targets import Aim, aim
from guard.core.values import digest


def doubt_name(key: CallKey) -> str:
    """The id under which people find a call in doubt."""
    ref = key.ref
    return "un_" + digest("guard-unknown-v1", ref.tenant, ref.conversation, str(key.turn), str(key.position))[:20]


def aim_of(board: Board, valid: ValidCall) -> Aim | None:
    """What a call acts on, where the policy says what makes the target of its tool."""
    tool, context = valid.tool, board.context
    if tool.target is None:
        return None
    return aim(tool.target, context.ref.tenant, tool.name, valid.arguments, context.redactor.derive)


def blocked(row: p.CallRow, valid: ValidCall) -> Refusal:
    """The refusal of a call for an unresolved one, which the audit names; the model learns whose target it is by its own arguments alone."""
    target, seen = valid.tool.target, valid.tool.visible.get("properties", {})
    names = [str(path) for path in target.arguments if path.steps[0] in seen] if target is not None else []
    detail = f"What makes the target: {', '.join(names)}." if names else ""
    return Refusal(reason=Reason.EARLIER_UNKNOWN, detail=detail, note=f"unresolved: {doubt_name(row.key)}")


def forestall(board: Board) -> p.Flow[None]:
    """Refuse calls that a person would be asked about and that could not run. One that waits for a decision already is left to its claim."""
    for index, call in board.having(AuthorizedCall):
        if call.approval is None or index in board.lost or board.was_held(index) or board.keys[index] != board.items[index].key:
            continue
        found = aim_of(board, call.valid)
        row = None if found is None else (yield from p.ask(FindBlocked(aim=found)))
        if row is not None:
            board.put(index, blocked(row, call.valid))
