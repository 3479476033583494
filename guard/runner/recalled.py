"""Recalled: what the ledger has of a turn that could not be opened. Used by `hands`; decides nothing."""

from __future__ import annotations

from guard.core import ports as p


def recalled(store: p.Store, command: p.Recall) -> dict[int, p.CallRow]:
    """The rows of the turn with these calls, or of the host's own key."""
    if command.key:
        return {row.key.position: row for row in store.rows(command.ref) if row.key.key == command.key}
    turn = store.turn_of(command.ref, command.digest)
    return {} if turn is None else {row.key.position: row for row in store.rows(command.ref, turn=turn)}
