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

AIM: Final = "UPDATE calls SET target = ? WHERE conversation = ? AND turn = ? AND position = ?"
AIMED: Final = " WHERE c.target = ? AND c.target <> '' AND c.status IN ('started', 'unknown') ORDER BY c.status DESC"
_OTHERWISE: Final = " AND c.tool = ? AND c.kind = 'action' AND t.tenant = ? AND (c.target < ? OR c.target >= ?) LIMIT ?"
UNKNOWN_OTHERWISE: Final = " WHERE c.status = 'unknown'" + _OTHERWISE
LOST_OTHERWISE: Final = (
    " WHERE c.status IN ('held', 'started', 'unknown') AND c.status = 'started' AND (c.lease IS NULL OR c.lease <= ?)"
    + _OTHERWISE
)
"""What is read of which calls; the first condition of the last one says which index serves it."""
