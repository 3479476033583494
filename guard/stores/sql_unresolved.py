"""The part of the SQL tables that finds calls by what they act on. Holds no rule. Comes after `sql_erasing` and before `sql_tables`."""

from __future__ import annotations

from typing import Any

from guard.core.ports import CallRow
from guard.core.targets import Aim
from guard.stores import sql
from guard.stores.sql_erasing import SqlErasing
from guard.stores.tables import OPEN


class SqlUnresolved(SqlErasing):
    """Calls of all conversations, by their targets. No other conversation is locked by looking."""

    def _calls(self, statement: str, *values: Any) -> tuple[CallRow, ...]:
        """Calls as they stand; `sql_tables` does."""
        raise NotImplementedError

    def _aim(self, row: CallRow, conversation: str) -> None:
        """Keep what a call acts on, for as long as it may run or may have run; a call without a target costs nothing."""
        if row.target:
            kept = row.target if row.status in OPEN else ""
            self.run(sql.AIM, kept, conversation, row.key.turn, row.key.position)

    def aimed(self, aim: Aim) -> tuple[CallRow, ...]:
        """Calls with this tag."""
        return self._calls(sql.AIMED, aim.tag)

    def aimed_otherwise(self, aim: Aim, most: int) -> tuple[CallRow, ...]:
        """Calls with a tag of another form, or none."""
        whose, below, above = (aim.tool, aim.tenant), aim.form, aim.form[:-1] + ";"  # ; comes right after the : of a form
        unknown = self._calls(sql.UNKNOWN_OTHERWISE, *whose, below, *whose, above, most)
        left = most - len(unknown)
        more = self._calls(sql.LOST_OTHERWISE, self.now, *whose, below, above, left) if left else ()
        return (*unknown, *more)
