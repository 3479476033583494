"""`assurance: client`: where the policy takes the MCP client's word for who answered, the requester approves or rejects at the client."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp_kit import POLICY, code, run, said, talking

from guard.core.searching import Sought
from guard.errors import PolicyError
from guard.policy import load_policy

ASKS = {"elicitation": {}}


def policy(approve: str) -> str:
    return POLICY.replace("approve: {by: [boss]}", f"approve: {approve}")


OWN = "{by: self, assurance: client, show: [text]}"
ANSWERS: list[tuple[str, Any, str]] = [
    ("approve", {"action": "accept", "content": {"decision": "approve"}}, "paid"),
    ("reject", {"action": "accept", "content": {"decision": "reject"}}, "approval_rejected"),
    ("decline", {"action": "decline"}, "held_for_approval"),
    ("cancel", {"action": "cancel"}, "held_for_approval"),
    ("declined with content", {"action": "decline", "content": {"decision": "approve"}}, "held_for_approval"),
    ("another word", {"action": "accept", "content": {"decision": "yes"}}, "held_for_approval"),
    ("truth", {"action": "accept", "content": {"decision": True}}, "held_for_approval"),
    ("nothing", {"action": "accept"}, "held_for_approval"),
]


@pytest.mark.parametrize(("answer", "expected"), [(a, e) for _, a, e in ANSWERS], ids=[name for name, _, _ in ANSWERS])
def test_only_a_plain_answer_decides(answer: Any, expected: str, tmp_path: Path) -> None:
    """The question shows every argument, and nothing runs before it was approved in so many words."""

    async def go() -> None:
        async with talking(tmp_path, policy=policy(OWN), can=ASKS) as talk:
            call = asyncio.ensure_future(talk.call("pay", {"text": "10\u202e"}))
            asked = await talk.find(lambda one: one.get("method") == "elicitation/create")
            assert asked["params"]["message"].splitlines()[1:] == ['text: "10[U+202E]"']
            assert talk.seen() == []
            talk.put({"id": asked["id"], "result": answer})
            found = await call
            assert expected in {said(found)} | ({code(found)} if found["isError"] else set())
            assert len(talk.seen()) == (expected == "paid")

    run(go())


QUIET = [
    ("another person decides", "{by: [boss]}", ASKS),
    ("the policy does not take the client's word", "{by: self}", ASKS),
    ("one of its rules does not", "[{when: {text: {maxLength: 1}}, by: self, assurance: client}, {by: self}]", ASKS),
    ("the client cannot ask", OWN, {}),
]


@pytest.mark.parametrize(("approve", "can"), [(a, c) for _, a, c in QUIET], ids=[name for name, _, _ in QUIET])
def test_nobody_is_asked_at_the_client(approve: str, can: Any, tmp_path: Path) -> None:
    """Then the call is held as ever."""

    async def go() -> None:
        async with talking(tmp_path, policy=policy(approve), can=can) as talk:
            assert code(await talk.call("pay", {"text": "10"})) == "held_for_approval"
            assert [one for one in talk.hand.got if one.get("method") == "elicitation/create"] == []

    run(go())


def test_a_client_that_fails_to_ask_leaves_the_call_held(tmp_path: Path) -> None:
    """An error is no answer; the approval still waits."""

    async def go() -> None:
        async with talking(tmp_path, policy=policy(OWN), can=ASKS) as talk:
            call = asyncio.ensure_future(talk.call("pay", {"text": "10"}))
            asked = await talk.find(lambda one: one.get("method") == "elicitation/create")
            talk.put({"id": asked["id"], "error": {"code": -1, "message": "no window"}})
            held = json.loads(said(await call))["error"]
            assert talk.desk.guard is not None
            assert [one.id for one in await talk.desk.guard.approvals.list()] == [held["approval"]]

    run(go())


@pytest.mark.parametrize("how", ["change", "quietly"])
def test_a_tool_that_changes_while_a_person_thinks_is_not_run(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The yes was for the tool as it was reviewed: whether the server says that its list changed, or a look at it long after says so."""
    if how == "quietly":
        monkeypatch.setattr("guard.integrations.mcp.desk._FRESH", 0.0)

    async def go() -> None:
        changing = POLICY.replace("echo: {kind: read, allow: [user]}", f"echo: {{kind: action, allow: [user], approve: {OWN}}}")
        async with talking(tmp_path, policy=changing, can=ASKS) as talk:
            call = asyncio.ensure_future(talk.call("echo", {"text": "10"}))
            asked = await talk.find(lambda one: one.get("method") == "elicitation/create")
            assert said(await talk.call(how)) == "ok"
            talk.put({"id": asked["id"], "result": {"action": "accept", "content": {"decision": "approve"}}})
            found = await call
            assert code(found) == "tool_failed"
            assert "changed or removed" in said(found)
            assert [one for one in talk.seen() if one["params"]["name"] == "echo"] == []
            assert "echo" not in await talk.names()
            assert len(talk.records("tool.refused")) == 1

    run(go())


@pytest.mark.parametrize(("answer", "status"), [("approve", "consumed"), ("reject", "rejected")])
def test_the_record_says_who_answered_and_where(answer: str, status: str, tmp_path: Path) -> None:
    """The requester, at the client, by the client's word: the vote says so and the record, too."""

    async def go() -> None:
        async with talking(tmp_path, policy=policy(OWN), can=ASKS) as talk:
            call = asyncio.ensure_future(talk.call("pay", {"text": "10"}))
            asked = await talk.find(lambda one: one.get("method") == "elicitation/create")
            talk.put({"id": asked["id"], "result": {"action": "accept", "content": {"decision": answer}}})
            await call
            assert talk.desk.guard is not None
            [approval] = await talk.desk.guard.approvals.list(status=None)
            assert approval.status == status
            assert (approval.decided_by, approval.reason) == ("E1", "answered at the MCP client")
            assert [vote.assurance for vote in approval.votes] == ["client"]
            [voted] = [json.loads(one.body) for one in talk.desk.guard.store.search(Sought(kinds=("approval.resolved",)))]
            assert voted["actor"] == {"type": "human", "ref": "E1", "assurance": "client"}

    run(go())


@pytest.mark.parametrize(
    ("approve", "message"),
    [
        ("{by: [boss], assurance: client}", "assurance: client is only for by: self"),
        ("{by: self, assurance: anybody}", "assurance: must be client or host"),
    ],
)
def test_the_key_says_what_it_is_for(approve: str, message: str, tmp_path: Path) -> None:
    """Another person's word is never the client's to give."""
    (tmp_path / "tools.yaml").write_text(f"tools: {{pay: {{kind: action, allow: [user], approve: {approve}}}}}", "utf-8")

    with pytest.raises(PolicyError) as caught:
        load_policy(str(tmp_path))

    assert message in str(caught.value)
