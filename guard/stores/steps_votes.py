"""The step of the schema that votes need: when others may decide as well, and what each vote carried. Never changed once published."""

from __future__ import annotations

VOTES = (
    """ALTER TABLE approvals ADD COLUMN escalate_at DOUBLE PRECISION""",
    """ALTER TABLE votes ADD COLUMN detail TEXT NOT NULL DEFAULT '{}'""",
)
