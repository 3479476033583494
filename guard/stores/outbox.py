"""The rules of the outbox, written once for every store: who may send, and what is written down about it.

One process at a time sends for a sink: it has a lease, which ends by itself, and at once where the process is known to be gone. Comes after `tables`
and before `ledger`. Sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from guard.core.outbox import Advance, Letter, Outbox, SinkState
from guard.core.ports import Sealed, Store
from guard.core.replacing import replace
from guard.errors import StoreError
from guard.stores.backend import Backend
from guard.stores.executors import gone, me
from guard.stores.tables import Tables


class StoreOutbox:
    """`Outbox` over any `Backend`."""

    __slots__ = ("_tables", "chains")

    def __init__(self, tables: Backend, chains: int) -> None:
        self._tables, self.chains = tables, chains

    def now(self) -> float:
        """Seconds since the epoch by the store's clock."""
        return self._tables.clock()

    def standing(self, sink: str) -> SinkState | None:
        """Where a sink stands."""
        return self._tables.read(lambda tables: tables.sink(sink))

    def sinks(self) -> tuple[SinkState, ...]:
        """All that ever sent."""
        return self._tables.read(_all)

    def ends(self) -> Mapping[int, int]:
        """The newest record of each chain."""
        return self._tables.read(lambda tables: _ends(tables, self.chains))

    def behind(self, cursors: Mapping[int, int], limit: int, first: int = 0) -> tuple[Sealed, ...]:
        """Records behind the cursors: see `Outbox`."""
        order = [(first + number) % self.chains for number in range(self.chains)]
        return self._tables.read(lambda tables: _behind(tables, cursors, limit, order))

    def seize(self, sink: str, sign: str, lease: float, *, newest: bool = False) -> SinkState | None:
        """Take the right to send."""
        return self._tables.write(lambda tables: self._seized(tables, sink, (me(sign), lease), newest=newest))

    def _seized(self, tables: Tables, sink: str, mine: tuple[str, float], *, newest: bool) -> SinkState | None:
        holder, until = mine[0], tables.now + mine[1]
        found = tables.sink(sink)
        if found is None:
            if not tables.new_sink(sink, holder, until):
                return None
            start = _ends(tables, self.chains) if newest else {}
            tables.cursors(sink, start)
            return SinkState(sink=sink, holder=holder, lease=until, cursors=start)
        free = found.holder in ("", holder) or found.lease <= tables.now or gone(found.holder)
        if not free or not tables.take_sink(found, holder, until):
            return None
        return replace(found, holder=holder, lease=until)

    def advance(self, sign: str, change: Advance) -> bool:
        """Write down what was done."""
        return self._tables.write(lambda tables: _advanced(tables, me(sign), change))

    def letters(self, sink: str, limit: int) -> tuple[Letter, ...]:
        """What was set aside."""
        return self._tables.read(lambda tables: tables.letters(sink, limit))

    def record(self, letter: Letter) -> Sealed | None:
        """The record of a letter."""
        found = self._tables.read(lambda tables: tables.audit(letter.chain, letter.seq - 1, 1))
        return next((one for one in found if one.seq == letter.seq), None)


def outbox_of(store: Store) -> Outbox:
    """The outbox of a store. Raises StoreError for a store of the host's own that has none."""
    found = getattr(store, "outbox", None)
    if found is None:
        raise StoreError("this store keeps no cursors of sinks")
    made: Outbox = found
    return made


def _all(tables: Tables) -> tuple[SinkState, ...]:
    found = (tables.sink(name) for name in tables.sink_names())
    return tuple(one for one in found if one is not None)


def _ends(tables: Tables, chains: int) -> dict[int, int]:
    found = {chain: tables.last_seq(chain) for chain in range(chains)}
    return {chain: seq for chain, seq in found.items() if seq}


def _behind(tables: Tables, cursors: Mapping[int, int], limit: int, order: list[int]) -> tuple[Sealed, ...]:
    found: list[Sealed] = []
    for chain in order:
        if len(found) >= limit:
            break
        found += tables.audit(chain, cursors.get(chain, 0), limit - len(found))
    return tuple(found)


def _advanced(tables: Tables, holder: str, change: Advance) -> bool:
    if not tables.put_sink(change, holder):
        return False
    tables.cursors(change.sink, change.cursors)
    tables.set_aside(change.sink, change.letters)
    tables.take_back(change.sink, change.delivered)
    for event in change.events:
        tables.append(event)
    return True
