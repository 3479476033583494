"""Single: one call on the path of an open conversation, for plain and asyncio callers.

What every framework falls back to where a call stands in no message. Decides nothing; knows no framework. Comes after the runner.
"""

from __future__ import annotations

from guard.core.model import Outcome, ToolCall
from guard.errors import GuardError
from guard.runner import AsyncConversation, Conversation
from guard.runner.drivers import SyncRun
from guard.runner.drivers_async import AsyncRun


def single(chat: Conversation, call: ToolCall) -> Outcome:
    """Walk one call of a plain conversation. Raises GuardError for anything else."""
    if not isinstance(chat, Conversation):
        raise GuardError(f"a plain call needs a conversation of Guard, not {type(chat).__name__}")
    now = chat.pinned()
    return SyncRun(now.in_force.hands).run(now.single(call, None))


async def single_soon(chat: AsyncConversation, call: ToolCall) -> Outcome:
    """Walk one call of an asyncio conversation. Raises GuardError for anything else."""
    if not isinstance(chat, AsyncConversation):
        raise GuardError(f"an awaited call needs a conversation of AsyncGuard, not {type(chat).__name__}")
    now = chat.pinned()
    return await AsyncRun(now.in_force.hands).run(now.single(call, None))
