"""LangChain: the guard as a middleware of `create_agent`, and so of LangGraph.

    chat = guard.open(session, wire="openai-chat", conversation="c1")
    agent = create_agent(model, middleware=[guard_middleware(chat)])
    agent.invoke({"messages": [chat.user("Refund A17, please.")]})

The middleware brings the tools of the session and answers every call in the tools' place; a tool that is run without it refuses. Comes after
`turns`; imports LangChain when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any, get_origin, get_type_hints

from guard.core.model import Outcome, ToolCall
from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.integrations.extras import needed
from guard.integrations.langchain_messages import calls_of, message_of, messages_of, pictures_of, plain_of, reply_of, text_of
from guard.integrations.turns import Answer, Message, Turns
from guard.runner import AsyncConversation, Conversation

_load = partial(needed, extra="langchain")


def guard_middleware(chat: Conversation | AsyncConversation) -> Any:
    """The middleware for one conversation; open it with wire="openai-chat", whatever model the agent has.

    With `held="suspend"` a held call interrupts the graph: `interrupt` gets the approval's id, the call's, the tool and the expiry, and any resume has the guard
    look again. What the resume says decides nothing. Raises GuardError for another wire, or without LangChain.
    """
    return _kind()(Turns(chat, "openai-chat"))


def functions_of(*tools: Any) -> dict[str, Any]:
    """The functions behind LangChain tools, by name: `Guard.load(…, tools=functions_of(refund, order_status))`.

    An `InjectedToolArg` is an argument that the policy must bind. Raises GuardError for a tool without a function, and for one that wants
    the graph's state, store or runtime: the guard has none.
    """
    found = [(getattr(one, "name", str(one)), _function(one)) for one in tools]
    if len(dict(found)) != len(found):
        raise GuardError("two of the tools have the same name")
    return dict(found)


def _function(tool: Any) -> Any:
    found = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    if found is None:
        raise GuardError(f"{getattr(tool, 'name', tool)!r} has no function that the guard could run; give it one with @tool")
    node, core = _load("langgraph.prebuilt.tool_node"), _load("langchain_core.tools")
    own = (node.InjectedState, node.InjectedStore, node.ToolRuntime, core.InjectedToolCallId)
    for name, hint in get_type_hints(found, include_extras=True).items():
        marks = (hint, get_origin(hint), *getattr(hint, "__metadata__", ()))
        if any(mark in own or isinstance(mark, own) for mark in marks):
            raise GuardError(
                f"{tool.name} takes {name} from the graph, which the guard has not: bind it to the session, or leave it out"
            )
    return found


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
                return message_of(answer.outcome, request.tool_call)
            _load("langgraph.types").interrupt(_question(answer))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:  # noqa: ARG002 - as above
        """The same for asyncio."""
        found = _place(request)
        while True:
            turns = self._turns
            answer = await (turns.take_soon(*found) if isinstance(found, tuple) else turns.alone_soon(found))
            if not answer.suspended:
                return message_of(answer.outcome, request.tool_call)
            _load("langgraph.types").interrupt(_question(answer))

    def before_model(self, state: Any, runtime: Any) -> Any:  # noqa: ARG002 - LangChain's form of a hook
        """Pictures of results go to the model after all of them."""
        shown = pictures_of(messages_of(state))
        return None if shown is None else {"messages": [shown]}

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
        messages = messages_of(state)
        last = messages[-1] if messages else None
        if last is None or not (calls := calls_of(last)):
            return None, []
        stored = self._turns.chat.wire.read(reply_of(last)).store["tool_calls"]
        if stored == calls and len(calls) == len(last.tool_calls):
            return None, []
        count = len(last.tool_calls)
        broken = [
            {**call, "args": kept["function"]["arguments"]}
            for call, kept in zip(last.invalid_tool_calls, stored[count:], strict=True)
        ]
        mended = {"tool_calls": _with(last.tool_calls, stored), "invalid_tool_calls": _with(broken, stored[count:])}
        message = Message(reply=reply_of(last), before=plain_of(messages[:-1]))
        return last.model_copy(update=mended), [(message, place) for place in range(count, len(calls))]


def _with(calls: Sequence[Any], stored: Sequence[JsonObject]) -> list[Any]:
    """The calls under ids that can be paired, and names that a provider takes."""
    return [{**call, "id": kept["id"], "name": kept["function"]["name"]} for call, kept in zip(calls, stored, strict=False)]


def _update(said: Any, told: Sequence[Outcome]) -> JsonObject | None:
    """What a hook changes: the message of the model, and the answers that go after it; the model is asked again where nothing else is left."""
    if said is None:
        return None
    found = {"messages": [said, *(message_of(one, {"id": one.call_id, "name": one.tool}) for one in told)]}
    return found if said.tool_calls or not told else {**found, "jump_to": "model"}


def _place(request: Any) -> tuple[Message, int] | ToolCall:
    """The message that a call stands in, and where; the call alone where it stands in none, or was changed on the way."""
    call, messages = request.tool_call, messages_of(request.state)
    for index in range(len(messages) - 1, -1, -1):
        calls = getattr(messages[index], "tool_calls", None) or ()
        for position, one in enumerate(calls):
            if all(one.get(key) == call.get(key) for key in ("id", "name", "args")):
                return Message(reply=reply_of(messages[index]), before=plain_of(messages[:index])), position
        if calls:
            break
    return ToolCall(str(call.get("id") or ""), str(call["name"]), text_of(call.get("args")))


def _question(answer: Answer) -> JsonObject:
    """What an interrupt tells the program; the arguments are for entitled people, at `guard.approvals`."""
    approval = answer.approval
    return {
        "approval": answer.outcome.approval,
        "call": answer.outcome.call_id,
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
