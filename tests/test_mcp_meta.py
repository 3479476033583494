"""What stands beside a call and its result over MCP: which of a client's keys reach the server, which of the server's the client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_kit import MAIL, POLICY, run, said, talking

from guard.integrations.mcp.messages import NO_METHOD, VERSIONS
from guard.integrations.mcp.meta import cleared, of_client, passed
from guard.integrations.mcp.passing import Addresses, Mask
from guard.redactors import REDACTOR

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STATES = "dd=s:2;t.tid:66,acme@x=1"
ENTRY = "summary: {kind: read, allow: [user]}"


def test_the_place_in_a_trace_goes_on_to_the_server(tmp_path: Path) -> None:
    """Progress and trace context arrive as the client wrote them, and the trace stands in the call's records; baggage and keys that nobody knows do not."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            meta = {"progressToken": 5, "traceparent": PARENT, "tracestate": STATES, "baggage": "user=E9", "acme/user": "E9"}
            found = json.loads(said(await talk.call("mine", {"text": "x"}, _meta=meta)))
            assert found["_meta"] == {"progressToken": 5, "traceparent": PARENT, "tracestate": STATES}
            assert [one["trace"] for kind in ("call.proposed", "call.decided") for one in talk.records(kind)] == [PARENT, PARENT]

    run(go())


