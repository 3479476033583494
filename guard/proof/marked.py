"""Marked: rows of approvals, grants, their uses and kills, column by column, held against the digests that records keep of them.

A digest is made with the store's secret, so an edit is found whatever the row held, and whoever changes it cannot say so in the log. A row that no record speaks of in
this way is one of an earlier version: nothing is said of it here. Comes after `chains` and before `tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from guard.core.log import Tabled
from guard.core.rowed import mark, said
from guard.proof.chains import Problem

MARK: Final = ',"rows":{"'
_SPREAD: Final = frozenset({"grants", "kills"})
"""Tables of whose rows records stand in several chains, so that nobody knows which came last: that they ended is told from their kinds, and what else may change from any of them."""
_WORD: Final = {"approvals": "approval", "grants": "grant", "kills": "kill", "grant_uses": "use of a grant"}
_Place = tuple[int, int]


class Marked:
    """The newest digest of each column, by table and row, and the last record that says one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        self._place: dict[tuple[str, str], _Place] = {}

    def add(self, rows: Any, place: _Place) -> None:
        """What a record says of rows."""
        for name, columns in rows.items() if isinstance(rows, dict) else ():
            table, _, row = str(name).partition("/")
            known = self._known.setdefault((table, row), {})
            for column, digest in columns.items() if isinstance(columns, dict) else ():
                before = known.get(column, ()) if table in _SPREAD else ()
                known[str(column)] = (*before, str(digest))
                self._place[table, row] = place

    def against(self, before: Mapping[str, Tabled], after: Mapping[str, Tabled], secret: bytes) -> Iterator[Problem]:
        """Columns that hold something else than was recorded, of rows that did not change meanwhile; each with table, row and column."""
        for table, name in sorted(self._known) if secret else ():
            one = after.get(name)
            if one is None and table == "grant_uses" and before.get(name) is None:
                yield self._problem(table, name, "is not among the uses of grants in the store")
            elif one is not None and one == before.get(name):
                yield from self._columns(table, name, one, secret)
        for name, one in sorted(after.items()):
            if one == before.get(name) and one.row is not None:
                yield from self._own(name, one, one.row.table)

    def _columns(self, table: str, name: str, one: Tabled, secret: bytes) -> Iterator[Problem]:
        if one.row is None or one.row.table != table:
            return
        stands, known = said(one.row.columns, one.row.detail, one.row.times), self._known[table, name]
        if table != "approvals" or "conversation" in known:  # all of it was told once
            known = {**{column: () for column in stands if column.startswith("detail.")}, **known}
        for column, digests in sorted(known.items()):
            if not _holds(secret, (table, name, column), stands.get(column), digests) and column != _erased(one, column):
                yield self._problem(table, name, f"says something else in {table}.{column} than by the records")

    def _own(self, name: str, one: Tabled, table: str) -> Iterator[Problem]:
        """What contradicts itself: columns that two places have, and raw values of another row."""
        for column in one.says.get("beside", ()):
            yield self._problem(table, name, f"says something else in {column} than in its own row")

    def _problem(self, table: str, name: str, what: str) -> Problem:
        return Problem("", f"{_WORD.get(table, table)} {name} {what}", *self._place.get((table, name), ()))


def _holds(secret: bytes, place: tuple[str, str, str], text: str | None, digests: tuple[str, ...]) -> bool:
    return text is not None and mark(secret, *place, text) in digests


def _erased(one: Tabled, column: str) -> str:
    """An erased call's use of a grant keeps no amount."""
    return column if column == "amount" and one.row is not None and one.row.columns.get("amount") == "" else ""
