"""The schema: numbered steps that take a database from nothing to today, and the place where SQL dialects differ.

A step is never changed once published; a later version adds one. Only `payloads` holds raw values (final arguments, results, proposals, the
user's words, reasons of votes, what stands behind handles); every other table holds ids, digests, counters and redacted copies, and `keys` the file's own
key for digests. Comes before `sqlite`.
"""

from __future__ import annotations

from typing import Final

from guard.stores import (
    steps_grants,
    steps_kill,
    steps_persons,
    steps_query,
    steps_records,
    steps_revisions,
    steps_segments,
    steps_unknown,
)
from guard.stores.steps_payloads import PAYLOADS
from guard.stores.steps_sinks import SINKS
from guard.stores.steps_votes import VOTES

_FIRST = (
    """CREATE TABLE payloads (id TEXT PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL)""",
    """CREATE TABLE conversations (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL, conversation TEXT NOT NULL, principal TEXT NOT NULL,
        turns INTEGER NOT NULL, words INTEGER NOT NULL, run INTEGER NOT NULL, started DOUBLE PRECISION,
        steps INTEGER NOT NULL, tokens BIGINT NOT NULL, cost TEXT, known INTEGER NOT NULL,
        total_tokens BIGINT NOT NULL, total_cost TEXT, total_known INTEGER NOT NULL,
        UNIQUE (tenant, conversation))""",
    """CREATE TABLE words (
        conversation TEXT NOT NULL, number INTEGER NOT NULL, at DOUBLE PRECISION NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (conversation, number))""",
    """CREATE TABLE turns (
        conversation TEXT NOT NULL, turn INTEGER NOT NULL, branch TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
        run INTEGER NOT NULL, at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (conversation, turn))""",
    """CREATE INDEX turns_name ON turns (conversation, name, branch, turn)""",
    """CREATE INDEX turns_digest ON turns (conversation, name, branch, digest, turn)""",
    """CREATE TABLE calls (
        conversation TEXT NOT NULL, turn INTEGER NOT NULL, position INTEGER NOT NULL, branch TEXT NOT NULL, name TEXT NOT NULL,
        status TEXT NOT NULL, kind TEXT NOT NULL, tool TEXT, fingerprint TEXT NOT NULL, mark TEXT NOT NULL, run INTEGER NOT NULL,
        again INTEGER NOT NULL, settled INTEGER NOT NULL, at DOUBLE PRECISION NOT NULL, approval TEXT,
        owned TEXT NOT NULL, evidence TEXT NOT NULL, outcome TEXT, payload TEXT NOT NULL,
        PRIMARY KEY (conversation, turn, position))""",
    """CREATE INDEX calls_tool ON calls (conversation, tool, turn, position) WHERE tool IS NOT NULL""",
    """CREATE INDEX calls_mark ON calls (conversation, mark, status, turn, position) WHERE mark <> ''""",
    """CREATE INDEX calls_mark_run ON calls (conversation, mark, status, run, turn, position) WHERE mark <> ''""",
    """CREATE TABLE claims (
        conversation TEXT NOT NULL, turn INTEGER NOT NULL, position INTEGER NOT NULL, fingerprint TEXT NOT NULL,
        approval TEXT UNIQUE, at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (conversation, turn, position))""",
    """CREATE TABLE budgets (id TEXT PRIMARY KEY, total TEXT NOT NULL)""",
    """CREATE TABLE draws (
        conversation TEXT NOT NULL, turn INTEGER NOT NULL, position INTEGER NOT NULL, number INTEGER NOT NULL,
        budget TEXT NOT NULL, amount TEXT NOT NULL, summed INTEGER NOT NULL,
        PRIMARY KEY (conversation, turn, position, number))""",
    """CREATE TABLE approvals (
        id TEXT PRIMARY KEY, conversation TEXT NOT NULL, fingerprint TEXT NOT NULL, status TEXT NOT NULL,
        run INTEGER NOT NULL, decided_run INTEGER, branch TEXT NOT NULL, turn INTEGER NOT NULL, position INTEGER NOT NULL,
        requested_at DOUBLE PRECISION NOT NULL, expires_at DOUBLE PRECISION NOT NULL,
        decided_at DOUBLE PRECISION, decided_by TEXT, detail TEXT NOT NULL, payload TEXT NOT NULL)""",
    """CREATE INDEX approvals_fingerprint ON approvals (conversation, fingerprint)""",
    """CREATE INDEX approvals_status ON approvals (status, expires_at)""",
    """CREATE TABLE votes (
        approval TEXT NOT NULL, number INTEGER NOT NULL, status TEXT NOT NULL, voter TEXT NOT NULL, roles TEXT NOT NULL,
        at DOUBLE PRECISION NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (approval, number))""",
    """CREATE TABLE audit (
        chain INTEGER NOT NULL, seq INTEGER NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (chain, seq))""",
)

