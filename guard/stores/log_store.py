"""The part of the store that is the audit log: reading records, checkpoints over the heads of all chains, and records that wait for a transaction.

Holds no rule about what is recorded. Comes after `announcing` and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from guard.core.log import NOTHING, Checkpoint, Counted, Head, Rowed, Sealed, Segment, Signer, Standing, Stray, Tabled, left
from guard.core.ports import Event
from guard.stores.announcing import Announcing
from guard.stores.backend import Backend
from guard.stores.tables import Tables


class LogStore:
    """The `Log` port over any `Backend`."""

    __slots__ = ("_announced", "_tables", "chains", "nul")

    def __init__(self, tables: Backend, chains: int) -> None:
        self._announced = Announcing(tables)
        self._tables = cast(Backend, self._announced)  # it has whatever the backend has
        self.chains = chains
        self.nul: bool = getattr(tables, "nul", True)  # whether a text may hold one

    def announce(self, events: Sequence[Event]) -> None:
        """Have these written with whatever is written next, at the latest when the store is closed."""
        self._announced.announce(events)

    @property
    def payload_key(self) -> str:
        """The id of the key that raw values are written under; empty where there is none."""
        return self._tables.lock.key

    def audit(self, *, chain: int = 0, after: int = 0, limit: int | None = None) -> tuple[Sealed, ...]:
        """Audit records of one chain behind `after`, in order of seq."""
        return self._tables.read(lambda tables: tables.audit(chain, after, limit))

    def heads(self) -> Mapping[int, Head]:
        """The newest record of each chain at one moment."""
        return self._whole(self._tables.read(lambda tables: tables.heads_now()))

    def strays(self) -> tuple[Stray, ...]:
        """Rows that stand where the log has no place for one."""
        return self._tables.read(lambda tables: tables.strays(self.chains))

    def tabled(self) -> Mapping[str, Tabled]:
        """What the tables say of each approval."""
        return self._tables.read(lambda tables: tables.tabled())

    def ledgered(
        self, after: tuple[Any, ...] = (), limit: int = 1000
    ) -> tuple[tuple[Any, ...], Sequence[Rowed], Mapping[int, Head]]:
        """Calls as they stand, and the heads of that moment."""
        return self._tables.read(lambda tables: (*tables.ledgered(after, limit), self._whole(tables.heads_now())))

    def counted(self, after: str = "", limit: int = 1000) -> tuple[str, Sequence[Counted], Mapping[int, Head]]:
        """Counters of conversations as they stand, and the heads of that moment."""
        return self._tables.read(lambda tables: (*tables.counted(after, limit), self._whole(tables.heads_now())))

    def overdrawn(self) -> tuple[str, ...]:
        """Budgets whose total is not the sum of what is drawn."""
        return self._tables.read(lambda tables: tables.overdrawn())

    def _whole(self, found: Mapping[int, Head]) -> dict[int, Head]:
        return {chain: found.get(chain, NOTHING) for chain in range(self.chains)}

    def checkpoint(self, sign: Signer) -> Checkpoint | None:
        """Make a checkpoint over all heads, in one transaction with its record; None where none is due."""

        def signed(tables: Tables) -> Checkpoint | None:
            made = sign(Standing(heads=self._whole(tables.heads_now()), last=tables.last_checkpoint(), at=tables.now))
            if made is None:
                return None
            one, event = made
            tables.add_checkpoint(one)
            tables.append(event)
            return one

        return self._tables.write(signed)

    def segments(self) -> tuple[Segment, ...]:
        """The months that were closed."""
        return self._tables.read(lambda tables: tables.segments())

    def beginnings(self) -> Mapping[int, Head]:
        """By chain the record up to which records may have left."""
        return left(self.segments())

    def open_before(self, moment: float) -> tuple[str, ...]:
        """What began before this time and is not over."""
        return self._tables.read(lambda tables: tables.open_before(moment))

    def close_segment(self, one: Segment, event: Event) -> Segment | None:
        """Keep a new segment and its record."""

        def closed(tables: Tables) -> Segment | None:
            known = tables.segments()
            if len(known) + 1 != one.number or any(one.until <= other.until for other in known) or tables.open_before(one.until):
                return None
            tables.add_segment(one)
            tables.append(event)
            return one

        return self._tables.write(closed)

    def drop_segment(self, number: int, event: Event, *, most: int) -> int:
        """Delete some of the records that a segment covers."""

        def dropped(tables: Tables) -> int:
            one = next(one for one in tables.segments() if one.number == number)
            if one.dropped is None:
                tables.append(event)
                tables.mark_dropped(number)
            return tables.let_go(one, most)

        return self._tables.write(dropped)

    def checkpoints(self, *, unsent: bool = False) -> tuple[Checkpoint, ...]:
        """The checkpoints, oldest first."""
        return self._tables.read(lambda tables: tables.checkpoints(unsent=unsent))

    def sent(self, number: int) -> None:
        """Remember that the checkpoints up to this number were taken by every place outside."""
        self._tables.write(lambda tables: tables.mark_sent(number))

    def close(self) -> None:
        """Write what was announced, where that can be, and give back what the store holds open."""
        self._tables.close()
