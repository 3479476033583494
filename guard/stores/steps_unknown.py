"""The step of the schema for what calls act on: a keyed digest, only while a call may run or may have run. Comes before `schema`.

Calls of tools whose policy names no target have none, and stand in neither index but for those whose outcome nobody knows.
"""

from __future__ import annotations

from typing import Final

STEP: Final = (
    """ALTER TABLE calls ADD COLUMN target TEXT /*C*/ NOT NULL DEFAULT ''""",
    """CREATE INDEX calls_target ON calls (target) WHERE target <> ''""",
    """CREATE INDEX calls_unknown ON calls (tool, target) WHERE status = 'unknown'""",
)
