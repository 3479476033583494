"""Ways: whether the blocks of a server's result may go on in their own form, and how much of what is no text.

What a result says is decided by the guard's path, as text. A block's own form says more: where it is, of what type, and data that no
detector reads. That goes along only where the policy says nothing that it could go around. Pure. Comes after results; before relay.
"""

from __future__ import annotations

from guard.core.rules import Limits, ResultRule, Tool
from guard.integrations.mcp.passing import Mask
from guard.integrations.mcp.results import Way


def way_of(tool: Tool | None, limits: Limits, mask: Mask) -> Way | None:
    """The way back for the blocks of this tool; None: only texts and pictures go back, as on every wire."""
    if tool is None or tool.untrusted or tool.reveals:
        return None
    if tool.result != ResultRule(empty=tool.result.empty, max_bytes=tool.result.max_bytes):
        return None
    bounded = any((room.bytes, room.tokens) != (None, None) for room in (limits.turn_room, limits.conversation_room))
    return Way(hide=mask.hide, address=mask.address, room=0 if bounded else tool.result.max_bytes)
