"""Web: streamable HTTP in both directions, by the official SDK (extra `mcp`): a remote server's side, and the sessions of clients.

A session of a client belongs to whoever opened it: every request of it must come with the same identity. Each session has a server of its own.
Decides nothing about calls. Comes after relay, which it knows as a function only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Any, Protocol

from guard.core.ceilings import CEILINGS
from guard.core.model import Session
from guard.core.values import JsonObject, encode
from guard.errors import GuardError
from guard.extras import install
from guard.integrations.mcp.exact import asked, kept, posted, writable
from guard.integrations.mcp.messages import INVALID_REQUEST, PARSE_ERROR, UnfitError, fault, is_id
from guard.integrations.mcp.peer import Channel, GoneError

IDLE_SECONDS = 1_800.0
_SESSION = b"mcp-session-id"
_VERSION = "mcp-protocol-version"


def needs_sdk() -> None:
    """Raises GuardError, with what to install, where the SDK is missing or too old."""
    try:
        from mcp import Client  # noqa: F401, PLC0415 - an extra: loaded when it is used
    except ImportError as error:
        raise GuardError(f"MCP over HTTP needs the extra mcp: {install('mcp')}") from error
    log = logging.getLogger("mcp")
    if not log.handlers:
        log.addHandler(logging.NullHandler())  # what matters of it is told by whoever uses it


class Streams:
    """A channel over the SDK's streams. `served`: the other side is a client."""

    def __init__(self, read: Any, write: Any, *, served: bool, first: Any = None) -> None:
        self.answers_cancelled = served
        self._read, self._write, self._served, self._first = read, write, served, first
        self._version: str | None = None

    async def send(self, message: JsonObject, about: object = None) -> None:
        """Send one message; to a client on the stream of the request that it belongs to, where there is one."""
        import anyio  # noqa: PLC0415 - comes with the extra
        from mcp.shared.message import ClientMessageMetadata, ServerMessageMetadata, SessionMessage  # noqa: PLC0415
        from mcp.types.jsonrpc import jsonrpc_message_adapter  # noqa: PLC0415

        mark: Any = None
        if self._served and isinstance(about, str | int):
            mark = ServerMessageMetadata(related_request_id=about)
        elif self._version is not None:
            mark = ClientMessageMetadata(headers={_VERSION: self._version})
        asks = not self._served and "id" in message and "method" in message  # by that a tool runs there
        whole = jsonrpc_message_adapter.validate_python(writable(message, exactly=asks))
        try:
            await self._write.send(SessionMessage(whole, metadata=mark))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise GoneError("nobody reads on") from error

    async def messages(self) -> AsyncIterator[JsonObject | UnfitError]:
        """What comes, until the stream ends."""
        import anyio  # noqa: PLC0415 - as above

        if self._first is not None:
            yield self._plain(self._first)
        try:
            async for item in self._read:
                yield UnfitError("not a JSON-RPC 2.0 message") if isinstance(item, Exception) else self._plain(item)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return

    def _plain(self, item: Any) -> JsonObject:
        found: JsonObject = kept(item) or item.message.model_dump(by_alias=True, exclude_unset=True)
        result = found.get("result")
        if self._version is None and isinstance(result, dict) and isinstance(result.get("protocolVersion"), str):
            self._version = result["protocolVersion"]  # from now on each request names it
        return found

    async def close(self) -> None:
        """End the stream."""
        await self._write.aclose()


@asynccontextmanager
async def connect(url: str, token: str | None, seconds: float, most: int = CEILINGS.message_bytes) -> AsyncIterator[Channel]:
    """A connection to a remote server; after a message of more than `most` bytes its answer is given up. What a client sends as its own token never goes there."""
    needs_sdk()
    import httpx2  # noqa: PLC0415 - what the SDK speaks HTTP with
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - an extra

    from guard.integrations.mcp.bounded import bounded  # noqa: PLC0415 - as above

    headers = {"Authorization": f"Bearer {token}"} if token else None
    try:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30.0, read=seconds), transport=bounded(most)) as http,
            streamable_http_client(url, http_client=http) as (read, write),
        ):
            yield Streams(read, write, served=False)
    except BaseExceptionGroup as group:  # the SDK's tasks wrap what is raised in the block
        inner = _inner(group)
        if isinstance(inner, httpx2.HTTPError):
            raise GuardError(f"the MCP server at {url} cannot be asked: {inner or type(inner).__name__}") from None
        raise inner from None


