"""LangChain: the guard as a middleware of `create_agent`, and so of LangGraph.

    chat = guard.open(session, wire="openai-chat", conversation="c1")
    agent = create_agent(model, middleware=[guard_middleware(chat)])
    agent.invoke({"messages": [chat.user("Refund A17, please.")]})

The middleware brings the tools of the session and answers every call in the tools' place; a tool that is run without it refuses. Comes after
`turns`; imports LangChain when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from guard.core.model import Image, Outcome, ToolCall
from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.integrations.extras import needed
from guard.integrations.turns import Answer, Message, Turns
from guard.runner import AsyncConversation, Conversation

_load = partial(needed, extra="langchain")
_CUT = frozenset({"length", "max_tokens", "MAX_TOKENS", "model_length"})


def guard_middleware(chat: Conversation | AsyncConversation) -> Any:
    """The middleware for one conversation; open it with wire="openai-chat", whatever model the agent has.

    With `held="suspend"` a held call interrupts the graph: `interrupt` gets the approval's id, tool and expiry, and any resume has the guard
    look again. What the resume says decides nothing. Raises GuardError for another wire, or without LangChain.
    """
    return _kind()(Turns(chat, "openai-chat"))


@cache
def _kind() -> type:
    """The middleware's class; made when LangChain is there."""
    middleware = _load("langchain.agents.middleware")
    allow = middleware.hook_config(can_jump_to=["model"])
    hooks = {"after_model": allow(_Layer.after_model), "aafter_model": allow(_Layer.aafter_model)}
    return type("GuardMiddleware", (_Layer, middleware.AgentMiddleware), hooks)