_SECOND = (
    """ALTER TABLE calls ADD COLUMN effect TEXT NOT NULL DEFAULT ''""",
    """ALTER TABLE calls ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0""",
    """ALTER TABLE calls ADD COLUMN lease DOUBLE PRECISION""",
    """ALTER TABLE calls ADD COLUMN idem TEXT NOT NULL DEFAULT ''""",
    """ALTER TABLE calls ADD COLUMN executor TEXT NOT NULL DEFAULT ''""",
    """ALTER TABLE calls ADD COLUMN picked DOUBLE PRECISION""",
    """CREATE INDEX calls_open ON calls (status, at) WHERE status IN ('held', 'started', 'unknown')""",
    """CREATE TABLE epochs (number INTEGER PRIMARY KEY, at DOUBLE PRECISION NOT NULL, why TEXT NOT NULL)""",
)

_THIRD = (
    """ALTER TABLE budgets ADD COLUMN latest DOUBLE PRECISION NOT NULL DEFAULT 0""",
    """ALTER TABLE draws ADD COLUMN at DOUBLE PRECISION""",
    """ALTER TABLE draws ADD COLUMN due DOUBLE PRECISION""",
    """CREATE INDEX draws_due ON draws (budget, due) WHERE due IS NOT NULL""",
    """ALTER TABLE calls ADD COLUMN ended DOUBLE PRECISION""",
)

_FOURTH: tuple[str, ...] = ()  # a function of PostgreSQL, see `postgres_sql.EXTRAS`

_FIFTH = (
    """CREATE TABLE handles (
        conversation TEXT NOT NULL, handle TEXT NOT NULL, kind TEXT NOT NULL, digest TEXT NOT NULL, tool TEXT NOT NULL, path TEXT NOT NULL,
        at DOUBLE PRECISION NOT NULL, void INTEGER NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (conversation, handle))""",
    """CREATE INDEX handles_at ON handles (conversation, at)""",
)

STEPS: tuple[tuple[str, ...], ...] = (
    *(_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, VOTES, steps_grants.GRANTS),
    *(steps_records.STEP, PAYLOADS, SINKS, steps_query.STEP, steps_revisions.STEP),
    *(steps_grants.ERASED, steps_persons.STEP, steps_unknown.STEP, steps_kill.STEP, steps_segments.STEP),
)
"""Step n takes a database from version n to n + 1."""

FILES: Final[dict[int, tuple[str, ...]]] = {
    STEPS.index(one.STEP): one.FILE for one in (steps_records, steps_revisions, steps_persons, steps_segments)
}
"""What an SQLite file needs besides step n."""

VERSION = len(STEPS)


def newer(found: int) -> str:
    """What is said of a database of a later version: it may mean what this program does not know."""
    return f"the database is of version {found}, newer than this program's {VERSION}; update the program"


HAS_VERSION = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
CREATE_VERSION = "CREATE TABLE schema_version (version INTEGER NOT NULL)"
READ_VERSION = "SELECT MAX(version) FROM schema_version"
WRITE_VERSION = "INSERT INTO schema_version (version) VALUES (?)"

KEY_BYTES = 32
CREATE_KEY = "CREATE TABLE keys (body TEXT NOT NULL)"
READ_KEY = "SELECT body FROM keys"
WRITE_KEY = "INSERT INTO keys (body) VALUES (?)"

BEGIN_READ = "BEGIN"
BEGIN_WRITE = "BEGIN IMMEDIATE"
DATA_VERSION = "PRAGMA data_version"
"""A number that is another one once another connection has written."""
PRAGMAS = (("synchronous", "FULL", 2), ("cell_size_check", "ON", 1), ("trusted_schema", "OFF", 0))
"""(name, value to set, value to read back): claims and approvals must survive a power loss, and a file may be damaged or planted."""
