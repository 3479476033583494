"""The part of the SQL tables that keeps closed months of the audit, and lets their records go. Holds no rule. Comes before `sql_log`."""

from __future__ import annotations

from typing import Any

from guard.core.log import Head, Segment
from guard.stores.sql_budgets import SqlBudgets

_SEGMENTS = "SELECT number, month, until, digest, closed, dropped FROM segments ORDER BY number"
_ENDS = "SELECT number, chain, seq, hash FROM segment_ends"
_ADD = "INSERT INTO segments (number, month, until, digest, closed) VALUES (?, ?, ?, ?, ?)"
_ADD_END = "INSERT INTO segment_ends (number, chain, seq, hash, dropping) VALUES (?, ?, ?, ?, 0)"
_DROPPED = "UPDATE segments SET dropped = ? WHERE number = ?"
_DROPPING = "UPDATE segment_ends SET dropping = ? WHERE number = ?"
_OLDEST = "SELECT MIN(seq) FROM audit WHERE chain = ?"
_GONE = tuple(f"DELETE FROM {table} WHERE chain = ? AND seq < ?" for table in ("tags", "filed", "audit"))  # noqa: S608 - our own names
_SOME = 100
_OPEN = (
    "SELECT id, status FROM approvals WHERE status IN ('pending', 'approved') AND requested_at < ? ORDER BY requested_at LIMIT ?",
    (
        "SELECT t.conversation || '/' || c.turn || '/' || c.position, c.status FROM calls c JOIN conversations t ON t.id = c.conversation"
        " WHERE c.status IN ('started', 'unknown') AND c.at < ? ORDER BY c.at LIMIT ?"
    ),
)


class SqlSegments(SqlBudgets):
    """Segments in tables."""

    def segments(self) -> tuple[Segment, ...]:
        """The segments, oldest first."""
        ends: dict[int, dict[int, Head]] = {}
        for number, chain, seq, own in self.all(_ENDS, ()):
            ends.setdefault(int(number), {})[int(chain)] = (int(seq), str(own))
        return tuple(_segment(row, ends.get(int(row[0]), {})) for row in self.all(_SEGMENTS, ()))

    def add_segment(self, one: Segment) -> None:
        """Keep a new segment."""
        self.run(_ADD, one.number, one.month, one.until, one.digest, self.now)
        for chain, (seq, own) in sorted(one.ends.items()):
            self.run(_ADD_END, one.number, chain, seq, own)

    def mark_dropped(self, number: int) -> None:
        """Write down that a segment is dropped."""
        self.run(_DROPPED, self.now, number)

    def let_go(self, one: Segment, most: int) -> int:
        """Delete records before the ends, chain by chain: what refuses deletions lets these go while the segment says so."""
        left = most
        self.run(_DROPPING, 1, one.number)
        for chain, (end, _) in sorted(one.ends.items()):
            oldest = self.one(_OLDEST, chain)[0]
            if oldest is None or left <= 0 or oldest >= end:
                continue
            before = min(end, oldest + left)
            for statement in _GONE:
                self.run(statement, chain, before)
            left -= before - oldest
        self.run(_DROPPING, 0, one.number)
        return most - left

    def open_before(self, moment: float) -> tuple[str, ...]:
        """What is not over."""
        approvals, calls = (self.all(statement, (moment, _SOME)) for statement in _OPEN)
        found = [f"approval {name} is {status}" for name, status in approvals]
        return (*found, *(f"call {name} is {status}" for name, status in calls))


def _segment(row: Any, ends: dict[int, Head]) -> Segment:
    number, month, until, digest, closed, dropped = row
    times = {"until": float(until), "closed": float(closed), "dropped": None if dropped is None else float(dropped)}
    return Segment(number=int(number), month=str(month), digest=str(digest), ends=ends, **times)  # type: ignore[arg-type] # a time or none