class _Layer:
    """What the middleware does, without LangChain's class."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns
        self.tools = [_stub(tool["function"]) for tool in turns.chat.tools]

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:  # noqa: ARG002 - the guard runs the tool, never the handler
        """The outcome of a call, as the message for it."""
        found = _place(request)
        while True:
            answer = self._turns.take(*found) if isinstance(found, tuple) else self._turns.alone(found)
            if not answer.suspended:
                return _message(answer.outcome, request.tool_call)
            _load("langgraph.types").interrupt(_question(answer))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:  # noqa: ARG002 - as above
        """The same for asyncio."""
        found = _place(request)
        while True:
            turns = self._turns
            answer = await (turns.take_soon(*found) if isinstance(found, tuple) else turns.alone_soon(found))
            if not answer.suspended:
                return _message(answer.outcome, request.tool_call)
            _load("langgraph.types").interrupt(_question(answer))

    def after_model(self, state: Any, runtime: Any) -> Any:  # noqa: ARG002 - LangChain's form of a hook
        """Give calls without ids of their own such ids, and answer those that LangChain could not read."""
        said, unread = self._said(state)
        told = [self._turns.take(message, position).outcome for message, position in unread]
        return _update(said, told)

    async def aafter_model(self, state: Any, runtime: Any) -> Any:  # noqa: ARG002 - as above
        """The same for asyncio."""
        said, unread = self._said(state)
        told = [(await self._turns.take_soon(message, position)).outcome for message, position in unread]
        return _update(said, told)

    def _said(self, state: Any) -> tuple[Any, list[tuple[Message, int]]]:
        """The newest message of the model with ids that can be paired, and the places of the calls in it that LangChain could not read."""
        messages = _messages(state)
        last = messages[-1] if messages else None
        if last is None or not (calls := _calls(last)):
            return None, []
        ids = [call["id"] for call in self._turns.chat.wire.read(_reply(last)).store["tool_calls"]]
        count = len(last.tool_calls)
        mended = last.model_copy(
            update={"tool_calls": _with(last.tool_calls, ids), "invalid_tool_calls": _with(last.invalid_tool_calls, ids[count:])}
        )
        message = Message(reply=_reply(mended), before=_plain(messages[:-1]))
        changed = ids != [call["id"] for call in calls]
        return (mended if changed or len(calls) > count else None), [(message, place) for place in range(count, len(calls))]


def _with(calls: Sequence[Any], ids: Sequence[str]) -> list[Any]:
    return [{**call, "id": given} for call, given in zip(calls, ids, strict=False)]


def _update(said: Any, told: Sequence[Outcome]) -> JsonObject | None:
    """What a hook changes: the message of the model, and the answers that go after it; the model is asked again where nothing else is left."""
    if said is None:
        return None
    found = {"messages": [said, *(_message(one, {"id": one.call_id, "name": one.tool}) for one in told)]}
    return found if said.tool_calls or not told else {**found, "jump_to": "model"}


def _place(request: Any) -> tuple[Message, int] | ToolCall:
    """The message that a call stands in, and where; the call alone where it stands in none, or was changed on the way."""
    call, messages = request.tool_call, _messages(request.state)
    for index in range(len(messages) - 1, -1, -1):
        calls = getattr(messages[index], "tool_calls", None) or ()
        for position, one in enumerate(calls):
            if all(one.get(key) == call.get(key) for key in ("id", "name", "args")):
                return Message(reply=_reply(messages[index]), before=_plain(messages[:index])), position
        if calls:
            break
    return ToolCall(str(call.get("id") or ""), str(call["name"]), _text(call.get("args")))


# -- from LangChain's messages and to them -----------------------------------------------------------------------------------


def _messages(state: Any) -> list[Any]:
    found = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    return list(found) if isinstance(found, list | tuple) else []


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=_unsaid)


def _unsaid(value: object) -> Any:
    raise GuardError(f"arguments of a call are JSON, not {type(value).__name__}")


def _calls(message: Any) -> list[JsonObject]:
    """The calls of a message as the wire has them: first those that LangChain could read."""
    every = [*(getattr(message, "tool_calls", None) or ()), *(getattr(message, "invalid_tool_calls", None) or ())]
    return [
        {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": _text(one["args"])}} for one in every
    ]


def _reply(message: Any) -> JsonObject:
    """A message of the model as a whole reply: with the reason for its end and what it cost."""
    told, usage = message.response_metadata, message.usage_metadata or {}
    reason = told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason")
    reply: JsonObject = {
        "model": told.get("model_name"),
        "choices": [
            {
                "finish_reason": "length" if reason in _CUT else None,
                "message": {"role": "assistant", "content": None, "tool_calls": _calls(message)},
            }
        ],
    }
    if usage:
        reply["usage"] = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
    return reply


def _plain(messages: Sequence[Any]) -> list[JsonObject]:
    """A history as the wire has it; only calls and answers count, so other texts are left out."""
    found: list[JsonObject] = []
    for message in messages:
        if message.type == "ai" and (calls := _calls(message)):
            found.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif message.type == "tool":
            found.append({"role": "tool", "tool_call_id": message.tool_call_id, "content": "-"})
        elif message.type in ("human", "ai"):
            found.append({"role": "user" if message.type == "human" else "assistant", "content": "-"})
    return found


def _message(outcome: Outcome, call: Any) -> Any:
    """The message that answers a call. `artifact` is for the program: the model does not see it."""
    content: Any = outcome.content
    if not isinstance(content, str):
        content = [
            {"type": "image", "base64": one.data, "mime_type": one.media_type}
            if isinstance(one, Image)
            else {"type": "text", "text": one}
            for one in content
        ]
    return _load("langchain_core.messages").ToolMessage(
        content=content,
        name=call["name"],
        tool_call_id=call["id"],
        status="error" if outcome.error else "success",
        artifact={"status": outcome.status, "reason": outcome.reason and str(outcome.reason), "approval": outcome.approval},
    )


def _question(answer: Answer) -> JsonObject:
    """What an interrupt tells the program; the arguments are for entitled people, at `guard.approvals`."""
    approval = answer.approval
    return {
        "approval": answer.outcome.approval,
        "tool": answer.outcome.tool,
        "expires_at": None if approval is None else approval.expires_at,
    }


def _stub(shown: JsonObject) -> Any:
    """A tool for the model to see, which does nothing: its calls are answered by the middleware."""

    def refuse(**_: Any) -> str:
        raise GuardError(f"{shown['name']} runs only under the guard: create the agent with middleware=[guard_middleware(chat)]")

    return _load("langchain_core.tools").StructuredTool(
        name=shown["name"], description=shown.get("description") or shown["name"], args_schema=shown["parameters"], func=refuse
    )
