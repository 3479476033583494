"""What the outbox needs of a place that keeps data: the part of `Tables` about sinks. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from guard.core.outbox import Advance, Letter, SinkState


class OutboxTables(Protocol):
    """Where sinks stand, as one transaction sees and changes it."""

    def sink(self, name: str) -> SinkState | None:
        """Where a sink stands."""

    def sink_names(self) -> tuple[str, ...]:
        """All sinks, sorted."""

    def last_seq(self, chain: int) -> int:
        """The number of the newest record of a chain; 0 where there is none."""

    def new_sink(self, name: str, holder: str, until: float) -> bool:
        """Add a sink that this holder has; False where there is one already."""

    def take_sink(self, before: SinkState, holder: str, until: float) -> bool:
        """Give a sink to this holder; False where holder or lease are no longer as they were."""

    def put_sink(self, change: Advance, holder: str) -> bool:
        """Keep the counters of a change and let the sink go; False where this holder does not have it."""

    def cursors(self, name: str, found: Mapping[int, int]) -> None:
        """Keep new cursors."""

    def set_aside(self, name: str, letters: Sequence[Letter]) -> None:
        """Keep letters; one that is kept already is replaced."""

    def take_back(self, name: str, letters: Sequence[Letter]) -> None:
        """Forget letters."""

    def letters(self, name: str, limit: int) -> tuple[Letter, ...]:
        """Letters, oldest first."""