def _inner(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


# -- clients -------------------------------------------------------------------------------------------------------------


class Runs(Protocol):
    """A relay."""

    async def run(self) -> bool:
        """Carry messages until one side is gone."""


@dataclass(kw_only=True)
class Web:
    """The ASGI application: one relay and one server for each session of a client.

    `who` tells the signed-in person from a request's bearer token (None: 401), `connected` makes a connection to the server, `relay` puts both
    together. `local` restricts Host and Origin to this machine's names, for a port without tokens.
    """

    who: Callable[[str | None], Awaitable[Session | None]]
    connected: Callable[[], AbstractAsyncContextManager[Channel]]
    relay: Callable[[Channel, Channel, Session], Runs]
    say: Callable[[str], None]
    local: bool
    most_bytes: int = CEILINGS.message_bytes  # of one request
    most_sessions: int = 100
    open: dict[str, tuple[Any, Session]] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    waiting: set[tuple[str, str]] = field(default_factory=set)  # sessions with the ids of requests that wait for their answers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        from mcp.server.transport_security import RequestBodyLimitMiddleware  # noqa: PLC0415 - an extra

        if scope["type"] == "http":
            await RequestBodyLimitMiddleware(self._serve, self.most_bytes)(scope, receive, send)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        if scope["path"].rstrip("/") != "/mcp":
            await _refuse(send, 404, "there is nothing here; MCP is at /mcp")
            return
        session = await self.who(_bearer(headers.get(b"authorization")))
        if session is None:
            await _refuse(send, 401, "a valid bearer token is needed", ((b"www-authenticate", b"Bearer"),))
            return
        try:
            again = await posted(scope, receive)
        except UnfitError as error:
            number = error.request if is_id(error.request) else None
            await _refuse(send, 400, encode(fault(number, PARSE_ERROR, f"Refused: {error}.")), kind=b"application/json")
            return
        given = headers.get(_SESSION)
        if given is not None:
            transport, owner = self.open.get(given.decode("latin-1"), (None, None))
            if transport is None or owner != session:
                await _refuse(send, 404, "there is no such session")
                return
            await self._carry(given.decode("latin-1"), transport, scope, again, send)
        elif len(self.open) >= self.most_sessions:
            await _refuse(send, 503, "too many sessions are open")
        else:
            await self._begin(session, scope, again, send)

    async def _begin(self, session: Session, scope: Any, receive: Any, send: Any) -> None:
        from mcp.server.streamable_http import StreamableHTTPServerTransport  # noqa: PLC0415 - an extra

        number = token_hex(16)
        transport = StreamableHTTPServerTransport(number, security_settings=self._security(), idle_timeout=IDLE_SECONDS)
        ready = asyncio.Event()
        task = asyncio.ensure_future(self._session(number, transport, session, ready))
        self.open[number] = transport, session
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        await ready.wait()
        status = await _watched(partial(self._carry, number, transport), scope, receive, send)
        if status >= 400:
            task.cancel()

    async def _carry(self, number: str, transport: Any, scope: Any, receive: Any, send: Any) -> None:
        """Hand a request to its session; one with the id of another that waits would take that one's answer, and is refused."""
        name = asked(scope)
        if name is None:
            await transport.handle_request(scope, receive, send)
        elif (number, name) in self.waiting:
            said = fault(None, INVALID_REQUEST, "Refused: another request with this id is worked on.")
            await _refuse(send, 400, encode(said), kind=b"application/json")
        else:
            self.waiting.add((number, name))
            try:
                await transport.handle_request(scope, receive, send)
            finally:
                self.waiting.discard((number, name))

    def _security(self) -> Any:
        from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415 - an extra

        names = ("127.0.0.1", "localhost", "[::1]")
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=self.local,
            allowed_hosts=[name + port for name in names for port in ("", ":*")],
            allowed_origins=[f"http://{name}{port}" for name in names for port in ("", ":*")],
        )

    async def _session(self, number: str, transport: Any, session: Session, ready: asyncio.Event) -> None:
        """One session from its first message to its end."""
        try:
            async with transport.connect() as (read, write):
                ready.set()
                with transport.idle_scope or nullcontext():
                    first = await read.receive()  # no server is started for a request that opens no session
                    async with self.connected() as server:
                        client = Streams(read, write, served=True, first=first)
                        if not await self.relay(client, server, session).run():
                            self.say("a server ended; its session is over")
        except GuardError as error:
            self.say(str(error))
        except Exception as error:  # noqa: BLE001 - a session that fails ends; the others go on
            self.say(f"a session ended: {type(error).__name__}")
        finally:
            ready.set()
            self.open.pop(number, None)
            await asyncio.shield(transport.terminate())

    async def close(self) -> None:
        """End every session."""
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def _bearer(header: bytes | None) -> str | None:
    scheme, _, token = (header or b"").decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


async def _refuse(
    send: Any, status: int, text: str, more: tuple[tuple[bytes, bytes], ...] = (), kind: bytes = b"text/plain; charset=utf-8"
) -> None:
    body = text.encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _watched(app: Any, scope: Any, receive: Any, send: Any) -> int:
    status = 500

    async def watch(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        await send(message)

    await app(scope, receive, watch)
    return status