@pytest.mark.parametrize(
    ("meta", "passed"),
    [
        pytest.param({"traceparent": PARENT.upper()}, {}, id="capitals"),
        pytest.param({"traceparent": f"{PARENT}\n"}, {}, id="a line more"),
        pytest.param({"traceparent": f"{PARENT}-user"}, {}, id="words behind it"),
        pytest.param({"traceparent": f"00-{'0' * 32}-b7ad6b7169203331-01"}, {}, id="no trace"),
        pytest.param({"traceparent": f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01"}, {}, id="no parent"),
        pytest.param({"traceparent": "ff" + PARENT[2:]}, {}, id="a version that there is not"),
        pytest.param({"traceparent": [PARENT]}, {}, id="no text"),
        pytest.param({"tracestate": STATES}, {}, id="a state of no trace"),
        pytest.param({"traceparent": PARENT, "tracestate": "for my friend"}, {"traceparent": PARENT}, id="a state that talks"),
        pytest.param({"traceparent": PARENT, "tracestate": "a=" + "x" * 600}, {"traceparent": PARENT}, id="a state too long"),
        pytest.param({"progressToken": True, "traceparent": PARENT}, {"traceparent": PARENT}, id="a token that is none"),
        pytest.param("text", {}, id="no object"),
        pytest.param(None, {}, id="nothing"),
    ],
)
def test_what_is_not_surely_the_place_in_a_trace_stays_behind(meta: Any, passed: dict[str, Any]) -> None:
    """Only the exact form goes on; the call itself is judged all the same."""
    assert of_client({"name": "t", "_meta": meta}) == passed


BESIDE = {"progressToken": "p", "traceparent": PARENT, "baggage": "user=E9", "acme/token": "t-123456"}
"""What a client may write beside any message; the server gets the first two."""


@pytest.mark.parametrize(
    "method", ["resources/read", "resources/list", "prompts/list", "completion/complete", "logging/setLevel"]
)
def test_beside_no_other_request_more_goes_on(tmp_path: Path, method: str) -> None:
    """Resources, prompts and the like are not judged, and a client's keys stay behind there as well."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert "error" not in await talk.ask(method, {"uri": "demo://1", "_meta": BESIDE})
            [sent] = talk.seen(method)
            assert sent["params"] == {"uri": "demo://1", "_meta": {"progressToken": "p", "traceparent": PARENT}}
            talk.put({"method": "notifications/roots/list_changed", "params": {"_meta": {"acme/token": "t-123456"}}})
            await talk.until("notifications/roots/list_changed")
            assert "params" not in talk.seen("notifications/roots/list_changed")[0]

    run(go())


def test_a_clients_answer_brings_nothing_more_along(tmp_path: Path) -> None:
    """What it says to a question of the server goes on; what stands beside it does not."""

    async def go() -> None:
        async with talking(tmp_path, can={"sampling": {}}) as talk:
            talk.put({"id": 1, "method": "tools/call", "params": {"name": "sample", "arguments": {}}})
            asked = await talk.find(lambda one: one.get("method") == "sampling/createMessage")
            answer = {"role": "assistant", "content": {"type": "text", "text": "Kim"}, "model": "m"}
            talk.put({"id": asked["id"], "result": {**answer, "_meta": {"acme/token": "t-123456"}}})
            found = await talk.find(lambda one: one.get("id") == 1 and "result" in one)
            assert json.loads(said(found["result"]))["result"] == answer

    run(go())


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        pytest.param(
            {"contents": [], "_meta": {"acme/by": MAIL, "guard/status": "done"}},
            {"contents": [], "_meta": {"acme/by": "[email]"}},
            id="what it says in the guard's name",
        ),
        pytest.param({"contents": [], "_meta": MAIL}, {"contents": [], "_meta": "[email]"}, id="no object"),
        pytest.param({}, {}, id="nothing"),
        pytest.param(None, None, id="no result"),
    ],
)
def test_beside_a_result_that_nobody_judges_everything_is_hidden(result: Any, shown: Any) -> None:
    """And no server speaks there in the guard's name."""
    assert passed(result, Mask(REDACTOR.detect, Addresses())) == shown


@pytest.mark.parametrize(
    ("said_", "sent"),
    [
        (
            {"roots": [{"uri": "file:///a", "_meta": {"t": 1}}, {"uri": "file:///b"}]},
            {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]},
        ),
        (
            {"content": {"type": "text", "text": "x", "_meta": {"t": 1}}, "model": "m"},
            {"content": {"type": "text", "text": "x"}, "model": "m"},
        ),
        (
            {
                "content": [{"type": "resource", "resource": {"uri": "a:b", "_meta": {}}, "_meta": {}}],
                "_meta": {"progressToken": 3, "t": 1},
            },
            {"content": [{"type": "resource", "resource": {"uri": "a:b"}}], "_meta": {"progressToken": 3}},
        ),
        (
            {"content": [{"type": "tool_result", "content": [{"type": "text", "_meta": {}}]}]},
            {"content": [{"type": "tool_result", "content": [{"type": "text"}]}]},
        ),
        ({"name": "p", "arguments": {"_meta": "a text"}}, {"name": "p", "arguments": {"_meta": "a text"}}),
        ({"content": [[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]}, {"content": [[[[[[[[[[[[]]]]]]]]]]]]}),
    ],
    ids=["roots", "a block", "a resource in a block", "blocks in a block", "a field of that name", "nested too deeply"],
)
def test_nothing_stands_beside_the_parts_of_a_clients_message(said_: Any, sent: Any) -> None:
    """Blocks, resources and roots may each have a `_meta` by the protocol: the server gets none of it."""
    assert cleared(said_) == sent


@pytest.mark.parametrize("said_", [{"a": 1}, {}, None, [1], "text"])
def test_a_message_with_nothing_beside_it_is_left_as_it_is(said_: Any) -> None:
    """Whatever its form."""
    assert cleared(said_) is said_


def test_the_servers_own_keys_stand_beside_the_guards_with_everything_hidden(tmp_path: Path) -> None:
    """Names and values are redacted, and no server can speak in the guard's name."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            found = await talk.call("summary")
            assert found["_meta"] == {"acme/page": 2, "acme/owner": {"[email]": "[email]"}, "guard/status": "done"}
            assert (await talk.call("boom"))["_meta"] == {"guard/status": "failed", "guard/reason": "tool_failed"}

    run(go())


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(POLICY.replace(ENTRY, ENTRY[:-1] + ", trust: untrusted}"), id="untrusted"),
        pytest.param(POLICY.replace(ENTRY, ENTRY[:-1] + ", result: {keep: [id]}}"), id="fields"),
        pytest.param(POLICY.replace(ENTRY, ENTRY[:-1] + ", result: {max_bytes: 100}}"), id="no room"),
        pytest.param(POLICY.replace("limits: {", "limits: {conversation: {result_bytes: 900000}, "), id="a budget"),
    ],
)
def test_where_the_policy_says_what_a_result_may_hold_nothing_goes_beside_it(tmp_path: Path, policy: str) -> None:
    """A rule for fields, trust, a ceiling and a budget cannot be gone round by way of `_meta`."""

    async def go() -> None:
        assert policy != POLICY
        async with talking(tmp_path, policy=policy) as talk:
            assert (await talk.call("summary"))["_meta"] == {"guard/status": "done"}

    run(go())


def test_a_request_of_a_revision_that_is_not_spoken_runs_nothing(tmp_path: Path) -> None:
    """A client that knows only newer revisions is told so before anything runs; one that asks first falls back to `initialize`."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            newer = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
            for method, params in (("tools/call", {"name": "echo", "arguments": {"text": "x"}}), ("resources/list", {})):
                error = (await talk.ask(method, {**params, **newer}))["error"]
                assert error["code"] == -32022
                assert error["data"] == {"supported": list(VERSIONS), "requested": "2026-07-28"}
                assert talk.seen(method) == []
            assert (await talk.ask("server/discover", newer))["error"]["code"] == NO_METHOD
            same = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2025-11-25"}}
            assert not (await talk.call("echo", {"text": "x"}, **same))["isError"]

    run(go())
