"""What searching needs of a place that keeps data: the part of `Tables` about finding audit records. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from typing import Any, Protocol

from guard.core.log import Sealed
from guard.core.searching import Filed, Sought
from guard.core.values import Json
from guard.stores.vault_tables import VaultTables


class SearchTables(VaultTables, Protocol):
    """What searching needs of the tables, and what the vault does."""

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """The records of all chains that meet `sought`, in the order that it asks for."""

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """How many records meet `sought` for each combination of values of `by`, in the order of these."""

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """These columns of what is filed about the records that meet `sought`, in the order that it asks for."""

    def copies(self, chain: int, after: int, limit: int) -> tuple[Filed, ...]:
        """For who verifies: what is filed about the records of one chain behind `after`, in order."""
