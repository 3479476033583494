"""Killing: what a store is asked about kills: to set one with all that ends by it, to clear one, to list them.

Frozen data and one protocol. Comes after kills and commands and before ports; imports no room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from guard.core.approval import Approval
from guard.core.commands import CallRow, Event, Record
from guard.core.kills import Kill, Killed

Ended: TypeAlias = Callable[[CallRow, Approval], tuple[CallRow, tuple[Event, ...]]]
"""A held call whose approval a kill has ended: its row as it is refused, and the record of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetKill:
    """What a store writes when somebody sets a kill: it, and of every approval that it covers and that is not spent, its end and its call's.

    The records are made in the transaction that writes them: `event` of the kill once it is known what it ends, `ending` of each approval as it has
    ended, `ended` of its call.
    """

    kill: Kill
    event: Callable[[Kill], Event]
    ending: Callable[[Approval], Event]
    ended: Ended


class KillStore(Protocol):
    """What a store does with kills. Each method is one transaction; StoreError as everywhere."""

    def decide(self, command: Record) -> Killed | None:
        """See Record, without asks."""

    def set_kill(self, command: SetKill) -> Kill:
        """Put it in force. When it returns no call that it covers starts any more, in no process."""

    def clear_kill(self, kill_id: str, *, by: str, reason: str, event: Callable[[Kill], Event]) -> Kill:
        """Let calls go on from here. Raises ApprovalError (`not_found`, `already_decided`)."""

    def kill(self, kill_id: str) -> Kill | None:
        """One kill."""

    def kills(self, *, live: bool = True) -> tuple[Kill, ...]:
        """Those in force, or all that there ever were; oldest first."""
