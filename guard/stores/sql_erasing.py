"""The part of the SQL tables that erases raw values, and knows which processes batch. Holds no rule. Comes after `sql_budgets` and before `sql_tables`."""

from __future__ import annotations

from typing import Any

from guard.core.ports import CallRow
from guard.stores import sql
from guard.stores.batch_tables import Batches
from guard.stores.rows import name_of
from guard.stores.sql_budgets import SqlBudgets
from guard.stores.tables import Home, Place

_FAR = 1e300  # later than every time: a column holds no infinity on every database


class SqlErasing(SqlBudgets):
    """Erasing in tables."""

    def put(self, row: CallRow) -> None:
        """Add or replace a call; `sql_tables` does."""
        raise NotImplementedError

    def aged(self, before: float, limit: int) -> list[tuple[Home, Place]]:
        """Calls that are over."""
        found = self.all(sql.AGED, (before, before, before, limit))
        return [((tenant, conversation), (turn, position)) for tenant, conversation, turn, position in found]

    def homes(self, principal: str | None, name: str | None) -> tuple[Home, ...]:
        """The conversations of a person, or of this name."""
        found: list[Any] = self.all(sql.HOMES, (principal, name))
        return tuple((tenant, conversation) for tenant, conversation in found)

    def batching(self) -> tuple[Batches, ...]:
        """The processes that batch."""
        return tuple(Batches(str(name), float(within), float(at)) for name, within, at in self.all(sql.BATCHING, ()))

    def begin_batching(self, executor: str, within: float) -> None:
        """Remember a process."""
        self.run(sql.BEGIN_BATCHING, executor, within, self.now)

    def end_batching(self, executor: str) -> bool:
        """Forget it."""
        return self.changed(sql.END_BATCHING, executor) > 0

    def scrub(self) -> None:
        """Left to the database."""

    def wipe(self, row: CallRow) -> None:
        """Write an erased row."""
        self.put(row)
        place = (name_of((row.key.ref.tenant, row.key.ref.conversation)), row.key.turn, row.key.position)
        self.run(sql.ERASED, self.now, *place)
        self.run(sql.NO_AMOUNT, *place)

    def wipe_votes(self, approval_id: str) -> None:
        """Forget the reasons of votes."""
        self.run(sql.FORGET_VOTES, approval_id)

    def wipe_words(self, home: Home, before: float) -> int:
        """Forget what the user said."""
        return self.changed(sql.FORGET_WORDS, name_of(home), min(before, _FAR))
