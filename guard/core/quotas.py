"""Quotas: the limit room's work on a whole turn: what each call draws, what of it could be reserved, and what it means that some could not.

`pipeline` alone says when. Comes after `limit` and `board`; yields commands, does no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence

from guard.core import ports as p
from guard.core.board import Board, Drawing
from guard.core.budgets_of_people import shared
from guard.core.limit import Drawn, charges, exceeded, exhausted
from guard.core.model import AuthorizedCall, Hold, Refusal
from guard.core.reasons import Reason


def reserve(board: Board, ledgers: dict[int, p.Ledger]) -> p.Flow[None]:
    """Reserve every budget, call by call in order, before anybody is asked."""
    drawn = wanted(board, ledgers)
    if not drawn:
        return
    whole, calls = board.context.policy.limits.whole_turn, tuple(one for _, one in drawn)
    board.due = drawn, p.TakeQuota(calls=calls, whole=whole, again=board.opened is None)
    if not _waits(board):
        yield from settle(board)


def _waits(board: Board) -> bool:
    """Whether what the one call of the turn draws is reserved where the question about it is opened: in one transaction, or neither is done."""
    call = board.states[0]
    rule = call.approval if isinstance(call, AuthorizedCall) else None
    return board.context.at_once and len(board.items) == 1 and rule is not None and not rule.grants and board.fresh(0)


def settle(board: Board) -> p.Flow[None]:
    """Reserve what has yet to be reserved: now, for nobody is asked about it, or somebody is already."""
    if board.due is None:
        return
    (drawn, command), board.due = board.due, None
    before = {index: state for index, _ in drawn if isinstance(state := board.states[index], Hold)}
    for index, state in before.items():
        board.states[index] = state.call
    drew(board, drawn, (yield from p.ask(command)))
    for index, state in before.items():
        if board.states[index] is state.call:
            board.states[index] = state


def wanted(board: Board, ledgers: dict[int, p.Ledger]) -> Drawing:
    """What each call that got so far draws, in call order. One that nothing can be left for is refused."""
    _exhausted(board)
    drawn: Drawing = []
    for index, call in board.having(AuthorizedCall):
        found = _charged(board, index, call, ledgers)
        if isinstance(found, Refusal):
            board.put(index, found)
            continue
        board.note(index, found.shadowed)
        if found.charges:
            drawn.append((index, (board.keys[index], found.charges)))
    return drawn


def drew(board: Board, drawn: Drawing, answers: Sequence[p.Charge | p.Shadowed | None]) -> None:
    """Note what could be reserved."""
    for (index, _), answered in zip(drawn, answers, strict=True):
        if isinstance(answered, p.Shadowed):
            board.note(index, tuple(charge.rule for charge in answered.over))
        elif answered is not None:
            board.put(index, exceeded(answered))


def _exhausted(board: Board) -> None:
    """What of the run or conversation is used up refuses all of the turn."""
    opened = board.opened
    if opened is None or opened.again is p.Again.AGAIN:
        return
    over, shadowed = exhausted(opened, board.context.policy.limits)
    for index, _ in board.having(AuthorizedCall):
        board.note(index, shadowed)
    if over is not None:
        board.each(AuthorizedCall, lambda _, __: over)


def _charged(board: Board, index: int, call: AuthorizedCall, ledgers: dict[int, p.Ledger]) -> Drawn | Refusal:
    item = board.items[index]
    try:
        found = charges(call, board.context.policy.limits, item.key, board.run(index), ledgers[item.since])
        if isinstance(found, Refusal) or not found.charges:
            return found
        return Drawn(
            charges=shared(found.charges, board.context.redactor, board.context.session, item.key.ref), shadowed=found.shadowed
        )
    except Exception as error:  # noqa: BLE001 - default deny, as in every room
        return Refusal(reason=Reason.LIMIT_UNKNOWN, note=type(error).__name__)
