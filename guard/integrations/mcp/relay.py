"""Relay: one client and one server, message by message. `tools/list` and `tools/call` are the guard's; what else it knows goes on as it is.

Fails closed: a method that it does not know is refused, a server that is gone ends the session, and each request of the client gets one
answer, whatever happens (a request that the client cancelled gets none, as the protocol says). Comes after desk, calls and unasked; last but
for the two transports.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from guard.core.model import ConversationRef, Session, ToolCall
from guard.core.values import Json, JsonObject
from guard.errors import GuardError, StoreError
from guard.integrations.mcp import messages as m
from guard.integrations.mcp.calls import Caller, Errand
from guard.integrations.mcp.desk import Desk, View
from guard.integrations.mcp.meta import cleared, known_version, of_client, passed, token_of
from guard.integrations.mcp.passing import Addresses, Mask
from guard.integrations.mcp.peer import MOST_OPEN, Channel, GoneError, Peer
from guard.integrations.mcp.unasked import Unasked
from guard.runner.opening import ref_of

CANCELLED = -32800
_LAST = 1.0  # seconds for an answer to somebody who may not read any more
_CLOSING = 5.0  # seconds that calls have to end after their server is gone

Handler = Callable[[object, JsonObject], Awaitable[Json]]
Job = Callable[[object, str, JsonObject], Coroutine[Any, Any, None]]


class Relay:
    """One session of one client."""

    def __init__(self, client: Channel, server: Channel, desk: Desk, session: Session, conversation: str) -> None:
        self.client, self.server, self.desk, self.session = Peer(client), Peer(server), desk, session
        self.ref = ConversationRef(tenant=session.tenant, principal=session.principal, conversation=conversation)
        self.view = View(desk, self.server, session, self.ref)
        self._addresses = Addresses()
        self._mask = Mask(desk.detect, self._addresses)
        self._asks = False
        self._tokens: dict[object, object] = {}
        self._unasked = Unasked(self.client, self.server, self.view, self._mask, self._tokens)
        self._handlers: dict[str, Handler] = {
            "initialize": self._initialize,
            "tools/list": self._list,
            "tools/call": self._call,
            **{method: self._passing(method) for method in m.TO_SERVER},
        }

    async def run(self) -> bool:
        """Carry messages until one side is gone; False when that was the server. Closes neither channel."""
        pumps = {
            asyncio.ensure_future(self._pump(self.client, self._from_client)): True,
            asyncio.ensure_future(self._pump(self.server, self._from_server)): False,
        }
        client_left = True
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            client_left = all(pumps[task] for task in done)
        finally:
            await self._end(pumps, client_left=client_left)
        return client_left

    async def _end(self, pumps: Mapping[asyncio.Task[None], bool], *, client_left: bool) -> None:
        (self.client if client_left else self.server).lost()
        await self.server.finish(seconds=0, cancel=True)
        await self.client.finish(seconds=_CLOSING, cancel=client_left)
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, side: Peer, take: Callable[[JsonObject], Awaitable[None]]) -> None:
        try:
            async for message in side.channel.messages():
                if isinstance(message, m.UnfitError):
                    await self._unfit(side, message)
                else:
                    await take(message)
        except GoneError as error:
            self.desk.say(f"{self._name(side)} is gone: {error}")

    async def _unfit(self, side: Peer, error: m.UnfitError) -> None:
        if side is self.server:
            self.desk.say(f"the server {self.desk.server} wrote what is no message ({error}); it was left out")
            return
        number = error.request if m.is_id(error.request) and error.request not in side.busy else None
        await side.channel.send(m.fault(number, m.PARSE_ERROR, f"Refused: {error}."), number)

    async def _begin(self, side: Peer, message: JsonObject, job: Job) -> None:
        """Begin the work on a request of one side, where it can be worked on; else it has its answer at once."""
        number, method = message.get("id"), message.get("method")
        if not m.is_id(number) or not isinstance(method, str):
            await side.channel.send(m.fault(None, m.INVALID_REQUEST, "Refused: a request has an id and a method."))
        elif number in side.busy:
            self.desk.say(
                f"refused: a second request of {self._name(side)} with the id {number!r} while the first is worked on; "
                "it gets no answer of its own"
            )
        elif len(side.busy) >= MOST_OPEN:
            await side.channel.send(m.fault(number, m.GONE, f"Refused: more than {MOST_OPEN} requests at once."), number)
        else:
            side.work(number, job(number, method, message))
            await asyncio.sleep(0)  # it has begun before the next message is read: what is stopped earlier would never answer

    def _name(self, side: Peer) -> str:
        return "the client" if side is self.client else f"the server {self.desk.server}"

    # -- from the client ---------------------------------------------------------------------------------------------------

    async def _from_client(self, message: JsonObject) -> None:
        method = message.get("method")
        if method is None:
            self.client.settle(message)
        elif "id" in message:
            await self._begin(self.client, message, self._serve)
        elif isinstance(method, str):
            await self._client_tells(method, m.params_of(message) if isinstance(message.get("params"), dict) else {})

    async def _client_tells(self, method: str, params: JsonObject) -> None:
        if method == "notifications/cancelled":
            self.client.cancel(params.get("requestId"))
        elif method in m.TOLD_SERVER:
            await self.server.tell(method, cleared(params) or None)

    async def _serve(self, number: object, method: str, message: JsonObject) -> None:
        try:
            reply = await self._answer(number, method, message)
        except asyncio.CancelledError:
            await self._cancelled(number)
            raise
        finally:
            self.client.busy.pop(number, None)
            self.client.dropped.discard(number)
        await self._send(reply, number)

    async def _cancelled(self, number: object) -> None:
        """Answer a request whose work was stopped, unless it was the client that wanted that and needs no answer."""
        if number not in self.client.dropped:
            reply = m.fault(number, m.GONE, "The proxy ended; nobody knows what became of the request.")
        elif self.client.channel.answers_cancelled:
            reply = m.fault(number, CANCELLED, "Request cancelled")
        else:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST):
                await self._send(reply, number)

    async def _send(self, reply: JsonObject, number: object) -> None:
        try:
            await self.client.channel.send(reply, number)
        except GoneError:
            return

    async def _answer(self, number: object, method: str, message: JsonObject) -> JsonObject:
        handler = self._handlers.get(method)
        if handler is None:
            return m.fault(number, m.NO_METHOD, f"Method not found: {method[:100]}")
        try:
            params = m.params_of(message)
            known_version(method, params)
            return m.answer(number, await handler(number, params))
        except m.RemoteError as error:
            return {"jsonrpc": "2.0", "id": number, "error": self._mask.message(error.error)}
        except m.UnfitError as error:
            return m.fault(number, m.INVALID_PARAMS, f"Refused: {error}.")
        except GoneError:
            return m.fault(number, m.GONE, "The server is gone; nobody knows what became of the request.")
        except TimeoutError:
            return m.fault(number, m.GONE - 1, "The server did not answer in time.")
        except Exception as error:  # noqa: BLE001 - whatever it is, the request gets its answer
            known = isinstance(error, GuardError)
            self.desk.say(f"{method}: {error if known else type(error).__name__}")
            return m.fault(
                number, m.INTERNAL, f"Refused: the guard cannot judge this now ({_code(error)}). Nothing was executed."
            )

    # -- what the guard answers ----------------------------------------------------------------------------------------------

    async def _initialize(self, _number: object, params: JsonObject) -> Json:
        wanted = params.get("capabilities")
        wanted = {key: item for key, item in wanted.items() if key in m.CLIENT_CAPABILITIES} if isinstance(wanted, dict) else {}
        version = params.get("protocolVersion")
        asked = {**params, "capabilities": wanted, "protocolVersion": version if version in m.VERSIONS else m.VERSIONS[-1]}
        found = await self.server.ask("initialize", cleared(asked), seconds=self.desk.seconds)
        if not isinstance(found, dict) or found.get("protocolVersion") not in m.VERSIONS:
            raise GuardError("the server speaks no revision of the protocol that the guard knows")
        self._asks = "elicitation" in wanted
        offers = found.get("capabilities")
        offers = {key: item for key, item in offers.items() if key in m.CAPABILITIES} if isinstance(offers, dict) else {}
        said: Any = self._mask.message(
            {key: item for key, item in found.items() if key not in ("capabilities", "protocolVersion")}
        )
        return {"protocolVersion": found["protocolVersion"], "capabilities": offers, **said}

    async def _list(self, _number: object, params: JsonObject) -> Json:
        if params.get("cursor") is not None:
            raise m.UnfitError("there is one page of tools, and no cursor was given out")
        return {"tools": self.view.shown(await self.view.refresh())}

    async def _call(self, number: object, params: JsonObject) -> Json:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
            raise m.UnfitError("name is a text and arguments are an object")
        if "task" in params:
            raise m.UnfitError("tasks are not offered here")
        guard = await self.view.fresh()
        errand = Errand(
            server=self.server, seconds=self.desk.seconds, still=self.view.still, about=number, meta=of_client(params)
        )
        caller = Caller(
            guard=guard,
            session=self.session,
            ref=ref_of(guard, self.session, self.ref.conversation),
            offered=self.view.offered(guard),
            client=self.client,
            render=partial(self.view.rendered, guard, self._mask, errand, arguments),
            calm=self.desk.calm if len(self.client.busy) == 1 and not self.client.channel.answers_cancelled else None,
            asks=self._asks,
        )
        token = token_of(params)
        self._tokens[token] = number
        try:
            outcome, found = await caller.told(ToolCall(str(number), name, arguments), errand)
        finally:
            self._tokens.pop(token, None)
        if outcome.status == "held":
            self.desk.say(
                f"held: {outcome.tool} waits for a person: guard approvals approve {outcome.approval}{self.desk.options}"
            )
        return found

    def _passing(self, method: str) -> Handler:
        async def passing(number: object, params: JsonObject) -> Json:
            token = token_of(params)
            self._tokens[token] = number
            try:
                sent = cleared(self._addresses.sent(params)) or None
                found = await self.server.ask(method, sent, seconds=self.desk.seconds)
            finally:
                self._tokens.pop(token, None)
            return passed(found, self._mask)

        return passing

    # -- from the server -----------------------------------------------------------------------------------------------------

    async def _from_server(self, message: JsonObject) -> None:
        method = message.get("method")
        if method is None:
            self.server.settle(message)
        elif "id" in message:
            await self._begin(self.server, message, self._unasked.asks)
        elif isinstance(method, str):
            await self._unasked.tells(method, message.get("params"))


def _code(error: Exception) -> str:
    """What may be told to a model of a failure: its kind, never its text."""
    return error.code if isinstance(error, StoreError) else type(error).__name__
