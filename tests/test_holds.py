"""Holding a call: the question, the held row and the decision are one transaction, and whoever was faster with an equal question wins."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, event, records, url_of
from wire_helpers import message

from guard import Guard, PolicyWarning, Session
from guard.errors import StoreError

POLICY = """
tools:
  pay: {kind: action, allow: [staff], approve: {by: [boss]}}
  look: {kind: read, allow: [staff], approve: {by: [boss]}}
limits: {run: {calls: 50}}
"""
ANN = Session(principal="u1", roles=("staff",))


class Faster:
    """A store in which somebody else asks the same right before this caller writes its question down; `status`: and votes on it."""

    def __init__(self, store: Any) -> None:
        self._store, self.status, self.holds, self.fails, self.asks = store, "", 0, False, 0
        self.standing: list[tuple[str, ...]] = []  # the tools that are asked about, after each hold

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def ask(self, command: Any) -> Any:
        self.asks += 1
        return self._store.ask(command)

    def hold(self, command: Any) -> Any:
        self.holds += 1
        if self.status and self.holds == 1:
            theirs = replace(command.asks[0].proposal, id="ap_" + "0" * 20)
            asked = self._store.ask(replace(command.asks[0], proposal=theirs, opens=True))
            if self.status != "pending":
                self._store.vote(
                    asked.id, status=self.status, by="b1", reason=None, event=event("approval.vote"), roles=("boss",)
                )
        if self.fails:
            raise StoreError("down")
        found = self._store.hold(command)
        self.standing.append(tuple(one.tool for one in self._store.approvals(status="pending")))
        return found


@pytest.fixture(params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Guard, Any, list[int]]]:
    """A guard on such a store, that store, and what ran."""
    (tmp_path / "tools.yaml").write_text(POLICY)
    ran: list[int] = []

    def pay(n: int) -> int:
        ran.append(n)
        return n

    with url_of(request.param, tmp_path) as url, warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        with Guard.load(tmp_path, tools=[pay, look], store=url) as guard:
            store: Any = Faster(guard.store)
            guard.store = guard.hands.store = guard.hands.keeper._store = store
            yield guard, store, ran


def look(n: int) -> int:
    """Look something up."""
    return n


def proposed(guard: Guard, *calls: str) -> Any:
    """The turn of one reply with these calls."""
    return guard.open(ANN, wire="openai-chat", conversation="c").handle(
        message("openai-chat", *((f"c{at}", name, '{"n": 1}') for at, name in enumerate(calls)))
    )


@pytest.mark.parametrize(
    ("status", "told"),
    [("", "held"), ("pending", "held"), ("approved", "done"), ("rejected", "refused")],
    ids=lambda one: one or "-",
)
def test_an_equal_question_that_was_faster_is_the_one_that_counts(desk: Any, status: str, told: str) -> None:
    """One approval, one row that names it, one decision on record for what was told; an approved one runs, once."""
    guard, store, ran = desk
    store.status = status
    turn = proposed(guard, "pay")
    assert [one.status for one in turn.outcomes] == [told]
    [approval] = guard.approvals.list(status=None)
    [row] = guard.store.rows(guard.open(ANN, wire="openai-chat", conversation="c").ref)
    assert (row.status, row.approval) == (told, approval.id)
    assert (ran, store.holds) == ([1] if status == "approved" else [], 1)
    assert sum('"kind":"call.decided"' in one.body for one in records(guard.store)) == 1


def test_two_equal_lookups_of_a_turn_are_one_question(desk: Any) -> None:
    """The second one waits for the approval of the first."""
    guard, _, _ = desk
    turn = proposed(guard, "look", "look")
    assert [one.status for one in turn.outcomes] == ["held", "held"]
    assert len({one.approval for one in turn.outcomes}) == len(guard.approvals.list()) == 1


@pytest.mark.parametrize(("status", "told"), [("approved", "done"), ("rejected", "refused")], ids=["approved", "rejected"])
def test_what_was_faster_counts_for_every_call_that_shares_the_question(desk: Any, status: str, told: str) -> None:
    """Both look-ups hear the same of it."""
    guard, store, _ = desk
    store.status = status
    turn = proposed(guard, "look", "look")
    assert [one.status for one in turn.outcomes] == [told, told]


@pytest.mark.parametrize("status", ["pending", "approved", "rejected"])
def test_no_question_is_open_without_its_decision(desk: Any, status: str) -> None:
    """Somebody is faster with one question of a turn: the other one is opened with the decision to hold its call, not before; dying in between leaves none."""
    guard, store, ran = desk
    store.status = status
    turn = proposed(guard, "pay", "look")
    others = ("pay",) if status == "pending" else ()
    assert store.standing == [others, (*others, "look")]
    assert turn.outcomes[1].status == "held"
    assert [one.tool for one in guard.approvals.list(status=None)] == ["pay", "look"]
    assert sum('"kind":"call.decided"' in one.body for one in records(guard.store)) == 2
    assert ran == ([1] if status == "approved" else [])


def test_a_question_that_cannot_be_written_down_is_not_asked(desk: Any) -> None:
    """Refused; no approval, no row, no event of it; the next proposal asks."""
    guard, store, _ = desk
    store.fails = True
    assert [one.status for one in proposed(guard, "pay").outcomes] == ["refused"]
    assert guard.approvals.list(status=None) == ()
    assert not any('"kind":"approval.requested"' in one.body for one in records(guard.store))
    store.fails = False
    assert [one.status for one in proposed(guard, "pay").outcomes] == ["held"]


@pytest.mark.parametrize("answer", ["reject", "revoke"])
def test_a_new_call_is_asked_about_in_one_step_and_an_earlier_answer_counts_all_the_same(desk: Any, answer: str) -> None:
    """The store is asked nothing before the question is opened. What was told of an equal call of this run is found there: a no holds, a yes that was taken back does not."""
    guard, store, ran = desk
    chat, boss = guard.open(ANN, wire="openai-chat", conversation="c"), Session(principal="b1", roles=("boss",))
    [approval] = proposed(guard, "pay").pending
    assert (store.asks, store.holds) == (0, 1)
    if answer == "reject":
        guard.approvals.reject(approval, approver=boss)
    else:
        guard.approvals.approve(approval, approver=boss)
        guard.approvals.revoke(approval, by=boss, reason="a mistake")
    assert chat.settled()
    again = chat.handle(
        message("openai-chat", ("c9", "pay", '{"n": 1}')), history=[chat.user("and?")] if answer == "revoke" else None
    )
    [outcome] = again.outcomes
    assert outcome.status == ("refused" if answer == "reject" else "held")
    assert len(guard.approvals.list(status=None)) == (1 if answer == "reject" else 2)
    assert ran == []
