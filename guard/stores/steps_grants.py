"""The steps of the schema that are about grants. Their constraints hold raw values, so they stand in payloads. Comes before `schema`."""

from __future__ import annotations

GRANTS = (
    """CREATE TABLE grants (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL, principal TEXT NOT NULL, tool TEXT NOT NULL, approval TEXT NOT NULL,
        at DOUBLE PRECISION NOT NULL, until DOUBLE PRECISION, revoked DOUBLE PRECISION, detail TEXT NOT NULL, payload TEXT NOT NULL)""",
    """CREATE INDEX grants_person ON grants (tenant, principal, tool)""",
    """CREATE INDEX grants_approval ON grants (approval)""",
    """CREATE TABLE grant_uses (
        conversation TEXT NOT NULL, turn INTEGER NOT NULL, position INTEGER NOT NULL, grant_id TEXT NOT NULL, amount TEXT NOT NULL,
        at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (conversation, turn, position))""",
)

ERASED = ("""ALTER TABLE grants ADD COLUMN erased DOUBLE PRECISION""",)
"""Which grants hold nothing any more of the call that they came from."""
