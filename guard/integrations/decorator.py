"""Decorator: `@guarded`, for a host that calls its own functions: each call walks the whole path, in the conversation that it is given.

    @guarded
    def refund(order_id: str, amount: float, customer_id: str) -> dict: ...

    guard = Guard.load("policies/", tools=[refund])
    chat = guard.open(session, wire="openai-chat", conversation="c1")
    outcome = refund(chat, order_id="A17", amount=20)

May not run the function: only the guard does. There is no ambient session, so a call without a conversation is an error. Comes after `single`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, overload

from guard.core.model import Outcome, ToolCall
from guard.errors import GuardError
from guard.integrations.single import single, single_soon
from guard.runner import AsyncConversation, Conversation


class Guarded(Protocol):
    """A guarded function: the conversation first, then the arguments by name, without those that the session owns."""

    @overload
    def __call__(self, chat: Conversation, /, **arguments: Any) -> Outcome: ...
    @overload
    def __call__(self, chat: AsyncConversation, /, **arguments: Any) -> Coroutine[Any, Any, Outcome]: ...


@overload
def guarded(function: Callable[..., Any]) -> Guarded: ...
@overload
def guarded(*, name: str) -> Callable[[Callable[..., Any]], Guarded]: ...


def guarded(function: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Make a function one that only a guard runs. `name` is what the policy calls the tool, where that is not the function's own name.

    The result is registered in the function's place (`tools=[refund]`) and called as `refund(chat, order_id=…)`. It gives the call's
    Outcome, or a coroutine of it in a conversation of AsyncGuard, whether the function is async or not: a refusal, a hold and a failure are
    values. Raises GuardError for a first argument that is no conversation and for arguments without a name.
    """
    if function is None:
        return functools.partial(guarded, name=name)
    tool = name or _name(function)

    @functools.wraps(function)
    def walk(*chat: Any, **arguments: Any) -> Any:
        call = ToolCall("direct", tool, arguments)
        match chat:
            case (Conversation() as plain,):
                return single(plain, call)
            case (AsyncConversation() as awaited,):
                return single_soon(awaited, call)
        raise GuardError(
            f"{tool} is guarded: call it as {tool}(chat, argument=…), with chat = guard.open(session, …) and every argument by its name"
        )

    setattr(walk, "__guarded__", function)  # noqa: B010 - what the registry reads, and no attribute that a function is known to have
    return walk


def _name(function: Callable[..., Any]) -> str:
    marked = getattr(getattr(function, "__guard_tool__", None), "name", None)
    return str(marked or getattr(function, "__name__", type(function).__name__))
