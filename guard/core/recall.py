"""Recall: what the ledger already knows about the calls of a turn: recorded outcomes, and equal calls that are held, under way or in doubt.

Gives each such call a state on the board; decides nothing else. Used by the pipeline before and between rooms; pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from guard.core import answer
from guard.core.board import Board, Follows, Waits
from guard.core.context import Item
from guard.core.model import Outcome, Refusal, ToolCall, ValidCall
from guard.core.ports import Again, CallRow, Opened
from guard.core.reasons import Reason
from guard.core.replacing import replace


def recall(item: Item, opened: Opened | None) -> Outcome | ToolCall | Refusal | Waits:
    """The recorded outcome of a call that was handled before, or the call, to be walked (again)."""
    row = item.row
    if row is None or opened is None:
        return item.call
    if item.key.key and row.call.tool != item.call.tool:
        return Refusal(reason=Reason.CONFLICT)
    if row.outcome is not None and row.outcome.reason is Reason.TRUNCATED_REPLY:
        return item.call  # what was cut off may have been written out whole since
    unsure = opened.again is Again.UNSURE
    if unsure and (row.kind != "action" or row.status in {"refused", "held"}):
        return item.call
    if item.key.key and row.call.arguments != item.call.arguments:
        return item.call  # another spelling or another content: the fingerprint will tell
    if row.outcome is not None and row.outcome.status != "held":
        return replayed(row.outcome, item.call)
    return Waits(row, item.call) if row.status == "started" else item.call


def same_content(item: Item, valid: ValidCall) -> ValidCall | Outcome | Refusal | Waits:
    """A host's own key names one content only: the same again is a replay, another one a conflict."""
    row = item.row
    if row is None or not item.key.key or not row.fingerprint:
        return valid
    if row.fingerprint != valid.fingerprint:
        return Refusal(reason=Reason.CONFLICT)
    if row.outcome is not None and row.outcome.status != "held":
        return replayed(row.outcome, item.call)
    return Waits(row, valid) if row.status == "started" else valid


def replayed(outcome: Outcome, call: ToolCall) -> Outcome:
    """A recorded outcome, for this call id."""
    return replace(outcome, call_id=call.id, tool=call.tool, replayed=True)


def adopt(board: Board, twins: Mapping[str, CallRow]) -> None:
    """Make every action an alias of an equal one: of an earlier sibling, or of a live or finished call of the conversation."""
    leaders: dict[str, int] = {}
    for index, valid in board.having(ValidCall):
        if not valid.mark:
            continue
        leader = leaders.setdefault(valid.mark, index)
        if leader != index:
            board.put(index, Follows(leader))
            continue
        twin = twins.get(valid.mark)
        if twin is not None and twin.key != board.items[index].key:
            _alias(board, index, valid, twin)


def _alias(board: Board, index: int, valid: ValidCall, twin: CallRow) -> None:
    item = board.items[index]
    if twin.status == "held":
        if twin.fingerprint == valid.fingerprint:  # else the tool is defined anew: a person must be asked anew
            board.stands_for(index, twin)  # same approval, same budget, one claim
        return
    if twin.status == "started":
        board.put(index, Waits(twin, valid))
        return
    if twin.status == "unknown":
        if may_go_on(twin, valid):
            take_over(board, index, twin)
        else:
            board.put(index, replace(board.doubt(index, twin), replayed=True))
        return
    handled_before = item.row is not None and item.row.status == "alias"
    current = board.opened is None or twin.run == board.opened.run
    if twin.outcome is not None and (handled_before or (current and not valid.tool.repeat)):
        board.put(index, replayed(of_branch(board, index, twin, valid), item.call))


def of_branch(board: Board, index: int, row: CallRow, valid: ValidCall) -> Outcome:
    """The recorded outcome of a call, without its result where another branch saw it by rules of its own roles."""
    outcome, item = row.outcome, board.items[index]
    elsewhere = row.key.ref.branch != item.key.ref.branch and bool(valid.tool.result.roles)
    if outcome is None or (elsewhere and outcome.status == "done"):
        return answer.withheld(valid, item.key, approval=row.approval)
    return outcome


def may_go_on(row: CallRow, call: ToolCall | ValidCall) -> bool:
    """Whether a call that was taken and lost may be taken again, as far as can be told now: the claim judges once more.

    It must have been taken with a class that allows it and a key, for the very content that is proposed now, and not too often yet.
    """
    same = isinstance(call, ToolCall) or (call.fingerprint == row.fingerprint and call.tool.effect == row.effect)
    return same and row.again


def take_over(board: Board, index: int, row: CallRow) -> None:
    """Let this call stand in the place of the one that was lost: same approval, same budget, same key, one claim."""
    board.lost[index] = row
    board.stands_for(index, row)
