"""Standing: what the ledger has for the grounds of a turn's calls, as it was before them, and what was said since about those that were held.

Flows: `pipeline` alone says when. Comes after board and the ground room; yields commands, does no I/O.
"""

from __future__ import annotations

from guard.core import ports as p
from guard.core.board import Board
from guard.core.ground import ground, needs, newest
from guard.core.model import Refusal, ValidCall
from guard.core.replacing import replace

_END = 2**31 - 1  # behind every turn


_EMPTY = p.Ledger()


def ledgers_of(board: Board) -> p.Flow[dict[int, p.Ledger]]:
    """What earlier turns left, for each turn that calls of this walk belong to: their siblings' results are not in it."""
    ledgers: dict[int, p.Ledger] = {item.since: _EMPTY for item in board.items}
    for since in ledgers:
        wanted = [needs(call) for index, call in board.having(ValidCall) if board.items[index].since == since]
        tools = frozenset[str]().union(*(tools for tools, _ in wanted))
        words = any(words for _, words in wanted)
        if tools or words:
            ledgers[since] = yield from p.ask(p.LoadLedger(ref=board.context.ref, tools=tools, before=since, words=words))
    return ledgers


def said_since(board: Board) -> p.Flow[dict[int, p.Ledger]]:
    """What tools of which only the newest result counts have said since a call was held, its siblings left out; by the call's index."""
    held = {index: call for index, call in board.having(ValidCall) if board.was_held(index) and newest(call)}
    if not held:
        return {}
    tools = frozenset[str]().union(*(needs(call)[0] for call in held.values()))
    ledger = yield from p.ask(p.LoadLedger(ref=board.context.ref, tools=tools, before=_END, words=True))
    turns = {index: board.items[index].since for index in held}
    return {
        index: replace(ledger, calls=tuple(row for row in ledger.calls if row.key.turn != turn)) for index, turn in turns.items()
    }


def holds(call: ValidCall, board: Board, ledger: p.Ledger | None) -> ValidCall | Refusal:
    """The call, or the refusal of a held one whose grounds are no longer what the newest results say."""
    found = None if ledger is None else ground(call, board.context.session, ledger, board.context.redactor.tag)
    return found if isinstance(found, Refusal) else call
