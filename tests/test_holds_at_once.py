"""Held calls in few transactions: what such a call draws is reserved with its question, and it is taken with its decision; and nothing else changes by that."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wire_helpers import message

from guard import Guard, PolicyWarning, Session
from guard.core import ports as p
from guard.errors import StoreError
from guard.runner import drivers

POLICY = """
tools:
  pay: {kind: action, allow: [staff], approve: {by: [boss]}, limits: [{calls: 2, per: 7d}]}
  try_: {kind: action, allow: [staff], approve: {by: [boss]}, limits: [{calls: 1, per: 7d, enforce: shadow}]}
"""
ANN, BOSS = Session(principal="u1", roles=("staff",)), Session(principal="b1", roles=("boss",))


class Apart:
    """A store that writes each step in a transaction of its own, as one with several writers does."""

    at_once = False

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Place:
    """A conversation, what ran, and the commands that the store was given."""

    def __init__(self, guard: Guard, ran: list[int]) -> None:
        self.guard, self.ran = guard, ran
        self.chat = guard.open(ANN, wire="openai-chat", conversation="c")
        self.said = [self.chat.user("go")]
        self.asked: list[str] = []

    def propose(self, n: int, tool: str = "pay") -> Any:
        """What becomes of a call."""
        turn = self.chat.handle(message("openai-chat", (f"c{n}", tool, f'{{"n": {n}}}')), history=self.said)
        self.said += turn.append
        return turn

    def records(self) -> list[dict[str, Any]]:
        """All records, oldest first."""
        return [json.loads(one.body) for one in self.guard.store.audit()]

    def kinds(self) -> list[str]:
        """Their kinds."""
        return [record["kind"] for record in self.records()]

    def drawn(self) -> int:
        """How much all calls hold of the budgets."""
        return self.guard.store._tables.read(  # type: ignore[attr-defined,no-any-return]
            lambda tables: sum(len(tables.draws(("default", "c"), (turn, 0), sums_only=False)) for turn in range(1, 9))
        )


@pytest.fixture(
    params=[(kind, apart) for kind in ("memory", "sqlite") for apart in (False, True)],
    ids=lambda one: f"{one[0]}-{'apart' if one[1] else 'at once'}",
)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Such a conversation on each store, once written at once and once step by step."""
    (tmp_path / "tools.yaml").write_text(POLICY)
    ran: list[int] = []

    def pay(n: int) -> int:
        ran.append(n)
        return n

    def try_(n: int) -> int:
        ran.append(n)
        return n

    kind, apart = request.param
    url = "memory://" if kind == "memory" else f"sqlite:///{tmp_path}/guard.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        guard = Guard.load(tmp_path, tools=[pay, try_], store=url)
    with guard:
        if apart:
            guard.store = guard.hands.store = Apart(guard.store)  # type: ignore[assignment]
        found = Place(guard, ran)
        perform = drivers.SyncRun._perform

        def noted(self: Any, command: p.Command[Any]) -> Any:
            found.asked.append(type(command).__name__)
            return perform(self, command)

        monkeypatch.setattr(drivers.SyncRun, "_perform", noted)
        yield found


def apart(place: Place) -> bool:
    """Whether it is written step by step."""
    return isinstance(place.guard.store, Apart)


def test_a_held_call_is_reserved_with_its_question_and_taken_with_its_decision(place: Place) -> None:
    """Two commands write while it is held, and three while it runs, each in one transaction; the records are the same as step by step."""
    [asked] = place.propose(1).pending
    assert place.asked == ["OpenTurn", "FindTwins", *(["TakeQuota"] if apart(place) else []), "Record"]
    assert place.drawn() == 1
    place.guard.approvals.approve(asked, approver=BOSS)
    place.asked.clear()
    assert "done" in str(place.chat.settled())
    writes = [name for name in place.asked if name in ("Record", "Claim", "Begin", "Finish")]
    assert writes == (["Record", "Claim", "Finish"] if apart(place) else ["Begin", "Finish"])
    assert (place.ran, place.drawn()) == ([1], 1)
    wanted = [
        "call.proposed",
        "approval.requested",
        "call.decided",
        "approval.resolved",
        "call.decided",
        "call.begin",
        "call.end",
    ]
    assert [kind for kind in place.kinds() if kind in wanted] == wanted


def test_a_held_call_that_has_no_room_asks_nobody(place: Place) -> None:
    """It is refused as a limit refuses, holds nothing, and no question is open or on record; the ones before it stay as they are."""
    asked = [place.propose(n).pending[0].id for n in (1, 2)]
    before = place.kinds().count("approval.requested")
    turn = place.propose(3)
    assert [(outcome.status, str(outcome.reason)) for outcome in turn.outcomes] == [("refused", "limit_reached")]
    assert (turn.pending, place.drawn()) == ((), 2)
    assert [one.id for one in place.guard.approvals.list()] == asked
    assert place.kinds().count("approval.requested") == before == 2


def test_a_shadow_limit_lets_it_be_asked_and_is_on_record(place: Place) -> None:
    """What a limit on trial would have refused is held all the same, once, and its decision says so."""
    turns = [place.propose(n, "try_") for n in (1, 2)]
    assert [turn.outcomes[0].status for turn in turns] == ["held", "held"]
    decided = [record for record in place.records() if record["kind"] == "call.decided"]
    assert [bool(record["decision"].get("shadow")) for record in decided] == [False, True]
    assert (place.kinds().count("approval.requested"), place.drawn()) == (2, 1)


def test_an_equal_call_that_was_asked_about_meanwhile_is_reserved_all_the_same(place: Place) -> None:
    """The question of another one stands in its place: it waits for that one."""
    [asked] = place.propose(1).pending
    [again] = place.propose(1).pending
    assert again.id == asked.id
    assert place.kinds().count("approval.requested") == 1


def test_what_may_have_been_taken_without_an_answer_does_not_run(place: Place) -> None:
    """The store's answer is lost behind its commit: nothing runs, and the ledger says in the end that nothing did."""
    [asked] = place.propose(1).pending
    place.guard.approvals.approve(asked, approver=BOSS)
    store = place.guard.hands.store

    class Lost:
        def __getattr__(self, name: str) -> Any:
            found = getattr(store, name)
            if name not in ("claim", "begin"):
                return found

            def lost(command: Any) -> Any:
                found(command)
                raise StoreError("the connection was lost", code="connection_lost")

            return lost

    place.guard.hands.store = Lost()  # type: ignore[assignment]
    told = str(place.chat.settled())
    place.guard.hands.store = store
    place.guard.hands.keeper.flush()
    assert "store_unavailable" in told
    assert place.ran == []
    [row] = place.guard.store.rows(place.chat.ref)
    assert row.status == "refused"
