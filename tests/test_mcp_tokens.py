"""Keys of bearer tokens that a server has: however many tokens come while it does not answer, one asks, and not at once again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp_kit import run

from guard import GuardError
from guard.integrations.mcp.tokens import Tokens


def test_keys_are_asked_for_by_one_and_not_at_once_again() -> None:
    """Nobody is signed in meanwhile, and whoever has no token at all costs nothing."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        await asyncio.sleep(0.2)
        writer.write(b"HTTP/1.1 503 Not now\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def go() -> list[Any]:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys"
            judge = Tokens(keys=url, issuer="i", audience="a", claims={"principal": "sub"})
            assert await judge.session(None) is None
            found = await asyncio.gather(*(judge.session(f"a.b.{n}") for n in range(20)), return_exceptions=True)
            with pytest.raises(GuardError, match="a moment ago"):
                await judge.session("a.b.c")
            return found

    found = run(go())
    assert all(isinstance(one, GuardError) and "had from" in str(one) for one in found)
    assert len(asked) == 1
