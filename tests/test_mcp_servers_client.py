"""The SDK's own client in front of the command `guard mcp`, as a client's settings say it, in front of real servers; on both transports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from mcp_kit import allowing, folder
from receivers_kit import free_port
from test_mcp_servers import REAL, _ready

pytestmark = pytest.mark.slow
SERVERS = ["filesystem", "memory", "everything", "git", "time", "sqlite"]


def _words(path: Path, tool: str) -> list[str]:
    place = folder(path, allowing([tool]))
    return ["-m", "guard", "mcp", "--policy", str(place), "--principal", "E1", "--role", "user"]


@asynccontextmanager
async def _over_pipes(path: Path, tool: str, behind: Sequence[str]) -> AsyncIterator[Any]:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    start = StdioServerParameters(command=sys.executable, args=[*_words(path, tool), *behind], env=_env(path), cwd=path)
    with (path / "told").open("w") as told:
        async with Client(stdio_client(start, errlog=told)) as client:
            yield client


@asynccontextmanager
async def _over_http(path: Path, tool: str, behind: Sequence[str]) -> AsyncIterator[Any]:
    from mcp import Client

    with _started([sys.executable, *_words(path, tool), "--http", "127.0.0.1:0", *behind], path) as told:
        async with Client(await _said(told, "listening on ")) as client:
            yield client


def _env(path: Path) -> dict[str, str]:
    return environment(MEMORY_FILE_PATH=str(path / "memory.jsonl"))


@contextmanager
def _started(command: Sequence[str], path: Path, **env: str) -> Iterator[Path]:
    """A process that writes what it says into the file that is given."""
    told = path / f"told-{len(list(path.glob('told-*')))}"
    with told.open("w") as file:
        process = subprocess.Popen(command, cwd=path, env={**_env(path), **env}, stdout=file, stderr=file, start_new_session=True)
        try:
            yield told
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(3)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


async def _said(told: Path, sign: str) -> str:
    """The rest of the line in which the sign stands."""
    async with asyncio.timeout(60):
        while True:
            text = told.read_text("utf-8")  # noqa: ASYNC240 - a small local file
            if sign in text and "\n" in text.partition(sign)[2]:
                return text.partition(sign)[2].partition("\n")[0].strip()
            await asyncio.sleep(0.05)


async def _look(client: Any, path: Path, tool: str, arguments: Any, expected: str) -> None:
    assert [one.name for one in (await client.list_tools()).tools] == [tool]
    found = await client.call_tool(tool, json.loads(json.dumps(arguments).replace("{here}", str(path))))
    assert not found.is_error
    assert expected in found.content[0].text
    refused = await client.call_tool(tool, {"no_such_field": 1})
    assert refused.meta["guard/reason"] == "invalid_arguments"


@pytest.mark.parametrize("way", [_over_pipes, _over_http], ids=["pipes", "http"])
@pytest.mark.parametrize("name", SERVERS)
def test_the_real_client_in_front_of_the_command_in_front_of_a_real_server(name: str, way: Any, tmp_path: Path) -> None:
    """`guard mcp … -- COMMAND`: the SDK's own client on one side, the server's own process on the other, and the store beside the policy."""
    command = _ready(name, tmp_path)
    tool, arguments, expected = next((t, a, e) for n, t, a, e in REAL if n == name)

    async def go() -> None:
        async with way(tmp_path, tool, ["--", *command]) as client:
            await _look(client, tmp_path, tool, arguments, expected)

    asyncio.run(go())
    assert (tmp_path / "guard.db").exists()


@pytest.mark.parametrize("way", [_over_pipes, _over_http], ids=["pipes", "http"])
def test_a_real_server_that_speaks_http_is_reached_by_its_url(way: Any, tmp_path: Path) -> None:
    """`guard mcp … --url URL`: the same, out over streamable HTTP."""
    command, port = _ready("everything", tmp_path), str(free_port())

    async def go() -> None:
        with _started([*command, "streamableHttp"], tmp_path, PORT=port) as told:
            await _said(told, "listening on port")
            async with way(tmp_path, "get-sum", ["--url", f"http://127.0.0.1:{port}/mcp"]) as client:
                await _look(client, tmp_path, "get-sum", {"a": 2, "b": 3}, "5")

    asyncio.run(go())
