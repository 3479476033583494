"""The few statements that only PostgreSQL has: locks, heads of chains, time, versions. Everything else is in `sql`. Comes after it."""

from __future__ import annotations

from typing import Final

from guard.stores import sql

CHAINS: Final = 32
"""How many chains the audit has: writers of different chains need not wait for each other. Never changed once records exist."""

BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
START = "SELECT extract(epoch FROM clock_timestamp())::float8, current_setting('synchronous_commit')"

LOCK = sql.TALK + " FOR UPDATE"
LOCK_ASKED = "SELECT id FROM conversations WHERE id = (SELECT conversation FROM approvals WHERE id = ?) FOR UPDATE"
LOCK_ALL = "LOCK TABLE conversations IN EXCLUSIVE MODE"
CREATE = sql.CREATE + " ON CONFLICT DO NOTHING"
TOTAL = sql.TOTAL + " FOR UPDATE"
NEW_TOTAL = "INSERT INTO budgets (id, total) VALUES (?, '0') ON CONFLICT DO NOTHING"
APPROVED = sql.APPROVED + " FOR UPDATE OF c SKIP LOCKED"
LOST = sql.LOST + " FOR UPDATE OF c SKIP LOCKED"

HEAD = "SELECT seq, hash FROM heads WHERE chain = ? FOR UPDATE"
MOVE_HEAD = "UPDATE heads SET seq = ?, hash = ? WHERE chain = ?"

NOTIFY = "SELECT pg_notify('guard_approved', '')"
LISTEN = "LISTEN guard_approved"

HAS_VERSION = "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('schema_version')"
MIGRATING = "SELECT pg_advisory_xact_lock(7305228094121574512)"  # a number that nobody else takes by chance
EXTRAS: dict[int, tuple[str, ...]] = {
    0: (
        "ALTER TABLE audit ALTER COLUMN seq TYPE BIGINT",
        "CREATE UNIQUE INDEX audit_prev ON audit (chain, prev)",
        "CREATE TABLE heads (chain INTEGER PRIMARY KEY, seq BIGINT NOT NULL, hash TEXT NOT NULL) WITH (fillfactor = 10)",
        f"INSERT INTO heads (chain, seq, hash) SELECT n, 0, repeat('0', 64) FROM generate_series(0, {CHAINS - 1}) AS n",  # noqa: S608 - a number of our own
    )
}
"""What PostgreSQL needs besides step n of the schema."""


def lock_due(fields: tuple[str, ...]) -> str:
    """Lock the conversations of approvals that meet conditions on these fields, always in the same order."""
    found = "SELECT a.conversation FROM approvals a JOIN conversations t ON t.id = a.conversation" + sql.meeting(fields)  # noqa: S608 - parts of our own
    return f"SELECT id FROM conversations WHERE id IN ({found}) ORDER BY id FOR UPDATE"  # noqa: S608 - parts of our own
