"""Lookups: what the store is asked and only reads: earlier calls, twins, turns. May only ask the tables. Comes after `claims` and before `ledger`."""

from __future__ import annotations

from guard.core.model import ConversationRef
from guard.core.ports import CallRow, FindTwins, Ledger, LoadLedger
from guard.stores import claims
from guard.stores.owners import home_of, visible
from guard.stores.tables import Tables


def ledger(tables: Tables, command: LoadLedger) -> Ledger:
    """Calls of the tools asked for, and the user's words."""
    if not visible(tables, command.ref):
        return Ledger()
    home = home_of(command.ref)
    calls = tables.ledger(home, command.tools, command.before, claims.LEDGER) if command.tools else ()
    return Ledger(calls=calls, words=tables.words(home) if command.words else ())


def twins(tables: Tables, command: FindTwins) -> dict[str, CallRow]:
    """For each mark the newest call."""
    if not visible(tables, command.ref):
        return {}
    found = ((mark, tables.alike(home_of(command.ref), mark, claims.LEDGER)) for mark in command.marks)
    return {mark: row for mark, row in found if row is not None}


def turn_of(tables: Tables, ref: ConversationRef, digest: str) -> int | None:
    """The newest turn with these calls."""
    mark = tables.newest(home_of(ref), ref.branch, digest) if visible(tables, ref) else None
    return None if mark is None else mark.turn
