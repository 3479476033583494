"""Held calls in few transactions: what such a call draws is reserved with its question, and it is taken with its decision; and nothing else changes by that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from holds_kit import BOSS, IDS, KINDS, Apart, Place, a_place

from guard.errors import StoreError


@pytest.fixture(params=KINDS, ids=IDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Such a conversation on each store, once written at once and once step by step."""
    yield from a_place(request, tmp_path, monkeypatch)


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


def test_a_limit_that_is_reached_is_told_before_a_target_in_doubt(place: Place) -> None:
    """The limit stands before it on the path, wherever it is reserved; where there is room the target is told, and nothing stays drawn."""
    place.approved(1, "send", to="a")
    assert "outcome_unknown" in str(place.chat.settled())
    assert place.drawn() == 1
    refused = place.propose(2, "send", to="a").outcomes
    assert [(one.status, str(one.reason)) for one in refused] == [("refused", "limit_reached")]
    place.approved(3, "free", to="b")
    assert "outcome_unknown" in str(place.chat.settled())
    drawn = place.drawn()
    refused = place.propose(4, "free", to="b").outcomes
    assert [(one.status, str(one.reason)) for one in refused] == [("refused", "earlier_unknown")]
    assert place.drawn() == drawn


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
