"""Dial: asking a server: all of its tools; and being its client, where the guard is the one that connects.

A server that asks something of a client here is told that nobody can answer. Comes after peer; before desk and client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from guard.core.ceilings import CEILINGS
from guard.core.values import Json, JsonObject
from guard.errors import GuardError
from guard.integrations.mcp import messages as m
from guard.integrations.mcp.peer import Channel, GoneError, Peer

MOST_PAGES = 1_000
_SECONDS = 60.0  # for one page of a listing, and for the handshake
_WHOLE = 300.0  # seconds for all pages of a listing


async def list_all(server: Peer, most: int = CEILINGS.listed_tools) -> list[Json]:
    """Every tool as the server describes it, from all pages; more than `most` are none. Raises GuardError, RemoteError, GoneError, TimeoutError."""
    found: list[Json] = []
    params: JsonObject = {}
    end = asyncio.get_running_loop().time() + _WHOLE
    for _ in range(MOST_PAGES):
        page = await server.ask("tools/list", params, seconds=min(_SECONDS, end - asyncio.get_running_loop().time()))
        tools = page.get("tools") if isinstance(page, dict) else None
        if not isinstance(tools, list):
            raise GuardError("the server's list of tools cannot be read")
        found += tools
        if len(found) > most:
            break
        cursor = page.get("nextCursor")
        if cursor is None:
            return found
        params = {"cursor": cursor}
    raise GuardError(f"the server lists more than {most} tools, or its tools on more than {MOST_PAGES} pages")


@asynccontextmanager
async def dialled(channel: Channel, heard: Callable[[str], None] = lambda _: None) -> AsyncIterator[tuple[Peer, str]]:
    """The server as a peer, after the handshake, and what it calls itself. `heard` is given the method of each notification.

    Raises GuardError when the server does not speak as it should.
    """
    server = Peer(channel)
    pump = asyncio.ensure_future(_listen(server, heard))
    try:
        yield server, await _greeted(server)
    finally:
        server.lost()
        pump.cancel()
        await asyncio.gather(pump, return_exceptions=True)
        await server.finish(seconds=0, cancel=True)


async def _greeted(server: Peer) -> str:
    hello = {"protocolVersion": m.VERSIONS[-1], "capabilities": {}, "clientInfo": {"name": "guard", "version": "1"}}
    try:
        found = await server.ask("initialize", hello, seconds=_SECONDS)
    except (m.RemoteError, GoneError, TimeoutError) as error:
        raise GuardError(f"the MCP server cannot be asked: {error or type(error).__name__}") from None
    if not isinstance(found, dict) or found.get("protocolVersion") not in m.VERSIONS:
        raise GuardError("the MCP server speaks no revision of the protocol that the guard knows")
    await server.tell("notifications/initialized")
    info = found.get("serverInfo")
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


async def _listen(server: Peer, heard: Callable[[str], None]) -> None:
    try:
        async for message in server.channel.messages():
            if isinstance(message, m.UnfitError):
                continue
            method, number = message.get("method"), message.get("id")
            if method is None:
                server.settle(message)
            elif "id" not in message:
                heard(str(method))
            else:
                nobody = m.fault(number, m.NO_METHOD, "Method not found")
                await server.channel.send(m.answer(number, {}) if method == "ping" else nobody)
    except GoneError:
        pass
    finally:
        server.lost()
