"""What each provider has of its own: items and `previous_response_id`, ids that are absent, thought signatures, bytes, kinds of calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from provider import Provider
from wire_helpers import PNG, answers, every, fingerprint, message, outcome, spelled, stored_ids
from wire_models import accepted
from wire_talk import CLIENTS, ask, legal

from guard import Guard, Session, WireError
from guard.core.model import Image
from guard.core.reasons import Reason
from guard.wires import Reply, wire

RESPONSES, GEMINI, BEDROCK = wire("openai-responses"), wire("gemini"), wire("bedrock-converse")
STAFF = Session(principal="E1", roles=("staff",))
POLICY = """
tools:
  look: {kind: read, allow: [staff]}
  shot: {kind: read, allow: [staff]}
  pay: {kind: action, allow: [staff], approve: {by: [boss]}}
limits: {run: {calls: 50}}
"""


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    (tmp_path / "tools.yaml").write_text(POLICY)

    def look(n: int = 0) -> dict[str, int]:
        return {"n": n}

    def pay(n: int) -> dict[str, int]:
        return {"paid": n}

    tools = {"look": look, "shot": lambda: ["the page", PNG], "pay": pay}
    with Guard.load(tmp_path, tools=tools, store="memory://") as made:
        yield made


def script(name: str, *turns: Any) -> list[Any]:
    return [message(name, *((call, tool, spelled(name, text)) for call, tool, text in calls)) for calls in turns]


@every
def test_a_loop_with_pictures_holds_and_a_restart_over_http(guard: Guard, name: str) -> None:
    """The README's loop on every wire, with the SDK's own objects: look, picture, held action, approval, and a saved history gone on with."""
    turns = script(name, [("c1", "look", '{"n": 1}'), ("c2", "shot", "{}")], [("c3", "pay", '{"n": 5}')], [], [])
    chat = guard.open(STAFF, wire=name, conversation="c")
    with Provider(turns) as provider, CLIENTS[name](provider) as client:
        messages: list[Any] = [chat.user("go")]
        stops = []
        for _ in range(3):
            turn = chat.handle(ask(name, client, messages, chat.tools), history=messages)
            messages += turn.append
            stops.append(turn.stop)
        [approval] = guard.approvals.list()
        guard.approvals.approve(approval.id, approver=Session(principal="B", roles=("boss",)))
        messages += chat.settled()
        saved = json.dumps(chat.dump(messages))
        again = guard.open(STAFF, wire=name, conversation="c")
        messages = again.resume(json.loads(saved))
        last = again.handle(ask(name, client, messages, again.tools), history=messages)
        assert provider.rejections == []

    assert stops == [None, None, "done"]
    assert last.stop == "done"
    assert json.dumps(again.dump(messages)) == saved
    assert "paid" in saved
    accepted(name, messages, again.tools)


@every
@pytest.mark.parametrize(
    "ids", [("", ""), ("same", "same"), ("a b", "x" * 300), (None, None)], ids=["empty", "repeated", "odd", "none"]
)
def test_ids_of_every_kind_over_http(guard: Guard, name: str, ids: tuple[Any, Any]) -> None:
    """Empty, repeated, illegal, overlong and absent ids: each call has its own result, and the provider takes the history back."""
    if ids[0] is None and name != "gemini":
        ids = (7, 8)
    turns = [script(name, [(ids[0], "look", '{"n": 1}'), (ids[1], "look", '{"n": 2}')]), script(name, [])]
    chat = guard.open(STAFF, wire=name, conversation="c")
    history: list[Any] = [chat.user("go")]
    turn = chat.handle(turns[0][0], history=history)
    history += turn.append

    assert [one.content for one in turn.outcomes] == ['{"n":1}', '{"n":2}']
    assert [content for _, content in answers(name, turn.messages)] == ['{"n":1}', '{"n":2}']
    legal(name, history)
    accepted(name, history)
    assert len(wire(name).answered(history, fingerprint)) == 1
    again = chat.handle(turns[0][0], history=history[:1])  # the same message once more: the results were lost on their way
    assert [one.content for one in again.outcomes] == ['{"n":1}', '{"n":2}']


def test_responses_with_the_id_of_the_previous_one(guard: Guard) -> None:
    """Only results and new words are sent: the provider holds the rest, and pairs them by the call ids that it gave."""
    turns = script("openai-responses", [("c1", "look", '{"n": 1}'), ("c2", "pay", '{"n": 2}')], [("c3", "look", '{"n": 1}')], [])
    chat = guard.open(STAFF, wire="openai-responses", conversation="c")
    with Provider(turns) as provider, CLIENTS["openai-responses"](provider) as client:
        reply = client.responses.create(model="m", input=[chat.user("go")], tools=chat.tools)
        while True:
            turn = chat.handle(reply)
            if turn.stop:
                break
            reply = client.responses.create(model="m", input=turn.messages, previous_response_id=reply.id, tools=chat.tools)
        assert provider.rejections == []

    sent = [[item.get("call_id") for item in request["input"]] for request in provider.requests]
    assert sent == [[None], ["c1", "c2"], ["c3"]]


OTHERS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
]
CALL = {"type": "function_call", "id": "fc_9", "call_id": "c1", "name": "look", "arguments": "{}", "status": "completed"}
SAID = {"type": "message", "id": "m_9", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "x", "annotations": []}]}  # fmt: skip


def test_other_items_of_a_response_stay_where_they_are() -> None:
    """Reasoning and the provider's own calls are given back in place; results follow the whole reply, and later items stay later."""
    items = [OTHERS[0], CALL, OTHERS[1], {**CALL, "id": "fc_8", "call_id": "c2"}, SAID]
    reply = RESPONSES.read({"output": items, "status": "completed"})
    results = RESPONSES.results(reply, [outcome(call) for call in reply.calls])
    user = {"role": "user", "content": "hi"}

    assert RESPONSES.stored(reply) == items
    assert [item["call_id"] for item in results] == ["c1", "c2"]
    history = [user, *items, results[1], user, results[0], SAID]
    at, open_reply, done = RESPONSES.open_calls([user, *items, results[1]]) or (0, reply, frozenset())
    assert (at, [call.id for call in open_reply.calls], done) == (1, ["c1", "c2"], frozenset({1}))
    closed = RESPONSES.close([user, *items, results[1], user], 1, reply, {0: outcome(reply.calls[0])})
    assert [item.get("call_id") for item in closed[6:]] == ["c1", "c2", None]
    assert len(RESPONSES.answered(history, fingerprint)) == 1


