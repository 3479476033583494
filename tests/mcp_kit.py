"""What the tests of MCP share: a policy, a proxy in this process in front of a real server process, and a client that says exactly what it is told to."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from guard import AsyncGuard, Session
from guard.cli.mcp_serving import Hiding, absent, server_pins
from guard.compose import PolicyWarning
from guard.core.ceilings import CEILINGS
from guard.core.values import encode
from guard.integrations.mcp.desk import Desk
from guard.integrations.mcp.lines import start
from guard.integrations.mcp.messages import UnfitError
from guard.integrations.mcp.relay import Relay

RAW = Path(__file__).parent / "mcp_raw_server.py"
MAIL = "kim.doe@example.com"
READS = "echo mail boom fault slow die garbage broken huge again picture works sample change quietly more twin lookalike orphan deaf sound summary asks regret flood swamp odd busy counts"
POLICY = "\n".join(
    [
        "tools:",
        *(f"  {name}: {{kind: read, allow: [user]}}" for name in READS.split()),
        "  mine: {kind: read, allow: [user], bind: {user_id: session.principal}}",
        "  pay: {kind: action, allow: [user], approve: {by: [boss]}}",
        "  hidden: {kind: read, allow: [boss]}",
        "limits: {run: {calls: 1000}}",
    ]
)
ANN = Session(principal="E1", roles=("user",))


def allowing(names: Iterable[str]) -> str:
    """A policy that lets ann call all of these."""
    entries = [f"  {json.dumps(name)}: {{kind: read, allow: [user]}}" for name in names]
    return "\n".join(["tools:", *entries, "limits: {run: {calls: 1000}}"])


def folder(path: Path, policy: str = POLICY) -> Path:
    place = path / "policies"
    place.mkdir(exist_ok=True)
    (place / "tools.yaml").write_text(policy + "\n", "utf-8")
    return place


def run(job: Coroutine[Any, Any, Any], seconds: float = 240) -> Any:
    async def within() -> Any:
        async with asyncio.timeout(seconds):
            return await job

    return asyncio.run(within())


class Hand:
    """A client's side of a channel: what is put in arrives as if it had come over a pipe."""

    answers_cancelled = False

    def __init__(self) -> None:
        self.inbox: asyncio.Queue[Any] = asyncio.Queue()
        self.got: list[dict[str, Any]] = []
        self.lines: list[str] = []  # the same as text, digit by digit
        self.news = asyncio.Event()

    async def send(self, message: dict[str, Any], about: object = None) -> None:
        self.lines.append(encode(message))
        self.got.append(json.loads(self.lines[-1]))
        self.news.set()

    async def messages(self) -> AsyncIterator[Any]:
        while (item := await self.inbox.get()) is not None:
            yield item

    async def close(self) -> None:
        self.inbox.put_nowait(None)


class Talk:
    """A client that does as it is told."""

    def __init__(self, hand: Hand, desk: Desk, told: list[str], log: Path) -> None:
        self.hand, self.desk, self.told, self._log = hand, desk, told, log
        self._number = 100

    def put(self, message: dict[str, Any] | UnfitError) -> None:
        self.hand.inbox.put_nowait(message if isinstance(message, UnfitError) else {"jsonrpc": "2.0", **message})

    async def find(self, fits: Callable[[dict[str, Any]], bool], seconds: float = 120) -> dict[str, Any]:
        async with asyncio.timeout(seconds):
            while True:
                self.hand.news.clear()
                found = next((one for one in self.hand.got if fits(one)), None)
                if found is not None:
                    return found
                await self.hand.news.wait()

    async def ask(self, method: str, params: Any = None, number: Any = None) -> dict[str, Any]:
        self._number += 1
        number = self._number if number is None else number
        self.put({"id": number, "method": method, "params": params or {}})
        return await self.find(lambda one: one.get("id") == number and "method" not in one)

    async def call(self, name: str, arguments: Any = None, **more: Any) -> Any:
        found = await self.ask("tools/call", {"name": name, "arguments": arguments or {}, **more})
        return found.get("result", found)

    async def names(self) -> list[str]:
        return [tool["name"] for tool in (await self.ask("tools/list"))["result"]["tools"]]

    def seen(self, method: str = "tools/call") -> list[dict[str, Any]]:
        """What reached the server."""
        lines = self._log.read_text("utf-8").splitlines() if self._log.exists() else []
        return [one for one in map(json.loads, lines) if one.get("method") == method]

    async def until(self, method: str = "tools/call") -> None:
        """Wait until the server has heard of it."""
        while not self.seen(method):  # noqa: ASYNC110 - it is another process that writes
            await asyncio.sleep(0.02)

    def records(self, kind: str) -> list[dict[str, Any]]:
        assert self.desk.guard is not None
        found = [json.loads(one.body) for one in self.desk.guard.store.audit()]
        return [one for one in found if one["kind"] == kind]


def desk_for(place: Path, told: list[str], *, store: str = "memory://", **more: Any) -> Desk:
    def make(tools: Sequence[Any]) -> AsyncGuard:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            return AsyncGuard.load(place, tools=[*tools, *absent(str(place), "mcp", tools)], store=store)

    return Desk(server="mcp", make=make, pins=lambda: server_pins(place, "mcp"), hide=Hiding(place), say=told.append, **more)


@asynccontextmanager
async def talking(
    path: Path,
    *,
    policy: str = POLICY,
    session: Session = ANN,
    can: dict[str, Any] | None = None,
    command: Sequence[str] = (),
    most: int = CEILINGS.message_bytes,
    **more: Any,
) -> AsyncIterator[Talk]:
    """A session through the proxy, greeted and ready; `command` starts another server than the usual one."""
    told: list[str] = []
    desk = desk_for(folder(path, policy), told, **more)
    server = await start(command or [sys.executable, str(RAW), str(path / "log")], os.environ, most=most)
    hand = Hand()
    relay = asyncio.ensure_future(Relay(hand, server, desk, session, "conv").run())
    talk = Talk(hand, desk, told, path / "log")
    try:
        hello = {"protocolVersion": "2025-11-25", "capabilities": can or {}, "clientInfo": {"name": "test", "version": "1"}}
        talk.greeting = (await talk.ask("initialize", hello))["result"]  # type: ignore[attr-defined]
        talk.put({"method": "notifications/initialized"})
        talk.relay, talk.server = relay, server  # type: ignore[attr-defined]
        yield talk
        await hand.close()
        await relay
    finally:
        relay.cancel()
        await asyncio.gather(relay, return_exceptions=True)
        await server.close()
        desk.close()


def said(result: Any) -> str:
    return "\n".join(part.get("text", "") for part in result["content"])


def code(result: Any) -> str:
    return str(json.loads(said(result))["error"]["code"])
