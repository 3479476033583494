"""Taking plain calls in an SQLite file: one statement, an insert into a view whose trigger looks, and writes everything or nothing.

Calls that are taken together are rows of one statement, which fails as a whole where it finds anything about one of them: then each is taken alone. Views and
triggers are temporary: each connection that writes makes its own, and the file holds nothing of them. A Python thread that runs a
statement lets all others go first, so what costs here is how many there are. Holds no rule: see `plain`. Comes after `plain` and `sql_tables`, before
`sqlite`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from guard.core.kills import Kill
from guard.core.ports import CallRow, Won
from guard.stores import sql
from guard.stores.chain import write_all
from guard.stores.rows import Columns
from guard.stores.sql_tables import SqlTables
from guard.stores.tables import Home, Plain

_COLUMNS: Final = (
    *("home", "whose", "era", "turn", "place"),
    *(
        "branch",
        "name",
        "sort",
        "tool",
        "print",
        "mark",
        "run",
        "again",
        "settled",
        "approval",
        "owned",
        "evidence",
        "effect",
        "lease",
    ),
    *("idem", "executor", "payload", "body"),
    *("at", "seq", "prev", "hash", "record"),
)
_ERA: Final = _COLUMNS.index("era")
_STOPPING: Final = "SELECT 1 FROM kills WHERE cleared IS NULL LIMIT 1"
_KILLED: Final = (
    "EXISTS (SELECT 1 FROM kills k, conversations t WHERE k.cleared IS NULL AND t.id = NEW.home AND (k.tenant IS NULL OR k.tenant = t.tenant)"
    " AND (k.conversation IS NULL OR k.conversation = t.conversation) AND (k.tool IS NULL OR k.tool = NEW.tool))"
)
_WRITE: Final = """
  INSERT INTO claims (conversation, turn, position, fingerprint, approval, at)
    VALUES (NEW.home, NEW.turn, NEW.place, NEW.print, NULL, NEW.at);
  INSERT INTO audit (chain, seq, prev, hash, body) VALUES (0, NEW.seq, NEW.prev, NEW.hash, NEW.record);
  INSERT INTO payloads (id, kind, body) VALUES (NEW.payload, 'call', NEW.body);
  INSERT INTO calls (conversation, turn, position, branch, name, status, kind, tool, fingerprint, mark, run, again, settled, at,
      approval, owned, evidence, outcome, effect, attempt, lease, idem, executor, payload, ended)
    VALUES (NEW.home, NEW.turn, NEW.place, NEW.branch, NEW.name, 'started', NEW.sort, NEW.tool, NEW.print, NEW.mark,
      (SELECT t.run FROM conversations t WHERE t.id = NEW.home AND t.principal = NEW.whose), NEW.again,
      NEW.settled, NEW.at, NEW.approval, NEW.owned, NEW.evidence, NULL, NEW.effect, 1, NEW.at + NEW.lease, NEW.idem, NEW.executor,
      NEW.payload, NULL);"""
"""Fails where the place was taken, or the conversation is not there or somebody else's: then there is no run."""
_TWIN: Final = "EXISTS (SELECT 1 FROM calls WHERE conversation = NEW.home AND mark = NEW.mark AND mark <> '' AND status"

VIEW: Final = f"CREATE TEMP VIEW taking AS SELECT {', '.join(f'NULL AS {name}' for name in _COLUMNS)}"
TRIGGER: Final = f"""
CREATE TEMP TRIGGER take INSTEAD OF INSERT ON taking
WHEN EXISTS (SELECT 1 FROM conversations WHERE id = NEW.home AND principal = NEW.whose)
  AND NOT EXISTS (SELECT 1 FROM calls WHERE conversation = NEW.home AND turn = NEW.turn AND position = NEW.place)
  AND NOT EXISTS (SELECT 1 FROM claims WHERE conversation = NEW.home AND turn = NEW.turn AND position = NEW.place)
  AND NOT {_TWIN} = 'started') AND NOT {_TWIN} = 'unknown')
  AND (NEW.again OR NOT {_TWIN} = 'done' AND run = NEW.run))
  AND (SELECT COALESCE(MAX(number), 0) FROM epochs) = NEW.era
  AND NOT {_KILLED}
BEGIN
  {_WRITE}
END
"""  # noqa: S608 - our own text
VIEW_MANY: Final = VIEW.replace("taking", "takings")
TRIGGER_MANY: Final = f"""
CREATE TEMP TRIGGER take_many INSTEAD OF INSERT ON takings
BEGIN
  SELECT RAISE(ABORT, 'it may be no plain call') WHERE {_TWIN} IS NOT NULL)
    AND ({_TWIN} = 'started') OR {_TWIN} = 'unknown') OR (NOT NEW.again AND {_TWIN} = 'done' AND run = NEW.run)));
  {_WRITE}
END
"""
_INTO: Final = f"INTO {{}} ({', '.join(_COLUMNS)}) VALUES "
_ROW: Final = f"({', '.join('?' * len(_COLUMNS))})"
TAKE: Final = f"INSERT {_INTO.format('taking')}{_ROW}"
TAKE_MANY: Final = {size: f"INSERT {_INTO.format('takings')}{', '.join([_ROW] * size)}" for size in (64, 32, 16, 8, 4, 2)}
"""By how many calls are taken at once, most first: few statements, so that each of them is prepared once."""