KINDS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "custom": ({"type": "custom_tool_call", "call_id": "c", "name": "look", "input": '{"n":1}'}, "look", {"output": "no"}),
    "shell": ({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}, "status": "completed"}, "shell", {"output": [{"stdout": "", "stderr": "no", "outcome": {"type": "exit", "exit_code": 1}}]}),
    "patch": ({"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}, "status": "completed"}, "apply_patch", {"status": "failed", "output": "no"}),
    "local shell": ({"type": "local_shell_call", "id": "ls_1", "call_id": "c", "action": {"type": "exec", "command": ["ls"], "env": {}}, "status": "completed"}, "local_shell", {"output": "no"}),
    "namespace": ({**CALL, "namespace": "crm"}, "crm.look", {"output": "no"}),
    "namespace of its own name": ({**CALL, "namespace": "look"}, "look", {"output": "no"}),
}  # fmt: skip


@pytest.mark.parametrize(("item", "tool", "told"), KINDS.values(), ids=KINDS)
def test_each_kind_of_call_is_answered_in_its_form(item: dict[str, Any], tool: str, told: dict[str, Any]) -> None:
    """No kind of call goes past the guard: each is a call of a named tool, and a refusal stands in the form that belongs to it."""
    reply = RESPONSES.read([OTHERS[0], item])
    [call] = reply.calls
    [result] = RESPONSES.results(reply, [outcome(call, "no", status="refused", reason=Reason.NOT_AUTHORIZED)])
    history = [{"role": "user", "content": "hi"}, *RESPONSES.stored(reply), result]

    assert call.tool == tool
    assert result["type"] == f"{item['type']}_output"
    assert told.items() <= result.items()
    legal("openai-responses", history)
    accepted("openai-responses", history)
    assert RESPONSES.open_calls(history) is None


def test_what_the_provider_ran_itself_is_no_call() -> None:
    """A shell call that comes with its output was run by the provider: nothing is asked of the host."""
    item = KINDS["shell"][0]
    ran = {
        "type": "shell_call_output",
        "call_id": "c",
        "output": [{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    }
    assert RESPONSES.read([item, ran, SAID]).calls == ()
    server = {"toolUse": {"toolUseId": "s", "name": "web", "input": {}, "type": "server_tool_use"}}
    assert BEDROCK.read({"role": "assistant", "content": [server, {"text": "x"}]}).calls == ()


@pytest.mark.parametrize("role", ["user", "function"])
def test_gemini_pairs_by_name_where_no_id_came(role: str) -> None:
    """Of results without ids each answers the first open call of its name; what lacks is closed in call order."""
    said = message("gemini", (None, "look", {"n": 1}), (None, "pay", {"n": 2}), (None, "look", {"n": 3}))
    reply = GEMINI.read(said)
    asked = GEMINI.user("hi")
    [whole] = GEMINI.results(reply, [outcome(call, call.tool) for call in reply.calls])
    half = {"role": role, "parts": [whole["parts"][1], {"text": "And now?"}]}

    assert all("id" not in part["functionResponse"] for part in whole["parts"])
    assert GEMINI.open_calls([asked, said, half]) is not None
    assert (GEMINI.open_calls([asked, said, half]) or (0, 0, 0))[2] == {1}
    closed = GEMINI.close([asked, said, half], 1, reply, {at: outcome(reply.calls[at], f"late {at}") for at in (0, 2)})
    legal("gemini", closed)
    told = [next(iter(part["functionResponse"]["response"].values())) for part in closed[2]["parts"][:3]]
    assert told == ["late 0", "pay", "late 2"]
    assert closed[2]["parts"][3] == {"text": "And now?"}


def test_gemini_keeps_signatures_in_their_part_in_every_form() -> None:
    """From JSON, from the SDK's objects and from their dumps: a signature comes back with the bytes that it came with, on its own part."""
    from google.genai import types

    part = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "AP8A_-8="}
    said = {
        "role": "model",
        "parts": [{"text": "hm", "thought": True}, part, {"functionCall": {"name": "look", "args": {"n": 2}}}],
    }
    content = types.Content.model_validate(said)
    response = types.GenerateContentResponse(candidates=[types.Candidate(content=content, finish_reason=types.FinishReason.STOP)])
    for form in (
        said,
        content,
        response,
        content.model_dump(),
        content.model_dump(exclude_none=True),
        content.model_dump(mode="json"),
    ):
        [stored] = GEMINI.stored(GEMINI.read(form))
        assert types.Content.model_validate(stored) == content
        assert json.loads(json.dumps(stored)) == stored
    assert not GEMINI.read(response).truncated


def test_bedrock_takes_bytes_and_saves_text() -> None:
    """Pictures and redacted thinking are bytes for the SDK, base64 text in a dump, and bytes again after a restart."""
    said = {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": b"\xff\x00"}}, {"toolUse": {"toolUseId": "t", "name": "shot", "input": {"bytes": "AAAA"}}}]}  # fmt: skip
    reply = BEDROCK.read({"output": {"message": said}, "stopReason": "tool_use"})
    results = BEDROCK.results(reply, [outcome(reply.calls[0], ("seen", Image(data="AAAA")))])
    history = [BEDROCK.user("hi"), *BEDROCK.stored(reply), *results]

    assert BEDROCK.stored(reply) == [said]
    assert results[0]["content"][0]["toolResult"]["content"][1]["image"]["source"] == {"bytes": b"\0\0\0"}
    saved = json.loads(json.dumps(BEDROCK.dump(history)))
    assert BEDROCK.close_all(saved, lambda _: {}) == history
    accepted("bedrock-converse", history)


def not_refused(name: str, other: str, read: Reply) -> NoReturn:
    pytest.fail(f"{name} takes a message of {other} as its own, {read.calls}: let its `read` refuse what only {other} has")


@every
def test_what_another_wire_says_is_refused(name: str) -> None:
    """A message of any other wire raises: its calls would go unseen otherwise."""
    others = [other for other in CLIENTS if other != name]
    for other in others:
        said = message(other, ("c1", "look", spelled(other, "{}")))
        with pytest.raises(WireError, match=r"expects|each content block"):
            not_refused(name, other, wire(name).read(said))


@every
def test_a_stored_reply_reads_as_it_was(name: str) -> None:
    """Reading what was stored gives the calls that were kept; storing that gives the same again."""
    odd = spelled(name, "{}")
    reply = wire(name).read(message(name, ("", "lo.ok", odd), ("", "look", odd), ("x", "a" * 200, odd)))
    again = wire(name).read(wire(name).joined(wire(name).stored(reply)))

    assert again.kept == reply.kept == again.calls
    assert wire(name).stored(again) == wire(name).stored(reply)
    assert len(set(stored_ids(name, wire(name).stored(reply)))) >= 2
