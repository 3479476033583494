"""guard: a policy layer between the tool call that a model proposes and the program that runs it.

The path of every call, in the order of `guard.core.pipeline`:

    reply ─ parse ─ bind ─ validate ─ ground ─ authorize ─ limit ─ approve ─ claim ─ execute ─ redact ─ messages to append

    from guard import Guard, Session

    guard = Guard.load("policies/", tools=[query_expense, …])
    chat = guard.open(Session(principal="E10238", roles=("employee",)), wire="openai-chat", conversation="conv-1")
    turn = chat.handle(reply, history=messages)
    messages += turn.append
"""

from guard.compose import AsyncGuard, Guard, PolicyWarning
from guard.core.model import Approval, Image, Outcome, Session, ToolCall
from guard.core.reasons import Reason
from guard.errors import (
    ApprovalError,
    ConversationError,
    GuardError,
    OutcomeUnknownError,
    PolicyError,
    Problem,
    StoreError,
    ToolError,
    WireError,
)
from guard.runner import AsyncConversation, Conversation, PolicyState, Reloaded, Turn
from guard.tools import Registry, tool

__all__ = [
    "Approval",
    "ApprovalError",
    "AsyncConversation",
    "AsyncGuard",
    "Conversation",
    "ConversationError",
    "Guard",
    "GuardError",
    "Image",
    "Outcome",
    "OutcomeUnknownError",
    "PolicyError",
    "PolicyState",
    "PolicyWarning",
    "Problem",
    "Reason",
    "Registry",
    "Reloaded",
    "Session",
    "StoreError",
    "ToolCall",
    "ToolError",
    "Turn",
    "WireError",
    "tool",
]
