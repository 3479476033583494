"""OpenAI Agents SDK: a conversation's tools as tools of an `Agent`, and the hooks that tell the guard which message a call stands in.

    chat = guard.open(session, wire="openai-responses", conversation="c1")
    layer = guard_layer(chat)
    agent = Agent(name="shop", tools=layer.tools, hooks=layer.hooks)
    await Runner.run(agent, [chat.user("Refund A17, please.")], run_config=RunConfig(call_model_input_filter=layer.mended))

Whatever model the agent has, the SDK's own items are those of openai-responses. Comes after `turns`; imports the SDK when it is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import new_class
from typing import Any

from guard.core.model import Content, Image, ToolCall
from guard.core.values import JsonObject
from guard.integrations.extras import needed
from guard.integrations.turns import Answer, Message, Turns
from guard.runner import AsyncConversation, Conversation
from guard.wires.plain import is_json, look
from guard.wires.texts import plainly

_load = partial(needed, "agents", "openai-agents")
_MESSAGES = 8  # of the model, that a call may stand in


def guard_layer(chat: Conversation | AsyncConversation) -> Layer:
    """`tools` and `hooks` for one agent; open the conversation with wire="openai-responses".

    With `held="suspend"` a held call interrupts the run; `state.approve(…)` then only has the guard look again, and decides nothing.
    Without the hooks each call is judged as a message of its own. Raises GuardError for another wire, or without the SDK.
    """
    return Layer(Turns(chat, "openai-responses"))


@dataclass(frozen=True, slots=True)
class _Said:
    """A message of the model as it came, and the SDK's items of its calls, in order."""

    message: Message
    calls: tuple[Any, ...]


class Layer:
    """What an agent is given. `asked` and `seen` are for a program with hooks of its own."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._said: deque[_Said] = deque(maxlen=_MESSAGES)
        self._before: Sequence[Any] = ()
        self.tools: list[Any] = [self._tool(shown) for shown in turns.chat.tools]
        self._names = frozenset(tool.name for tool in self.tools)
        self.hooks: Any = _hooks(self)

    def asked(self, items: Sequence[Any]) -> None:
        """The model is given these items: what `on_llm_start` tells."""
        self._before = list(items)

    def seen(self, response: Any) -> None:
        """The model answered: what `on_llm_end` tells."""
        calls = tuple(item for item in response.output if self._own(item))
        if not calls:
            return
        usage = response.usage
        reply = {
            "object": "response",
            "status": "completed",
            "output": [item for item in response.output if look(item, "type") == "message" or self._own(item)],
            "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        }
        self._said.append(_Said(Message(reply=reply, before=self._history()), calls))

    def mended(self, data: Any) -> Any:
        """The items for the model, arguments that are no JSON left out: for `RunConfig(call_model_input_filter=layer.mended)`.

        A provider rejects a history that holds such text, and the SDK keeps it.
        """
        items = [_mended(item) for item in data.model_data.input]
        return replace(data.model_data, input=items)

    def _own(self, item: Any) -> bool:
        """Whether an item is a call of the guard's tools: hand-overs to other agents are the SDK's."""
        return look(item, "type") == "function_call" and look(item, "name") in self._names

    def _history(self) -> list[Any]:
        """What was said before, without the calls of other tools."""
        foreign = {
            look(item, "call_id") for item in self._before if look(item, "type") == "function_call" and not self._own(item)
        }
        return [item for item in self._before if look(item, "call_id") is None or look(item, "call_id") not in foreign]

    def _tool(self, shown: JsonObject) -> Any:
        suspends = self._turns.chat.suspends
        return _load().FunctionTool(
            name=shown["name"],
            description=shown.get("description") or "",
            params_json_schema=shown["parameters"],
            on_invoke_tool=self._invoke,
            strict_json_schema=False,
            needs_approval=self._waits if suspends else False,
        )

    async def _waits(self, context: Any, parameters: Any, call_id: str) -> bool:  # noqa: ARG002 - the SDK's form
        """Whether the run is to pause: the guard held the call."""
        place = self._place(lambda item: item.call_id == call_id)
        return place is not None and (await self._turns.take_soon(*place, look=True)).suspended

    async def _invoke(self, context: Any, arguments: str) -> Any:
        """What a call comes to, in place of running anything."""
        call = context.tool_call
        place = self._place(lambda item: item is call) or self._place(
            lambda item: (item.call_id, item.name, item.arguments) == (context.tool_call_id, context.tool_name, arguments)
        )
        alone = ToolCall(context.tool_call_id, context.tool_name, arguments)
        answer = await (self._turns.alone_soon(alone) if place is None else self._turns.take_soon(*place))
        return _shown(answer)

    def _place(self, fits: Any) -> tuple[Message, int] | None:
        """The newest message with a call that fits, and where it stands among the calls."""
        for said in reversed(self._said):
            for position, item in enumerate(said.calls):
                if fits(item):
                    return said.message, position
        return None


def _mended(item: Any) -> Any:
    if look(item, "type") != "function_call" or not isinstance(item, dict) or is_json(item["arguments"]):
        return item
    return {**item, "arguments": "{}"}


def _hooks(layer: Layer) -> Any:
    """Hooks of an agent that tell the layer what the model was given and what it said."""

    async def start(_self: Any, _context: Any, _agent: Any, _prompt: Any, items: Any) -> None:
        layer.asked(items)

    async def end(_self: Any, _context: Any, _agent: Any, response: Any) -> None:
        layer.seen(response)

    methods = {"on_llm_start": start, "on_llm_end": end}
    return new_class("GuardHooks", (_load().AgentHooks,), {}, lambda space: space.update(methods))()


def _shown(answer: Answer) -> Any:
    content: Content = answer.outcome.content
    if isinstance(content, str):
        return content
    sdk = _load()
    return [
        sdk.ToolOutputImage(image_url=f"data:{one.media_type};base64,{one.data}")
        if isinstance(one, Image)
        else sdk.ToolOutputText(text=one)
        for one in map(plainly, content)
    ]
