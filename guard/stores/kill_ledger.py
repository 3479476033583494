"""The store's part in kills, and in decisions that a kill or an answer may overtake: each method one transaction over the tables. It holds no rule.

The rules are in `kills` and `deciding`. Comes after them and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable

from guard.core.killing import SetKill
from guard.core.kills import Kill, Killed
from guard.core.model import Approval
from guard.core.ports import Event, Record
from guard.errors import ApprovalError
from guard.stores import deciding, kills
from guard.stores.backend import Backend


class KillLedger:
    """What a store does with kills, over any `Backend`."""

    __slots__ = ()
    _tables: Backend

    def hold(self, command: Record) -> tuple[Approval | None, ...] | Killed | None:
        """Open approvals and write the decisions that name them, or say what answers them, or stops a call, by now."""
        try:
            self._tables.write(lambda tables: deciding.hold(tables, command))
        except deciding.AnsweredError as answered:
            self._tables.write(lambda tables: deciding.lapse(tables, command))
            return answered.found
        except kills.StoppedError as stopped:
            return Killed(stopped.stop)
        return None

    def decide(self, command: Record) -> Killed | None:
        """Write the decisions of calls that go on, or say what stops one by now."""
        try:
            self._tables.write(lambda tables: deciding.decide(tables, command))
        except kills.StoppedError as stopped:
            return Killed(stopped.stop)
        return None

    def set_kill(self, command: SetKill) -> Kill:
        """Put a kill in force."""
        return self._tables.write(lambda tables: kills.set_kill(tables, command))

    def clear_kill(self, kill_id: str, *, by: str, reason: str, event: Callable[[Kill], Event]) -> Kill:
        """Take one out of force."""
        answer = self._tables.write(lambda tables: kills.clear_kill(tables, kill_id, by, reason, event))
        if isinstance(answer, ApprovalError):
            raise answer
        return answer

    def kill(self, kill_id: str) -> Kill | None:
        """One kill."""
        return self._tables.read(lambda tables: tables.kill(kill_id))

    def kills(self, *, live: bool = True) -> tuple[Kill, ...]:
        """Those in force, or all; oldest first."""
        return self._tables.read(lambda tables: tables.kills(live=live))
