"""The ways through other processes: the sidecar over real HTTP, and the MCP proxy in front of a real server. Rows beside `conformance.WAYS`.

Votes and the ledger are looked at by a guard of this process on the same store.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import httpx
import uvicorn
from conformance import Seen, Way, seen
from conformance_scenarios import POLICY, TOOLS, Call, Scenario, breaks, is_odd
from life_kit import until
from mcp_kit import Hand, Talk

from guard import AsyncGuard, Guard, PolicyWarning, ToolError
from guard.core.model import Image
from guard.integrations.mcp.desk import Desk
from guard.integrations.mcp.lines import start
from guard.integrations.mcp.relay import Relay
from guard.web.app import application
from guard.web.remote import Remote
from guard.web.tokens import Tokens

HASTY = ("slow", "sent", "book")
"""Tools of the scenarios whose time-out the policy makes shorter than they take."""
SERVER = Path(__file__).parent / "conformance_server.py"


def _load(kind: Any, folder: Path, tools: Any) -> Any:
    """A guard of this process over the folder's store."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        checks = {"is_odd": is_odd, "breaks": breaks}
        guard = kind.load(folder, tools=tools, store=f"sqlite:///{folder / 'guard.db'}", checks=checks)
    guard.resource("order")(lambda order: {"owner": order} if order != "none" else 1 / 0)
    return guard


class Elsewhere(Way):
    """A way whose loop asks call by call."""

    lost: ClassVar[frozenset[str]] = frozenset()

    @property
    def wire(self) -> str:
        return "openai-chat"

    @property
    def own(self) -> dict[str, str]:
        return {self.tenant: "default"}

    def late(self) -> None:
        time.sleep(1.1)

    def newest(self, count: int) -> list[Any]:
        rows = [row.outcome for row in self.guard.store.rows(self.chat.ref) if row.outcome is not None]
        return rows[-count:]

    def again(self, calls: tuple[Call, ...]) -> list[Seen]:
        return self.turn(calls)


# -- the sidecar -----------------------------------------------------------------------------------------------------------


