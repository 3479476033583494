"""The part of the SQL tables that finds audit records by their copies. Holds no rule. Comes after `filing_sql` and before `sql_tables`."""

from __future__ import annotations

import json
from typing import Any

from guard.core.log import Sealed
from guard.core.searching import Filed, Sought
from guard.core.values import Json
from guard.stores import filing_sql
from guard.stores.filing import COLUMNS, WIDE
from guard.stores.sql_approvals import SqlApprovals


class SqlSearch(SqlApprovals):
    """Searches in tables."""

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """Records that are looked for."""
        statement, values = filing_sql.search(sought)
        found = (Sealed(chain=c, seq=s, prev=p, hash=h, body=b) for c, s, p, h, b in self.all(statement, values))
        if sought.tenant is not None and len(sought.tenant) > WIDE:  # a copy is cut, and nobody may see another tenant's records
            found = (one for one in found if json.loads(one.body).get("tenant") == sought.tenant)
        return tuple(found)

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """How many records are looked for."""
        statement, values = filing_sql.tally(sought, by)
        return tuple((tuple(group), int(number)) for *group, number in self.all(statement, values))

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """Columns of what is filed about records."""
        statement, values = filing_sql.filed(sought, names)
        return tuple(map(tuple, self.all(statement, values)))

    def copies(self, chain: int, after: int, limit: int) -> tuple[Filed, ...]:
        """What is filed about records."""
        found = self.all(filing_sql.COPIES, (chain, after, limit))
        last = int(found[-1][1]) if found else after
        tags: dict[int, set[str]] = {}
        for seq, tag in self.all(filing_sql.COPIED_TAGS, (chain, after, last)):
            tags.setdefault(int(seq), set()).add(str(tag))
        filed = ((int(row[1]), dict(zip(COLUMNS, row[2:], strict=True))) for row in found)
        return tuple(Filed(seq=seq, columns=columns, tags=frozenset(tags.get(seq, ()))) for seq, columns in filed)
