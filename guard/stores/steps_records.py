"""The step of the schema for a log that is only added to: a table of checkpoints, and triggers that refuse to change or remove what was recorded.

A trigger stops programs and people by mistake, not whoever may change the schema: that is what checkpoints kept elsewhere are for. Comes before
`schema`.
"""

from __future__ import annotations

from typing import Final

STEP: Final = (
    """CREATE TABLE checkpoints (
        number INTEGER PRIMARY KEY, at DOUBLE PRECISION NOT NULL, records BIGINT NOT NULL, note TEXT NOT NULL, sent INTEGER NOT NULL)""",
)

REFUSED: Final = "records of the audit and votes are only ever added"
_KEPT: Final = ("audit", "votes")

FILE: Final = tuple(
    f"CREATE TRIGGER IF NOT EXISTS {table}_{act.lower()} BEFORE {act} ON {table} BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
    for table in _KEPT
    for act in ("UPDATE", "DELETE")
)
"""What a file needs besides."""

DATABASE: Final = (
    f"CREATE OR REPLACE FUNCTION guard_kept() RETURNS trigger LANGUAGE plpgsql AS $guard$ BEGIN RAISE EXCEPTION '{REFUSED}'; END $guard$",
    *(
        f"CREATE OR REPLACE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION guard_kept()"
        for table in _KEPT
    ),
)
"""What PostgreSQL needs besides."""
