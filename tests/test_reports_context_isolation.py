"""Reported failures: identity that is read from where another person's call left it."""

from __future__ import annotations

import asyncio
import contextvars
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, U1, U2, Desk, codes, error, outcome, start, states, write
from wire_helpers import message

from guard import AsyncGuard, ConversationError, GuardError, PolicyWarning, Session, ToolCall

OWN = """
    tools:
      a: {kind: read, allow: [staff], bind: {user_id: session.principal}EXTRA}
      b: {kind: read, allow: [staff], bind: {user_id: session.principal}EXTRA}
      act: {kind: action, allow: [staff], approve: never, bind: {user_id: session.principal}EXTRA}
"""
AMBIENT: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


def me(user_id: str, n: int = 0) -> str:
    return f"{user_id} {n}"


def act(user_id: str, n: int = 0) -> str:
    return f"{user_id} {n}"


TOOLS = {"a": me, "b": me, "act": act}
THREAD = pytest.mark.parametrize("extra", ["", ", timeout: 5s"], ids=["inline", "in-a-thread"])


@EVERY
@THREAD
def test_a_connection_that_somebody_else_opened_br_229(tmp_path: Path, wire: str, extra: str) -> None:
    """Each call carries its own session's value, whoever opened a shared resource and whatever is ambient then."""
    opened: list[str] = []

    def rows(user_id: str, token: str) -> str:
        if not opened:
            opened.append(user_id)
        return f"{user_id} {token}"

    policy = f"tools: {{rows: {{kind: read, allow: [staff], bind: {{user_id: session.principal, token: session.token}}{extra}}}}}"
    one = Session(principal="u1", roles=("staff",), attributes={"token": "t-1"})
    two = Session(principal="u2", roles=("staff",), attributes={"token": "t-2"})
    desk = start(tmp_path, wire, policy, {"rows": rows}, session=one)
    AMBIENT.set("u1")
    desk.propose(("c1", "rows", {}))
    other = desk.guard.open(two, wire=wire, conversation="conv-2")
    turn = other.handle(message(wire, ("c1", "rows", desk._spelled({}))), history=[])
    assert turn.outcomes[0].content == "u2 t-2"
    assert desk.result("c1") == "u1 t-1"
    assert opened == ["u1"]
    desk.closed()


@EVERY
@THREAD
@pytest.mark.parametrize("count", [1, 2, 50])
def test_identity_does_not_depend_on_where_a_tool_runs_br_231_232(tmp_path: Path, wire: str, extra: str, count: int) -> None:
    """Inline or in a thread, alone or among fifty, every call gets its session's person."""
    desk = start(tmp_path, wire, OWN.replace("EXTRA", extra), TOOLS)
    names = ("a", "b", "act")
    turn = desk.propose(*((f"c{number}", names[number % 3], {"n": number}) for number in range(count)))
    assert states(turn) == ["done"] * count
    assert {arguments["user_id"] for _, arguments in desk.ran} == {"u1"}
    assert [one.content for one in turn.outcomes] == [f"u1 {number}" for number in range(count)]
    desk.closed()


@EVERY
@pytest.mark.parametrize("session", [None, "u1", {"principal": "u1", "roles": ["staff"]}])
def test_no_session_no_call_br_231b(tmp_path: Path, wire: str, session: Any) -> None:
    """Without a session nothing can be opened or called: there is no default person."""
    desk = start(tmp_path, wire, OWN.replace("EXTRA", ""), TOOLS)
    with pytest.raises(GuardError):
        desk.guard.open(session, wire=wire, conversation="x")
    with pytest.raises(GuardError):
        desk.guard.call(ToolCall("c1", "a", {}), session, conversation="x")
    wrong = [
        {"principal": ""},
        {"principal": None},
        {"tenant": ""},
        {"tenant": None},
        {"roles": "staff"},
        {"roles": (1,)},
        {"roles": None},
    ]
    for fields in wrong:
        with pytest.raises(ValueError, match=r"principal|tenant|roles"):
            Session(**{"principal": "u1", **fields})  # type: ignore[arg-type]
    assert not desk.ran
    desk.closed()


