"""What erasing needs of a place that keeps data: the part of `Tables` about raw values that are too old or unwanted. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from guard.core.grants import Grant
from guard.core.kills import Kill
from guard.core.ports import CallRow


class EraseTables(Protocol):
    """What erasing needs of the tables."""

    def aged(self, before: float, limit: int) -> Sequence[tuple[tuple[str, str], tuple[int, int]]]:
        """Calls that are over, ended at this time or before and are not erased yet: conversation and place, oldest first."""

    def aged_grants(self, before: float, limit: int) -> tuple[tuple[str, str], ...]:
        """The conversations of so many grants that are not erased and whose end, or where they have none whose giving, was at this time or before."""

    def grants_from(self, home: tuple[str, str]) -> tuple[tuple[tuple[int, int], Grant], ...]:
        """Grants that came from calls of a conversation, each with the place of its call."""

    def wipe_grant(self, grant: Grant) -> None:
        """Write an erased grant, and remember that it is erased."""

    def aged_kills(self, before: float, limit: int) -> tuple[str, ...]:
        """The ids of so many kills that were cleared at this time or before and still hold names and reasons, or may."""

    def wipe_kill(self, kill: Kill) -> None:
        """Forget names and reasons of a kill that was cleared; `kill` is what is left of it."""

    def homes(self, principal: str | None, name: str | None) -> tuple[tuple[str, str], ...]:
        """The conversations of a person, or of this name, of all tenants."""

    def scrub(self) -> None:
        """From here on what is overwritten or deleted leaves no bytes behind, where the place can do that."""

    def wipe(self, row: CallRow) -> None:
        """Write an erased row, and remember that it is erased."""

    def wipe_votes(self, approval_id: str) -> None:
        """Forget the reasons of votes."""

    def wipe_words(self, home: tuple[str, str], before: float) -> int:
        """Forget what the user said at this time or before; how many times that was."""
