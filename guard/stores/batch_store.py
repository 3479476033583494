"""The store's part in records that may wait and raw values that go: each method one transaction over the tables. It holds no rule.

The rules are in `batching` and `erasing`. Comes after `log_store` and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import cast

from guard.core.erasing import Erase, Erased, EraseKills
from guard.core.gaps import lost
from guard.core.ports import CallRow, Event, Vaulted
from guard.errors import StoreError
from guard.stores import claims, erasing, erasing_kills
from guard.stores.backend import Backend
from guard.stores.batching import Batching, stating
from guard.stores.executors import gone, me
from guard.stores.log_store import LogStore
from guard.stores.tables import Home, Place, T, Tables


class BatchStore(LogStore):
    """What a store does with records that wait, and with payloads that go, over any `Backend`."""

    __slots__ = ("_batching", "_sign")

    def __init__(self, tables: Backend, chains: int) -> None:
        super().__init__(tables, chains)
        self._batching = Batching(self._tables)
        self._tables = cast(Backend, self._batching)  # it has whatever the backend has
        self._sign = ""  # under which the store knows that this process batches

    def _begun(self) -> int:
        """The epoch that the store is in; that others died while records of theirs waited is put on record."""
        epoch, batching = self._tables.read(lambda found: (found.epoch(), found.batching()))
        if any(gone(one.executor) for one in batching):
            with suppress(StoreError):  # whoever can write says so later
                self._tables.write(_lost)
        return epoch

    def batch(self, within: float) -> None:
        """From here on records of allowed look-ups may wait so many seconds: a crash loses at most those. Raises StoreError."""
        self._sign = me(token_hex(8))
        if self._sign:
            self._tables.write(lambda tables: tables.begin_batching(self._sign, within))
        self._batching.within = within

    def later(self, rows: Sequence[CallRow], events: Sequence[Event], handles: Sequence[Vaulted] = ()) -> bool:
        """As `record`, for allowed look-ups alone: written within the time that their records state. False where nothing may wait."""
        if not self._batching.within:
            return False
        stated = [stating(event, self._batching.within) for event in events]
        return self._batching.put(lambda tables: claims.record(tables, rows, stated, handles))

    def hastily(self, call: Callable[[], T], within: float) -> tuple[T] | None:
        """What `call`, of a method of this store, gives; None where nothing was done, since it would have had to wait longer for somebody who writes."""
        bounded = getattr(self._tables, "hastily", None)
        return None if bounded is None else cast("tuple[T] | None", bounded(call, within))

    def erase(self, command: Erase) -> Erased:
        """Erase raw values of one conversation, on record. See Erase."""
        return self._tables.write(lambda tables: erasing.erase(tables, command))

    def unerasable(self, home: Home, only: Collection[Place] | None) -> Erased:
        """The calls of these places that are not over."""
        return self._tables.write(lambda tables: erasing.left(tables, home, only))

    def aged_grants(self, before: float, limit: int) -> tuple[Home, ...]:
        """The conversations of grants that may have been over by this time."""
        return self._tables.read(lambda tables: tables.aged_grants(before, limit))

    def erase_kills(self, command: EraseKills, limit: int) -> tuple[Erased, ...]:
        """Erase what so many kills hold of persons, on record. See EraseKills."""
        if command.whose is None and not self._tables.read(lambda tables: tables.aged_kills(command.before, 1)):
            return ()
        return self._tables.write(lambda tables: erasing_kills.erase(tables, command, limit))

    def aged(self, before: float, limit: int) -> Mapping[Home, frozenset[Place]]:
        """Calls that were over by this time and are not erased yet, by conversation; the oldest so many."""
        found: dict[Home, set[Place]] = {}
        for home, place in self._tables.read(lambda tables: tables.aged(before, limit)):
            found.setdefault(home, set()).add(place)
        return {home: frozenset(places) for home, places in found.items()}

    def homes(self, principal: str | None, name: str | None) -> tuple[Home, ...]:
        """The conversations of a person, or of this name, of all tenants."""
        return self._tables.read(lambda tables: tables.homes(principal, name))

    def close(self) -> None:
        """Give back what the store holds open, once everything that waits is written."""
        if self._sign:
            self._batching.stop()
            with suppress(StoreError):
                self._tables.write(lambda tables: tables.end_batching(self._sign))
        self._tables.close()


def _lost(tables: Tables) -> None:
    """Put on record that processes which batched are gone, once each."""
    for one in tables.batching():
        if gone(one.executor) and tables.end_batching(one.executor):
            tables.append(lost(one.executor.partition("@")[0], one.within, one.at))
