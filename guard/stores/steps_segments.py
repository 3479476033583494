"""The step of the schema for months of records that were closed, and the one way in which such records may leave.

A record may be deleted only before the end of a closed segment, and only while that segment is being dropped: the store says so in the transaction
that deletes, and takes it back in the same one. The last record of each chain of a segment stays, so that the chain goes on from a record that is there. As
with the other triggers, whoever may change the schema can get past this: then the records and their checkpoints tell. Comes before `schema`.
"""

from __future__ import annotations

from typing import Final

from guard.stores.steps_records import REFUSED

STEP: Final = (
    """CREATE TABLE segments (
        number INTEGER PRIMARY KEY, month TEXT NOT NULL UNIQUE, until DOUBLE PRECISION NOT NULL, digest TEXT NOT NULL, closed DOUBLE PRECISION NOT NULL,
        dropped DOUBLE PRECISION)""",
    """CREATE TABLE segment_ends (
        number INTEGER NOT NULL, chain INTEGER NOT NULL, seq BIGINT NOT NULL, hash TEXT NOT NULL, dropping INTEGER NOT NULL, PRIMARY KEY (chain, number))""",
)
_DROPPING: Final = "EXISTS (SELECT 1 FROM segment_ends e WHERE e.chain = OLD.chain AND e.dropping = 1 AND OLD.seq < e.seq)"

FILE: Final = (
    "DROP TRIGGER audit_delete",
    f"CREATE TRIGGER audit_delete BEFORE DELETE ON audit WHEN NOT {_DROPPING} BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END",
)
"""What a file needs besides."""

DATABASE: Final = (
    "DROP TRIGGER audit_kept ON audit",
    "CREATE TRIGGER audit_kept BEFORE UPDATE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION guard_kept()",
    (
        f"CREATE FUNCTION guard_left() RETURNS trigger LANGUAGE plpgsql AS $guard$ BEGIN IF {_DROPPING} THEN RETURN OLD; END IF;"
        f" RAISE EXCEPTION '{REFUSED}'; END $guard$"
    ),
    "CREATE TRIGGER audit_left BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION guard_left()",
)
"""What PostgreSQL needs besides."""
