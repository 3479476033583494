"""Gone: what is told of an approval whose arguments were erased: when, by whom and why, as the record of the erasure says it.

An approval that never had arguments is another thing, and so is one that still has them. Reads a record that was found; looks for none. Pure; comes
after approval, used by briefing and views.
"""

from __future__ import annotations

from collections.abc import Mapping

from guard.core.approval import Approval
from guard.core.names import real
from guard.core.unseen import one_line
from guard.core.values import Json

UNKNOWN = "erased"
"""What is told where the record of the erasure is not in the store any more."""
_LIVE = ("pending", "approved")


def emptied(approval: Approval) -> bool:
    """Whether `guard.core.erasing.bare` took out what the approval held: the key of what is shown goes with it, and every approval has one."""
    return approval.status not in _LIVE and not (approval.veil or approval.arguments or approval.origins or approval.call_id)


def names(body: Mapping[str, Json], approval_id: str) -> bool:
    """Whether this record of an erasure names the approval."""
    found = body.get("erased")
    listed = found.get("approvals") if isinstance(found, Mapping) else None
    return isinstance(listed, list) and approval_id in listed


def told(body: Mapping[str, Json]) -> str:
    """When it was erased, by whom and why, of the record that says so."""
    actor = body.get("actor")
    who = actor.get("ref") if isinstance(actor, Mapping) else None
    by = f"by {one_line(real(str(who)))}" if who else "by the clock"
    reason = one_line(str(body.get("reason") or ""))
    when = str(body.get("ts") or "")[:19].replace("T", " ")
    return f"erased on {when} UTC ({by}{f', reason: {reason}' if reason else ''})"


__all__ = ["UNKNOWN", "emptied", "names", "told"]
