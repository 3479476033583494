"""The contract of every store: the claim, which takes a call once and spends its approval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from steps_kit import metered
from stores_kit import (
    CHILD,
    NEXT,
    REF,
    STORES,
    Clock,
    ask,
    claim,
    event,
    key,
    kinds,
    outcome,
    row,
    vote,
)

from guard.core.model import ConversationRef
from guard.core.ports import Conflict, FindTwins, InDoubt, Replay, Store, Won
from guard.core.reasons import Reason
from guard.errors import StoreError


def test_a_claim_is_won_once(store: Store, clock: Clock) -> None:
    """The first takes the call with its event and time; then it is in doubt; after its outcome it is a replay of that."""
    assert store.claim(claim()) == Won(at=clock.now)
    assert kinds(store) == ["call.begin"]
    second = store.claim(claim())
    assert isinstance(second, InDoubt)
    assert (second.row.status, second.row.at) == ("started", clock.now)
    store.record([row(value=1, outcome=outcome())], [event("call.end")])
    third = store.claim(claim())
    assert isinstance(third, Replay)
    assert third.row.outcome == outcome()
    assert kinds(store) == ["call.begin", "call.end"]


KNOWN = [
    pytest.param({"status": "done"}, {}, Replay, id="same-key-done"),
    pytest.param({"status": "failed"}, {}, Replay, id="same-key-failed"),
    pytest.param({"status": "started"}, {}, InDoubt, id="same-key-started"),
    pytest.param({"status": "unknown"}, {}, InDoubt, id="same-key-unknown"),
    pytest.param({"status": "held"}, {}, Won, id="same-key-held"),
    pytest.param({"status": "allowed"}, {}, Won, id="same-key-allowed"),
    pytest.param({"status": "refused"}, {}, Won, id="same-key-refused-and-never-taken"),
    pytest.param({"status": "refused", "fingerprint": ""}, {}, Won, id="same-key-without-content"),
    pytest.param({"status": "done", "fingerprint": "g"}, {}, Conflict, id="same-key-other-content-done"),
    pytest.param({"status": "held", "fingerprint": "g"}, {}, Conflict, id="same-key-other-content-held"),
    pytest.param({"status": "started", "at": key(1, 1)}, {}, InDoubt, id="twin-started"),
    pytest.param({"status": "unknown", "at": key(1, 1)}, {"run": 5}, InDoubt, id="twin-unknown-in-an-earlier-run"),
    pytest.param({"status": "unknown", "at": key(1, 1)}, {"repeat": True}, InDoubt, id="twin-unknown-and-repeatable"),
    pytest.param({"status": "done", "at": key(1, 1)}, {}, Replay, id="twin-done-in-this-run"),
    pytest.param({"status": "done", "at": key(9, 1, CHILD)}, {}, Replay, id="twin-done-in-a-child"),
    pytest.param({"status": "done", "at": key(1, 1)}, {"run": 1}, Won, id="twin-done-before-the-user-spoke"),
    pytest.param({"status": "done", "at": key(1, 1)}, {"repeat": True}, Won, id="twin-done-and-repeatable"),
    pytest.param({"status": "failed", "at": key(1, 1)}, {}, Won, id="twin-failed"),
    pytest.param({"status": "held", "at": key(1, 1)}, {}, Won, id="twin-held"),
    pytest.param({"status": "alias", "at": key(1, 1)}, {}, Won, id="twin-alias"),
    pytest.param({"status": "started", "at": key(ref=NEXT)}, {}, Won, id="twin-in-another-conversation"),
    pytest.param({"status": "started", "at": key(1, 1), "mark": "g"}, {}, Won, id="another-call-started"),
    pytest.param(
        {"status": "started", "at": key(1, 1), "fingerprint": "g"}, {}, InDoubt, id="twin-started-of-another-definition"
    ),
    pytest.param(
        {"status": "unknown", "at": key(1, 1), "fingerprint": "g"}, {"run": 5}, InDoubt, id="twin-unknown-of-another-definition"
    ),
    pytest.param({"status": "done", "at": key(1, 1), "fingerprint": "g"}, {}, Replay, id="twin-done-of-another-definition"),
    pytest.param({"status": "started", "at": key(1, 1), "mark": ""}, {"mark": ""}, Won, id="no-mark-no-twin"),
]


@pytest.mark.parametrize(("known", "asked", "answer"), KNOWN)
def test_what_a_claim_finds(store: Store, known: dict, asked: dict, answer: type) -> None:
    """Same key: by its status, other content is a conflict. Same content elsewhere: in doubt, or done in this run and not repeatable."""
    store.record([row(**known)], [])
    found = store.claim(claim(**asked))
    assert type(found) is answer
    if isinstance(found, Replay | InDoubt):
        assert (found.row.status, found.row.key) == (known["status"], known.get("at", key()))
    assert kinds(store) == (["call.begin"] if answer is Won else [])


def test_a_call_that_could_not_start_is_not_taken_twice(store: Store) -> None:
    """Its recorded refusal is the answer from then on; an equal call at another place may run."""
    won = store.claim(claim())
    assert isinstance(won, Won)
    stopped = outcome(status="refused", reason=Reason.INTERRUPTED)
    store.record([replace(row("refused", outcome=stopped), at=won.at)], [])
    again = store.claim(claim())
    assert isinstance(again, Replay)
    assert again.row.outcome == stopped
    assert isinstance(store.claim(claim(key(2))), Won)


def test_a_claim_spends_its_approval(store: Store) -> None:
    """The approval is consumed in the claim, and no second claim, by whatever key, can use it."""
    ask(store)
    vote(store)
    assert isinstance(store.claim(claim(approval="a1")), Won)
    assert store.approval("a1").status == "consumed"
    store.record([row("failed")], [])
    answer = store.claim(claim(key(2), "a1"))
    assert isinstance(answer, Conflict)
    assert answer.approval
    assert store.rows(REF, turn=2) == ()


WRONG = [
    pytest.param(lambda store: None, "no such approval", id="missing"),
    pytest.param(ask, "pending", id="pending"),
    pytest.param(lambda store: (ask(store), vote(store, status="rejected")), "rejected", id="rejected"),
    pytest.param(lambda store: (ask(store, fingerprint="g"), vote(store)), "other content", id="other-fingerprint"),
    pytest.param(lambda store: (ask(store, at=key(ref=NEXT)), vote(store)), "another conversation", id="other-conversation"),
    pytest.param(
        lambda store: (ask(store, at=key(ref=replace(REF, tenant="globex"))), vote(store)), "another conversation", id="other-tenant"
    ),
    pytest.param(
        lambda store: (ask(store), vote(store), ask(store, "a2", fingerprint="g")), "another approval", id="a-second-record-for-the-call"
    ),
    pytest.param(
        lambda store: (ask(store, at=key(5)), vote(store), ask(store, "a2", fingerprint="g", at=key(5))), "another approval",
        id="a-second-record-for-the-approved-call",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "why"), WRONG)
def test_an_approval_that_does_not_fit_is_not_spent(store: Store, before, why: str) -> None:
    """It must exist, be approved, for this content, in this tenant and conversation, and the only one open for the call."""
    before(store)
    status = [one.status for one in store.approvals() if one.id == "a1"]
    answer = store.claim(claim(approval="a1"))
    assert isinstance(answer, Conflict)
    assert answer.approval
    assert why in answer.why
    assert store.rows(REF) == ()
    assert [one.status for one in store.approvals() if one.id == "a1"] == status
    assert "call.begin" not in kinds(store)


def test_the_second_record_stops_counting_when_it_ends(store: Store, clock: Clock) -> None:
    """A second record for the same call blocks the claim only while it is open."""
    ask(store, window=200)
    ask(store, "a2", fingerprint="g")
    vote(store)
    clock.now += 150
    assert isinstance(store.claim(claim(approval="a1")), Won)
    assert [one.status for one in store.approvals()] == ["consumed", "expired"]


def test_a_claim_whose_record_cannot_be_written_changes_nothing(store: Store, clock: Clock) -> None:
    """No record, no action: the call is not taken, the approval not spent, and the next claim wins."""
    ask(store)
    vote(store)
    with pytest.raises(StoreError):
        store.claim(replace(claim(approval="a1"), event=event(x=object())))
    assert store.rows(REF) == ()
    assert store.approval("a1").status == "approved"
    assert store.claim(claim(approval="a1")) == Won(at=clock.now)


def test_only_the_one_who_took_a_call_can_say_that_it_did_not_start(store: Store) -> None:
    """A second walk of the same call that was interrupted before its claim does not end the first one's call."""
    won = store.claim(claim())
    assert isinstance(won, Won)
    stopped = outcome(status="refused", reason=Reason.INTERRUPTED)

    store.record([replace(row("refused", outcome=stopped), at=won.at + 1)], [])

    assert [one.status for one in store.rows(REF)] == ["started"]


@pytest.mark.parametrize("kind", STORES)
def test_many_equal_calls_cost_no_more_than_few(kind: str, tmp_path: Path, clock: Clock) -> None:
    """Finding the newest equal call does not look at the older ones: forty times as many cost about the same."""
    with metered(kind, tmp_path, clock) as meter:

        def cost(number: int, ref: ConversationRef) -> int:
            for run in range(number):
                meter.store.record([row("done" if run % 2 else "refused", key(run + 1, ref=ref), run=run)], [])

            def looks(store: Store) -> None:
                for _ in range(20):
                    store.find_twins(FindTwins(ref=ref, marks=("f",)))
                    store.claim(claim(key(1, ref=ref), run=1))

            return meter.steps(looks)

        assert cost(2000, NEXT) < 2 * cost(50, REF)
