"""The part of a store in SQL that keeps where sinks stand. Its statements are the same for every database. Comes before `sql_tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.core.outbox import Advance, Letter, SinkState
from guard.stores import sql
from guard.stores.sql_approvals import Statements

_SINK = "SELECT sink, holder, lease, failures, due, error, sent, sent_at, dropped FROM sinks WHERE sink = ?"
_NAMES = "SELECT sink FROM sinks ORDER BY sink"
_CURSORS = "SELECT chain, seq FROM cursors WHERE sink = ?"
_WAITING = "SELECT COUNT(*) FROM letters WHERE sink = ?"
_NEW = (
    "INSERT INTO sinks (sink, holder, lease, failures, due, error, sent, sent_at, dropped) VALUES (?, ?, ?, 0, 0, '', 0, NULL, 0)"
    " ON CONFLICT (sink) DO NOTHING"
)
_TAKE = "UPDATE sinks SET holder = ?, lease = ? WHERE sink = ? AND holder = ? AND lease = ?"
_PUT = (
    "UPDATE sinks SET holder = '', lease = 0, failures = ?, due = ?, error = ?, sent = sent + ?,"
    " sent_at = CASE WHEN ? > 0 THEN ? ELSE sent_at END, dropped = dropped + ? WHERE sink = ? AND holder = ?"
)
_CURSOR = "INSERT INTO cursors (sink, chain, seq) VALUES (?, ?, ?) ON CONFLICT (sink, chain) DO UPDATE SET seq = excluded.seq"
_LETTER = (
    "INSERT INTO letters (sink, chain, seq, at, tries, why) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (sink, chain, seq) DO UPDATE SET tries = excluded.tries, why = excluded.why"
)
_TAKE_BACK = "DELETE FROM letters WHERE sink = ? AND chain = ? AND seq = ?"
_LETTERS = "SELECT chain, seq, at, tries, why FROM letters WHERE sink = ? ORDER BY at, chain, seq LIMIT ?"


class SqlOutbox(Statements):
    """Sinks, cursors and letters in tables."""

    def sink(self, name: str) -> SinkState | None:
        """Where a sink stands."""
        row = self.one(_SINK, name)
        if row is None:
            return None
        fields = ("sink", "holder", "lease", "failures", "due", "error", "sent", "sent_at", "dropped")
        cursors = {int(chain): int(seq) for chain, seq in self.all(_CURSORS, (name,))}
        return SinkState(**dict(zip(fields, row, strict=True)), letters=int(self.one(_WAITING, name)[0]), cursors=cursors)

    def sink_names(self) -> tuple[str, ...]:
        """All sinks."""
        return tuple(str(name) for (name,) in self.all(_NAMES, ()))

    def last_seq(self, chain: int) -> int:
        """The newest record of a chain."""
        self.flush()
        row = self.one(sql.HEAD, chain)
        return 0 if row is None else int(row[0])

    def new_sink(self, name: str, holder: str, until: float) -> bool:
        """Add a sink."""
        return self.changed(_NEW, name, holder, until) == 1

    def take_sink(self, before: SinkState, holder: str, until: float) -> bool:
        """Give a sink to this holder."""
        return self.changed(_TAKE, holder, until, before.sink, before.holder, before.lease) == 1

    def put_sink(self, change: Advance, holder: str) -> bool:
        """Keep counters and let the sink go."""
        sent = (change.sent, change.sent, self.now)
        return self.changed(_PUT, change.failures, change.due, change.error, *sent, change.dropped, change.sink, holder) == 1

    def cursors(self, name: str, found: Mapping[int, int]) -> None:
        """Keep new cursors."""
        for chain, seq in sorted(found.items()):
            self.run(_CURSOR, name, chain, seq)

    def set_aside(self, name: str, letters: Sequence[Letter]) -> None:
        """Keep letters."""
        for one in letters:
            self.run(_LETTER, name, one.chain, one.seq, self.now, one.tries, one.why)

    def take_back(self, name: str, letters: Sequence[Letter]) -> None:
        """Forget letters."""
        for one in letters:
            self.run(_TAKE_BACK, name, one.chain, one.seq)

    def letters(self, name: str, limit: int) -> tuple[Letter, ...]:
        """Letters, oldest first."""
        return tuple(
            Letter(chain=chain, seq=seq, at=at, tries=tries, why=why)
            for chain, seq, at, tries, why in self.all(_LETTERS, (name, limit))
        )
