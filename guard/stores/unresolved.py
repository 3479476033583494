"""Unresolved: whether a call has to wait until a person has settled another one on the same target, of which nobody knows how it ended.

Any conversation and any person of the tenant: an effect does not care who asked for it. Looked at where the call is taken, so that no unknown call is overlooked
that was written down before. Shared by every store; may only ask the tables. Comes after `tables` and before `claims`.
"""

from __future__ import annotations

from guard.core.ports import CallRow
from guard.core.targets import Aim
from guard.stores.tables import Tables

MOST = 200
"""Unresolved calls of the tool with a target made of other arguments, or of none yet, that are compared one by one. Where there are more, one of them blocks."""


def is_lost(row: CallRow, now: float) -> bool:
    """Whether a started call is past its lease: nobody may be at it any more, and nobody knows how it ended."""
    return row.status == "started" and (row.lease is None or row.lease <= now)


def blocking(tables: Tables, aim: Aim | None) -> CallRow | None:
    """An unresolved call that keeps this one from starting; None: it may start. Equal calls of its own conversation are not meant: they are found before."""
    if aim is None:
        return None
    for row in tables.aimed(aim):
        if row.status == "unknown" or is_lost(row, tables.now):
            return row
    others = tables.aimed_otherwise(aim, MOST)  # the policy, or another version of it, said something else of the target then
    if len(others) == MOST:
        return others[0]
    return next((row for row in others if aim.meets(row.arguments)), None)
