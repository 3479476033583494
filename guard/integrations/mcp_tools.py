"""MCP tools: what a running MCP server says that it offers, asked over stdio or streamable HTTP with the official SDK (extra `mcp`).

Asks and stops the server; never calls a tool. Everything is bounded: the seconds of the whole, the pages, the tools. What the server writes
to its error output is shown only when it fails. Used by `guard init`.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.extras import install

MAX_TOOLS = 10_000
MAX_PAGES = 1_000
_TOLD = 2_000  # bytes at the end of the server's error output


class ServerError(GuardError):
    """The server could not be asked; the text says what it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a server is: a command to start, or a URL. `env` is given to the command, `token` is sent to the URL as a bearer's."""

    command: Sequence[str] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    token: str = ""


def list_tools(server: Server, *, seconds: float) -> list[JsonObject]:
    """Every tool as the server describes it, in the form of MCP's tools/list. Raises ServerError, also when it takes too long."""
    _check_sdk()
    logging.getLogger("mcp").addHandler(logging.NullHandler())  # what matters of it is in the error below
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as told:
        try:
            return asyncio.run(_within(server, told, seconds))
        except TimeoutError:
            raise ServerError(f"the MCP server did not answer within {seconds:g} seconds{_last_words(told)}") from None
        except ServerError:
            raise
        except OSError as error:
            raise ServerError(f"the MCP server cannot be started: {error.strerror or error}") from None
        except Exception as error:  # noqa: BLE001 - whatever the SDK makes of a server that is none
            raise ServerError(f"the MCP server cannot be asked: {_cause(error)}{_last_words(told)}") from None


def _check_sdk() -> None:
    cure = install("mcp")
    try:
        from mcp import Client  # noqa: F401, PLC0415 - an extra: loaded when it is used
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise ServerError(f"asking an MCP server needs the extra mcp: {cure}") from None
    except ImportError:
        raise ServerError(f"asking an MCP server needs version 2 of the package mcp: {cure}") from None


async def _within(server: Server, told: IO[str], seconds: float) -> list[JsonObject]:
    async with asyncio.timeout(seconds):
        try:
            return await _ask(server, told, "auto", seconds)
        except Exception:  # the innermost reason is told by the second try
            if server.url:
                raise
        told.seek(0)
        told.truncate()
        return await _ask(server, told, "legacy", seconds)  # an older server may stop at the first question that it does not know


async def _ask(server: Server, told: IO[str], mode: str, seconds: float) -> list[JsonObject]:
    from mcp import Client  # noqa: PLC0415 - an extra

    async with Client(_transport(server, told, seconds), mode=mode, read_timeout_seconds=seconds / 2, cache=None) as client:
        return await _pages(client)


async def _pages(client: Any) -> list[JsonObject]:
    found: list[JsonObject] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
        cursor = page.next_cursor
        if len(found) > MAX_TOOLS:
            raise ServerError(f"the MCP server lists more than {MAX_TOOLS} tools")
        if cursor is None:
            return found
        if cursor in seen:
            raise ServerError("the MCP server lists the same page of tools again and again")
        seen.add(cursor)
    raise ServerError(f"the MCP server lists its tools on more than {MAX_PAGES} pages")


@asynccontextmanager
async def _transport(server: Server, told: IO[str], seconds: float) -> AsyncIterator[Any]:
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - an extra

    if not server.url:
        start = StdioServerParameters(command=server.command[0], args=list(server.command[1:]), env=dict(server.env))
        async with stdio_client(start, errlog=told) as streams:  # type: ignore[arg-type]  # a real file, which is what it needs
            yield streams
        return
    import httpx2  # noqa: PLC0415 - what the SDK speaks HTTP with
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - an extra

    headers = {"Authorization": f"Bearer {server.token}"} if server.token else None
    async with (
        httpx2.AsyncClient(headers=headers, timeout=seconds) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


def _cause(error: BaseException) -> str:
    """The innermost reason, without the groups that the SDK's tasks wrap it in."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first[:300]}" if first else type(error).__name__


def _last_words(told: IO[str]) -> str:
    told.flush()
    size = told.seek(0, 2)
    told.seek(max(0, size - _TOLD))
    lines = [line for line in told.read().splitlines() if line.strip()][-5:]
    return "; its last words:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""