class Sidecar(Elsewhere):
    """`/decide`, the tool run here, `/report`."""

    http: ClassVar[httpx.Client]

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        return not scenario.turn

    def turn(self, calls: tuple[Call, ...], *, cut: bool = False) -> list[Seen]:
        return [self._one(*call) for call in calls]

    def _one(self, call_id: str, tool: str, text: str) -> Seen:
        session = {"principal": self.session.principal, "tenant": self.tenant, "roles": list(self.session.roles)}
        call = {"id": call_id, "tool": tool, "arguments": text}
        said = self._ask("decide", session=session, conversation="c", call=call)
        if said["decision"] == "allow":
            ended = self._given_up(tool, said["arguments"]) if tool in HASTY else run_here(tool, said["arguments"])
            said = self._ask("report", ticket=said["ticket"], **ended)
        [outcome] = self.newest(1)
        assert (said["status"], said["reason"]) == (outcome.status, outcome.reason)
        assert not isinstance(outcome.content, str) or said["content"] == outcome.content
        return seen(outcome, self.own)

    def _given_up(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A loop that gives a tool no longer than the policy does: it lets it go on, as a program's own tools do, and reports that nobody knows. The conversation has no other call."""
        threading.Thread(target=run_here, args=(tool, arguments)).start()
        until(lambda: [row.outcome is not None for row in self.guard.store.rows(self.chat.ref)] == [True])
        return {"status": "unknown"}

    def _ask(self, verb: str, **body: Any) -> Any:
        answer = self.http.post(f"/{verb}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


def run_here(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a loop reports that runs the tools of the scenarios."""
    try:
        value = TOOLS[tool](**arguments)
    except ToolError as error:
        return {"status": "failed", "message": str(error)}
    except Exception:
        return {"status": "failed"}
    if isinstance(value, list) and any(isinstance(one, Image) for one in value):
        value = {"content": [_block(one) for one in value]}
    return {"status": "done", "result": value}


def _block(one: Any) -> dict[str, Any]:
    if isinstance(one, Image):
        return {"type": "image", "data": one.data, "mimeType": one.media_type}
    return {"type": "text", "text": one}


@contextmanager
def sidecar(folder: Path) -> Iterator[Guard]:
    """The sidecar's API on a port of loopback."""
    (folder / "tools.yaml").write_text(POLICY)
    token = Tokens(folder / "tokens.json").add("loop", ("propose",))
    told: list[Any] = []
    ready = threading.Event()

    async def serve() -> None:
        remote = Remote()
        away = remote.tools(TOOLS)
        mine = {name: replace(tool, run=away[name].run, is_async=True) for name, tool in guard.hands.tools.items()}
        unlisted = {name: away[name] for name in TOOLS if name not in mine}
        with _load(AsyncGuard, folder, {**mine, **unlisted}) as there:
            app = application(there, remote, Tokens(folder / "tokens.json"), clock=time.time)
            server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
            server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
            job = asyncio.ensure_future(server._serve())
            while not server.started:  # noqa: ASYNC110 - uvicorn has nothing else to wait for
                await asyncio.sleep(0.01)
            told.extend([server, server.servers[0].sockets[0].getsockname()[1]])
            ready.set()
            await job
            await remote.close()

    with _load(Guard, folder, TOOLS) as guard:
        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        assert ready.wait(30)
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{told[1]}/api/v1", headers=headers, trust_env=False, timeout=30) as client:
            Sidecar.http = client
            yield guard
        told[0].should_exit = True
        thread.join(30)


# -- MCP -------------------------------------------------------------------------------------------------------------------


class Proxy(Elsewhere):
    """`tools/call` of a client at the proxy, one after the other."""

    desk: ClassVar[Desk]
    loop: ClassVar[asyncio.AbstractEventLoop]

    lost = frozenset({"one id twice", "empty ids"})  # the ids are JSON-RPC's

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        return not scenario.turn and not scenario.text

    def __post_init__(self) -> None:
        super().__post_init__()
        self.talk: Any = None

    def turn(self, calls: tuple[Call, ...], *, cut: bool = False) -> list[Seen]:
        return self.loop.run_until_complete(self._turn(calls))

    async def _turn(self, calls: tuple[Call, ...]) -> list[Seen]:
        if self.talk is None:
            await self._greet()
        found = []
        for _, tool, text in calls:
            said = await self.talk.call(tool, json.loads(text))
            [outcome] = self.newest(1)
            assert (said.get("_meta") or {}).get("guard/reason") == outcome.reason
            assert said["isError"] is outcome.error
            texts = "\n".join(part["text"] for part in said["content"] if part["type"] == "text")
            assert outcome.status == "held" or not isinstance(outcome.content, str) or outcome.content in texts
            assert outcome.status != "held" or "NOT been executed" in texts
            found.append(seen(outcome, self.own))
        return found

    async def _greet(self) -> None:
        hand = Hand()
        server = await start([sys.executable, str(SERVER)], {"PYTHONPATH": ":".join(sys.path)})
        relay = asyncio.ensure_future(Relay(hand, server, self.desk, self.session, "c").run())
        self.talk = Talk(hand, self.desk, [], Path("none"))
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        await self.talk.ask("initialize", hello)
        self.talk.put({"method": "notifications/initialized"})
        OPEN.append((relay, server, hand))


OPEN: list[Any] = []


@contextmanager
def proxy(folder: Path) -> Iterator[Guard]:
    """The proxy of one policy; each conversation has a server process of its own."""
    (folder / "tools.yaml").write_text(POLICY)

    async def close() -> None:
        for relay, server, hand in OPEN:
            await hand.close()
            await relay
            await server.close()
        OPEN.clear()

    logging.getLogger("guard").setLevel(logging.CRITICAL)
    with asyncio.Runner() as runner, _load(Guard, folder, TOOLS) as guard:
        Proxy.loop = runner.get_loop()
        Proxy.desk = Desk(
            server="mcp",
            make=lambda tools: _load(AsyncGuard, folder, tools),
            pins=lambda: None,
            hide=guard.redactor.detect,
            say=lambda text: None,
        )
        try:
            yield guard
        finally:
            runner.run(close())
            Proxy.desk.close()
            logging.getLogger("guard").setLevel(logging.NOTSET)
