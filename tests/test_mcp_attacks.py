"""What a server or a client may try at the MCP proxy: each attempt is refused, on record where it is a server's, and nothing of it reaches the other side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_kit import POLICY, code, folder, run, said, talking
from mcp_raw_tools import definitions

from guard.cli.pinning import write_server_pins
from guard.integrations.mcp.listing import judge, pin_of, squashed

DRIFTS = [
    ("change", "echo", "its definition changed since the guard started"),
    ("quietly", "echo", "its definition changed since the guard started"),
    ("more", "added", "it was added since the guard started"),
    ("twin", "echo", "it is listed more than once"),
    ("lookalike", "\u0435cho", "its name passes for that of echo"),
]


@pytest.mark.parametrize(("trick", "name", "why"), DRIFTS, ids=[trick for trick, _, _ in DRIFTS])
def test_a_server_that_changes_adds_or_shadows_a_tool_is_refused(trick: str, name: str, why: str, tmp_path: Path) -> None:
    """The tool is not shown and not called any more, the refusal is recorded and told; the other tools go on."""

    async def go() -> None:
        policy = POLICY.replace("tools:\n", f"tools:\n  {json.dumps('added')}: {{kind: read, allow: [user]}}\n")
        async with talking(tmp_path, policy=policy) as talk:
            assert "echo" in await talk.names()
            await talk.call(trick)
            assert name not in (await talk.names())
            assert code(await talk.call(name, {"text": "x"})) in {"not_offered", "unknown_tool"}
            assert "no such person: [email]" in said(await talk.call("boom"))
            assert name not in [call["params"]["name"] for call in talk.seen()]
            [record] = talk.records("tool.refused")
            assert (record["tool"]["name"], record["drift"]) == (name, {"server": "mcp", "why": why})
            assert any(why in line for line in talk.told)

    run(go())


def test_a_change_is_noticed_before_the_next_call(tmp_path: Path) -> None:
    """Between listing and call: the server says that its list changed, and the call that follows is judged by the new one."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            await talk.names()
            await talk.call("change")
            assert code(await talk.call("echo", {"text": "x"})) == "not_offered"
            assert [call["params"]["name"] for call in talk.seen()] == ["change"]

    run(go())


def _pinned(path: Path, leave: str = "", **changed: Any) -> None:
    tools = [one for one in definitions() if one["name"] != leave]
    write_server_pins(str(path / "policies"), "mcp", {one["name"]: pin_of({**one, **changed}, "mcp") for one in tools})


def test_pins_hold_from_one_start_to_the_next(tmp_path: Path) -> None:
    """What a person has pinned is what may be used: other definitions are refused from the first listing on, until they are pinned too."""

    async def listed() -> list[str]:
        async with talking(tmp_path) as talk:
            return await talk.names()

    folder(tmp_path)
    whole = run(listed())
    _pinned(tmp_path)
    assert run(listed()) == whole
    _pinned(tmp_path, description="As it was reviewed.")
    assert run(listed()) == []
    _pinned(tmp_path, leave="echo")
    assert run(listed()) == [name for name in whole if name != "echo"]


def test_pins_that_cannot_be_read_refuse_everything(tmp_path: Path) -> None:
    """A broken file is no absence."""

    async def go() -> None:
        (folder(tmp_path) / "pins.json").write_text("{", "utf-8")
        async with talking(tmp_path) as talk:
            assert (await talk.ask("tools/list"))["error"]["code"] == -32603
            assert (await talk.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}}))["error"]["code"] == -32603
            assert talk.seen() == []

    run(go())


def test_a_policy_that_cannot_be_used_refuses_everything(tmp_path: Path) -> None:
    """So does a policy that does not fit the server's tools; the reason is told to whoever runs the proxy, not to the client."""

    async def go() -> None:
        policy = POLICY.replace("approve: {by: [boss]}", "approve: {by: [boss], show: [owner]}")
        async with talking(tmp_path, policy=policy) as talk:
            answer = (await talk.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}}))["error"]
            assert answer["code"] == -32603
            assert "owner" not in answer["message"]
            assert any("owner" in line for line in talk.told)
            assert talk.seen() == []

    run(go())


