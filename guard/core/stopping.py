"""Stopping: the walk's part in kills: a call that one covers is refused before any room sees it, and once more where its decision is written.

The claim of an action looks for itself, where it is taken. Comes after board, concluding and taking and before pipeline, which says when; yields commands, does no
I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from guard.core import ports as p
from guard.core.board import Board, State
from guard.core.kills import Killed, refusal, stopping
from guard.core.model import Allow, ConversationRef, Hold, Refusal, ToolCall
from guard.core.taking import give_up


def stopped(board: Board, index: int, call: ToolCall) -> ToolCall | Refusal:
    """The call, unless a kill covers it that was in force when the turn was opened."""
    stops = () if board.opened is None else board.opened.stops
    found = stopping(stops, _home(board.keys[index].ref), call.tool) if stops else None
    return call if found is None else refusal(found)


def decision(
    board: Board, before: Sequence[State], rows: Sequence[p.CallRow], events: Sequence[p.Event], asks: tuple[p.AskApproval, ...]
) -> p.Record:
    """What makes the decisions durable, with whatever goes on by them. `before`: how far each call was before they were concluded."""
    going = tuple((board.keys[index].ref, _tool(state)) for index, state in enumerate(before) if isinstance(state, Allow | Hold))
    take = board.due[1] if asks and board.due else None
    return p.Record(rows=tuple(rows), events=tuple(events), asks=asks, light=not rows and board.light, going=going, take=take)


def halted(board: Board, found: Killed, again: Callable[[Board], p.Flow[None]]) -> p.Flow[None]:
    """A kill was set while these calls were judged: those that it covers are refused, and the decisions are written anew."""
    covered = [
        index
        for index, state in enumerate(board.states)
        if isinstance(state, Allow | Hold) and found.stop.covers(_home(board.keys[index].ref), _tool(state))
    ]
    for index in covered:
        board.put(index, refusal(found.stop))
    if board.lost.keys() & {*covered}:
        yield from give_up(board)  # it was taken before, so it may have taken effect
    yield from again(board)


def _home(ref: ConversationRef) -> tuple[str, str]:
    return ref.tenant, ref.conversation


def _tool(state: Allow | Hold) -> str:
    return state.call.valid.tool.name