def prepare(connection: sqlite3.Connection) -> None:
    """Make views and triggers on a connection that will write."""
    for statement in (VIEW, TRIGGER, VIEW_MANY, TRIGGER_MANY):
        connection.execute(statement)


class FileTables(SqlTables):
    """`Tables` on a connection to a file."""

    one_writer = True

    def scrub(self) -> None:
        """Overwrite with zeros what is taken away, for as long as this connection is open."""
        self.connection.execute("PRAGMA secure_delete = ON").fetchone()

    def _write(self, row: CallRow, columns: Columns) -> None:
        """Of a call that was taken only what changes: each index that stays as it is spares a page of every flush."""
        if row.attempt and row.status != "started":
            place, (branch, name, status, kind, tool, fingerprint, *more, at), after = columns[:3], columns[3:14], columns[14:]
            *rest, _, ended = after  # the payload is named by the place
            if self.changed(sql.PUT_ON, status, kind, *more, *rest, ended, *place, branch, name, fingerprint, tool, at):
                return
        super()._write(row, columns)

    def take(self, given: Plain) -> Won | None:
        """Take a plain call."""
        seq, prev, own, body = self.sealed(given.event)  # may write what was appended before
        before = self.connection.total_changes
        self.connection.execute(TAKE, (*given.columns, self.now, seq, prev, own, body))
        if self.connection.total_changes == before:
            return None
        self.standing(seq, own)
        return given.won(self.now)

    def take_many(self, given: Sequence[Plain]) -> Sequence[Won]:
        """Take plain calls together: the answers of the first ones, as many as could be; the others have to be taken one by one."""
        taken: list[Won] = []
        if self._anything_stops() or any(one.columns[_ERA] != self.epoch() for one in given):
            return taken
        for size, statement in TAKE_MANY.items():
            while len(given) - len(taken) >= size:
                some = given[len(taken) : len(taken) + size]
                made = write_all([one.event for one in some], 0, self._newest(), self.stamps, self.now)
                values = [(*one.columns, self.now, seq, *rest) for one, (_, seq, *rest) in zip(some, made, strict=True)]
                try:
                    self.connection.execute(statement, tuple(chain.from_iterable(values)))
                except sqlite3.IntegrityError:
                    return taken
                self.standing(made[-1][1], made[-1][3])
                taken += [one.won(self.now) for one in some]
        return taken

    # what nobody else can have changed meanwhile is asked once

    def epoch(self) -> int:
        """The newest epoch."""
        if sql.EPOCH not in self._known:
            self._known[sql.EPOCH] = super().epoch()
        return int(self._known[sql.EPOCH])

    def begin_epoch(self, number: int, why: str) -> None:
        """Keep a new epoch."""
        self._known.pop(sql.EPOCH, None)
        super().begin_epoch(number, why)

    def _stopping(self, home: Home) -> Sequence[Any]:
        """Rows of `STOPS`, of which there are seldom any at all."""
        return super()._stopping(home) if self._anything_stops() else ()

    def _anything_stops(self) -> bool:
        if _STOPPING not in self._known:
            self._known[_STOPPING] = self.one(_STOPPING) is not None
        return bool(self._known[_STOPPING])

    def keep_kill(self, kill: Kill) -> None:
        """Add or replace a kill."""
        self._known.pop(_STOPPING, None)
        super().keep_kill(kill)
