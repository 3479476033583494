"""The request models of the providers' own SDKs: whether they take messages and tools. For what a guard gives back."""

from __future__ import annotations

from functools import cache
from typing import Any


def accepted(name: str, messages: list[Any], tools: list[Any] | None = None) -> None:
    """Raise what the SDK raises for messages or tools that its request model does not take."""
    _CHECKS[name](messages, tools or [])


@cache
def _adapter(name: str, part: str) -> Any:
    """What reads `part` of a request as the SDK's own type, by pydantic."""
    from pydantic import TypeAdapter

    if name == "openai-chat":
        from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

        return TypeAdapter({"messages": ChatCompletionMessageParam, "tools": ChatCompletionToolParam}[part])
    if name == "openai-responses":
        from openai.types.responses import ToolParam
        from openai.types.responses.response_input_param import ResponseInputItemParam

        return TypeAdapter({"messages": ResponseInputItemParam, "tools": ToolParam}[part])
    from anthropic.types import MessageParam, ToolUnionParam

    return TypeAdapter({"messages": MessageParam, "tools": ToolUnionParam}[part])


def _typed(name: str) -> Any:
    def check(messages: list[Any], tools: list[Any]) -> None:
        for part, items in (("messages", messages), ("tools", tools)):
            for item in items:
                adapter = _adapter(name, part)
                adapter.dump_json(adapter.validate_python(item), warnings="none")  # iterables are read by writing them

    return check


def _gemini(messages: list[Any], tools: list[Any]) -> None:
    from google.genai import types

    for item in messages:
        types.Content.model_validate(item)
    for item in tools:
        types.Tool.model_validate(item)


@cache
def _converse() -> Any:
    from botocore.session import get_session

    return get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def _bedrock(messages: list[Any], tools: list[Any]) -> None:
    from botocore.validate import validate_parameters

    config = {"toolConfig": {"tools": tools}} if tools else {}
    validate_parameters({"modelId": "m", "messages": messages, **config}, _converse())


_CHECKS: dict[str, Any] = {
    "openai-chat": _typed("openai-chat"),
    "openai-responses": _typed("openai-responses"),
    "anthropic": _typed("anthropic"),
    "gemini": _gemini,
    "bedrock-converse": _bedrock,
}
