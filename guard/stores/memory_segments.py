"""The part of the memory store that keeps closed months of the audit. Nothing leaves it: it ends with the process. Comes after `memory_erasing`."""

from __future__ import annotations

from typing import Any

from guard.core.log import Segment
from guard.core.replacing import replace
from guard.errors import StoreError
from guard.stores.memory_erasing import MemoryErasing


class MemorySegments(MemoryErasing):
    """Segments in a list."""

    def __init__(self) -> None:
        super().__init__()
        self._segments: list[Segment] = []

    def segments(self) -> tuple[Segment, ...]:
        """The segments, oldest first."""
        return tuple(self._segments)

    def add_segment(self, one: Segment) -> None:
        """Keep a new segment."""
        self._undo.append(self._segments, replace(one, closed=self.now))

    def mark_dropped(self, number: int) -> None:  # noqa: ARG002 - nothing is dropped here
        """Nothing can be dropped."""
        raise StoreError("this store keeps nothing beyond the process, so that nothing need be dropped")

    def let_go(self, one: Segment, most: int) -> int:  # noqa: ARG002 - as above
        """Nothing can be dropped."""
        return 0

    def ledgered(self, after: tuple[Any, ...], limit: int) -> tuple[tuple[()], tuple[()]]:  # noqa: ARG002 - nobody else can change them
        """Nobody but this program can change rows here."""
        return (), ()

    def counted(self, after: str, limit: int) -> tuple[str, tuple[()]]:  # noqa: ARG002 - as above
        """As for calls."""
        return "", ()

    def overdrawn(self) -> tuple[()]:
        """As for calls."""
        return ()

    def open_before(self, moment: float) -> tuple[str, ...]:
        """What is not over."""
        rows = [row for room in self._rooms.values() for turn in room.turns.values() for row in turn.values()]
        calls = [
            f"call {row.key.ref.conversation}/{row.key.turn}/{row.key.position} is {row.status}"
            for row in rows
            if row.status in ("started", "unknown") and row.at < moment
        ]
        asked = [one.approval for one in self._asked.values()]
        live = [
            f"approval {one.id} is {one.status}"
            for one in asked
            if one.status in ("pending", "approved") and one.requested_at < moment
        ]
        return (*live, *calls)
