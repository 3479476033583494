"""The step of the schema that finds the conversations of a person, and refuses to put a record or vote in the place of another. Comes before `schema`.

`INSERT OR REPLACE` removes what it replaces without asking the triggers about that, unless a connection asked for it. So a file has one before each
insertion. In PostgreSQL there is no such thing: an `ON CONFLICT DO UPDATE` is an update.
"""

from __future__ import annotations

from typing import Final

STEP: Final = ("""CREATE INDEX conversations_principal ON conversations (principal)""",)

_KEYS: Final = {"audit": ("chain", "seq"), "votes": ("approval", "number")}


def _replaces(table: str) -> str:
    """Whether a new row would stand in the place of another: by its key, or by the number that the file gives each row."""
    key = " AND ".join(f"{name} = NEW.{name}" for name in _KEYS[table])
    there = f"EXISTS (SELECT 1 FROM {table} WHERE {{}})"  # noqa: S608 - our own text
    return f"{there.format(key)} OR (NEW.rowid > 0 AND {there.format('rowid = NEW.rowid')})"  # it has no such number yet, unless it was given one


FILE: Final = tuple(
    f"CREATE TRIGGER IF NOT EXISTS {table}_insert BEFORE INSERT ON {table} WHEN {_replaces(table)}"
    " BEGIN SELECT RAISE(ABORT, 'records of the audit and votes are only ever added'); END"
    for table in _KEYS
)
"""What a file needs besides."""
