"""What the audit log needs of a place that keeps data: the part of `Tables` about records and checkpoints. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from guard.core.log import Checkpoint, Counted, Head, Rowed, Sealed, Segment, Stray, Tabled
from guard.core.ports import Event


class LogTables(Protocol):
    """What the log needs of the tables."""

    def append(self, event: Event) -> None:
        """Seal an event behind the newest record of its chain, at the latest when the transaction ends."""

    def audit(self, chain: int, after: int, limit: int | None) -> tuple[Sealed, ...]:
        """Records of one chain in order of seq."""

    def heads_now(self) -> Mapping[int, Head]:
        """The newest record of every chain that has one, those that this transaction appended left out."""

    def strays(self, chains: int) -> tuple[Stray, ...]:
        """Rows of the audit, or about it, where none of so many chains has a record."""

    def tabled(self) -> Mapping[str, Tabled]:
        """What the tables say of each approval and each grant."""

    def ledgered(self, after: tuple[Any, ...], limit: int) -> tuple[tuple[Any, ...], tuple[Rowed, ...]]:
        """Calls as they stand, behind a place, and the place of the last one."""

    def counted(self, after: str, limit: int) -> tuple[str, tuple[Counted, ...]]:
        """Counters of conversations as they stand, behind one, and the last one."""

    def overdrawn(self) -> tuple[str, ...]:
        """Budgets whose total is not the sum of what is drawn."""

    def checkpoints(self, *, unsent: bool) -> tuple[Checkpoint, ...]:
        """The checkpoints, oldest first, or those that were not marked as sent."""

    def last_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint."""

    def add_checkpoint(self, one: Checkpoint) -> None:
        """Keep a new checkpoint; nobody has its number."""

    def segments(self) -> tuple[Segment, ...]:
        """The segments, oldest first."""

    def add_segment(self, one: Segment) -> None:
        """Keep a new segment, closed now."""

    def let_go(self, one: Segment, most: int) -> int:
        """Delete at most about so many records before the ends of a segment, with what is filed about them; how many went."""

    def mark_dropped(self, number: int) -> None:
        """Write down that a segment is dropped from now on."""

    def open_before(self, moment: float) -> tuple[str, ...]:
        """Approvals that are pending or approved, and calls that are started or unknown, of before this time."""

    def mark_sent(self, number: int) -> None:
        """Mark the checkpoints up to this number as sent."""
