"""A client's calls through the MCP proxy: the whole path, both copies of a result redacted, everything else passed on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp_kit import ANN, MAIL, POLICY, code, run, said, talking

from guard import Session


def test_a_client_sees_only_what_the_session_may_call(tmp_path: Path) -> None:
    """Tools of others are absent, bound fields are not in the schema, and a server's several pages are one."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            tools = {tool["name"]: tool for tool in (await talk.ask("tools/list"))["result"]["tools"]}
            assert "hidden" not in tools
            assert {"echo", "mine", "summary"} <= tools.keys()
            assert tools["mine"]["inputSchema"]["properties"].keys() == {"text"}
            assert "required" not in tools["mine"]["inputSchema"] or tools["mine"]["inputSchema"]["required"] == ["text"]
            assert code(await talk.call("hidden")) == "not_authorized"
            assert [call["params"]["name"] for call in talk.seen()] == []

    run(go())


def test_the_session_fills_its_own_field_and_a_client_that_sends_it_is_recorded(tmp_path: Path) -> None:
    """The server gets the session's value whatever the client wrote; nothing that names somebody goes along."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            meta = {"acme/user": "E9", "progressToken": "p1"}
            found = await talk.call("mine", {"text": "x", "user_id": "E9"}, _meta=meta)
            assert json.loads(said(found)) == {
                "name": "mine",
                "arguments": {"text": "x", "user_id": "E1"},
                "_meta": {"progressToken": "p1"},
            }
            assert talk.records("call.decided")[0]["spoof"] == ["user_id"]

    run(go())


def test_both_copies_of_a_result_are_redacted_and_equal(tmp_path: Path) -> None:
    """The text is the structure's, amounts keep their digits, and what is promised of the output is still true."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            tools = {tool["name"]: tool for tool in (await talk.ask("tools/list"))["result"]["tools"]}
            found = await talk.call("mail")
            assert found["structuredContent"] == json.loads(said(found)) == {"mail": "[email]", "amount": 59.9}
            assert tools["mail"]["outputSchema"] == {
                "type": "object",
                "properties": {"mail": {"type": "string"}, "amount": {"type": ["number", "string"]}},
            }

    run(go())


def test_text_that_says_more_than_the_structure_does_not_pass_by(tmp_path: Path) -> None:
    """A field rule holds for the structure, so a text beside it with other words is replaced by the structure's."""

    async def go() -> None:
        policy = POLICY.replace(
            "  summary: {kind: read, allow: [user]}", "  summary: {kind: read, allow: [user], result: {keep: [id]}}"
        )
        async with talking(tmp_path, policy=policy) as talk:
            found = await talk.call("summary")
            assert found["structuredContent"] == json.loads(said(found)) == {"id": 7}

    run(go())


@pytest.mark.parametrize(
    ("name", "expected", "failed"),
    [
        ("boom", "no such person: [email]", True),
        ("fault", "not for [email]", True),
        ("picture", "of [email]", False),
        ("garbage", "after all", False),
        ("again", "first", False),
    ],
)
def test_what_a_server_says_comes_back_once_and_redacted(name: str, expected: str, failed: bool, tmp_path: Path) -> None:
    """Texts, errors of tools and errors of the protocol: one answer each, without the address."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            found = await talk.call(name)
            assert expected in said(found)
            assert MAIL not in json.dumps(talk.hand.got)
            assert found["isError"] is failed
            assert len([one for one in talk.hand.got if one.get("id") == 101]) == 1

    run(go())


def test_pictures_sounds_links_and_resources_keep_their_form(tmp_path: Path) -> None:
    """A content block comes back as what it was, with its texts redacted."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert (await talk.call("picture"))["content"][1] == {
                "type": "image",
                "data": "iVBORw0KGgo=",
                "mimeType": "image/png",
            }
            assert (await talk.call("sound"))["content"] == [
                {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "demo://1", "name": "one"},
                {"type": "resource", "resource": {"uri": "demo://2", "mimeType": "text/plain", "text": "by [email]"}},
            ]

    run(go())


@pytest.mark.parametrize("rule", ["keep: [id]", "drop: [id]", "roles: {boss: {keep: [id]}}"])
def test_a_filtered_result_brings_no_block_along(rule: str, tmp_path: Path) -> None:
    """Where the policy says which fields go back, or do not, a sound or a link beside them does not."""

    async def go() -> None:
        policy = POLICY.replace(
            "  sound: {kind: read, allow: [user]}", "  sound: {kind: read, allow: [user], result: {keep: [id]}}"
        )
        async with talking(tmp_path, policy=policy) as talk:
            assert {part["type"] for part in (await talk.call("sound"))["content"]} == {"text"}
            assert "demo://" not in json.dumps(talk.hand.got)

    run(go())


