"""The tail: what the searches of one store know of records that are not filed yet, so that each of these is read once and not by every search.

What is kept is one run of records of each chain without a gap. A search sees one state of the database, which may be older or newer than what another thread
has read meanwhile: it takes those records that are unfiled in its own, and reads those that are missing. Where the newest one is another than is known, a
backup was put back, and everything is read anew. Comes after `filing`, before `sql_search`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from guard.core.log import Sealed
from guard.stores.filing import Read, read

MOST: Final = 110_000
"""Records that are kept, some 2 KB each; a longer tail is read by each search. Only in a rush are there more than some thousand, see `refiling`."""


class Lying(NamedTuple):
    """Where a chain stands: the last record that is filed, and number and hash of its newest."""

    chain: int
    filed: int
    newest: int
    own: str


Fetch = Callable[[int, int, int], Sequence[Sealed]]
"""The records of a chain behind the first number, up to the second."""


class Tail:
    """What is known. It is never changed, only replaced: several threads may ask at once."""

    def __init__(self) -> None:
        self._known: dict[int, list[Read]] = {}

    @property
    def size(self) -> int:
        """How many records were not filed when they were last asked for, as far as they are kept."""
        return sum(map(len, self._known.values()))

    def missing(self, chains: Iterable[Lying]) -> int:
        """About how many of these records would have to be read."""
        known = self._known
        last = {chain: reads[-1].record.seq for chain, reads in known.items() if reads}
        return sum(max(one.newest - max(one.filed, last.get(one.chain, 0)), 0) for one in chains)

    def of(self, chains: Iterable[Lying], fetch: Fetch) -> list[Read]:
        """All records that are not filed, read; what is filed meanwhile is forgotten."""
        before = self._known
        found = {one.chain: _unfiled(before.get(one.chain, []), one, fetch) for one in chains if one.newest > one.filed}
        self._known = {chain: reads for chain, reads in found.items() if len(reads) <= MOST}
        return [one for reads in found.values() for one in reads]


def _unfiled(known: list[Read], lying: Lying, fetch: Fetch) -> list[Read]:
    """The unfiled records of one chain, by what is known of it."""
    known = [one for one in known if lying.filed < one.record.seq <= lying.newest]
    if known and known[0].record.seq != lying.filed + 1:
        known = []
    last = known[-1].record if known else None
    missing = fetch(lying.chain, lying.filed if last is None else last.seq, lying.newest)
    if last is not None and last.hash != (missing[0].prev if missing else lying.own):
        known, missing = [], fetch(lying.chain, lying.filed, lying.newest)
    return [*known, *map(read, missing)]
