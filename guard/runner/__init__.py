"""Runner: the guard as a host uses it, and the two drivers that carry out what the core asks for.

`Guard` and `AsyncGuard` open conversations; a `Conversation` turns replies into messages to append. Comes after the core, tools and wires;
the policy and the store arrive as arguments. Decides nothing.
"""

from guard.runner.approvals import Approvals, View
from guard.runner.approvals_async import AsyncApprovals
from guard.runner.conversation import AsyncConversation, Conversation
from guard.runner.guard import AsyncGuard, Guard
from guard.runner.reload import PolicyState, Reloaded
from guard.runner.turn import Turn

__all__ = [
    "Approvals",
    "AsyncApprovals",
    "AsyncConversation",
    "AsyncGuard",
    "Conversation",
    "Guard",
    "PolicyState",
    "Reloaded",
    "Turn",
    "View",
]
