"""Ways: whether the blocks of a server's result may go on in their own form, and how much of what is no text.

What a result says is decided by the guard's path, as text. A block's own form says more: where it is, of what type, and data that no
detector reads. That goes along only where the policy says nothing that it could go around, and nothing that fails here changes what is
said of a call that ran. Pure. Comes after results; before relay.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.core.model import Outcome
from guard.core.rules import Limits, ResultRule, Tool
from guard.core.values import Json, JsonObject, encode
from guard.integrations.mcp.meta import shown
from guard.integrations.mcp.passing import Mask
from guard.integrations.mcp.results import Mould, Way, result_of


def way_of(tool: Tool | None, limits: Limits, mask: Mask) -> Way | None:
    """The way back for the blocks of this tool; None: only texts and pictures go back, as on every wire."""
    if tool is None or tool.untrusted or tool.reveals:
        return None
    if tool.result != ResultRule(empty=tool.result.empty, max_bytes=tool.result.max_bytes):
        return None
    bounded = any((room.bytes, room.tokens) != (None, None) for room in (limits.turn_room, limits.conversation_room))
    return Way(hide=mask.hide, address=mask.address, room=0 if bounded else tool.result.max_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """What is known of a call on its way back: its tool, the limits, what hides, its arguments, and whether an output schema was shown."""

    tool: Tool | None
    limits: Limits
    mask: Mask
    arguments: Json
    promised: bool

    def result(self, outcome: Outcome, mould: Mould | None) -> JsonObject:
        """The outcome as the result of tools/call; where a block's own form cannot be judged, the guard's own texts alone."""
        try:
            way = way_of(self.tool, self.limits, self.mask.after(self.arguments))
            return result_of(outcome, mould, promised=self.promised, way=way)
        except Exception:  # noqa: BLE001 - the tool has run; whatever cannot be looked at is left out
            return result_of(outcome, mould, promised=self.promised)

    def meta(self, outcome: Outcome, result: JsonObject, said: JsonObject) -> JsonObject:
        """What goes on of the server's own `_meta`: as a block's form does, only of a call that is done, and within the room that is left."""
        if not said or outcome.error or outcome.replayed:
            return {}
        try:
            mask = self.mask.after(self.arguments)
            way = way_of(self.tool, self.limits, mask)
            found = shown(said, mask)
            return found if way is not None and len(encode([result, found]).encode()) <= way.room else {}
        except Exception:  # noqa: BLE001 - the tool has run; whatever cannot be looked at is left out
            return {}
