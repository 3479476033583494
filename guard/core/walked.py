"""Walked: the calls of a turn at their places before it is walked, and what came of them afterwards.

Decides nothing but how many calls one message may hold. Comes after endings and before pipeline; pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guard.core import ports as p
from guard.core.board import Board
from guard.core.context import Item, salt_of
from guard.core.endings import within
from guard.core.model import Approval, CallKey, Outcome, Refusal, ToolCall
from guard.core.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """The outcomes of a turn, one for each call in order, whether a budget of the run is used up, and the questions that were opened.

    `idle` names rules about results that met nothing in one.
    """

    outcomes: tuple[Outcome, ...]
    limited: bool
    asked: tuple[Approval, ...] = ()
    idle: tuple[str, ...] = ()
    opened: p.Opened | None = None  # the turn as the ledger numbered it


def items_of(opening: p.OpenTurn, opened: p.Opened, salts: Sequence[str]) -> tuple[Item, ...]:
    """The calls at their places in the turn."""
    since = min([opened.turn, *(row.key.turn for row in opened.rows.values())])  # siblings of the first time count as siblings
    return tuple(
        Item(
            key=CallKey(opening.ref, opened.turn, index, opening.key),
            call=call,
            row=(row := opened.rows.get(index)),
            since=since,
            salt=salt_of(row, salts[index]),
        )
        for index, call in enumerate(opening.calls)
    )


def cut(board: Board, most: int | None) -> None:
    """Refuse the calls behind the first so many: those that the provider takes, or those that the policy does."""
    ceiling = board.context.policy.ceilings.message_calls
    if len(board.items) <= (ceiling if most is None else min(most, ceiling)):
        return
    if most is not None and most <= ceiling:
        _cut(board, most, Refusal(reason=Reason.LIMIT_REACHED, detail=f"The provider takes at most {most} calls in one message."))
    else:
        detail = f"One message may hold at most {ceiling} calls."
        _cut(board, ceiling, Refusal(reason=Reason.LIMIT_REACHED, detail=detail, rules=("ceiling message_calls",)))


def _cut(board: Board, most: int, over: Refusal) -> None:
    """Refuse the calls of a message behind the first so many."""
    board.each(ToolCall, lambda index, call: over if index >= most else call)


def walked(board: Board) -> Walked:
    """What came of the turn."""
    asked = tuple(ask.proposal for ask in board.asks)
    idle = tuple(dict.fromkeys(board.idle))
    return Walked(outcomes=within(board), limited=board.stop, asked=asked, idle=idle, opened=board.opened)
