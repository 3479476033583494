"""Ceilings on messages: what programs send over HTTP and MCP, and what a server lists, within what the policy says, in real processes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_kit import RAW, allowing, folder, run
from reports import start
from sidecar_kit import ROOT, WHO, Sidecar
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from guard.integrations.mcp.bounded import bounded

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def test_a_request_to_the_server(tmp_path: Path) -> None:
    """A body as long as the policy allows is read, a longer one is refused and says which key that is."""
    policy = tmp_path / "policies"
    shutil.copytree(ROOT / "examples" / "sidecar" / "policies", policy)
    with (policy / "tools.yaml").open("a", encoding="utf-8") as file:
        file.write("\nceilings: {message_bytes: 2000}\n")
    with Sidecar(tmp_path, policy=policy) as sidecar:
        for size, status in ((2000, 200), (2001, 413)):
            body = json.dumps({"session": WHO}).ljust(size)
            headers = {"Authorization": f"Bearer {sidecar.token}", "Content-Type": "application/json"}
            answer = sidecar.client.post("/tools", content=body, headers=headers)
            assert answer.status_code == status
        assert "ceilings.message_bytes" in answer.text


def proxied(tmp_path: Path, ceilings: str, *asked: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """What `guard mcp` in front of a real server answers, and its exit code."""
    place = folder(tmp_path, f"{allowing(['echo', 'huge'])}\nceilings: {ceilings}")
    words = ["--policy", str(place), "--principal", "E1", "--role", "user", "--", sys.executable, str(RAW), str(tmp_path / "log")]
    messages = [{"id": 1, "method": "initialize", "params": HELLO}, {"method": "notifications/initialized"}, *asked]
    with subprocess.Popen(
        [sys.executable, "-m", "guard", "mcp", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found = []
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                found.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        return found, process.wait(30)


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def test_a_message_of_an_mcp_client(tmp_path: Path) -> None:
    """A line that is too long is refused, whatever it holds; the session goes on."""
    said, code = proxied(tmp_path, "{message_bytes: 20000}", call(2, "echo", text="x" * 20_000), call(3, "echo", text="x"))
    assert "more than 20000 bytes" in said[1]["error"]["message"]
    assert "result" in said[2]
    assert code == 0


def test_a_message_of_an_mcp_server(tmp_path: Path) -> None:
    """Nobody knows which request a line answers that is too long: the call failed, and the session is over."""
    said, code = proxied(tmp_path, "{message_bytes: 100000}", call(2, "huge"))
    assert said[1]["result"]["_meta"]["guard/reason"] == "tool_failed"
    assert code == 1


@pytest.mark.parametrize(("most", "listed"), [(3, False), (1000, True)])
def test_the_tools_of_an_mcp_server(tmp_path: Path, most: int, listed: bool) -> None:
    """A server that lists more of them is not used."""
    [_, tools], _ = proxied(tmp_path, f"{{listed_tools: {most}}}", {"id": 2, "method": "tools/list", "params": {}})
    assert ("result" in tools) is listed


async def _sent(chunks: list[bytes], kind: str, most: int) -> bytes:
    """What of an answer over real HTTP comes through."""
    import uvicorn

    async def body() -> Any:
        for chunk in chunks:
            yield chunk
            await asyncio.sleep(0.02)

    async def answer(_: Any) -> StreamingResponse:
        return StreamingResponse(body(), media_type=kind)

    server = uvicorn.Server(uvicorn.Config(Starlette(routes=[Route("/", answer)]), port=0, log_level="error", lifespan="off"))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    job = asyncio.ensure_future(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has nothing else to wait for
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with (
            httpx2.AsyncClient(transport=bounded(most)) as client,
            client.stream("GET", f"http://127.0.0.1:{port}/") as got,
        ):
            return b"".join([chunk async for chunk in got.aiter_bytes()])
    finally:
        server.should_exit = True
        await job


EVENT = b"data: " + b"x" * 92 + b"\n\n"
ANSWERS: dict[str, tuple[list[bytes], str, bool]] = {
    "a document that fits": ([b"x" * 60, b"x" * 40], "application/json", True),
    "a document that does not": ([b"x" * 60, b"x" * 41], "application/json", False),
    "many events": ([EVENT] * 30, "text/event-stream", True),
    "many events at once": ([EVENT * 30], "text/event-stream", True),
    "an event in pieces": ([EVENT[:50], EVENT[50:]] * 5, "text/event-stream", True),
    "ends that are cut in two": ([EVENT[:-1], b"\n" + EVENT[:-1], b"\n"] * 5, "text/event-stream", True),
    "carriage returns": ([EVENT.replace(b"x\n\n", b"\r\n\r\n")[2:] * 3], "text/event-stream", True),
    "an event too long": ([EVENT, b"x" + EVENT], "text/event-stream", False),
    "an event too long in pieces": ([EVENT, EVENT[:60], EVENT[:60], b"\n\n"], "text/event-stream", False),
    "an event without an end": ([b"x" * 50] * 3, "text/event-stream; charset=utf-8", False),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_of_a_remote_mcp_server(name: str) -> None:
    """A document counts whole and each event of a stream by itself, however they are cut into pieces on the way."""
    chunks, kind, fits = ANSWERS[name]
    if fits:
        assert run(_sent(chunks, kind, 100)) == b"".join(chunks)
    else:
        with pytest.raises(httpx2.ReadError, match="more than 100 bytes"):
            run(_sent(chunks, kind, 100))


MAIL: dict[str, Callable[..., Any]] = {
    "text": lambda **_: {"who": "kim@example.com", "note": "x" * 900},
    "list": lambda **_: ["kim@example.com", *["x" * 90] * 10],
}


@pytest.mark.parametrize("name", MAIL)
@pytest.mark.parametrize(("most", "shown"), [(2000, True), (500, False)])
def test_the_text_of_a_result(tmp_path: Path, name: str, most: int, shown: bool) -> None:
    """A result in which something is to be hidden and that holds more text than the ceiling is withheld, not passed."""
    policy = f"tools: {{get: {{kind: read, allow: [staff]}}}}\nceilings: {{result_text: {most}}}\n"
    desk = start(tmp_path, "openai-chat", policy, {"get": MAIL[name]})
    outcome = desk.propose(("c1", "get", {})).outcomes[0]
    assert ("[email]" in str(outcome.content)) is shown
    assert "kim@" not in str(outcome.content)
    assert (outcome.reason == "result_withheld") is not shown
