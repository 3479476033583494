"""Backend: what the store needs from a place that keeps data: how a transaction on it begins, and what time it is.

A new store implements this and `Tables`. No rule lives here. Comes after `tables` and before `ledger` and every implementation (`memory`, `sqlite`,
`postgres`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from guard.stores.locks import Lock
from guard.stores.tables import T, Tables


class Backend(Protocol):
    """One place that keeps data, and how a transaction on it begins."""

    blocking: bool  # whether calls may wait for a disk or network
    secret: bytes  # 32 random bytes, made with the tables
    lock: Lock  # what shuts and opens the payloads
    older: bool  # whether it was found to be older than what was written to it: a backup was put back

    def read(self, work: Callable[[Tables], T]) -> T:
        """What `work` gives, in a transaction that only reads."""

    def write(self, work: Callable[[Tables], T]) -> T:
        """What `work` gives, in a transaction that may write: durable when it returns, undone when it ends by any exception."""

    def clock(self) -> float:
        """Seconds since the epoch."""

    def wait(self, seconds: float) -> None:
        """Come back when something may have been approved somewhere, or after so many seconds."""

    def accept(self) -> None:
        """Take what the tables hold for the truth from here on, although it is older than what was written."""

    def close(self) -> None:
        """Give back what is held open."""
