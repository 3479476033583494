"""The step of the schema for what leaves the audit: where each sink stands, and what it did not take. Comes before `schema`.

`letters` name records, they do not copy them: a body stands in `audit` alone.
"""

from __future__ import annotations

SINKS = (
    """CREATE TABLE sinks (
        sink TEXT PRIMARY KEY, holder TEXT NOT NULL, lease DOUBLE PRECISION NOT NULL, failures INTEGER NOT NULL, due DOUBLE PRECISION NOT NULL,
        error TEXT NOT NULL, sent BIGINT NOT NULL, sent_at DOUBLE PRECISION, dropped BIGINT NOT NULL)""",
    """CREATE TABLE cursors (sink TEXT NOT NULL, chain INTEGER NOT NULL, seq BIGINT NOT NULL, PRIMARY KEY (sink, chain))""",
    """CREATE TABLE letters (
        sink TEXT NOT NULL, chain INTEGER NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL, tries INTEGER NOT NULL, why TEXT NOT NULL,
        PRIMARY KEY (sink, chain, seq))""",
)
