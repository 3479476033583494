"""A store that another process keeps locked holds up the call that needs it, and nothing else: pings are answered meanwhile, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from locker_kit import locked
from mcp_kit import run, talking
from test_mcp_ends import HELLO, called, get, proxy, put, said
from test_mcp_web import serving

from guard.errors import StoreError
from guard.runner.landing import Calm
from guard.runner.threads import in_thread

CALL = {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "1"}}}


class Watched(Calm):
    """What the calls raised."""

    def __init__(self) -> None:
        super().__init__()
        self.raised: list[StoreError] = []

    def timed(self, call: Callable[[], Any]) -> Any:
        try:
            return super().timed(call)
        except StoreError as error:
            self.raised.append(error)
            raise


def test_this_clients_pings_are_answered_over_pipes(tmp_path: Path) -> None:
    """The loop has made calls of the store itself by then; now it waits no longer than a moment, and a thread does."""
    with proxy(tmp_path) as process:
        put(process, HELLO)
        get(process)
        put(process, {"method": "notifications/initialized"})
        for number in range(2, 6):
            assert "1" in said(called(process, number, "echo", {"text": "1"}))
        with locked(tmp_path / "guard.db"):
            put(process, {"id": 20, **CALL})
            put(process, {"id": 21, "method": "ping"})
            assert get(process)["id"] == 21
            put(process, {"id": 22, "method": "ping"})
            assert get(process)["id"] == 22
        answer = get(process)
        assert answer["id"] == 20
        assert '"1"' in said(answer["result"])
        assert '"1"' in said(called(process, 30, "echo", {"text": "1"}))


def test_the_loop_itself_waits_for_nobody(tmp_path: Path) -> None:
    """Where it would make the call of the store right there: it goes on, and the call is made once the other process is done."""

    async def go() -> None:
        file = tmp_path / "guard.db"
        async with talking(tmp_path, store=f"sqlite:///{file}") as talk:
            await talk.call("echo", {"text": "1"})
            with locked(file):
                talk.desk.calm = calm = Watched()
                assert calm.here()
                talk.put({"id": 20, **CALL})
                for _ in range(50):
                    await asyncio.sleep(0)  # until the call waits
                assert not calm.here()
                await talk.ask("ping", number=21)
                assert not [one for one in talk.hand.got if one.get("id") == 20]
                assert calm.raised == [], "nobody has waited for as long as the file says"
            assert '"1"' in said((await talk.find(lambda one: one.get("id") == 20))["result"])

    in_thread(lambda: run(go())).result().get()


def test_other_clients_are_answered_over_http(tmp_path: Path) -> None:
    """One waits for the store, another pings, and so does the one that waits."""
    file = tmp_path / "guard.db"

    async def go() -> None:
        async with serving(tmp_path, store=f"sqlite:///{file}") as (url, _), httpx.AsyncClient(timeout=60) as http:

            async def post(message: Any, session: str = "") -> httpx.Response:
                headers = {"accept": "application/json, text/event-stream", **({"mcp-session-id": session} if session else {})}
                return await http.post(url, json={"jsonrpc": "2.0", **message}, headers=headers)

            one, two = [(await post(HELLO)).headers["mcp-session-id"] for _ in range(2)]
            for number in range(2, 5):
                assert '\\"1\\"' in (await post({"id": number, **CALL}, one)).text
            with locked(file):
                waits = asyncio.ensure_future(post({"id": 20, **CALL}, one))
                for session in (two, one, two):
                    assert (await post({"id": 21, "method": "ping"}, session)).status_code == 200
                assert not waits.done()
            assert '\\"1\\"' in (await waits).text

    run(go())
