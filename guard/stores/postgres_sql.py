"""The few statements that only PostgreSQL has: locks, heads of chains, time, versions. Everything else is in `sql`. Comes after it."""

from __future__ import annotations

from typing import Final

from guard.stores import postgres_filing, schema, sql, steps_kill, steps_query, steps_records, steps_revisions, steps_segments
from guard.stores.postgres_functions import GUARD_TAKE, GUARD_TAKE_HEEDING

CHAINS: Final = 32
"""How many chains the audit has: writers of different chains need not wait for each other. Never changed once records exist."""

BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
START = "SELECT extract(epoch FROM clock_timestamp())::float8, current_setting('synchronous_commit')"

_TWIN = (
    " LEFT JOIN LATERAL (SELECT turn, position FROM calls WHERE conversation = k.c AND mark = k.m AND mark <> '' AND status = {}"
    " ORDER BY turn DESC, position DESC LIMIT 1) {} ON true"
)
_TWINS = _TWIN.format("'started'", "s") + _TWIN.format("'unknown'", "u") + _TWIN.format("'done' AND run = ?", "d")
_CLAIMABLE = (
    "SELECT extract(epoch FROM clock_timestamp())::float8, current_setting('synchronous_commit'), (SELECT MAX(number) FROM epochs),"
    " (SELECT 1 FROM claims WHERE conversation = k.c AND turn = ? AND position = ?),"
    " s.turn, s.position, u.turn, u.position, d.turn, d.position FROM (SELECT ?::text AS c, ?::text AS m) k{}"
)
CLAIMABLE = _CLAIMABLE.format(_TWINS)
"""Everything about a claim but its row: `START`, the epoch, whether it was taken, and its twins; see `Writing.foresee`."""

ALIKE = sql.ALIKE
ALIKE_IN_RUN = sql.ALIKE_IN_RUN
LOCK = sql.TALK + " FOR UPDATE"
LOCK_ASKED = "SELECT id FROM conversations WHERE id = (SELECT conversation FROM approvals WHERE id = ?) FOR UPDATE"
LOCK_KILL = "SELECT id FROM kills WHERE id = ? FOR UPDATE"
LOCK_GRANT = "SELECT id FROM grants WHERE id = ? FOR UPDATE"
LOCK_ALL = "LOCK TABLE conversations IN EXCLUSIVE MODE"
CREATE = sql.CREATE + " ON CONFLICT DO NOTHING"
METER = sql.METER + " FOR UPDATE"
NEW_TOTAL = "INSERT INTO budgets (id, total) VALUES (?, '0') ON CONFLICT DO NOTHING"
APPROVED = sql.APPROVED + " FOR UPDATE OF c SKIP LOCKED"
WAITS = sql.WAITS + " FOR UPDATE OF c SKIP LOCKED"
LOST = sql.LOST + " FOR UPDATE OF c SKIP LOCKED"

CLAIM = sql.CLAIM.removesuffix(" ON CONFLICT DO NOTHING")
SEAL = (
    "WITH given AS (SELECT ?::int AS chain, ?::text AS before, ?::text AS behind),"
    " head AS (UPDATE heads h SET seq = h.seq + 1, prev = h.hash, hash = encode(sha256("
    "convert_to('guard-audit-v1', 'UTF8') || '\\x00'::bytea || int8send(length(h.chain::text)::bigint) || convert_to(h.chain::text, 'UTF8')"
    " || int8send(h.seq + 1) || decode(h.hash, 'hex') || int8send(octet_length(g.before || (h.seq + 1) || g.behind)::bigint)"
    " || convert_to(g.before || (h.seq + 1) || g.behind, 'UTF8')), 'hex')"
    " FROM given g WHERE h.chain = g.chain RETURNING h.chain, h.seq, h.prev, h.hash)"
    " INSERT INTO audit (chain, seq, prev, hash, body)"
    " SELECT h.chain, h.seq, h.prev, h.hash, g.before || h.seq || g.behind FROM given g LEFT JOIN head h ON true"
    " RETURNING chain, seq, hash"
)
"""Seal one record behind the head of its chain, by the recipe of `chain`: the head's row is locked by it, and only a COMMIT follows. Fails where there is no head."""

NOTIFY = "SELECT pg_notify('guard_approved', '')"
HEADS = "SELECT chain, seq, hash FROM heads ORDER BY chain"
LISTEN = "LISTEN guard_approved"

HAS_VERSION = "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('schema_version')"
MIGRATING = "SELECT pg_advisory_xact_lock(7305228094121574512)"  # a number that nobody else takes by chance
EXTRAS: dict[int, tuple[str, ...]] = {
    0: (
        "ALTER TABLE audit ALTER COLUMN seq TYPE BIGINT",
        "CREATE UNIQUE INDEX audit_prev ON audit (chain, prev)",
        "CREATE TABLE heads (chain INTEGER PRIMARY KEY, seq BIGINT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL) WITH (fillfactor = 10)",
        f"INSERT INTO heads (chain, seq, prev, hash) SELECT n, 0, '', repeat('0', 64) FROM generate_series(0, {CHAINS - 1}) AS n",  # noqa: S608 - a number of our own
    ),
    3: (  # most claims spend no approval: they need not stand in an index of approvals, all of them at one place of it
        "ALTER TABLE claims DROP CONSTRAINT claims_approval_key",
        "CREATE UNIQUE INDEX claims_approval ON claims (approval) WHERE approval IS NOT NULL",
        GUARD_TAKE,
    ),
    schema.STEPS.index(steps_records.STEP): steps_records.DATABASE,
    schema.STEPS.index(steps_query.STEP): postgres_filing.STEP,
    schema.STEPS.index(steps_kill.STEP): (GUARD_TAKE_HEEDING,),
    schema.STEPS.index(steps_revisions.STEP): (*steps_revisions.DATABASE, *postgres_filing.BEHIND),
    schema.STEPS.index(steps_segments.STEP): steps_segments.DATABASE,
}
"""What PostgreSQL needs besides step n of the schema."""


def lock_due(fields: tuple[str, ...]) -> str:
    """Lock the conversations of approvals that meet conditions on these fields, always in the same order."""
    found = "SELECT a.conversation FROM approvals a JOIN conversations t ON t.id = a.conversation" + sql.meeting(fields)  # noqa: S608 - parts of our own
    return f"SELECT id FROM conversations WHERE id IN ({found}) ORDER BY id FOR UPDATE"  # noqa: S608 - parts of our own
