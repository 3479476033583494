"""What the vault needs of a place that keeps data: the part of `Tables` about handles. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from typing import Protocol

from guard.core.ports import Vaulted


class VaultTables(Protocol):
    """What the vault needs of the tables."""

    def seal_away(self, home: tuple[str, str], one: Vaulted) -> None:
        """Keep the value behind a handle, as of now; the first value stays. Another value behind the same handle makes it void."""

    def behind(self, home: tuple[str, str], handle: str, since: float) -> Vaulted | None:
        """What stands behind a handle that was given out at this time or later and is not void."""

    def given_out(self, home: tuple[str, str], newer: int) -> float | None:
        """When the handle was given out than which so many are newer; None where there are not so many."""

    def forget_handles(self, home: tuple[str, str], before: float) -> None:
        """Forget handles that were last given out before this time, and the values behind them."""
