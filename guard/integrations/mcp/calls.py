"""Calls: one tools/call on the guard's whole path, and what the client is told of a call that waits for a person.

The guard runs the tool by `ask_server`, which finds the connection of the call under way in `ERRAND`: that a call reaches the server is
decided by the guard alone. Comes after results and peer; before desk and relay.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

from guard.core.model import ConversationRef, Outcome, Session, ToolCall
from guard.core.values import Json, JsonObject, encode
from guard.errors import ApprovalError, GuardError, OutcomeUnknownError, ToolError
from guard.integrations.mcp.messages import GONE, NOT_DONE, RemoteError, UnfitError
from guard.integrations.mcp.meta import of_server
from guard.integrations.mcp.peer import GoneError, Peer
from guard.integrations.mcp.results import Mould, formed, mould_of, value_of
from guard.runner import AsyncGuard
from guard.runner.chat import Chat
from guard.runner.deciders import concerns
from guard.runner.drivers_async import AsyncRun
from guard.runner.landing import Calm
from guard.runner.tracing import within
from guard.wires import wire

HELD = (
    "Held for a person's approval. It has NOT been executed. Do not say that it is done. Once a person has approved it, call this tool "
    "again with exactly the same arguments: it then runs, once."
)
CHANGED = "The server changed or removed this tool, and nobody has reviewed that. It was not executed."
UNLISTED = "The server cannot be asked now whether this tool is still what was reviewed. It was not executed."
_QUESTION_SECONDS = 600.0  # for an answer at the client


class DoubtError(OutcomeUnknownError, ToolError):
    """The server's answer does not say whether the tool ran: an action is unknown, a look-up failed with this text."""


@dataclass(kw_only=True)
class Errand:
    """The connection of one call, and the shape of what came back on it."""

    server: Peer
    seconds: float
    still: Callable[[str], Awaitable[bool]]  # whether the server offers this tool as it was reviewed, now
    about: object = None  # the id of the client's request
    meta: JsonObject = field(default_factory=dict)  # what goes along with the request, besides name and arguments
    mould: Mould | None = None
    said: JsonObject = field(default_factory=dict)  # the `_meta` of the server's result, as it came
    made: tuple[Outcome, JsonObject] | None = None  # what the client is told of an outcome, made while that was written down


ERRAND: ContextVar[Errand | None] = ContextVar("guard_mcp_errand", default=None)


async def ask_server(name: str, arguments: JsonObject) -> Any:
    """Run a tool at the server of the call under way.

    Raises ToolError where it is not what was reviewed, or where the server says that it did not run; DoubtError, GoneError and TimeoutError when nobody knows.
    """
    errand = ERRAND.get()
    if errand is None:
        raise GuardError("a tool of an MCP server runs on behalf of a client that is connected")
    params: JsonObject = {"name": name, "arguments": arguments}
    if errand.meta:
        params["_meta"] = errand.meta
    await _unchanged(name, errand)
    try:
        result = await errand.server.ask("tools/call", params, seconds=errand.seconds)
    except UnfitError as error:
        raise ToolError(f"Not sent: {error}. It was not executed.") from None
    except RemoteError as error:
        code = error.error.get("code")
        if type(code) is int and code in (GONE, GONE - 1):  # said by a transport in the server's place
            raise GoneError(str(error)) from None
        if type(code) is int and code in NOT_DONE:
            raise ToolError(str(error)) from None
        raise DoubtError(str(error)) from None
    if not isinstance(result, dict) or not formed(result):
        raise DoubtError("The server gave no result.")
    value = value_of(result)
    errand.mould, errand.said = mould_of(value), of_server(result)
    return value


