"""Client: the tools of MCP servers as tools of a guard: `async with mcp_tools(…) as tools`, then `AsyncGuard.load(…, tools=[*tools, …])`.

The policy gives each of them an entry under its name; what the server claims about itself decides nothing. A tool whose definition changes
while the connection is open is refused from then on; `guard check --pin` keeps definitions from one start to the next. Comes after dial.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.integrations.mcp.calls import ERRAND, Errand, ask_server
from guard.integrations.mcp.dial import dialled, list_all
from guard.integrations.mcp.lines import start
from guard.integrations.mcp.listing import Listing, first, judge, registered
from guard.integrations.mcp.messages import RemoteError
from guard.integrations.mcp.peer import Channel
from guard.integrations.mcp.web import connect, needs_sdk
from guard.policy.pins import Pin
from guard.tools import RegisteredTool

LOG = logging.getLogger("guard")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")


@asynccontextmanager
async def mcp_tools(*servers: Any, seconds: float = 300.0, **named: Any) -> AsyncIterator[list[RegisteredTool]]:
    """Connect to MCP servers and give their tools, for as long as the block runs.

    A server is `StdioServerParameters` of the official SDK, or the URL of one that speaks streamable HTTP; `seconds` is how long one answer
    may take. Tools keep their names; where two servers have the same one, each gets its server's in front: `git_status` of
    `mcp_tools(git=…, ci=…)` becomes `git_git_status` and `ci_git_status`. Servers without a name here go by the one they give themselves.

    Raises GuardError when a server cannot be started or asked, or when names stay equal.
    """
    needs_sdk()
    async with AsyncExitStack() as stack:
        every = [*(("", one) for one in servers), *named.items()]
        yield _together([await _Line(one, name, seconds).open(stack) for name, one in every])


def _together(lines: list[_Line]) -> list[RegisteredTool]:
    counts = Counter(name for line in lines for name in line.listing.accepted)
    found = [line.tool(name, prefixed=counts[name] > 1) for line in lines for name in line.listing.accepted]
    twice = [name for name, count in Counter(tool.name for tool in found).items() if count > 1]
    if twice:
        raise GuardError(f"two servers have a tool called {twice[0]!r}: name the servers, as in mcp_tools(first=…, second=…)")
    return found


class _Line:
    """One connection, and what was on offer when it began."""

    def __init__(self, given: Any, name: str, seconds: float) -> None:
        self._given, self._name, self._seconds = given, name, seconds
        self._stale = True
        self._before: Mapping[str, Pin] | None = None
        self._lock = asyncio.Lock()
        self.listing = Listing()

    async def open(self, stack: AsyncExitStack) -> _Line:
        """Connect and list; `stack` ends the connection. Raises GuardError."""
        if isinstance(self._given, str):
            channel: Channel = await stack.enter_async_context(connect(self._given, None, self._seconds))
        else:
            channel = await start([self._given.command, *self._given.args], _environment(self._given), cwd=self._given.cwd)
            stack.push_async_callback(channel.close)
        self._server, said = await stack.enter_async_context(dialled(channel, self._heard))
        self._name = self._name or _ILLEGAL.sub("_", said) or "mcp"
        try:
            await self._list()
        except (RemoteError, OSError) as error:
            raise GuardError(
                f"the MCP server {self._name} cannot be asked for its tools: {error or type(error).__name__}"
            ) from None
        self._before = self.listing.pins
        return self

    def _heard(self, method: str) -> None:
        self._stale = self._stale or method == "notifications/tools/list_changed"

    async def _list(self) -> None:
        async with self._lock:
            if not self._stale:
                return
            self._stale = False
            try:
                self.listing = judge(await list_all(self._server), self._name, None, self._before)
            except BaseException:
                self._stale = True
                raise
            for tool, why in self.listing.refused.items():
                LOG.warning("%s: the tool %r of the MCP server %s is refused, %s", first(why), tool, self._name, why)

    def tool(self, name: str, *, prefixed: bool) -> RegisteredTool:
        """One of its tools, ready for a guard."""
        given = f"{self._name}_{name}" if prefixed else name
        return registered(name, self.listing.accepted[name], self._call, server=self._name, given=given)

    async def _still(self, name: str) -> bool:
        await self._list()
        return name in self.listing.accepted

    async def _call(self, name: str, arguments: JsonObject) -> Any:
        mark = ERRAND.set(Errand(server=self._server, seconds=self._seconds, still=self._still))
        try:
            return await ask_server(name, arguments)
        finally:
            ERRAND.reset(mark)


def _environment(given: Any) -> dict[str, str]:
    """What the SDK gives a server: what is harmless, and what was asked for."""
    from mcp.client.stdio import get_default_environment  # noqa: PLC0415 - an extra

    return {**get_default_environment(), **(given.env or {})}
