"""What a server asks of the client and tells it unasked: each question gets one answer, and no amount of them keeps a call from its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp_kit import MAIL, run, said, talking

from guard.integrations.mcp.peer import MOST_OPEN

CAN: dict[str, Any] = {"sampling": {}, "elicitation": {}, "roots": {}}
ASKED: list[tuple[str, Any]] = [
    ("roots/list", {"roots": [{"uri": "file:///srv"}]}),
    ("elicitation/create", {"action": "accept", "content": {"name": "x"}}),
    ("sampling/createMessage", {"role": "assistant", "content": {"type": "text", "text": "nobody"}, "model": "m"}),
    ("ping", {}),
]


@pytest.mark.parametrize(("method", "result"), ASKED, ids=[method for method, _ in ASKED])
def test_what_a_server_asks_reaches_the_client_and_is_answered(method: str, result: Any, tmp_path: Path) -> None:
    """Redacted on the way to the client; the answer comes under the server's own id, an error as an error."""

    async def go() -> None:
        async with talking(tmp_path, can=CAN) as talk:
            assert talk.seen("initialize")[0]["params"]["capabilities"] == CAN
            for reply in ({"result": result}, {"error": {"code": -1, "message": "not now"}}):
                talk.hand.got.clear()
                call = asyncio.ensure_future(talk.call("asks", {"text": method}))
                asked = await talk.find(lambda one: one.get("method") == method)
                assert asked["params"]["message"] == "for [email]"
                talk.put({"id": asked["id"], **reply})
                assert json.loads(said(await call)) == {"jsonrpc": "2.0", "id": f"a{talk.seen()[-1]['id']}", **reply}

    run(go())


@pytest.mark.parametrize("method", ["acme/anything", "tools/call", "tasks/list"])
def test_what_a_server_may_not_ask_is_refused(method: str, tmp_path: Path) -> None:
    """The client never hears of it."""

    async def go() -> None:
        async with talking(tmp_path, can=CAN) as talk:
            assert json.loads(said(await talk.call("asks", {"text": method})))["error"]["code"] == -32601
            assert [one for one in talk.hand.got if one.get("method") == method] == []

    run(go())


def test_a_question_that_the_server_takes_back_is_taken_back_at_the_client(tmp_path: Path) -> None:
    """Under the id that the client knows."""

    async def go() -> None:
        async with talking(tmp_path, can=CAN) as talk:
            assert said(await talk.call("regret")) == "never mind"
            gone = await talk.find(lambda one: one.get("method") == "notifications/cancelled")
            [asked] = [one for one in talk.hand.got if one.get("method") == "roots/list"]
            assert gone["params"] == {"requestId": asked["id"]}

    run(go())


def test_a_flood_of_messages_keeps_no_call_from_its_answer(tmp_path: Path) -> None:
    """What may pass does, redacted; what is unknown does not; answers to nothing are nothing; each question has one answer."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert said(await talk.call("flood")) == "calm"
            assert json.loads(said(await talk.call("echo", {"text": "x"}))) == {"text": "x"}
            assert len([one for one in talk.hand.got if one.get("method") == "notifications/message"]) == 2_000
            assert {one.get("method") for one in talk.hand.got} == {None, "notifications/message"}
            assert MAIL not in json.dumps(talk.hand.got)
            assert len(_faults(talk)) == 2_000

    run(go())


@pytest.mark.parametrize("name", ["odd", "flood"])
def test_a_message_of_no_known_form_ends_nothing(name: str, tmp_path: Path) -> None:
    """Ids, methods and tokens that are none: the session goes on."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert said(await talk.call(name)) == "calm"
            assert json.loads(said(await talk.call("echo", {"text": "x"}))) == {"text": "x"}

    run(go())


@pytest.mark.parametrize("strange", [[1], {"a": 1}, None, True, 1.5])
def test_a_clients_message_of_no_known_form_ends_nothing(strange: Any, tmp_path: Path) -> None:
    """A request of that kind is answered, a notification is nothing."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            for message in (
                {"id": strange, "result": {}},
                {"id": strange, "method": "ping"},
                {"id": 3, "method": strange},
                {"method": strange, "params": strange},
                {"method": "notifications/cancelled", "params": {"requestId": strange}},
            ):
                talk.put(message)
            assert json.loads(said(await talk.call("echo", {"text": "x"}))) == {"text": "x"}
            assert [one["error"]["code"] for one in talk.hand.got if one.get("id", 0) is None] == [-32600] * (
                1 if strange is None else 2
            )

    run(go())


def test_more_questions_than_can_be_worked_on_are_refused(tmp_path: Path) -> None:
    """Each at once, and the client is not asked; the call goes on."""

    async def go() -> None:
        async with talking(tmp_path, can=CAN) as talk:
            assert said(await talk.call("swamp")) == "calm"
            await talk.ask("ping")
            assert len([one for one in talk.hand.got if one.get("method") == "roots/list"]) == MOST_OPEN
            assert _faults(talk) == [f"q{number}" for number in range(MOST_OPEN, 1_050)]
            assert any("q0" in line for line in talk.told)

    run(go())


@pytest.mark.parametrize("tool", ["slow", "pay", "echo"])
def test_a_call_that_is_cancelled_in_the_same_breath_leaves_its_id_free(tool: str, tmp_path: Path) -> None:
    """Whatever is asked under that id next is answered."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            talk.put({"id": 7, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
            talk.put({"method": "notifications/cancelled", "params": {"requestId": 7}})
            assert (await talk.ask("ping"))["result"] == {}
            assert (await talk.ask("ping", number=7))["result"] == {}

    run(go())


def _faults(talk: Any) -> list[Any]:
    """The ids of the server's questions that were answered with an error."""
    return [one["id"] for one in talk.seen(None) if "error" in one]
