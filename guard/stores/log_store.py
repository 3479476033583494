"""The part of the store that is the audit log: reading records, checkpoints over the heads of all chains, and records that wait for a transaction.

Holds no rule about what is recorded. Comes after `announcing` and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from guard.core.log import NOTHING, Checkpoint, Head, Sealed, Signer, Standing, Stray, Tabled
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

    def checkpoints(self, *, unsent: bool = False) -> tuple[Checkpoint, ...]:
        """The checkpoints, oldest first."""
        return self._tables.read(lambda tables: tables.checkpoints(unsent=unsent))

    def sent(self, number: int) -> None:
        """Remember that the checkpoints up to this number were taken by every place outside."""
        self._tables.write(lambda tables: tables.mark_sent(number))

    def close(self) -> None:
        """Write what was announced, where that can be, and give back what the store holds open."""
        self._tables.close()
