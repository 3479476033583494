"""What kills need of a place that keeps data: the part of `Tables` about them. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from guard.core.kills import Kill, Stop


class KillTables(Protocol):
    """What kills need of the tables."""

    def heed(self, home: tuple[str, str], *, still: bool = True) -> None:
        """The kills of this conversation are asked for next: they may be fetched with what is asked first. A hint.

        `still`: no kill that is not seen is set until the transaction ends.
        """

    def stops(self, home: tuple[str, str]) -> tuple[Stop, ...]:
        """Kills in force that may cover calls of this conversation, oldest first."""

    def stand_still(self) -> None:
        """From here to the end of the transaction nobody else writes in any conversation, and whoever does then sees what this one wrote."""

    def kill(self, kill_id: str) -> Kill | None:
        """One kill; from here to the end of the transaction nobody else changes it."""

    def kills(self, *, live: bool) -> tuple[Kill, ...]:
        """Those in force, or all; oldest first."""

    def keep_kill(self, kill: Kill) -> None:
        """Add or replace a kill."""

    def open_under(self, stop: Stop) -> tuple[Any, ...]:
        """Approvals (`Asked`) that are written as pending or approved, about calls that it covers; oldest first."""

    def foresee_ends(self, spots: Sequence[tuple[tuple[str, str], tuple[int, int]]]) -> None:
        """These calls, and what they hold, are looked at next. A hint."""
