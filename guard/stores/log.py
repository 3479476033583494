"""The part of the store that is the audit log: reading records, checkpoints over the heads of all chains, and records that wait for a transaction.

What is announced is written in front of whatever the store writes next, in that transaction; where it fails, it waits again. Holds no rule about
what is recorded. Comes after `backend` and before `ledger`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from guard.core.log import NOTHING, Checkpoint, Head, Sealed, Signer, Standing
from guard.core.ports import Event
from guard.errors import StoreError
from guard.stores.backend import Backend
from guard.stores.executors import process
from guard.stores.tables import T, Tables


class LogStore:
    """The `Log` port over any `Backend`."""

    __slots__ = ("_owed", "_tables", "chains")

    def __init__(self, tables: Backend, chains: int) -> None:
        self._tables = tables
        self.chains = chains
        self._owed: deque[Event] = deque()

    @property
    def writer(self) -> Mapping[str, Any]:
        """What the audit says about this process."""
        return {**process(), "epoch": self._tables.read(lambda tables: tables.epoch())}

    def write(self, work: Callable[[Tables], T]) -> T:
        """What `work` gives, in a transaction that writes, behind the records that were announced."""
        owed = _taken(self._owed) if self._owed else []
        if not owed:
            return self._tables.write(work)

        def whole(tables: Tables) -> T:
            for event in owed:
                tables.append(event)
            return work(tables)

        try:
            return self._tables.write(whole)
        except BaseException:
            self._owed.extendleft(reversed(owed))
            raise

    def announce(self, events: Sequence[Event]) -> None:
        """Have these written with whatever is written next, at the latest when the store is closed."""
        self._owed.extend(events)

    def audit(self, *, chain: int = 0, after: int = 0, limit: int | None = None) -> tuple[Sealed, ...]:
        """Audit records of one chain behind `after`, in order of seq."""
        return self._tables.read(lambda tables: tables.audit(chain, after, limit))

    def heads(self) -> Mapping[int, Head]:
        """The newest record of each chain at one moment."""
        found = self._tables.read(lambda tables: tables.heads_now())
        return {chain: found.get(chain, NOTHING) for chain in range(self.chains)}

    def checkpoint(self, sign: Signer) -> Checkpoint | None:
        """Make a checkpoint over all heads, in one transaction with its record; None where none is due."""
        return self.write(lambda tables: self._signed(tables, sign))

    def _signed(self, tables: Tables, sign: Signer) -> Checkpoint | None:
        found = tables.heads_now()
        heads = {chain: found.get(chain, NOTHING) for chain in range(self.chains)}
        made = sign(Standing(heads=heads, last=tables.last_checkpoint(), at=tables.now))
        if made is None:
            return None
        one, event = made
        tables.add_checkpoint(one)
        tables.append(event)
        return one

    def checkpoints(self, *, unsent: bool = False) -> tuple[Checkpoint, ...]:
        """The checkpoints, oldest first."""
        return self._tables.read(lambda tables: tables.checkpoints(unsent=unsent))

    def sent(self, number: int) -> None:
        """Remember that the checkpoints up to this number were taken by every place outside."""
        self._tables.write(lambda tables: tables.mark_sent(number))

    def close(self) -> None:
        """Write what was announced, where that can be, and give back what the store holds open."""
        if self._owed:
            with suppress(StoreError):
                self.write(lambda _: None)
        self._tables.close()


def _taken(owed: deque[Event]) -> list[Event]:
    """Everything that waits, taken out one by one: no other thread gets the same."""
    found: list[Event] = []
    with suppress(IndexError):
        while True:
            found.append(owed.popleft())
    return found
