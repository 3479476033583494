"""A guard whose tools have given bodies, for the tests of the drivers."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from wire_helpers import message

from guard import AsyncGuard, Guard, PolicyWarning, Session
from guard.core.ports import CallRow, Store

POLICY = """
tools:
  look: {kind: read, allow: [employee]}
  brief: {kind: read, allow: [employee], timeout: 60ms}
  act: {kind: action, allow: [employee], approve: never, repeat: allow}
  hurry: {kind: action, allow: [employee], approve: never, timeout: 60ms, repeat: allow}
  owned: {kind: read, allow: [employee], resource: {thing: n}}
limits:
  run: {calls: 500}
"""
NAMES = ("look", "brief", "act", "hurry", "owned")
SESSION = Session(principal="E1", roles=("employee",))
Body = Callable[[int], Any]


def load(
    kind: Any,
    folder: Path,
    *,
    store: str = "memory://",
    waits: bool = False,
    clock: Callable[[], float] | None = None,
    **bodies: Body,
) -> Any:
    """A guard whose tools have these bodies; one that is not given returns its number."""

    def tool(name: str) -> Body:
        body = bodies.get(name, lambda n: {"n": n})
        if waits:

            async def awaited(n: int = 0) -> Any:
                value = body(n)
                return await value if isinstance(value, Awaitable) else value

            return awaited

        def plain(n: int = 0) -> Any:
            return body(n)

        return plain

    (folder / "tools.yaml").write_text(POLICY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return kind.load(folder, tools={name: tool(name) for name in NAMES}, store=store, clock=clock)


def reply(*calls: tuple[str, int]) -> dict[str, Any]:
    return message("openai-chat", *((f"c{i}", name, f'{{"n": {n}}}') for i, (name, n) in enumerate(calls)))


def handle(guard: Any, *calls: tuple[str, int]) -> Any:
    """Handle a reply with these calls in a plain or an asyncio program."""
    chat = guard.open(SESSION, wire="openai-chat", conversation="c")
    if isinstance(guard, Guard):
        return chat.handle(reply(*calls))
    return asyncio.run(chat.handle(reply(*calls)))


def rows(store: Store, guard: Any) -> list[CallRow]:
    chat = guard.open(SESSION, wire="openai-chat", conversation="c")
    return list(store.rows(chat.ref))


def raising(error: BaseException) -> Body:
    def body(n: int) -> Any:
        raise error

    return body


def found(turn: Any) -> list[tuple[str, Any]]:
    return [(outcome.status, outcome.reason) for outcome in turn.outcomes]


guards = pytest.mark.parametrize(
    ("kind", "waits"),
    [
        pytest.param(Guard, False, id="sync"),
        pytest.param(AsyncGuard, False, id="async, plain tools"),
        pytest.param(AsyncGuard, True, id="async, async tools"),
    ],
)
