"""Tools of MCP servers as tools of a guard: `mcp_tools`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters
from mcp_kit import ANN, POLICY, RAW, folder, run
from mcp_raw_tools import definitions

from guard import AsyncGuard, Image, Outcome, ToolCall
from guard.compose import PolicyWarning
from guard.errors import GuardError
from guard.integrations.mcp import mcp_tools


def server(path: Path, log: str = "log") -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[str(RAW), str(path / log)])


def local() -> str:
    """One of the program's own."""
    return "here"


def load(path: Path, tools: Any, policy: str = POLICY) -> AsyncGuard:
    own = policy.replace("tools:\n", "tools:\n  local: {kind: read, allow: [user]}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return AsyncGuard.load(folder(path, own), tools=[*tools, local], store="memory://")


async def call(guard: AsyncGuard, name: str, arguments: Any = None) -> Outcome:
    return await guard.call(ToolCall("1", name, arguments or {}), ANN, conversation="c")


def test_a_servers_tools_stand_beside_the_programs_own(tmp_path: Path) -> None:
    """The same path: bound fields, structure before text, pictures, the server's own errors, redaction."""

    async def go() -> None:
        async with mcp_tools(server(tmp_path)) as tools:
            guard = load(tmp_path, tools)
            assert (await call(guard, "local")).content == "here"
            mine = await call(guard, "mine", {"text": "x", "user_id": "E9"})
            assert json.loads(str(mine.content))["arguments"] == {"text": "x", "user_id": "E1"}
            assert json.loads(str((await call(guard, "mail")).content)) == {"mail": "[email]", "amount": 59.9}
            assert (await call(guard, "picture")).content == ("of [email]", Image(data="iVBORw0KGgo="))
            for name, text in (("boom", "no such person: [email]"), ("fault", "not for [email]")):
                failed = await call(guard, name)
                assert failed.status == "failed"
                assert text in str(failed.content)
            assert (await call(guard, "pay", {"text": "1"})).status == "held"
            guard.close()

    run(go())


def test_equal_names_get_their_servers_in_front(tmp_path: Path) -> None:
    """Only where they are equal, and never in silence where that does not help."""

    async def go() -> None:
        async with mcp_tools(a=server(tmp_path), b=server(tmp_path, "log2")) as tools:
            assert len(tools) == 2 * len(definitions())
            assert {"a_echo", "b_echo"} <= {tool.name for tool in tools}
            policy = "tools: {a_echo: {kind: read, allow: [user]}}\nlimits: {run: {calls: 9}}"
            guard = AsyncGuard.load(folder(tmp_path, policy), tools=[t for t in tools if t.name == "a_echo"], store="memory://")
            assert (await call(guard, "a_echo", {"text": "x"})).content == '{"text": "x"}'
            guard.close()
        with pytest.raises(GuardError, match="two servers have a tool called"):
            async with mcp_tools(server(tmp_path), server(tmp_path, "log2")):
                pass

    run(go())


def test_a_definition_that_changes_while_the_connection_is_open_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Said in the log; nothing of the call reaches the server."""

    async def go() -> None:
        async with mcp_tools(server(tmp_path)) as tools:
            guard = load(tmp_path, tools)
            await call(guard, "change")
            found = await call(guard, "echo", {"text": "x"})
            assert found.status == "failed"
            assert "nobody has reviewed" in str(found.content)
            guard.close()

    run(go())
    assert "changed since the guard started" in caplog.text
    assert '"echo"' not in (tmp_path / "log").read_text("utf-8")


def test_a_server_that_dies_leaves_an_action_unknown(tmp_path: Path) -> None:
    """Nobody knows what became of it; it is not run again by itself."""

    async def go() -> None:
        async with mcp_tools(server(tmp_path)) as tools:
            guard = load(tmp_path, tools, POLICY.replace("die: {kind: read", "die: {kind: action, approve: never"))
            assert (await call(guard, "die")).status == "unknown"
            guard.close()

    run(go())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (StdioServerParameters(command="no-such-command"), "cannot be started"),
        (StdioServerParameters(command=sys.executable, args=["-c", "pass"]), "cannot be asked"),
        ("http://127.0.0.1:9/mcp", "cannot be asked"),
    ],
    ids=["absent", "ends", "nobody there"],
)
def test_a_server_that_cannot_be_used_is_one_error(given: Any, message: str) -> None:
    """A GuardError with the reason, not a group of the SDK's tasks."""

    async def go() -> None:
        async with mcp_tools(given):
            pass

    with pytest.raises(GuardError, match=message):
        run(go())
