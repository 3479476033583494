"""Doubts: calls that were started and have no outcome: written down as unknown, listed, settled by a person, picked by a worker.

An unknown call may or may not have taken effect; nothing here ever takes it for one that did not. Shared by every store; may only ask the
tables. Comes after `claims` and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from guard.core.ports import CallRow, Event, Lapse
from guard.core.replacing import replace
from guard.errors import ApprovalError
from guard.stores import grant_ends, grants
from guard.stores.approvals import told
from guard.stores.budgets import release
from guard.stores.claims import kept
from guard.stores.owners import home_of
from guard.stores.stamp import time_text
from guard.stores.tables import Home, Place, Tables, Wanted
from guard.stores.unresolved import is_lost

Doubt: TypeAlias = Callable[[CallRow], tuple[CallRow, Event]]
"""How a call that is in doubt is written down: the row (status unknown, with its outcome) and the record."""


def lapse(tables: Tables, command: Lapse) -> CallRow:
    """Write down that a started call was lost, unless it is not. See Lapse."""
    row = command.row
    old = tables.row(*_spot(row))
    if old is None:
        return row
    if old.attempt != row.attempt or not is_lost(old, tables.now):
        return old
    tables.append(command.event)
    ended = replace(kept(old, row), settled=row.settled)
    tables.put(ended)
    return ended


def doubtful(tables: Tables, tenant: str | None) -> tuple[CallRow, ...]:
    """Actions that are unknown, or started and lost."""
    return tuple(row for row in tables.doubtful(tenant) if row.status == "unknown" or is_lost(row, tables.now))


def reconcile(tables: Tables, row: CallRow, event: Event) -> CallRow | ApprovalError:
    """Settle a call in doubt as `row` says: done, or failed where it did not take effect. It has yet to be told to the model."""
    home, place = _spot(row)
    old = tables.row(home, place)
    if old is None:
        return ApprovalError("not_found", "there is no such call")
    if old.status != "unknown" and not is_lost(old, tables.now):
        state = "under way again" if old.status == "started" else f"{old.status}: nothing about it is unknown any more"
        return ApprovalError("already_decided", f"the call, taken at {time_text(old.at)}, is {state}")
    tables.append(event)
    settled = replace(kept(old, row), settled=False)
    tables.put(settled)
    if settled.status == "failed":
        release(tables, home, place, sums_only=True)
    return settled


_LOOKED = 1000  # held calls whose person has some grant for their tool, that are looked at more closely


def answered(tables: Tables, *, grace: float, limit: int) -> tuple[tuple[Home, Place], ...]:
    """Held calls that a grant answers by now. Only reads: what it looks at belongs to whoever claims."""
    before, found = tables.now - grace, list[tuple[Home, Place]]()
    for row in tables.answerable(before, _LOOKED):
        if len(found) < limit and grants.answers(tables, row, before):
            found.append(_spot(row))
    return tuple(found)


def pick(
    tables: Tables, *, grace: float, lease: float, limit: int, granted: Sequence[tuple[Home, Place]] = ()
) -> tuple[CallRow, ...]:
    """Calls for one worker: approved ones that nobody ran so far, then lost ones, then those of `granted` that are held still."""
    found = tables.approved(tables.now - grace, limit)
    found += tables.lost(limit - len(found)) if len(found) < limit else ()
    for home, place in granted[: limit - len(found)]:
        row = tables.waits(home, place)
        found += () if row is None else (row,)
    for row in found:
        tables.pick(*_spot(row), tables.now + lease)
    return found


def restored(tables: Tables, why: str, event: Event, doubt: Doubt) -> int:
    """Begin a new epoch: what was approved or started in the old states may have run since, so all of it is in doubt."""
    tables.begin_epoch(tables.epoch() + 1, why)
    tables.append(event)
    rows = [row for row in tables.doubtful(None) if row.status == "started"]
    for asked in tables.listed(Wanted(status="approved")):
        approval = asked.approval
        row = tables.row((approval.tenant, approval.conversation), (approval.turn, approval.position))
        ended = replace(approval, status="cancelled")
        tables.append(told("approval.cancelled", ended, "service", why="a backup was put back"))
        tables.close_asked(replace(asked, approval=ended))
        rows += [row] if row is not None and row.status == "held" else []
    grant_ends.restored(tables)
    for row in rows:
        unknown, record = doubt(row)
        tables.append(record)
        tables.put(unknown)
    return len(rows)


def _spot(row: CallRow) -> tuple[Home, Place]:
    return home_of(row.key.ref), (row.key.turn, row.key.position)