@EVERY
@THREAD
def test_a_warm_thread_serves_the_next_person_br_233(tmp_path: Path, wire: str, extra: str) -> None:
    """One worker thread serves two persons in turn and many at once; each call runs as its own person."""
    desk = start(tmp_path, wire, OWN.replace("EXTRA", extra), TOOLS, store="sqlite")

    def serve(number: int) -> tuple[str, str]:
        session = (U1, U2)[number % 2]
        chat = desk.guard.open(session, wire=wire, conversation=f"of-{session.principal}-{number}")
        turn = chat.handle(message(wire, ("c1", "act", desk._spelled({"n": number}))), history=[])
        return session.principal, str(turn.outcomes[0].content)

    for workers in (1, 8):
        with ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(serve, range(workers * 100, workers * 100 + 12)))
        assert all(content.startswith(f"{name} ") for name, content in found)
    desk.closed()


@EVERY
def test_nobody_gets_anothers_recorded_result_br_234(tmp_path: Path, wire: str) -> None:
    """An equal call of another person is another call: run, authorized, redacted and recorded as that person's."""
    policy = OWN.replace("EXTRA", ", result: {keep: [of]}")
    tools = {name: (lambda user_id, n=0: {"of": user_id, "iban": "FAKE"}) for name in TOOLS}
    desk = start(tmp_path, wire, policy, tools, store="sqlite")
    for session in (U1, U2):
        for key in ("k", None):
            one = desk.guard.call(ToolCall("c1", "act", {}), session, conversation=f"of-{session.principal}", key=key)
            assert one.content == f'{{"of":"{session.principal}"}}'
    again = desk.guard.call(ToolCall("c1", "act", {}), U1, conversation="of-u1", key="k")
    assert again.replayed
    assert "FAKE" not in str(again.content)
    assert [arguments["user_id"] for _, arguments in desk.ran].count("u2") >= 1
    assert {event["principal"] for event in desk.audit("call.end")} == {"u1", "u2"}
    desk.closed()


@EVERY
def test_a_conversation_belongs_to_one_person_br_234b(tmp_path: Path, wire: str) -> None:
    """Opening or calling into another person's conversation is refused, so its results cannot be had through it."""
    desk = start(tmp_path, wire, OWN.replace("EXTRA", ""), TOOLS, store="sqlite")
    desk.propose(("c1", "act", {"n": 1}))
    with pytest.raises(ConversationError):
        desk.guard.open(U2, wire=wire, conversation="conv-1")
    one = desk.guard.call(ToolCall("c1", "act", {"n": 1}), U2, conversation="conv-1")
    assert (one.status, str(one.reason)) == ("refused", "not_owner")
    assert "u1 1" not in str(one.content)
    elsewhere = Session(principal="u2", roles=("staff",), tenant="other")
    assert desk.guard.call(ToolCall("c1", "act", {"n": 1}), elsewhere, conversation="conv-1").content == "u2 1"
    desk.closed()


SUB = """
    tools:
      mail: {kind: action, allow: [staff], approve: {by: [boss]}}
      task: {kind: action, allow: [staff], approve: never, repeat: allow}
    limits: {conversation: {calls: 3}}
"""


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_gated_tool_inside_a_sub_agent_br_236(tmp_path: Path, wire: str, store: str) -> None:
    """A sub-agent's gated call is held under the same conversation, and runs once after a person's yes, never for lack of a store."""
    inner: list[Any] = []

    def task(do: str) -> str:
        child = inner[0].chat.child(tools=["mail"])
        turn = child.handle(message(wire, ("m1", "mail", inner[0]._spelled({"to": "a@example.com"}))), history=[])
        inner.extend([child, turn])
        return str(turn.outcomes[0].status)

    desk = start(tmp_path, wire, SUB, {"mail": lambda to: "sent", "task": task}, store=store)
    inner.append(desk)
    turn = desk.propose(("c1", "task", {"do": "mail a@example.com"}))
    assert desk.result("c1") == "held"
    (approval,) = desk.pending()
    assert (approval.tool, approval.conversation, approval.requester) == ("mail", "conv-1", "u1")
    assert desk.times("mail") == 0
    desk.approve(inner[2], "m1")
    assert "sent" in str(inner[1].settled())
    assert desk.times("mail") == 1
    assert states(turn) == ["done"]
    desk.seen.append(inner[2])
    desk.closed()


