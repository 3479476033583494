"""What batching needs of a place that keeps data: which processes may have lost records of look-ups. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Batches:
    """A process (by its name) that batches within so many seconds, since then."""

    executor: str
    within: float
    at: float


class BatchTables(Protocol):
    """What batching needs of the tables."""

    def batching(self) -> tuple[Batches, ...]:
        """The processes that batch, or ended without saying that they do no more."""

    def begin_batching(self, executor: str, within: float) -> None:
        """Remember that a process batches."""

    def end_batching(self, executor: str) -> bool:
        """Forget it; False where it was forgotten already."""
