"""The part of the memory store that erases raw values. Holds no rule. Comes after `memory_budgets` and before `memory`."""

from __future__ import annotations

from guard.core.ports import CallRow
from guard.stores.batch_tables import Batches
from guard.stores.memory_budgets import MemoryBudgets
from guard.stores.tables import OPEN, Home, Place, Talk


class MemoryErasing(MemoryBudgets):
    """Erasing in dicts."""

    def __init__(self) -> None:
        super().__init__()
        self._talks: dict[Home, Talk] = {}

    def put(self, row: CallRow) -> None:
        """Add or replace a call; `memory` does."""
        raise NotImplementedError

    def aged(self, before: float, limit: int) -> list[tuple[Home, Place]]:
        """Calls that are over."""
        found: list[tuple[float, Home, Place]] = []
        for home, room in self._rooms.items():
            for turn, rows in room.turns.items():
                for position, row in rows.items():
                    ended = max(row.at, room.ended.get((turn, position), row.at))
                    if ended <= before and self._over(row, before) and not row.erased:
                        found.append((row.at, home, (turn, position)))
        return [(home, place) for _, home, place in sorted(found)[:limit]]

    def _over(self, row: CallRow, before: float) -> bool:
        """Whether nobody has to decide or settle it any more; of a held call, since when."""
        asked = self.asked(row.approval) if row.status == "held" and row.approval else None
        if asked is None:
            return row.status not in OPEN
        ended = asked.approval.decided_at if asked.approval.status == "rejected" else asked.approval.ends_at
        return asked.approval.status != "consumed" and ended is not None and ended <= before

    def homes(self, principal: str | None, name: str | None) -> tuple[Home, ...]:
        """The conversations of a person, or of this name."""
        return tuple(sorted(home for home, talk in self._talks.items() if talk.principal == principal or home[1] == name))

    def batching(self) -> tuple[Batches, ...]:
        """No other process sees this store."""
        return ()

    def begin_batching(self, executor: str, within: float) -> None:
        """Nothing outlives the process."""

    def end_batching(self, executor: str) -> bool:  # noqa: ARG002 - as above
        """Nothing to forget."""
        return False

    def scrub(self) -> None:
        """Nothing of it stands on a disk."""

    def wipe(self, row: CallRow) -> None:
        """Write an erased row."""
        self.put(row)

    def wipe_votes(self, approval_id: str) -> None:
        """Forget the reasons of votes."""
        kept = [one for one in self._votes if one[0] != approval_id]
        self._undo.swap(self._votes, kept)

    def wipe_words(self, home: Home, before: float) -> int:
        """Forget what the user said."""
        words = self._rooms[home].words
        gone = [number for number, (at, _) in words.items() if at <= before]
        for number in gone:
            self._undo.drop(words, number)
        return len(gone)
