"""Quotas: the limit room's work on a whole turn: what each call draws, and what it means that some of it could not be reserved.

`pipeline` alone says when, and asks the store in between. Comes after `limit` and `board`; pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from guard.core import ports as p
from guard.core.board import Board
from guard.core.budgets_of_people import shared
from guard.core.limit import Drawn, charges, exceeded, exhausted
from guard.core.model import AuthorizedCall, CallKey, Refusal
from guard.core.reasons import Reason

Drawing: TypeAlias = list[tuple[int, tuple[CallKey, tuple[p.Charge, ...]]]]
"""By index on the board: the place of a call, and what it draws."""


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
