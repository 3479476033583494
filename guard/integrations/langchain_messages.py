"""LangChain's messages: read into those of openai-chat, and made from outcomes. Pure but for loading LangChain. Comes before `langchain`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from guard.core.model import Image, Outcome
from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.integrations.extras import needed
from guard.wires.texts import plainly

_CUT = frozenset({"length", "max_tokens", "MAX_TOKENS", "model_length"})
_SHOWN = "(a picture: it follows the results)"


def messages_of(state: Any) -> list[Any]:
    """The messages of a graph's state; none where it has none."""
    found = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    return list(found) if isinstance(found, list | tuple) else []


def text_of(arguments: Any) -> str:
    """Arguments as the text that the wire has. Raises GuardError for what no JSON can say."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=_unsaid)


def _unsaid(value: object) -> Any:
    raise GuardError(f"arguments of a call are JSON, not {type(value).__name__}")


def calls_of(message: Any) -> list[JsonObject]:
    """The calls of a message as the wire has them: first those that LangChain could read."""
    every = [*(getattr(message, "tool_calls", None) or ()), *(getattr(message, "invalid_tool_calls", None) or ())]
    return [
        {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": text_of(one["args"])}}
        for one in every
    ]


def words_of(message: Any) -> str:
    """What the model wrote beside its calls; blocks of reasoning are none of it."""
    content = message.content
    parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str) or _written(part)]
    return "".join(text for text in texts if isinstance(text, str))


def _written(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "output_text")


def reply_of(message: Any) -> JsonObject:
    """A message of the model as a whole reply: with the reason for its end and what it cost."""
    told, usage = message.response_metadata, message.usage_metadata or {}
    reason = told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason")
    reply: JsonObject = {
        "model": told.get("model_name"),
        "choices": [
            {
                "finish_reason": "length" if reason in _CUT else None,
                "message": {"role": "assistant", "content": words_of(message) or None, "tool_calls": calls_of(message)},
            }
        ],
    }
    if usage:
        reply["usage"] = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
    return reply


def plain_of(messages: Sequence[Any]) -> list[JsonObject]:
    """A history as the wire has it; only calls and answers count, so other texts are left out."""
    found: list[JsonObject] = []
    for message in messages:
        if message.type == "ai" and (calls := calls_of(message)):
            found.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif message.type == "tool":
            found.append({"role": "tool", "tool_call_id": message.tool_call_id, "content": "-"})
        elif message.type in ("human", "ai"):
            found.append({"role": "user" if message.type == "human" else "assistant", "content": "-"})
    return found


def message_of(outcome: Outcome, call: Any) -> Any:
    """The message that answers a call. `artifact` is for the program, and for `pictures_of`: the model does not see it."""
    content: Any = outcome.content
    pictures: list[JsonObject] = []
    if not isinstance(content, str):
        content = [*map(plainly, content)]
        pictures = [{"base64": one.data, "mime_type": one.media_type} for one in content if isinstance(one, Image)]
        content = [{"type": "text", "text": _SHOWN if isinstance(one, Image) else one} for one in content]
    return needed("langchain_core.messages", "langchain").ToolMessage(
        content=content,
        name=call["name"],
        tool_call_id=call["id"],
        status="error" if outcome.error else "success",
        artifact={
            "status": outcome.status,
            "reason": outcome.reason and str(outcome.reason),
            "approval": outcome.approval,
            "pictures": pictures,
        },
    )


def pictures_of(messages: Sequence[Any]) -> Any:
    """A message with the pictures of the results that stand last, in their order; None where there are none.

    Not every provider takes pictures in a result, so they follow all the results of a turn.
    """
    blocks: list[JsonObject] = []
    for message in reversed(messages):
        if message.type != "tool":
            break
        shown = message.artifact.get("pictures") if isinstance(message.artifact, dict) else None
        found = [{"type": "image", **one} for one in shown or ()]
        if found:
            blocks = [
                {"type": "text", "text": f"From {message.name or 'a tool'} (call {message.tool_call_id}):"},
                *found,
                *blocks,
            ]
    return needed("langchain_core.messages", "langchain").HumanMessage(content=blocks) if blocks else None
