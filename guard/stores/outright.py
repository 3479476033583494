"""Outright: everything that is written of a call before it runs, in one transaction, where nothing about it is out of the ordinary.

The rules are those of `turns`, `budgets` and `claims`; this only has them follow each other. Shared by every store with one writer. Comes after them
and before `ledger`.
"""

from __future__ import annotations

from guard.core.acting import FindBlocked
from guard.core.kills import Killed
from guard.core.ports import Begin, CallRow, Claim, ClaimAnswer, Outright, Stood
from guard.stores import budgets, claims, deciding, kills, lookups, turns
from guard.stores.backend import Backend
from guard.stores.plain import plain
from guard.stores.tables import Plain, Tables
from guard.stores.unresolved import blocking


class _OtherwiseError(Exception):
    """Something is not as it was foreseen: the transaction is undone. Never leaves this file."""


class OutrightLedger:
    """What a store does with a call outright, over any `Backend`."""

    __slots__ = ()
    _tables: Backend
    _epoch: int
    _one_writer: bool
    blocking: bool

    def _claim(self, tables: Tables, command: Claim, given: Plain | None) -> ClaimAnswer:
        raise NotImplementedError

    @property
    def at_once(self) -> bool:
        """Whether the store has one writer. Where several write, a transaction of many steps would wait for another's in the wrong order."""
        return self._one_writer

    def blocked(self, command: FindBlocked) -> CallRow | None:
        """An unresolved call that keeps others on its target from starting."""
        return self._tables.read(lambda tables: blocking(tables, command.aim))

    def outright(self, command: Outright) -> Stood | None:
        """Write all of it, or nothing. See Outright."""
        claim = command.claim
        given = plain(claim, self._epoch, self._tables.lock) if claim is not None and self.blocking else None
        try:
            return self._tables.write(lambda tables: self._outright(tables, command, given))
        except _OtherwiseError:
            return None

    def begin(self, command: Begin) -> ClaimAnswer:
        """Write a decision and take its call, in one transaction. See Begin."""
        claim = command.claim
        given = plain(claim, self._epoch, self._tables.lock) if self.blocking else None

        def work(tables: Tables) -> ClaimAnswer:
            deciding.decide(tables, command.record)
            return self._claim(tables, claim, given)

        try:
            return self._tables.write(work)
        except kills.StoppedError as stopped:
            return Killed(stopped.stop)

    def _outright(self, tables: Tables, command: Outright, given: Plain | None) -> Stood:
        opened = turns.open_turn(tables, command.opening)
        if not command.fits(opened):
            raise _OtherwiseError
        if command.twins is not None and not command.alone(lookups.twins(tables, command.twins)):
            raise _OtherwiseError
        if command.take is not None and any(answer is not None for answer in budgets.take(tables, command.take)):
            raise _OtherwiseError
        claims.record(tables, command.record.rows, command.record.events)
        won = None if command.claim is None else self._claim(tables, command.claim, given)
        return Stood(opened=opened, won=won)
