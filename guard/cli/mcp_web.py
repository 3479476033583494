"""`guard mcp --http`: the proxy on a port of this machine. Without tokens it listens on loopback only. Used by `mcp_serving`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from guard.cli.mcp_session import claims_of
from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.core.model import Session
from guard.errors import GuardError
from guard.integrations.mcp.peer import Channel
from guard.integrations.mcp.tokens import ALGORITHMS, Tokens, needs_joserfc
from guard.integrations.mcp.web import Web, needs_sdk

_CLOSING = 3.0  # seconds that open requests have when the proxy ends


async def serve_web(
    arguments: argparse.Namespace,
    session: Session | None,
    say: Callable[[str], None],
    connected: Callable[[], AbstractAsyncContextManager[Channel]],
    relay: Callable[[Channel, Channel, Session], Any],
    most: int,
) -> int:
    """Serve until cancelled; a request of more than `most` bytes is refused. Raises UsageError, GuardError."""
    needs_sdk()
    host, port = _place(arguments.http)
    local = session is not None
    if local and not _loopback(host):
        raise UsageError(
            f"--http {spell(arguments.http)}: without --jwt-keys it listens on 127.0.0.1 only, where nobody else can ask"
        )
    tokens = None if local else _tokens(arguments)
    if tokens is not None:
        await tokens.session("none")  # keys that cannot be had are found now

    async def who(token: str | None) -> Session | None:
        return session if tokens is None else await _asked(tokens, token, say)

    web = Web(who=who, connected=connected, relay=relay, say=say, local=local, most_bytes=most)
    with _listening(host, port, arguments.http) as listener:
        say(f"listening on http://{host}:{listener.getsockname()[1]}/mcp")
        try:
            await _served(web, listener)
        finally:
            await web.close()
    return 0


async def _asked(tokens: Tokens, token: str | None, say: Callable[[str], None]) -> Session | None:
    try:
        return await tokens.session(token)
    except GuardError as error:
        say(str(error))
        return None


def _tokens(arguments: argparse.Namespace) -> Tokens:
    needs_joserfc()
    return Tokens(
        keys=arguments.jwt_keys,
        issuer=arguments.jwt_issuer,
        audience=arguments.jwt_audience,
        claims=claims_of(arguments.claim),
        algorithms=tuple(arguments.jwt_algorithm) or ALGORITHMS,
    )


def _place(text: str) -> tuple[str, int]:
    host, sign, port = text.rpartition(":")
    if not sign or not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"--http {spell(text)}: write HOST:PORT, for example 127.0.0.1:8765")
    return host, int(port)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@contextlib.contextmanager
def _listening(host: str, port: int, given: str) -> Iterator[socket.socket]:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host.strip("[]"), port), family=family)
    except OSError as error:
        raise GuardError(f"--http {spell(given)}: {error.strerror or error}") from None
    with listener:
        yield listener


async def _served(web: Web, listener: socket.socket) -> None:
    import uvicorn  # noqa: PLC0415 - comes with the extra mcp

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Leave the signals to whoever started the proxy."""
            yield

    config = uvicorn.Config(web, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    server = Server(config)
    job = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(job)
    finally:
        server.should_exit = True
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(job, _CLOSING)