@EVERY
def test_a_sub_agent_is_never_wider_br_236b(tmp_path: Path, wire: str) -> None:
    """A child has at most its parent's roles, tools and budget."""
    policy = SUB.replace("approve: never, repeat: allow", "approve: never")
    desk = start(tmp_path, wire, policy, {"mail": lambda to: "sent", "task": lambda do: "ok"})
    for wider in ({"roles": ["boss"]}, {"tools": ["wipe"]}):
        with pytest.raises(ConversationError):
            desk.chat.child(**wider)
    child = desk.chat.child(tools=["task"])
    turn = desk.propose(("c1", "mail", {"to": "a@example.com"}), ("c2", "task", {"do": "x"}), chat=child)
    assert codes(turn) == ["not_offered", None]
    bare = desk.chat.child(roles=[])
    assert codes(desk.propose(("c1", "task", {"do": "y"}), chat=bare)) == ["not_authorized"]
    assert not bare.tools
    assert states(desk.propose(*((f"c{n}", "task", {"do": str(n)}) for n in range(3)))) == ["done", "done", "refused"]
    desk.closed()


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_budget_does_not_hang_on_a_connection_br_238(tmp_path: Path, wire: str, store: str) -> None:
    """However often the same conversation is opened anew, its budget and its approvals stay the same ones."""
    policy = """
        tools: {a: {kind: read, allow: [staff]}, pay: {kind: action, allow: [staff], approve: {by: [boss]}}}
        limits: {conversation: {calls: 3}}
    """
    desk = start(tmp_path, wire, policy, {"a": lambda: "A", "pay": lambda: "paid"}, store=store)
    found = []
    for _ in range(4):
        desk.chat = desk.guard.open(U1, wire=wire, conversation="conv-1")
        turn = desk.propose(("c1", "a", {}))
        found += states(turn)
    assert found == ["done", "done", "done", "refused"]
    assert error(outcome(turn, "c1"))["code"] == "limit_reached"
    desk.closed()


@EVERY
def test_many_tasks_of_one_loop_br_229b(tmp_path: Path, wire: str) -> None:
    """In one event loop, with sync and async tools together, every person's calls stay that person's."""
    desk = Desk(wire=wire, store="memory", clock=lambda: 0.0)  # type: ignore[arg-type]

    async def slow(user_id: str, n: int = 0) -> str:
        await asyncio.sleep(0)
        return f"{user_id} {n}"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        guard = AsyncGuard.load(
            write(tmp_path, OWN.replace("EXTRA", "")), tools={"a": slow, "b": me, "act": slow}, store="memory://"
        )

    async def one(number: int) -> list[bool]:
        name = f"u{number % 3}"
        chat = guard.open(Session(principal=name, roles=("staff",)), wire=wire, conversation=f"c-{number}")
        calls = [(f"c{at}", tool, desk._spelled({"n": number})) for at, tool in enumerate(("a", "b", "act"))]
        turn = await chat.handle(message(wire, *calls), history=[])
        return [f"{name} {number}" == found.content for found in turn.outcomes]

    async def everybody() -> list[list[bool]]:
        AMBIENT.set("u0")
        return await asyncio.gather(*(one(number) for number in range(30)))

    assert asyncio.run(everybody()) == [[True] * 3] * 30
