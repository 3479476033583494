"""`@guarded`: a host's own function, called directly, walks the whole path in the conversation that it is given."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from guard import AsyncGuard, Guard, Session
from guard.core.reasons import Reason
from guard.errors import GuardError
from guard.integrations.decorator import guarded

POLICY = """
tools:
  refund:
    kind: action
    allow: [customer]
    bind: {customer_id: session.principal}
    approve: [{when: {amount: {maximum: 50}}, by: self}, {by: [support]}]
  look: {kind: read, allow: [customer], bind: {customer_id: session.principal}}
  crm.note: {kind: action, allow: [customer], approve: never}
limits: {run: {calls: 20}}
"""
ANN = Session(principal="E1", roles=("customer",))
RAN: list[Any] = []


@guarded
def refund(order_id: str, amount: float, customer_id: str) -> dict[str, Any]:
    """Pay money back."""
    RAN.append((order_id, amount, customer_id))
    return {"refund_id": "R-1"}


@guarded
async def look(customer_id: str, n: int = 0) -> dict[str, Any]:
    """Look something up."""
    return {"mail": "ann@example.com", "of": customer_id, "n": n}


@guarded(name="crm.note")
def note(text: str) -> str:
    """Write something down."""
    RAN.append(text)
    return text


@pytest.fixture(autouse=True)
def _fresh() -> None:
    RAN.clear()


def loaded(path: Path, kind: Any, tools: Any, *leave: str) -> Any:
    kept = [line for line in POLICY.splitlines() if not any(name in line for name in leave)]
    (path / "tools.yaml").write_text("\n".join(kept))
    return kind.load(path, tools=tools, store="memory://")


def test_a_plain_call_walks_the_whole_path(tmp_path: Path) -> None:
    """The session's field is filled in, a person is asked, and the same call afterwards runs once."""
    with loaded(tmp_path, Guard, {"refund": refund, "crm.note": note}, "look") as guard:
        chat = guard.open(ANN, wire="openai-chat", conversation="c")
        first = refund(chat, order_id="A17", amount=20.0, customer_id="E9")
        assert (first.status, first.reason, RAN) == ("held", Reason.HELD_FOR_APPROVAL, [])
        guard.approvals.approve(first.approval, approver=ANN)
        assert refund(chat, order_id="A17", amount=20.0).status == "done"
        assert refund(chat, order_id="A17", amount=20.0).replayed
        assert RAN == [("A17", 20.0, "E1")]
        assert note(chat, text="x").content == "x"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"order_id": "A17", "amount": "20"}, Reason.INVALID_ARGUMENTS),
        ({"order_id": "A17", "amount": 20, "more": 1}, Reason.INVALID_ARGUMENTS),
        ({"order_id": object(), "amount": 20}, Reason.MALFORMED_ARGUMENTS),
    ],
    ids=["type", "unknown", "no JSON"],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, arguments: dict[str, Any], reason: Reason) -> None:
    """As for a model's call: a value, not an exception."""
    with loaded(tmp_path, Guard, {"refund": refund, "crm.note": note}, "look") as guard:
        found = refund(guard.open(ANN, wire="anthropic", conversation="c"), **arguments)
    assert (found.status, found.reason, RAN) == ("refused", reason, [])


def test_sync_and_async_functions_are_awaited_in_an_async_guard(tmp_path: Path) -> None:
    """One decorator for both; the result is redacted."""

    async def go() -> None:
        guard = loaded(tmp_path, AsyncGuard, [look, refund, {"crm.note": note}])
        chat = guard.open(ANN, wire="openai-chat", conversation="c")
        found = await look(chat, n=2)
        assert json.loads(str(found.content)) == {"mail": "[email]", "of": "E1", "n": 2}
        assert (await note(chat, text="y")).content == "y"
        both = await asyncio.gather(note(chat, text="z"), note(chat, text="z"))
        assert [one.status for one in both] == ["done", "done"]
        guard.close()

    asyncio.run(go())
    assert RAN == ["y", "z"]


def test_a_child_conversation_is_narrower(tmp_path: Path) -> None:
    """A sub-agent's conversation offers only what it was given, and keeps the person."""
    with loaded(tmp_path, Guard, {"refund": refund, "crm.note": note}, "look") as guard:
        child = guard.open(ANN, wire="openai-chat", conversation="c").child(tools=["crm.note"])
        assert refund(child, order_id="A17", amount=1.0).reason == Reason.NOT_OFFERED
        assert note(child, text="t").status == "done"
        other = guard.open(Session(principal="E2"), wire="openai-chat", conversation="d")
        assert refund(other, order_id="A17", amount=1.0).reason == Reason.NOT_AUTHORIZED


@pytest.mark.parametrize("given", [(), (ANN,), ("A17",), (None, 1)], ids=["none", "a session", "an argument", "two"])
def test_a_call_without_a_conversation_runs_nothing(given: Any) -> None:
    """No session is taken from anywhere else, so this is a mistake of the program, which the error says how to mend."""
    with pytest.raises(GuardError, match=r"call it as refund\(chat, argument=…\)"):
        refund(*given, order_id="A17", amount=1.0, customer_id="E1")
    assert RAN == []
