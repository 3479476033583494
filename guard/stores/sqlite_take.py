"""Taking a plain call in an SQLite file: one statement, an insert into a view whose trigger looks, and writes everything or nothing.

View and trigger are temporary: each connection that writes makes its own, and the file holds nothing of them. A Python thread that runs a
statement lets all others go first, so what costs here is how many there are. Holds no rule: see `plain`. Comes after `plain` and `sql_tables`, before
`sqlite`.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from guard.core.ports import CallRow, Won
from guard.stores import sql
from guard.stores.rows import Columns
from guard.stores.sql_tables import SqlTables
from guard.stores.tables import Plain

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
_KILLED: Final = (
    "EXISTS (SELECT 1 FROM kills k, conversations t WHERE k.cleared IS NULL AND t.id = NEW.home AND (k.tenant IS NULL OR k.tenant = t.tenant)"
    " AND (k.conversation IS NULL OR k.conversation = t.conversation) AND (k.tool IS NULL OR k.tool = NEW.tool))"
)
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
  INSERT INTO claims (conversation, turn, position, fingerprint, approval, at)
    VALUES (NEW.home, NEW.turn, NEW.place, NEW.print, NULL, NEW.at);
  INSERT INTO audit (chain, seq, prev, hash, body) VALUES (0, NEW.seq, NEW.prev, NEW.hash, NEW.record);
  INSERT INTO payloads (id, kind, body) VALUES (NEW.payload, 'call', NEW.body);
  INSERT INTO calls (conversation, turn, position, branch, name, status, kind, tool, fingerprint, mark, run, again, settled, at,
      approval, owned, evidence, outcome, effect, attempt, lease, idem, executor, payload, ended)
    SELECT NEW.home, NEW.turn, NEW.place, NEW.branch, NEW.name, 'started', NEW.sort, NEW.tool, NEW.print, NEW.mark, t.run, NEW.again,
      NEW.settled, NEW.at, NEW.approval, NEW.owned, NEW.evidence, NULL, NEW.effect, 1, NEW.at + NEW.lease, NEW.idem, NEW.executor,
      NEW.payload, NULL FROM conversations t WHERE t.id = NEW.home;
END
"""  # noqa: S608 - our own text
TAKE: Final = f"INSERT INTO taking ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - our own text


def prepare(connection: sqlite3.Connection) -> None:
    """Make view and trigger on a connection that will write."""
    connection.execute(VIEW)
    connection.execute(TRIGGER)


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