ARGUMENTS: list[tuple[str, Any, str]] = [
    ("an unknown field", {"text": "x", "user_id": "E9"}, "invalid_arguments"),
    ("another type", {"text": {"$ne": ""}}, "invalid_arguments"),
    ("none", {}, "invalid_arguments"),
    ("too deep", {"text": json.loads("[" * 90 + "]" * 90)}, "arguments_too_large"),
    ("too much", {"text": "x" * 300_000}, "arguments_too_large"),
]


@pytest.mark.parametrize(("arguments", "reason"), [(a, r) for _, a, r in ARGUMENTS], ids=[name for name, _, _ in ARGUMENTS])
def test_arguments_that_do_not_fit_never_reach_the_server(arguments: Any, reason: str, tmp_path: Path) -> None:
    """They are refused with a reason that the model can use."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert code(await talk.call("echo", arguments)) == reason
            assert talk.seen() == []

    run(go())


PARAMS: list[tuple[str, Any]] = [
    ("no name", {"arguments": {}}),
    ("a name that is none", {"name": ["echo"], "arguments": {}}),
    ("arguments that are text", {"name": "echo", "arguments": '{"text": "x"}'}),
    ("a task", {"name": "echo", "arguments": {"text": "x"}, "task": {"ttl": 1}}),
    ("params that are a list", ["echo"]),
]


@pytest.mark.parametrize("params", [params for _, params in PARAMS], ids=[name for name, _ in PARAMS])
def test_a_call_in_no_known_form_is_an_error_of_the_protocol(params: Any, tmp_path: Path) -> None:
    """It is no call at all."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert (await talk.ask("tools/call", params))["error"]["code"] == -32602
            assert talk.seen() == []

    run(go())


def test_an_unknown_tool_is_told_which_ones_there_are(tmp_path: Path) -> None:
    """Only those that this session may call."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            error = json.loads(said(await talk.call("eco")))["error"]
            assert (error["code"], error["nearest"]) == ("unknown_tool", "echo")
            assert "hidden" not in error["known_tools"]

    run(go())


def test_a_second_request_with_the_same_id_changes_nothing(tmp_path: Path) -> None:
    """While the first is worked on the second is not run, and the id gets one answer; texts and numbers are different ids."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            for name, arguments in (("slow", {}), ("echo", {"text": "x"})):
                talk.put({"id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
            other = await talk.ask("tools/call", {"name": "echo", "arguments": {"text": "y"}}, "7")
            talk.put({"method": "notifications/cancelled", "params": {"requestId": 7}})
            await talk.ask("ping")
            assert said(other["result"]) == '{"text": "y"}'
            assert [one for one in talk.hand.got if one.get("id") == 7] == []
            assert len(talk.seen()) == 2

    run(go())


def test_a_cancelled_call_is_cancelled_at_the_server_and_closed_in_the_ledger(tmp_path: Path) -> None:
    """The client gets no answer, the server the id that it knows, and the record an end."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            talk.put({"id": "c", "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
            await talk.until()
            talk.put({"method": "notifications/cancelled", "params": {"requestId": "c", "reason": "enough"}})
            await talk.until("notifications/cancelled")
            assert talk.seen("notifications/cancelled")[0]["params"] == {"requestId": talk.seen()[0]["id"]}
            assert [one for one in talk.hand.got if one.get("id") == "c"] == []
            assert "no such person: [email]" in said(await talk.call("boom"))
            assert len(talk.records("call.end")) == 2

    run(go())


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        (["read_file", "write_file"], set()),
        (["read_file", "readFile"], {"read_file", "readFile"}),
        (["read_file", "re\u0430d_file"], {"read_file", "re\u0430d_file"}),
        (["pay", "p\u00e1y"], {"pay", "p\u00e1y"}),
        (["list", "l1st"], {"list", "l1st"}),
    ],
    ids=["apart", "spelling", "cyrillic", "accent", "digit"],
)
def test_names_that_pass_for_one_another_are_refused_both_unless_one_is_known(names: list[str], refused: set[str]) -> None:
    """Which of two is the honest one is known only by whom a person has pinned."""
    found = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    assert judge(found, "s", None).refused.keys() == refused
    first = {names[0]: pin_of(found[0], "s")}
    assert names[0] in judge(found, "s", None, first).accepted
    assert squashed("Read-File") == squashed("read_file")
