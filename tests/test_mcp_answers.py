"""What a server's answer to a call means: an action that may have been carried out is never told to have failed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_kit import folder, run

from guard import AsyncGuard, Outcome, Session, ToolCall
from guard.core.model import ConversationRef
from guard.integrations.mcp.calls import Caller, Errand, ask_server
from guard.integrations.mcp.listing import registered
from guard.integrations.mcp.messages import UnfitError
from guard.integrations.mcp.peer import Peer

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
SHELL = "tools:\n  pay: {kind: action, allow: [user], approve: never}\n  find: {kind: read, allow: [user]}\nlimits: {run: {calls: 9}}\n"


class Scripted:
    """A server's side of a channel that answers each call in the same way."""

    answers_cancelled = False

    def __init__(self, reply: dict[str, Any]) -> None:
        self.reply = reply
        self.peer = Peer(self)

    async def send(self, message: dict[str, Any], about: object = None) -> None:
        if "id" in message:
            asyncio.get_running_loop().call_soon(self.peer.settle, {"jsonrpc": "2.0", "id": message["id"], **self.reply})

    async def messages(self) -> AsyncIterator[dict[str, Any] | UnfitError]:
        return
        yield {}

    async def close(self) -> None:
        """Nothing stands behind it."""


async def _always(_: str) -> bool:
    return True


def _told(_: Outcome) -> dict[str, Any]:
    return {}


async def called(name: str, reply: dict[str, Any], path: Path) -> Outcome:
    """The outcome of a call of this tool that the server answers so."""
    peer = Scripted(reply).peer
    tools = [registered(one, {"inputSchema": TEXT}, ask_server, server="s") for one in ("pay", "find")]
    guard = AsyncGuard.load(folder(path, SHELL), tools=tools, store="memory://")
    try:
        session = Session(principal="E1", roles=("user",))
        ref = ConversationRef(tenant="default", principal="E1", conversation="c")
        caller = Caller(guard=guard, session=session, ref=ref, offered=frozenset({"pay", "find"}), client=peer, render=_told)
        return await caller.call(ToolCall("1", name, {"text": "a"}), Errand(server=peer, seconds=5, still=_always))
    finally:
        guard.close()


def _error(code: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": "no luck"}}


DOUBTFUL: dict[str, dict[str, Any]] = {
    "null": {"result": None},
    "a list": {"result": []},
    "a text": {"result": "paid"},
    "nothing": {},
    "a null error": {"error": None},
    "a text error": {"error": "boom"},
    "an internal error": _error(-32603),
    "the transport's error": _error(-32000),
    "an error of its own": _error(-32050),
    "an error of the application": _error(7),
    "a code that is a text": _error("-32602"),
    "a code that is a list": _error([-32602]),
    "an error without a code": {"error": {"message": "no luck"}},
    "both": {"result": {"content": []}, **_error(-32602)},
    "both, the error empty": {"result": {"content": []}, "error": {}},
    "content that is a text": {"result": {"content": "paid"}},
    "content of texts": {"result": {"content": ["paid"]}},
    "structure that is a list": {"result": {"content": [], "structuredContent": [1]}},
    "a task": {"result": {"task": {"taskId": "1", "status": "working"}}},
    "another step": {"result": {"resultType": "input_required", "inputRequests": {}}},
    "a flag that is a text": {"result": {"content": [], "isError": "true"}},
}


@pytest.mark.parametrize("reply", DOUBTFUL.values(), ids=DOUBTFUL)
def test_an_answer_that_does_not_say_whether_it_ran_leaves_an_action_unknown(reply: dict[str, Any], tmp_path: Path) -> None:
    """A look-up has failed, since nothing can have come of it."""
    assert run(called("pay", reply, tmp_path)).status == "unknown"
    assert run(called("find", reply, tmp_path)).status == "failed"


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602])
def test_an_error_that_says_that_nothing_was_carried_out_is_a_failure(code: int, tmp_path: Path) -> None:
    """It may be proposed again, and the server's words go back."""
    found = run(called("pay", _error(code), tmp_path))
    assert (found.status, "no luck" in str(found.content)) == ("failed", True)


def test_a_look_up_keeps_what_the_server_said(tmp_path: Path) -> None:
    """Its error's text is told, redacted as ever."""
    reply = {"error": {"code": -32603, "message": "no index for kim.doe@example.com"}}
    found = run(called("find", reply, tmp_path))
    assert "no index for [email]" in json.loads(str(found.content))["error"]["message"]


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"content": []},
        {"structuredContent": {"id": 1}},
        {"content": [], "isError": False},
        {"content": None, "isError": None},
    ],
)
def test_a_result_that_says_little_is_a_result(result: dict[str, Any], tmp_path: Path) -> None:
    """The action was carried out."""
    assert run(called("pay", {"result": result}, tmp_path)).status == "done"
