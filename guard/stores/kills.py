"""Kills: an operator's stop, seen wherever a call is decided or taken, and everything that ends by it.

Setting one is one transaction, in which nobody else takes a call: what is not taken by then is refused from there on. It ends the approvals that it covers
and were not spent, with their held calls, and gives back what those drew. Shared by every store; may only ask the tables. Comes after `approvals` and
`grant_ends`, before `claims` and `kill_ledger`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from guard.core.killing import SetKill
from guard.core.kills import Kill, Stop, stopping
from guard.core.log import Head
from guard.core.model import Approval, ConversationRef
from guard.core.ports import Event
from guard.core.replacing import replace
from guard.core.values import Json
from guard.errors import ApprovalError
from guard.stores import grant_ends
from guard.stores.approvals import LIVE, look
from guard.stores.budgets import release_all
from guard.stores.owners import home_of
from guard.stores.stamp import time_text
from guard.stores.tables import Asked, Home, Place, Tables

Going = Sequence[tuple[ConversationRef, str]]
"""Conversation and tool of calls that go on by what is written."""
_PORTION: Final = 200
"""Approvals whose calls are fetched at once."""


class StoppedError(Exception):
    """A kill covers one of the calls: nothing is written. Never leaves the stores."""

    def __init__(self, stop: Stop) -> None:
        super().__init__()
        self.stop = stop


def stopped(tables: Tables, home: Home, tool: str) -> Stop | None:
    """The kill in force that covers a call of this tool; None where it may go on."""
    return stopping(tables.stops(home), home, tool)


def heed(tables: Tables, going: Going, *, still: bool) -> None:
    """Say beforehand of which conversations `check` will ask."""
    for home in dict.fromkeys(home_of(ref) for ref, _ in going):
        tables.heed(home, still=still)


def check(tables: Tables, going: Going) -> None:
    """Raise StoppedError where a kill covers one of these."""
    if not going:
        return
    stops = {home: tables.stops(home) for home in dict.fromkeys(home_of(ref) for ref, _ in going)}
    for ref, tool in going:
        home = home_of(ref)
        found = stopping(stops[home], home, tool) if stops[home] else None
        if found is not None:
            raise StoppedError(found)


def set_kill(tables: Tables, command: SetKill) -> Kill:
    """Put a kill in force, and end what it covers. See SetKill."""
    tables.stand_still()
    open_ = [now for asked in tables.open_under(command.kill.stop) if (now := look(tables, asked)).approval.status in LIVE]
    pending = sum(asked.approval.status == "pending" for asked in open_)
    kill = replace(command.kill, at=tables.now, cancelled=pending, revoked=len(open_) - pending)
    tables.append(_placed(command.event(kill), tables.heads_now()))
    tables.keep_kill(kill)
    spots: list[tuple[Home, Place]] = []
    for first in range(0, len(open_), _PORTION):
        portion = open_[first : first + _PORTION]
        tables.foresee_ends([_spot(asked.approval) for asked in portion])
        for asked in portion:
            _end(tables, asked, command)
        spots += [_spot(asked.approval) for asked in portion]
    release_all(tables, spots)
    return kill


def _spot(approval: Approval) -> tuple[Home, Place]:
    return (approval.tenant, approval.conversation), (approval.turn, approval.position)


def _end(tables: Tables, asked: Asked, command: SetKill) -> None:
    """End one approval, refuse the call that waits for it, and end what was given together with its yes."""
    before = asked.approval
    pending = before.status == "pending"
    ended = replace(before, status="cancelled" if pending else "revoked", ended_by=command.kill.by, ended_at=tables.now)
    ended = replace(ended, kill=command.kill.id)
    tables.append(command.ending(ended))
    tables.close_asked(replace(asked, approval=ended))
    if before.rule:
        grant_ends.withdrawn(tables, ended)
    row = tables.row(*_spot(before))
    if row is not None and row.status == "held" and row.approval == before.id:
        refused, events = command.ended(row, ended)
        for event in events:
            tables.append(event)
        tables.put(refused)


def clear_kill(tables: Tables, kill_id: str, by: str, reason: str, event: Callable[[Kill], Event]) -> Kill | ApprovalError:
    """Take a kill out of force. What ended by it stays ended."""
    kill = tables.kill(kill_id)
    if kill is None:
        return ApprovalError("not_found", f"there is no kill {kill_id}")
    if kill.cleared_at is not None:
        return ApprovalError("already_decided", f"already cleared by {kill.cleared_by} at {time_text(kill.cleared_at)}")
    cleared = replace(kill, cleared_by=by, cleared_at=tables.now, cleared_why=reason)
    tables.append(_placed(event(cleared), tables.heads_now()))
    tables.keep_kill(cleared)
    return cleared


def _placed(event: Event, heads: Mapping[int, Head]) -> Event:
    """The record of a kill with how far each chain had got: nobody takes a call while one is set, so whatever it covers and begins behind that began under it."""
    upto: dict[str, Json] = {str(chain): seq for chain, (seq, _) in sorted(heads.items())}
    return {**event, "upto": upto} if isinstance(event, dict) else event