def test_progress_and_log_messages_pass_with_the_clients_token(tmp_path: Path) -> None:
    """They arrive before the result, redacted."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            await talk.call("works", _meta={"progressToken": 7})
            methods = [one.get("method") for one in talk.hand.got]
            progress = next(one for one in talk.hand.got if one.get("method") == "notifications/progress")
            assert progress["params"] == {"progressToken": 7, "progress": 1, "message": "asking [email]"}
            assert methods.index("notifications/progress") < methods.index("notifications/message") < len(methods) - 1
            assert MAIL not in json.dumps(talk.hand.got)

    run(go())


def test_a_servers_own_request_reaches_the_client_and_its_answer_the_server(tmp_path: Path) -> None:
    """Sampling in the middle of a call: asked under an id of the proxy's own, answered to the server under the server's."""

    async def go() -> None:
        async with talking(tmp_path, can={"sampling": {}, "tasks": {}}) as talk:
            call = asyncio.ensure_future(talk.call("sample"))
            asked = await talk.find(lambda one: one.get("method") == "sampling/createMessage")
            assert asked["params"]["messages"][0]["content"]["text"] == "who is [email]?"
            talk.put(
                {"id": asked["id"], "result": {"role": "assistant", "content": {"type": "text", "text": "nobody"}, "model": "m"}}
            )
            found = json.loads(said(await call))
            assert (found["id"], found["result"]["content"]["text"]) == (f"s{talk.seen()[0]['id']}", "nobody")
            assert talk.seen("initialize")[0]["params"]["capabilities"] == {"sampling": {}}

    run(go())


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("resources/read", {"contents": [{"uri": "guard-hidden:1", "text": "by [email]", "mimeType": "text/plain"}]}),
        ("resources/subscribe", {}),
        ("prompts/list", {}),
        ("completion/complete", {}),
        ("logging/setLevel", {}),
        ("ping", {}),
    ],
)
def test_other_requests_pass(method: str, result: Any, tmp_path: Path) -> None:
    """What is not about tools goes to the server and back; its texts are redacted, and so is an address that names somebody."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert (await talk.ask(method, {"uri": "demo://1"}))["result"] == result
            assert talk.seen(method)[0]["params"] == {"uri": "demo://1"}

    run(go())


def test_an_error_of_the_server_passes_redacted(tmp_path: Path) -> None:
    """Code and form stay."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            error = (await talk.ask("prompts/get", {"name": "x"}))["error"]
            assert error == {"code": -32602, "message": "no prompt for [email]", "data": {"to": "[email]"}}

    run(go())


@pytest.mark.parametrize("method", ["tasks/list", "tasks/result", "server/discover", "acme/anything", "tools/describe"])
def test_a_method_that_the_guard_does_not_know_is_refused(method: str, tmp_path: Path) -> None:
    """It never reaches the server, and the server's word that it could is not passed on."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert (await talk.ask(method))["error"]["code"] == -32601
            assert talk.seen(method) == []
            assert "tasks" not in talk.greeting["capabilities"]  # type: ignore[attr-defined]

    run(go())


def test_a_held_call_says_how_it_is_approved_and_runs_once_when_called_again(tmp_path: Path) -> None:
    """Not executed, the approval's id, the command, the console; then exactly one run."""

    async def go() -> None:
        async with talking(tmp_path, console="https://console.example.com") as talk:
            held = json.loads(said(await talk.call("pay", {"text": "10"})))["error"]
            assert (held["code"], held["executed"]) == ("held_for_approval", False)
            assert held["approve"] == f"guard approvals approve {held['approval']}"
            assert held["console"] == "https://console.example.com"
            assert talk.seen() == []
            assert any(held["approval"] in line for line in talk.told)
            boss = Session(principal="E2", roles=("boss",))
            assert talk.desk.guard is not None
            await talk.desk.guard.approvals.approve(held["approval"], approver=boss)
            ran = [await talk.call("pay", {"text": "10"}) for _ in range(2)]
            assert [said(one) for one in ran] == ["paid", "paid"]
            assert ran[1]["_meta"]["guard/replayed"] is True
            assert len(talk.seen()) == 1

    run(go())


def test_calls_at_once_are_worked_on_at_once(tmp_path: Path) -> None:
    """Two reads overlap, each with its own answer."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            found = await asyncio.gather(*(talk.call("echo", {"text": str(number)}) for number in range(20)))
            assert [json.loads(said(one))["text"] for one in found] == [str(number) for number in range(20)]

    run(go())


def test_a_conversation_of_somebody_else_is_not_gone_on_with(tmp_path: Path) -> None:
    """The conversation's name is no key to it."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            await talk.call("echo", {"text": "x"})
            assert talk.desk.guard is not None
            ref = talk.records("call.decided")[0]
            assert (ref["conversation"], ref["principal"]) == ("conv", ANN.principal)

    run(go())
