"""Concluding: what the board's decisions become on record: rows of the ledger and events, and the outcome of what was held or refused.

Comes after board and before endings; pure.
"""

from __future__ import annotations

from guard.core import answer, audit, audit_ends
from guard.core.board import Board
from guard.core.commitments import More
from guard.core.model import Allow, AuthorizedCall, CallKey, Hold, Outcome, Refusal, ValidCall
from guard.core.ports import CallRow, Event
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.core.unresolved import aim_of
from guard.core.values import Json


def conclude(board: Board) -> tuple[list[CallRow], list[Event]]:
    """Turn refusals and holds into outcomes, and give the rows and events that make every decision durable."""
    rows: list[CallRow] = []
    events: list[Event] = []
    ms = board.context.took()
    for index in range(len(board.items)):
        try:
            kept = _concluded(board, index, ms)
        except Exception as error:  # noqa: BLE001 - a call whose decision cannot be written down is refused
            board.last[index] = None
            board.put(index, Refusal(reason=Reason.INTERNAL_ERROR, note=type(error).__name__))
            kept = _concluded(board, index, ms)
        rows += kept[0]
        events += kept[1]
    return rows, events


def _concluded(board: Board, index: int, ms: float | None) -> tuple[list[CallRow], list[Event]]:
    item, state, context = board.items[index], board.states[index], board.context
    if isinstance(state, Outcome):
        return _known(board, index, state)
    if not isinstance(state, Allow | Hold | Refusal):
        return [], []
    more = More(board.shadowed.get(index, ()), item.salt, ms, context.trace + context.priv)
    version, redactor = context.policy.version, board.redactor(index)
    events = [audit.decided(item.key, item.call, state, board.last[index], version, redactor, context.session, more)]
    if isinstance(state, Allow):
        return [], events
    if isinstance(state, Refusal):
        outcome, status = answer.refused(item.call, item.key, state, board.arguments(index), redactor), "refused"
    else:
        outcome = answer.held(state.call.valid, item.key, state.approval, context.now)
        status = "held" if board.keys[index] == item.key else "alias"
    board.states[index] = outcome
    return [row_of(board, index, outcome, status)], events


def _known(board: Board, index: int, outcome: Outcome) -> tuple[list[CallRow], list[Event]]:
    """A recorded outcome goes back once more."""
    item, redactor = board.items[index], board.context.redactor
    known = at(outcome, item.key)
    board.states[index] = known
    events = [audit_ends.delivered(item.key, item.call, known, redactor, of=(outcome.turn, outcome.position))]
    if item.row is None or item.row.key != item.key:
        return [row_of(board, index, known, "alias")], events
    return [], events


def at(outcome: Outcome, key: CallKey) -> Outcome:
    """The outcome with its place."""
    return replace(outcome, turn=key.turn, position=key.position)


def row_of(
    board: Board,
    index: int,
    outcome: Outcome | None,
    status: str,
    key: CallKey | None = None,
    value: Json = None,
    *,
    approval: str | None = None,
    idem: str = "",
) -> CallRow:
    """The ledger row of a call, as far as it got. `approval` is the one that it spends, where it has no outcome yet."""
    item, last = board.items[index], board.last[index]
    grounded = last.grounded if isinstance(last, AuthorizedCall) else None
    valid = grounded.valid if grounded else last if isinstance(last, ValidCall) else None
    found = aim_of(board, valid) if valid else None
    told = board.opened is not None or (item.row is not None and item.row.settled)
    return CallRow(
        key=key or item.key,
        call=item.call,
        status=status,
        kind=valid.tool.kind if valid else "",
        fingerprint=valid.fingerprint if valid else "",
        mark=valid.mark if valid else "",
        arguments=valid.arguments if valid else None,
        owned=grounded.owned if grounded else frozenset(),
        evidence=grounded.evidence if grounded else (),
        approval=outcome.approval if outcome else approval,
        value=value,
        outcome=outcome,
        run=board.run(index),
        repeat=valid.tool.repeat if valid else False,
        settled=told and status != "held",
        at=board.context.now,
        effect=valid.tool.effect if valid and valid.tool.acts else "",
        idem=idem,
        edits=board.edits(index),
        target=found.tag if found else "",
        salt=item.salt if key is None else board.salts[index],
    )
