"""Row marks: what the records of a transaction say of rows that it writes, column by column, as digests with the store's secret.

Whoever verifies makes them again of the rows that stand: an edit of a row is found and named, also where no record shows what the row holds. A digest is bound to its table, row and column,
so that nothing can be read or guessed from it without the secret, and none can stand in the place of another. Holds no rule. Comes before `sql_approvals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.core.ports import Event
from guard.core.rowed import marks
from guard.core.values import Json, encode


class Marks:
    """What a transaction has written, until its records are sealed."""

    def __init__(self) -> None:
        self.secret = b""
        self._found: dict[tuple[str, str], dict[str, str]] = {}

    def add(self, table: str, name: str, columns: Mapping[str, str], before: Mapping[str, str] | None = None) -> None:
        """A row was written so; where it is known what stood there, only what has changed is told."""
        if not self.secret:
            return
        known, told = before or {}, self._found.get((table, name), {})
        new = {column: text for column, text in columns.items() if column in told or known.get(column) != text}
        if new:
            self._found[table, name] = told | new

    def told(self, events: Sequence[Event]) -> Sequence[Event]:
        """The records, each row's digests in the last one that is about it; in the last of all where none is."""
        if not self._found or not events:
            return events
        rows: dict[int, dict[str, Json]] = {}
        for (table, name), columns in self._found.items():
            place = next((one for one in reversed(range(len(events))) if _about(events[one], name)), len(events) - 1)
            rows.setdefault(place, {})[f"{table}/{name}"] = marks(self.secret, table, name, columns)
        self._found.clear()
        return [_with(event, rows[index]) if index in rows else event for index, event in enumerate(events)]


def _about(event: Event, name: str) -> bool:
    if isinstance(event, str):
        return f'"{name}"' in event
    parts = ((event.get(part), member) for part, member in (("approval_state", "by"), ("grant", "id"), ("kill", "id")))
    return name == event.get("approval") or any(isinstance(part, dict) and part.get(member) == name for part, member in parts)


def _with(event: Event, rows: dict[str, Json]) -> Event:
    return f'{event},"rows":{encode(rows)}' if isinstance(event, str) else {**event, "rows": rows}
