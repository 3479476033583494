"""The part of the SQL tables that keeps checkpoints over the audit. Holds no rule. Comes after `sql_budgets` and before `sql_tables`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guard.core.log import Checkpoint, Head, Stray, Tabled
from guard.errors import StoreError
from guard.stores import sql, tabled
from guard.stores.sql_ledgered import SqlLedgered

_CHECKPOINTS = "SELECT number, at, records, note FROM checkpoints"
ALL = _CHECKPOINTS + " ORDER BY number"
UNSENT = _CHECKPOINTS + " WHERE sent = 0 ORDER BY number"
LAST = _CHECKPOINTS + " ORDER BY number DESC LIMIT 1"
ADD = "INSERT INTO checkpoints (number, at, records, note, sent) VALUES (?, ?, ?, ?, 0)"
SENT = "UPDATE checkpoints SET sent = 1 WHERE number <= ? AND sent = 0"


_SOME = 10
ELSEWHERE = "SELECT chain, seq FROM audit WHERE chain < 0 OR chain >= ? OR seq < 1 LIMIT ?"
ABOUT_NONE = {
    table: f"SELECT t.chain, t.seq FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM audit a WHERE a.chain = t.chain AND a.seq = t.seq) LIMIT ?"  # noqa: S608 - our own names
    for table in ("filed", "tags")
}
"""Each is one statement, so that a record and what is filed about it meanwhile are both seen, or neither."""
OPENED = "SELECT chain, seq FROM segment_ends WHERE dropping <> 0 LIMIT ?"
"""Only the transaction that drops a segment says so."""
TAKEN = (
    "SELECT conversation, turn FROM claims k WHERE NOT EXISTS (SELECT 1 FROM calls c WHERE c.conversation = k.conversation AND c.turn = k.turn"
    " AND c.position = k.position) LIMIT ?"
)
"""Claims of calls that there are not: whoever comes to their place would not be let."""
STATES = (
    "SELECT id, conversation, fingerprint, status, run, decided_run, branch, turn, position, requested_at, expires_at, decided_at, decided_by,"
    " escalate_at, detail, payload FROM approvals"
)
VOTED = "SELECT approval, number, status, voter, roles, at, detail, payload FROM votes ORDER BY approval, number"
GRANTED = (
    "SELECT g.id, g.tenant, g.principal, g.tool, g.approval, g.at, g.until, g.revoked, g.detail, g.erased, g.payload, p.body"
    " FROM grants g LEFT JOIN payloads p ON p.id = g.payload"
)
USED = "SELECT conversation, turn, position, grant_id, amount, at FROM grant_uses"
KILLS = "SELECT id, tenant, conversation, tool, at, cleared, detail, payload FROM kills"


class SqlLog(SqlLedgered):
    """Checkpoints in a table."""

    def heads_now(self) -> Mapping[int, Head]:
        """The newest record of the one chain."""
        self.flush()
        found = self.one(sql.HEAD, 0)
        if found is not None and type(found[0]) is not int:  # a file holds whatever is put into it
            raise StoreError("the newest record of the audit has no number: the file was damaged", code="damaged")
        return {} if found is None else {0: (found[0], str(found[1]))}

    def strays(self, chains: int) -> tuple[Stray, ...]:
        """Rows where no record can be."""
        found = {"audit": self.all(ELSEWHERE, (chains, _SOME))}
        found |= {table: self.all(statement, (_SOME,)) for table, statement in ABOUT_NONE.items()}
        found |= {"segment_ends": self.all(OPENED, (_SOME,)), "claims": self.all(TAKEN, (_SOME,))}
        return tuple(Stray(table=table, chain=chain, seq=seq) for table, rows in found.items() for chain, seq in rows)

    def tabled(self) -> Mapping[str, Tabled]:
        """Approvals with their votes, kills, and grants."""
        votes: dict[str, list[Any]] = {}
        for row in self.all(VOTED, ()):
            votes.setdefault(str(row[0]), []).append(row)
        found = {str(row[0]): tabled.approval_row(row, votes.pop(str(row[0]), [])) for row in self.all(STATES, ())}
        found |= {name: tabled.voted("missing", [(str(one[2]), str(one[3])) for one in given]) for name, given in votes.items()}
        found |= {str(row[0]): tabled.kill_row(row) for row in self.all(KILLS, ())}
        found |= {"/".join(map(str, row[:3])): tabled.use_row(row) for row in self.all(USED, ())}
        return found | {str(row[0]): tabled.grant_row(row, self.lock) for row in self.all(GRANTED, ())}

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
