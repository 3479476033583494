"""The part of the memory store that keeps kills. Holds no rule. Comes after `memory_budgets` and before `memory`."""

from __future__ import annotations

from collections.abc import Sequence

from guard.core.erasing import tells
from guard.core.kills import Kill, Stop
from guard.core.log import Tabled
from guard.stores import tabled
from guard.stores.approvals import LIVE
from guard.stores.memory_grants import MemoryGrants
from guard.stores.tables import Asked, Home, Place


class MemoryKills(MemoryGrants):
    """Kills in a dict, in the order in which they were set; those in force besides."""

    def __init__(self) -> None:
        super().__init__()
        self._kills: dict[str, Kill] = {}
        self._stops: dict[str, Stop] = {}

    def heed(self, home: Home, *, still: bool = True) -> None:
        """Everything is at hand."""

    def stops(self, home: Home) -> tuple[Stop, ...]:
        """Kills in force."""
        return tuple(one for one in self._stops.values() if one.reaches(home)) if self._stops else ()

    def stand_still(self) -> None:
        """Nobody else writes."""

    def kill(self, kill_id: str) -> Kill | None:
        """One kill."""
        return self._kills.get(kill_id)

    def kills(self, *, live: bool) -> tuple[Kill, ...]:
        """Kills, oldest first."""
        return tuple(one for one in self._kills.values() if not live or one.cleared_at is None)

    def keep_kill(self, kill: Kill) -> None:
        """Add or replace a kill."""
        self._undo.put(self._kills, kill.id, kill)
        if kill.cleared_at is None:
            self._undo.put(self._stops, kill.id, kill.stop)
        else:
            self._undo.drop(self._stops, kill.id)

    def aged_kills(self, before: float, limit: int) -> tuple[str, ...]:
        """Kills that still say something, and were cleared."""
        over = (one for one in self._kills.values() if one.cleared_at is not None and one.cleared_at <= before)
        return tuple(one.id for one in over if any(tells(one)))[:limit]

    def wipe_kill(self, kill: Kill) -> None:
        """Keep what is left."""
        self.keep_kill(kill)

    def open_under(self, stop: Stop) -> tuple[Asked, ...]:
        """Live approvals about calls that it covers."""
        live = (one for one in self._asked.values() if one.approval.status in LIVE)
        found = [one for one in live if stop.covers((one.approval.tenant, one.approval.conversation), one.approval.tool)]
        return tuple(sorted(found, key=_age))

    def foresee_ends(self, spots: Sequence[tuple[Home, Place]]) -> None:
        """Everything is at hand."""

    def tabled(self) -> dict[str, Tabled]:
        """Approvals with their votes, grants, and kills."""
        return super().tabled() | {name: tabled.of_kill(one) for name, one in self._kills.items()}


def _age(asked: Asked) -> tuple[float, int, int, str]:
    approval = asked.approval
    return approval.requested_at, approval.turn, approval.position, approval.id
