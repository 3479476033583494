"""Votes: who may, how many must, until when, and what becomes of an approval otherwise. On every store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from votes_kit import ANN, BOSS, BOSSES, CHIEF, LASTING, OTHER, STRANGER, Office, code, office, replayed

from guard import Session
from guard.core.approval import Seen


@pytest.fixture(params=LASTING)
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    """Two people must say yes, within an hour, and use it within a quarter of one; after half an hour a chief may decide as well."""
    more = ", need: 2, expires: 1h, use_within: 15m, escalate: {after: 30m, to: [chief]}"
    with office(tmp_path, request.param, more) as made:
        yield made


def test_two_different_people_must_say_yes(two: Office) -> None:
    """The first yes decides nothing, the same person's second one does not count, the second person's does; both are kept as they were given."""
    asked = two.ask()
    after = two.approvals.approve(asked.id, approver=BOSS, seen=two.seen(asked), reason="fine")
    assert (after.status, two.settle(), two.ran) == ("pending", "[]", [])
    assert code(two.approvals.approve, asked.id, approver=BOSS) == "voted"
    two.restart()
    assert two.approvals.view(asked, OTHER).needs == 1
    after = two.approvals.approve(asked.id, approver=OTHER, seen=two.seen(asked, OTHER), via="api", assurance="token")
    assert after == two.approvals.show(asked.id)
    told = [(one.number, one.by, one.roles, one.via, one.assurance, one.reason) for one in after.votes]
    assert told == [
        (1, "b0", ("boss",), "program", "host", "fine"),
        (2, "b1", ("boss",), "api", "token", None),
    ]
    assert {(one.revision, one.fingerprint, one.presented) for one in after.votes} == {
        (1, asked.fingerprint, two.approvals.view(asked, OTHER).presented)
    }
    two.settle()
    assert two.ran == [{"amount": 100, "to": "Bob", "account": "A-1", "note": ""}]


def test_one_no_rejects_whatever_others_said(two: Office) -> None:
    """A yes before it changes nothing, and a vote behind it is told who decided and when."""
    asked = two.ask()
    two.approvals.approve(asked.id, approver=BOSS)
    assert two.approvals.reject(asked.id, approver=OTHER, reason="no").status == "rejected"
    with pytest.raises(Exception, match="already rejected by b1 at 2027") as caught:
        two.approvals.approve(asked.id, approver=BOSSES[2])
    assert caught.value.code == "already_decided"  # type: ignore[attr-defined]
    assert "approval_rejected" in two.settle()
    assert not two.ran


def test_the_reason_is_for_the_model_and_the_note_is_not(two: Office) -> None:
    """The model reads the reason; the note stands in the stored vote alone, and on record only as a digest."""
    asked = two.ask()
    two.approvals.reject(asked.id, approver=BOSS, reason="ask for less", note="Ann tries this weekly")
    assert "ask for less" in two.settle()
    two.restart()
    [vote] = two.approvals.show(asked.id).votes
    assert (vote.reason, vote.note) == ("ask for less", "Ann tries this weekly")
    assert "weekly" not in two.told() + str(two.history)
    [event] = two.events("approval.resolved")
    assert event["approval_state"]["reason"] == "ask for less"
    assert event["approval_state"]["note"].keys() == {"size", "digest"}


def test_a_yes_that_is_not_used_in_time_expires(two: Office) -> None:
    """Whoever resumes later is told that it expired; it does not run, and the record says when it had to be used by."""
    asked = two.ask()
    for who in BOSSES[:2]:
        two.clock.now += 60
        given = two.approvals.approve(asked.id, approver=who)
    assert given.use_by == two.clock.now + 900
    two.clock.now += 900
    two.restart()
    told = two.settle()
    assert "approval_expired" in told
    assert "approved and not used in time" in told
    assert (two.status(asked), two.ran) == ("expired", [])
    assert code(two.approvals.approve, asked.id, approver=BOSSES[2]) == "expired"
    [event] = two.events("approval.expired")
    assert event["approval_state"]["was"] == "approved"


def test_a_late_yes_has_its_own_time(two: Office) -> None:
    """Said in the last minute of the question, it may still be used for as long as the policy says."""
    asked = two.ask()
    two.clock.now += 3599
    for who in BOSSES[:2]:
        two.approvals.approve(asked.id, approver=who)
    two.clock.now += 600
    two.settle()
    assert len(two.ran) == 1


def test_others_may_decide_after_a_while(two: Office) -> None:
    """Once, on record, and not before; it approves nothing."""
    asked = two.ask()
    assert code(two.approvals.approve, asked.id, approver=CHIEF) == "not_found"
    two.clock.now += 1800
    assert [one.by for one in two.approvals.list()] == [("boss", "chief")]
    two.restart()
    assert [one.by for one in two.approvals.list()] == [("boss", "chief")]
    assert [one["approval_state"]["by"] for one in two.events("approval.escalated")] == [["boss", "chief"]]
    two.approvals.approve(asked.id, approver=CHIEF)
    two.approvals.approve(asked.id, approver=BOSS)
    two.settle()
    assert len(two.ran) == 1


def test_nobody_decides_by_waiting(two: Office) -> None:
    """With one yes of two the question ends as expired, never as approved or rejected."""
    asked = two.ask()
    two.approvals.approve(asked.id, approver=BOSS)
    two.clock.now += 3600
    assert two.status(asked) == "expired"
    assert "approval_expired" in two.settle()
    assert not two.ran


@pytest.mark.parametrize("verb", ["cancel", "revoke"])
@pytest.mark.parametrize(
    "who", [ANN, BOSS, STRANGER, replace(BOSS, tenant="other")], ids=["requester", "boss", "stranger", "elsewhere"]
)
def test_who_may_end_what_was_approved(two: Office, verb: str, who: Session) -> None:
    """Who may decide ends a yes in either way, who asked withdraws the call; others learn nothing. What ended never runs."""
    asked = two.ask()
    for one in BOSSES[:2]:
        two.approvals.approve(asked.id, approver=one)
    refused = code(getattr(two.approvals, verb), asked.id, by=who, reason="changed my mind")
    expected = "" if who is BOSS or (who is ANN and verb == "cancel") else "own" if who is ANN else "not_found"
    assert refused == expected
    two.restart()
    two.settle()
    if refused:
        assert (two.status(asked), len(two.ran)) == ("consumed", 1)
        return
    assert (two.status(asked), two.ran) == (f"{verb.rstrip('e')}{'led' if verb == 'cancel' else 'ed'}", [])
    assert two.approvals.show(asked.id).ended_by == who.principal
    assert code(two.approvals.approve, asked.id, approver=BOSSES[2]) == "already_decided"
    [event] = two.events(f"approval.{two.status(asked)}")
    assert (event["actor"]["ref"], event["approval_state"]["reason"]) == (who.principal, "changed my mind")


def test_only_a_yes_is_revoked_and_nothing_behind_its_use(two: Office) -> None:
    """Nothing to take back before; after the run there is nothing to take back any more."""
    asked = two.ask()
    assert code(two.approvals.revoke, asked.id, by=BOSS, reason="no") == "pending"
    for one in BOSSES[:2]:
        two.approvals.approve(asked.id, approver=one)
    two.settle()
    for verb in (two.approvals.revoke, two.approvals.cancel):
        assert code(verb, asked.id, by=BOSS, reason="too late") == "already_decided"
    assert two.status(asked) == "consumed"


@pytest.mark.parametrize("store", LASTING)
@pytest.mark.parametrize("rule", ["keep", "cancel"])
def test_what_becomes_of_a_question_when_the_user_goes_on(tmp_path: Path, store: str, rule: str) -> None:
    """`keep`: it waits on. `cancel`: it is withdrawn, on record by whom, and a yes comes too late; what was approved stays approved."""
    with office(tmp_path, store, f", on_message: {rule}") as desk:
        given, asked = desk.ask(1), desk.ask(2, call="c2")
        desk.approvals.approve(given.id, approver=BOSS)
        desk.say("make it 4 instead")
        desk.restart()
        assert desk.status(asked) == ("pending" if rule == "keep" else "cancelled")
        assert code(desk.approvals.approve, asked.id, approver=BOSS) == ("" if rule == "keep" else "already_decided")
        told = desk.settle()
        assert [one["amount"] for one in desk.ran] == ([1, 2] if rule == "keep" else [1])
        assert ("withdrawn" in told) == (rule == "cancel")
        assert [one["actor"]["ref"] for one in desk.events("approval.cancelled")] == ([] if rule == "keep" else ["u1"])


@pytest.mark.parametrize(
    ("field", "value"),
    [("revision", 2), ("fingerprint", "0" * 64), ("presented", "0" * 64), ("presented", "")],
    ids=["revision", "fingerprint", "view", "no-view"],
)
@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_vote_about_anything_else_is_stale(two: Office, field: str, value: object, verb: str) -> None:
    """What the form carried must be what stands; the refused vote is on record and decides nothing."""
    asked = two.ask()
    seen: Seen = replace(two.seen(asked), **{field: value})  # type: ignore[arg-type]
    assert code(getattr(two.approvals, verb), asked.id, approver=BOSS, seen=seen) == "stale"
    assert (two.status(asked), two.approvals.show(asked.id).votes) == ("pending", ())
    [event] = two.events("approval.vote")
    assert event["approval_state"]["why"] == "stale"


def test_the_record_alone_tells_every_state(two: Office) -> None:
    """Whatever happened to them: replaying the record gives what the tables say."""
    names = [two.ask(amount, call=f"c{amount}").id for amount in range(1, 7)]
    for who in BOSSES[:2]:
        for name in names[:3]:
            two.approvals.approve(name, approver=who)
    two.approvals.revoke(names[0], by=BOSS, reason="no")
    two.approvals.cancel(names[1], by=ANN, reason="no")
    two.approvals.reject(names[3], approver=BOSS)
    two.settle()
    two.clock.now += 3600
    found = {one.id: one.status for one in two.approvals.list(status=None)}
    assert [found[name] for name in names] == ["revoked", "cancelled", "consumed", "rejected", "expired", "expired"]
    assert replayed(two.events()) == found
