"""A claim that was written although its answer was lost: the model was told that nothing ran, and nothing runs."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, url_of
from wire_helpers import message

from guard import Guard, PolicyWarning, Session
from guard.errors import StoreError
from guard.runner.worker import Worker

POLICY = """
tools:
  once: {kind: action, allow: [staff], approve: never}
  safe: {kind: action, allow: [staff], approve: never, effect: idempotent}
limits: {run: {calls: 50}}
"""
ANN = Session(principal="u1", roles=("staff",))


class Lost:
    """A store whose answer to the first claim is lost behind its commit."""

    def __init__(self, store: Any) -> None:
        self._store, self._lose = store, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def claim(self, command: Any) -> Any:
        answer = self._store.claim(command)
        if self._lose:
            self._lose = False
            raise StoreError("the connection was lost", code="connection_lost")
        return answer


@pytest.fixture(params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A guard on such a store, and what ran."""
    (tmp_path / "tools.yaml").write_text(POLICY)
    ran: list[str] = []

    def once(n: int) -> int:
        ran.append(f"once {n}")
        return n

    def safe(n: int, idempotency_key: str) -> int:
        ran.append(f"safe {n}")
        return n

    with url_of(request.param, tmp_path) as url, warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        guard = Guard.load(tmp_path, tools=[once, safe], store=url)
        guard.store = guard.hands.store = guard.hands.keeper._store = Lost(guard.store)
        yield guard, ran
        guard.close()


def settled(guard: Guard, chat: Any) -> str:
    """The status of the first call once the keeper has had its turn."""
    for _ in range(100):
        [row, *_] = guard.store.rows(chat.ref)
        if row.status != "started":
            break
        time.sleep(0.05)
    return row.status


@pytest.mark.parametrize("tool", ["once", "safe"])
def test_a_claim_whose_answer_was_lost_is_given_back(desk: Any, tool: str) -> None:
    """Refused with its cause, so in the ledger too; no resume, worker or repeat of the message runs it, and a new proposal does, once."""
    guard, ran = desk
    chat = guard.open(ANN, wire="openai-chat", conversation="c")
    history: list[Any] = [chat.user("go")]
    reply = message("openai-chat", ("c1", tool, '{"n": 1}'))
    turn = chat.handle(reply, history=history)
    assert [(one.status, one.reason) for one in turn.outcomes] == [("refused", "store_unavailable")]
    assert '"cause":"connection_lost"' in str(turn.outcomes[0].content)

    assert settled(guard, chat) == "refused"
    assert Worker(guard, lambda *_: ANN, grace=0.0).once() == []
    assert chat.resume([*history, reply])[-1]["tool_call_id"] == "c1"
    assert [one.status for one in chat.handle(reply, history=history).outcomes] == ["refused"]
    assert ran == []
    history += turn.append
    again = chat.handle(message("openai-chat", ("c2", tool, '{"n": 1}')), history=history)
    assert ([one.status for one in again.outcomes], ran) == (["done"], [f"{tool} 1"])
