"""The public names as a host uses them: what the type checker must accept and know."""

from __future__ import annotations

from typing import assert_type

from guard import Approval, AsyncGuard, Guard, Outcome, Session, ToolCall, Turn


def plain() -> None:
    """The loop of a plain program."""
    guard = Guard.load("policies/", tools=[len], store="memory://")
    session = Session(principal="E1", roles=("employee",), attributes={"job_level": "P6"})
    chat = guard.open(session, wire="openai-chat", conversation="c1", held="suspend")
    turn = chat.handle({"role": "assistant", "content": "hi"}, history=[])
    assert_type(turn, Turn)
    assert_type(turn.pending, tuple[Approval, ...])
    assert_type(guard.call(ToolCall("1", "t", {}), session, conversation="c1"), Outcome)
    guard.open(session, wire="openai-chat", conversation="c1", held="later")  # type: ignore[arg-type]
    session.principal = "E2"  # type: ignore[misc]
    turn.outcomes[0].status = "done"  # type: ignore[misc]


async def awaited() -> None:
    """The loop of an asyncio program."""
    guard = AsyncGuard.load("policies/", tools=[len], store="memory://")
    session = Session(principal="E1")
    chat = guard.open(session, wire="anthropic", conversation="c1")
    assert_type(await chat.handle({"role": "assistant", "content": "hi"}), Turn)
    assert_type(await guard.call(ToolCall("1", "t", {}), session, conversation="c1"), Outcome)
    assert_type(await guard.approvals.list(), tuple[Approval, ...])