async def _unchanged(name: str, errand: Errand) -> None:
    """Ask right before the tool runs: a person may have thought for minutes since it was judged. Raises ToolError."""
    try:
        same = await errand.still(name)
    except (RemoteError, OSError, GuardError):
        raise ToolError(UNLISTED) from None
    if not same:
        raise ToolError(CHANGED)


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Whoever calls: the session, its conversation, what may be proposed now, and the client to ask where the policy takes its word."""

    guard: AsyncGuard
    session: Session
    ref: ConversationRef
    offered: frozenset[str]
    client: Peer
    render: Callable[[Outcome], JsonObject]  # an outcome as the client is told it
    calm: Calm | None = None  # where nothing else goes on here: the event loop may stand still for a moment
    asks: bool = False  # the client can show a question to the person in front of it

    async def call(self, call: ToolCall, errand: Errand) -> Outcome:
        """Walk the call; where it is held and the person at the client may decide, ask there."""
        outcome = await self._walk(call, errand)
        if outcome.status == "held" and self.asks and await self._decided(outcome, errand):
            outcome = await self._walk(call, errand)
        return outcome

    async def _walk(self, call: ToolCall, errand: Errand) -> Outcome:
        chat = Chat(self.guard, self.session, wire("openai-chat"), self.ref, "answer", self.offered).pinned()
        mark = ERRAND.set(errand)
        try:
            run = AsyncRun(chat.in_force.hands, calm=self.calm, beside=partial(self._beside, errand))
            with within(errand.meta.get("traceparent")):
                return await run.run(chat.single(call, None))
        finally:
            ERRAND.reset(mark)

    async def told(self, call: ToolCall, errand: Errand) -> tuple[Outcome, JsonObject]:
        """The outcome, and what the client is told of it."""
        outcome = await self.call(call, errand)
        return errand.made if errand.made is not None and errand.made[0] is outcome else (outcome, self.render(outcome))

    def _beside(self, errand: Errand, outcome: Outcome) -> None:
        """While the outcome is written down make what the client is told of it once that is certain: the disk takes as long."""
        if errand.mould is not None:
            with suppress(Exception):  # it is made again, if it is needed
                errand.made = outcome, self.render(outcome)

    async def _decided(self, outcome: Outcome, errand: Errand) -> bool:
        """Whether the person at the client decided. Only a plain answer counts; everything else leaves the call held."""
        tool = self.guard.policy.tools.get(outcome.tool)
        own = [rule for rule in tool.approval if rule.self_] if tool is not None else []
        if outcome.approval is None or not own or any(rule.assurance != "client" for rule in own):
            return False
        try:
            approval = await self.guard.approvals.show(outcome.approval)
            if not approval.by_self or not concerns(approval, self.guard.known(self.session)):
                return False
            left = max(1.0, approval.expires_at - self.guard.store.now())
            asked = question(approval.tool, approval.arguments, approval.show)
            said = await self.client.ask("elicitation/create", asked, about=errand.about, seconds=min(left, _QUESTION_SECONDS))
            return await self._vote(outcome.approval, said)
        except (RemoteError, OSError, TimeoutError, ApprovalError):
            return False

    async def _vote(self, approval: str, said: Json) -> bool:
        content = said.get("content") if isinstance(said, dict) and said.get("action") == "accept" else None
        decision = content.get("decision") if isinstance(content, dict) else None
        if decision not in ("approve", "reject"):
            return False
        vote = self.guard.approvals.approve if decision == "approve" else self.guard.approvals.reject
        await vote(approval, approver=self.session, reason="answered at the MCP client", assurance="client")
        return True


def question(tool: str, arguments: Mapping[str, Json], show: tuple[str, ...]) -> JsonObject:
    """What the client is asked to show: every argument that would run, those that the policy names first."""
    names = [*(name for name in show if name in arguments), *(name for name in arguments if name not in show)]
    lines = [f"{_plain(name)}: {_plain(encode(arguments[name]))}" for name in names]
    message = "\n".join([f"May {_plain(tool)} run now, once, with exactly these arguments?", *lines])
    decision = {"type": "string", "title": "Decision", "enum": ["approve", "reject"]}
    schema = {"type": "object", "properties": {"decision": decision}, "required": ["decision"]}
    return {"message": message, "requestedSchema": schema}


def _plain(text: str) -> str:
    """A text with nothing in it that could not be seen."""
    return "".join(char if char.isprintable() else f"[U+{ord(char):04X}]" for char in text)


def told(outcome: Outcome, console: str, options: str = "") -> Outcome:
    """The outcome as this client must be told it: of a held call how it is approved, and that it must be called again."""
    if outcome.status != "held" or not isinstance(outcome.content, str):
        return outcome
    try:
        found = json.loads(outcome.content, parse_float=Decimal)
        error = found["error"]
    except (ValueError, KeyError, TypeError):
        return outcome
    how: JsonObject = {"message": HELD, "retry": True, "approve": f"guard approvals approve {outcome.approval}{options}"}
    if console:
        how["console"] = console
    return replace(outcome, content=encode({**found, "error": {**error, **how}}))


def marks(outcome: Outcome) -> JsonObject:
    """What a program may want to know of the outcome, beside what the model is told."""
    found: JsonObject = {"guard/status": outcome.status}
    if outcome.reason is not None:
        found["guard/reason"] = str(outcome.reason)
    if outcome.approval is not None:
        found["guard/approval"] = outcome.approval
    if outcome.replayed:
        found["guard/replayed"] = True
    return found
