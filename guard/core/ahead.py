"""Ahead: a single call is judged in the turn that most likely comes next, so that all of it can be written in one transaction.

Likewise the decision about a held call that a person has approved is written in the transaction that takes it. Says what is foreseen and what would be
written; decides nothing that the rooms do not decide. Comes after concluding and taking, before pipeline; yields commands, does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping

from guard.core import ports as p
from guard.core.board import Board, Drawing
from guard.core.concluding import conclude
from guard.core.context import Context
from guard.core.kills import Killed
from guard.core.limit import exhausted
from guard.core.model import Allow, Approval, AuthorizedCall, Refusal, ValidCall
from guard.core.recall import adopt
from guard.core.replacing import replace
from guard.core.rules import Limits
from guard.core.taking import claim_of


def foreseen(last: p.Opened) -> p.Opened:
    """The turn after this one, where nobody says anything in between: of no cost, like every call without a wire."""
    return replace(last, turn=last.turn + 1, steps=last.steps + 1, again=p.Again.NEW, rows={})


def likely(opening: p.OpenTurn, context: Context) -> p.Opened | None:
    """The turn to judge a call in before it is opened; None where that is not known, or where a person may have to be asked in between."""
    tool = context.policy.tools.get(opening.calls[0].tool) if len(opening.calls) == 1 else None
    return context.ahead if tool is not None and not tool.approval else None


def ahead(board: Board) -> bool:
    """Whether this is such a walk: equal calls are looked for where everything is written."""
    return board.opened is not None and board.opened is board.context.ahead


def planned(board: Board, opening: p.OpenTurn, drawn: Drawing) -> p.Outright | None:
    """What is to be written of the one call on the board; None where it needs a step in between: a person, or somebody who has it."""
    state, turn, last = board.states[0], board.opened, board.last[0]
    if board.lost or turn is None or not isinstance(state, Allow | Refusal):
        return None
    valid = last.valid if isinstance(last, AuthorizedCall) else last
    mark = valid.mark if isinstance(valid, ValidCall) else ""
    claim = claim_of(board, 0, state) if isinstance(state, Allow) and state.call.valid.tool.acts else None
    rows, events = conclude(board)
    limits = board.context.policy.limits
    return p.Outright(
        opening=opening,
        fits=lambda opened: _same(opened, turn, limits),
        twins=p.FindTwins(ref=opening.ref, marks=(mark,)) if mark else None,
        alone=lambda twins: not isinstance(valid, ValidCall) or _alone(board, valid, twins),
        take=p.TakeQuota(calls=tuple(one for _, one in drawn), whole=limits.whole_turn) if drawn else None,
        record=p.Record(rows=tuple(rows), events=tuple(events)),
        claim=claim,
    )


def _alone(board: Board, valid: ValidCall, twins: Mapping[str, p.CallRow]) -> bool:
    """Whether the call is what it is whatever equal ones there are: neither their outcome nor in their place."""
    other = Board(items=board.items, context=board.context, opened=board.opened)
    other.states[0] = valid
    adopt(other, twins)
    return other.states[0] is valid and other.keys == board.keys and not other.lost


def _same(opened: p.Opened, turn: p.Opened, limits: Limits) -> bool:
    """Whether the turn is the one that was judged, but for the time that has passed, and that makes no difference."""
    now, then = (replace(one, seconds=0.0) for one in (opened, turn))
    return now == then and exhausted(opened, limits) == exhausted(turn, limits)


def written(board: Board, record: p.Record) -> p.Flow[tuple[Approval | None, ...] | Killed | None]:
    """Write decisions down; what takes the one action that goes on by them is written with them, where the store does that at once. See Record."""
    state = board.states[0]
    once = board.context.at_once and board.opened is None and len(board.items) == 1 and not board.lost
    if not (once and isinstance(state, Allow) and state.approval is not None and state.call.valid.tool.acts):
        return (yield from p.ask(record))
    try:
        found = yield from p.ask(p.Begin(record=record, claim=claim_of(board, 0, state)))
    except p.HaltedError:  # nothing starts any more, as whoever takes the call is told as well
        return (yield from p.ask(record))
    if isinstance(found, Killed):
        return found
    board.won[0] = found
    return None
