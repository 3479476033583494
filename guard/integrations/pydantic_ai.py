"""Pydantic AI: a conversation's tools as a toolset of an agent, held calls as its deferred tools.

    chat = guard.open(session, wire="openai-chat", conversation="c1")
    agent = Agent(model, toolsets=[guard_toolset(chat)])
    agent.run_sync(chat.user("Refund A17, please.")["content"])

Comes after `turns`; imports Pydantic AI when it is used.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from guard.core.model import Content, Image, ToolCall
from guard.core.values import JsonObject
from guard.integrations.extras import needed
from guard.integrations.turns import Answer, Message, Turns
from guard.runner import AsyncConversation, Conversation
from guard.wires.plain import read_json

_load = partial(needed, extra="pydantic-ai")


def guard_toolset(chat: Conversation | AsyncConversation) -> Any:
    """The toolset for one conversation; open it with wire="openai-chat", whatever model the agent has.

    With `held="suspend"` a held call is deferred: the agent's `output_type` must take `DeferredToolRequests`, whose `metadata` has the
    approval's id, the tool and the expiry. An approval among the `DeferredToolResults` only has the guard look again, and decides nothing.
    Raises GuardError for another wire, or without Pydantic AI.
    """
    return _kind()(Turns(chat, "openai-chat"))


@cache
def _kind() -> type:
    """The toolset's class; made when Pydantic AI is there."""
    return type("GuardToolset", (_Layer, _load("pydantic_ai.toolsets.abstract").AbstractToolset), {})


class _Layer:
    """What the toolset does, without Pydantic AI's class."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._names: frozenset[str] = frozenset()

    @property
    def id(self) -> str | None:
        """None: a toolset of one conversation is not found again by a name."""
        return None

    async def get_tools(self, ctx: Any) -> JsonObject:  # noqa: ARG002 - the framework's form
        """What the session may call now, without the fields that it owns."""
        shown = [tool["function"] for tool in self._turns.chat.tools]
        self._names = frozenset(one["name"] for one in shown)
        return {one["name"]: self._tool(one) for one in shown}

    def _tool(self, shown: JsonObject) -> Any:
        definition = _load("pydantic_ai.tools").ToolDefinition(
            name=shown["name"], description=shown.get("description"), parameters_json_schema=shown["parameters"], strict=False
        )
        return _load("pydantic_ai.toolsets.abstract").ToolsetTool(
            toolset=self, tool_def=definition, max_retries=0, args_validator=_Unjudged()
        )

    async def call_tool(self, name: str, tool_args: JsonObject, ctx: Any, tool: Any) -> Any:  # noqa: ARG002 - as above
        """What a call comes to, in place of running anything."""
        place = self._place(ctx, name, tool_args)
        if place is not None:
            answer = await self._turns.take_soon(*place)
        else:
            answer = await self._turns.alone_soon(
                ToolCall(ctx.tool_call_id or "", name, json.dumps(tool_args, ensure_ascii=False))
            )
        if answer.suspended:
            raise _load("pydantic_ai.exceptions").ApprovalRequired(metadata=_question(answer))
        return _shown(answer.outcome.content)

    def _place(self, ctx: Any, name: str, arguments: JsonObject) -> tuple[Message, int] | None:
        """The message that a call stands in, and where; None where it stands in none, or was changed on the way."""
        for index in range(len(ctx.messages) - 1, -1, -1):
            calls = self._own(ctx.messages[index])
            for position, part in enumerate(calls):
                if (part.tool_call_id, part.tool_name) == (ctx.tool_call_id, name) and _loosely(part.args) == arguments:
                    before = [plain for one in ctx.messages[:index] for plain in self._plain(one)]
                    return Message(reply=_reply(ctx.messages[index], calls), before=before), position
            if calls:
                break
        return None

    def _own(self, message: Any) -> list[Any]:
        """The calls of the guard's tools in a message: those of other toolsets and of outputs are the framework's."""
        return [part for part in message.parts if part.part_kind == "tool-call" and part.tool_name in self._names]

    def _plain(self, message: Any) -> list[JsonObject]:
        """A message of the history as the wire has it; only calls and answers count, so texts are left out."""
        if calls := self._own(message):
            return [_said(calls)]
        answers = [
            part for part in message.parts if part.part_kind in ("tool-return", "retry-prompt") and part.tool_name in self._names
        ]
        return [{"role": "tool", "tool_call_id": part.tool_call_id, "content": "-"} for part in answers]


class _Unjudged:
    """Takes any arguments: the guard reads them as the model wrote them, and judges them."""

    def validate_json(self, text: Any, **_: Any) -> JsonObject:
        """An object for the framework to show; empty where the text is none."""
        return _loosely(text.decode(errors="replace") if isinstance(text, bytes | bytearray) else text)

    def validate_python(self, value: Any, **_: Any) -> JsonObject:
        """The same for decoded arguments."""
        return _loosely(value)


def _loosely(arguments: Any) -> JsonObject:
    found = read_json(arguments) if isinstance(arguments, str) else arguments
    return found if isinstance(found, dict) else {}


def _said(calls: Sequence[Any]) -> JsonObject:
    """Calls as a message of the wire has them."""
    texts = [part.args if isinstance(part.args, str) else json.dumps(part.args or {}, ensure_ascii=False) for part in calls]
    functions = [{"name": part.tool_name, "arguments": text} for part, text in zip(calls, texts, strict=True)]
    made = [{"id": part.tool_call_id, "type": "function", "function": one} for part, one in zip(calls, functions, strict=True)]
    return {"role": "assistant", "content": None, "tool_calls": made}


def _reply(message: Any, calls: Sequence[Any]) -> JsonObject:
    """A message of the model as a whole reply: with the reason for its end and what it cost."""
    reason = "length" if message.finish_reason == "length" else None
    texts = "\n\n".join(part.content for part in message.parts if part.part_kind == "text")
    usage = {"prompt_tokens": message.usage.input_tokens, "completion_tokens": message.usage.output_tokens}
    return {
        "model": message.model_name,
        "choices": [{"finish_reason": reason, "message": {**_said(calls), "content": texts or None}}],
        "usage": usage,
    }


def _question(answer: Answer) -> JsonObject:
    """What a deferred call tells the program; the arguments are for entitled people, at `guard.approvals`."""
    expires = None if answer.approval is None else answer.approval.expires_at
    return {"approval": answer.outcome.approval, "tool": answer.outcome.tool, "expires_at": expires}


def _shown(content: Content) -> Any:
    if isinstance(content, str):
        return content
    made = _load("pydantic_ai.messages").BinaryContent
    return [
        made(data=base64.b64decode(one.data), media_type=one.media_type) if isinstance(one, Image) else one for one in content
    ]
