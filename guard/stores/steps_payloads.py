"""A step of the schema: the keys that payloads are written under, what of a row is erased, which processes batch. Never changed once published. Comes before `schema`."""

from __future__ import annotations

from typing import Final

PAYLOADS: Final = (
    """CREATE TABLE payload_keys (id TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE batching (executor TEXT PRIMARY KEY, seconds DOUBLE PRECISION NOT NULL, at DOUBLE PRECISION NOT NULL)""",
    """ALTER TABLE calls ADD COLUMN erased DOUBLE PRECISION""",
    """CREATE INDEX calls_kept ON calls (at) WHERE erased IS NULL""",
)
