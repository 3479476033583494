"""The part of the SQL tables that keeps checkpoints over the audit. Holds no rule. Comes after `sql_budgets` and before `sql_tables`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guard.core.log import Checkpoint, Head
from guard.stores import sql
from guard.stores.sql_budgets import SqlBudgets

_CHECKPOINTS = "SELECT number, at, records, note FROM checkpoints"
ALL = _CHECKPOINTS + " ORDER BY number"
UNSENT = _CHECKPOINTS + " WHERE sent = 0 ORDER BY number"
LAST = _CHECKPOINTS + " ORDER BY number DESC LIMIT 1"
ADD = "INSERT INTO checkpoints (number, at, records, note, sent) VALUES (?, ?, ?, ?, 0)"
SENT = "UPDATE checkpoints SET sent = 1 WHERE number <= ? AND sent = 0"


class SqlLog(SqlBudgets):
    """Checkpoints in a table."""

    def heads_now(self) -> Mapping[int, Head]:
        """The newest record of the one chain."""
        self.flush()
        found = self.one(sql.HEAD, 0)
        return {} if found is None else {0: (int(found[0]), str(found[1]))}

    def checkpoints(self, *, unsent: bool) -> tuple[Checkpoint, ...]:
        """The checkpoints, oldest first."""
        return tuple(map(_checkpoint, self.all(UNSENT if unsent else ALL, ())))

    def last_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint."""
        found = self.one(LAST)
        return None if found is None else _checkpoint(found)

    def add_checkpoint(self, one: Checkpoint) -> None:
        """Keep a new checkpoint."""
        self.run(ADD, one.number, one.at, one.records, one.note)

    def mark_sent(self, number: int) -> None:
        """Mark checkpoints as sent."""
        self.run(SENT, number)


def _checkpoint(row: Any) -> Checkpoint:
    number, at, records, note = row
    return Checkpoint(number=int(number), at=float(at), records=int(records), note=str(note))
