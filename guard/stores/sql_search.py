"""The part of the SQL tables that finds audit records by their copies, and by reading those that have none yet. Holds no rule.

Both are asked in one transaction, which sees one state of the database; so each record is found once, whoever files meanwhile. Comes after
`filing_sql` and before `sql_tables`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from guard.core.log import Sealed
from guard.core.searching import Filed, Sought
from guard.core.values import Json
from guard.stores import filing, filing_sql, sifting
from guard.stores.filing import COLUMNS, WIDE
from guard.stores.sql_approvals import SqlApprovals
from guard.stores.tail import Lying, Tail

_PLACE = ("at", "chain", "seq")
Placed = tuple[tuple[int, int, int], Any]


class SqlSearch(SqlApprovals):
    """Searches in tables."""

    tail: Tail | None = None  # what other searches of the store have read
    lying: str = filing_sql.LYING
    sifts = True  # whether the database can be asked for records by what their texts hold

    def unfiled(self, sought: Sought) -> list[filing.Read]:
        """The records behind the last one of their chain that is filed: all of them, or those that may be sought."""
        self.flush()
        tail = Tail() if self.tail is None else self.tail
        lying = [Lying(*row) for row in self.all(self.lying, ())]
        condition, values = sifting.sift(sought) if self.sifts and tail.missing(lying) > sifting.LEAST else ("", [])
        if not condition:
            return tail.of(lying, self._behind)
        return [filing.read(one) for chain in lying for one in self._behind(*chain[:3], f" AND {condition}", values)]

    def _behind(self, chain: int, after: int, end: int, more: str = "", values: Sequence[str] = ()) -> list[Sealed]:
        found = self.all(filing_sql.BEHIND.format(more), (chain, after, end, *values))
        return [Sealed(chain=c, seq=s, prev=p, hash=h, body=b) for c, s, p, h, b in found]

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """Records that are looked for."""
        statement, values = filing_sql.search(sought)
        found: list[Placed] = [
            ((a, c, s), Sealed(chain=c, seq=s, prev=p, hash=h, body=b)) for c, s, p, h, b, a in self.all(statement, values)
        ]
        records = _together(found, (((made["at"], one.chain, one.seq), one) for made, one in self._scanned(sought)), sought)
        if sought.tenant is not None and len(sought.tenant) > WIDE:  # a copy is cut, and nobody may see another tenant's records
            return tuple(one for one in records if json.loads(one.body).get("tenant") == sought.tenant)
        return tuple(records)

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """How many records are looked for."""
        statement, values = filing_sql.tally(sought, by)
        found = tuple((tuple(group), int(number)) for *group, number in self.all(statement, values))
        return filing.sum_up(found, filing.count(self.unfiled(sought), sought, by))

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """Columns of what is filed about records."""
        scanned = [{**made, "chain": one.chain, "seq": one.seq} for made, one in self._scanned(sought)]
        if not scanned:
            statement, values = filing_sql.filed(sought, names)
            return tuple(self.all(statement, values))
        statement, values = filing_sql.filed(sought, (*names, *_PLACE))
        rows = self.all(statement, values)
        found: list[Placed] = [((row[-3], row[-2], row[-1]), tuple(row[:-3])) for row in rows]
        return tuple(_together(found, ((_values(one, _PLACE), _values(one, names)) for one in scanned), sought))

    def _scanned(self, sought: Sought) -> list[tuple[filing.Columns, Sealed]]:
        return filing.scan(self.unfiled(sought), sought)

    def copies(self, chain: int, after: int, limit: int) -> tuple[Filed, ...]:
        """What is filed about records."""
        found = self.all(filing_sql.COPIES, (chain, after, limit))
        last = int(found[-1][1]) if found else after
        tags: dict[int, set[str]] = {}
        for seq, tag in self.all(filing_sql.COPIED_TAGS, (chain, after, last)):
            tags.setdefault(int(seq), set()).add(str(tag))
        filed = ((int(row[1]), dict(zip(COLUMNS, row[2:], strict=True))) for row in found)
        return tuple(Filed(seq=seq, columns=columns, tags=frozenset(tags.get(seq, ()))) for seq, columns in filed)


def _values(one: filing.Columns, names: tuple[str, ...]) -> Any:
    return tuple(one[name] for name in names)


def _together(found: list[Placed], scanned: Iterable[Placed], sought: Sought) -> list[Any]:
    """What was found in both ways, in order, at most as many as asked for."""
    behind = list(scanned)
    if behind:
        found = sorted([*found, *behind], key=lambda pair: pair[0], reverse=sought.newest)
    most = len(found) if sought.limit is None else max(sought.limit, 0)
    return [one for _, one in found[:most]]
