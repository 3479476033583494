"""The part of the SQL tables that finds audit records by their copies, and those that have none yet by the tail. Holds no rule.

Both are asked in one transaction, which sees one state of the database; so each record is found once, whoever files meanwhile. Comes after
`filing_sql` and `tail`, before `sql_tables`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from guard.core.log import Sealed
from guard.core.replacing import replace
from guard.core.searching import Filed, Sought
from guard.core.values import Json
from guard.stores import filing, filing_sql, sifting
from guard.stores.filing import COLUMNS, WIDE
from guard.stores.sql_approvals import SqlApprovals
from guard.stores.tail import Lying, Tail

_PLACE: Final = ("at", "chain", "seq")
_SOME: Final = 200  # records that are fetched at once
_SELDOM: Final = 16  # one of so many texts may be sought, and no more, for them to be read by themselves
_WIDER: Final = 0.001  # seconds: a time is exact to less
_DAY: Final = 86_400.0
_DAYS: Final = 40  # a month, with some to spare
Placed = tuple[tuple[int, int, int], Any]


class SqlSearch(SqlApprovals):
    """Searches in tables."""

    tail: Tail | None = None  # what other searches of the store have read
    lying: str = filing_sql.LYING
    sifts = True  # whether the database can be asked for records by what their texts hold
    by_days = True  # whether it counts days one by one in less time than it takes to sort all records by their day

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """Records that are looked for."""
        statement, values = filing_sql.search(sought)
        rows = self.all(statement, values)
        found: list[Placed] = [((a, c, s), Sealed(chain=c, seq=s, prev=p, hash=h, body=b)) for c, s, p, h, b, a in rows]
        lying = self._lying()
        behind = self._behind(_narrowed(sought, found), (), lying) if lying else []
        records = self._records(_together(found, behind, sought))
        if sought.tenant is not None and len(sought.tenant) > WIDE:  # a copy is cut, and nobody may see another tenant's records
            return tuple(one for one in records if json.loads(one.body).get("tenant") == sought.tenant)
        return tuple(records)

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """How many records are looked for."""
        statement, values = filing_sql.tally(sought, by)
        days = _days(sought, by) if self.by_days else ()
        found = self._by_days(days, by) if days else _counted(self.all(statement, values))
        lying = self._lying()
        if not lying:
            return found
        if not by and sought == Sought():
            return filing.sum_up(found, (((), sum(map(self._number, lying))),))
        sifted = self._sifted(sought, lying)
        if sifted is not None:
            return filing.sum_up(found, filing.count(sifted, sought, by))
        return filing.sum_up(found, _counted(self._of_tail(lying, statement, values)))

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """Columns of what is filed about records."""
        lying = self._lying()
        if not lying:
            return tuple(self.all(*filing_sql.filed(sought, names)))
        found = _placed(self.all(*filing_sql.filed(sought, (*names, *_PLACE))))
        return tuple(row for _, row in _together(found, self._behind(_narrowed(sought, found), names, lying), sought))

    def _by_days(self, days: Iterable[tuple[int, Sought]], by: tuple[str, ...]) -> filing.Counts:
        each = ((day, _counted(self.all(*filing_sql.tally(one, by[1:])))) for day, one in days)
        return tuple(((day, *group), number) for day, counts in each for group, number in counts if number)

    # what is not filed

    def _lying(self) -> list[Lying]:
        """The chains with records behind the last one that is filed."""
        self.flush()
        return [one for one in (Lying(*row) for row in self.all(self.lying, ())) if one.newest > one.filed]

    def _number(self, one: Lying) -> int:
        return int(self.one(filing_sql.NUMBER, one.chain, one.filed, one.newest)[0])

    def _behind(self, sought: Sought, names: tuple[str, ...], lying: Sequence[Lying]) -> list[Placed]:
        """Places and columns of the records that are sought and not filed."""
        sifted = self._sifted(sought, lying)
        if sifted is None:
            return _placed(self._of_tail(lying, *filing_sql.filed(sought, (*names, *_PLACE))))
        made = ({**copies, "chain": one.chain, "seq": one.seq} for copies, one in filing.scan(sifted, sought))
        return [(_values(one, _PLACE), _values(one, names)) for one in made]

    def _sifted(self, sought: Sought, lying: Sequence[Lying]) -> list[filing.Read] | None:
        """The records that may be sought, where few of these have to be read and most of all have not been; else None: all are read, once."""
        missing = 0 if self.tail is None else self.tail.missing(lying)
        if not self.sifts or missing <= sifting.LEAST:
            return None
        condition, given = sifting.sift(sought)
        limit = sought.limit if sought.newest and len(lying) == 1 else None
        if limit is None and not condition:
            return None
        most = missing // _SELDOM if limit is None else sifting.enough(limit)
        order = "seq" if limit is None else sifting.NEWEST
        more = f" AND {condition}" if condition else ""
        found = [one for chain in lying for one in self._texts(*chain[:3], more, order, (*given, most + 1))]
        whole = len(found) <= most
        reads = list(map(filing.read, found[:most] if whole or limit is not None else ()))
        return reads if whole or (limit is not None and sifting.suffice(reads, sought)) else None

    def _of_tail(self, lying: Sequence[Lying], statement: str, values: Sequence[Any]) -> list[Any]:
        """What a statement finds among the records that are not filed."""
        tail = Tail() if self.tail is None else self.tail
        return tail.ask(lying, self._texts, lambda database: database.execute(statement, values).fetchall())

    def _texts(
        self, chain: int, after: int, end: int, more: str = "", order: str = "seq", values: Sequence[Any] = (filing_sql.MOST,)
    ) -> list[Sealed]:
        found = self.all(filing_sql.BEHIND.format(more, order), (chain, after, end, *values))
        return [Sealed(chain=c, seq=s, prev=p, hash=h, body=b) for c, s, p, h, b in found]

    def _records(self, found: Sequence[Placed]) -> list[Sealed]:
        """The records at these places, those that are not there yet fetched."""
        wanted: dict[int, list[int]] = {}
        for (_, chain, seq), one in found:
            if not isinstance(one, Sealed):
                wanted.setdefault(chain, []).append(seq)
        some = [(chain, seqs[at : at + _SOME]) for chain, seqs in wanted.items() for at in range(0, len(seqs), _SOME)]
        rows = (
            row for chain, seqs in some for row in self.all(filing_sql.THESE.format(", ".join("?" * len(seqs))), (chain, *seqs))
        )
        fetched = {(c, s): Sealed(chain=c, seq=s, prev=p, hash=h, body=b) for c, s, p, h, b in rows}
        return [one if isinstance(one, Sealed) else fetched[place[1:]] for place, one in found]

    def copies(self, chain: int, after: int, limit: int) -> tuple[Filed, ...]:
        """What is filed about records."""
        found = self.all(filing_sql.COPIES, (chain, after, limit))
        last = int(found[-1][1]) if found else after
        tags: dict[int, set[str]] = {}
        for seq, tag in self.all(filing_sql.COPIED_TAGS, (chain, after, last)):
            tags.setdefault(int(seq), set()).add(str(tag))
        filed = ((int(row[1]), dict(zip(COLUMNS, row[2:], strict=True))) for row in found)
        return tuple(Filed(seq=seq, columns=columns, tags=frozenset(tags.get(seq, ()))) for seq, columns in filed)


def _days(sought: Sought, by: tuple[str, ...]) -> tuple[tuple[int, Sought], ...]:
    """The days of a span of some, each with what is sought of it, where days are counted; else none."""
    if by[:1] != ("day",) or sought.since is None or sought.until is None or not 0 < sought.until - sought.since < _DAYS * _DAY:
        return ()
    begin, end = sought.since, sought.until
    numbers = range(int(begin // _DAY), int(end // _DAY) + 1)
    spans = ((number, max(begin, number * _DAY), min(end, (number + 1) * _DAY)) for number in numbers)
    return tuple((number, replace(sought, since=since, until=until)) for number, since, until in spans)


def _counted(rows: Sequence[Any]) -> filing.Counts:
    return tuple((tuple(group), int(number)) for *group, number in rows)


def _placed(rows: Sequence[Any]) -> list[Placed]:
    """Rows whose last columns are the place."""
    return [((row[-3], row[-2], row[-1]), tuple(row[:-3])) for row in rows]


def _values(one: filing.Columns, names: tuple[str, ...]) -> Any:
    return tuple(one[name] for name in names)


def _narrowed(sought: Sought, found: Sequence[Placed]) -> Sought:
    """Without what comes later than so many records that were found already."""
    if not found or sought.limit is None or len(found) < sought.limit:
        return sought
    (at, *_), _ = found[-1]
    if sought.newest:
        return replace(sought, since=max(sought.since or 0.0, at / 1_000_000 - _WIDER))
    until = at / 1_000_000 + _WIDER
    return replace(sought, until=until if sought.until is None else min(sought.until, until))


def _together(found: list[Placed], behind: list[Placed], sought: Sought) -> list[Placed]:
    """What was found in both ways, in order, at most as many as asked for."""
    if behind:
        found = sorted([*found, *behind], key=lambda pair: pair[0], reverse=sought.newest)
    return found if sought.limit is None else found[: max(sought.limit, 0)]
