"""The contract of every store: asking a person, the vote and the end of the window."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stores_kit import (
    CHILD,
    NEXT,
    REF,
    Clock,
    ask,
    asking,
    charge,
    claim,
    event,
    key,
    kinds,
    proposal,
    quota,
    vote,
)

from guard.core.ports import Store
from guard.errors import ApprovalError, StoreError

# -- asking


def test_one_fingerprint_is_asked_about_once(store: Store) -> None:
    """While an approval is pending or approved, every equal proposal of the conversation gets that one, from any place."""
    first = ask(store)
    assert (first.id, first.status) == ("a1", "pending")
    assert ask(store, "a2", at=key(5, 3, CHILD)) == first
    approved = vote(store, reason="fine \ud83d")
    assert ask(store, "a3", run=4) == approved
    assert store.approvals() == (approved,)
    assert kinds(store) == ["approval.requested", "approval.resolved"]


def test_other_fingerprints_and_conversations_are_asked_about_apart(store: Store) -> None:
    """An approval is never found from another conversation, even for the same fingerprint."""
    assert [ask(store).id, ask(store, "a2", fingerprint="g", at=key(1, 1)).id, ask(store, "a3", at=key(ref=NEXT)).id] == [
        "a1",
        "a2",
        "a3",
    ]


def test_an_approval_comes_back_as_it_was(store: Store) -> None:
    """Exact amounts, origins, roles, times and the decision survive."""
    given = proposal(now=store.now())
    assert store.ask(asking(given)) == given
    assert store.approval("a1") == given
    decided = vote(store, status="rejected", by="B7", roles=("clerk", "supervisor"), reason="no")
    told = {"decided_by": "B7", "decided_at": store.now(), "decided_roles": ("clerk", "supervisor"), "reason": "no"}
    assert replace(decided, votes=()) == replace(given, status="rejected", **told)
    assert decided == store.approval("a1")
    [one] = decided.votes
    assert (one.number, one.decision, one.by, one.roles, one.at, one.revision, one.fingerprint, one.reason) == (
        *(1, "rejected", "B7", ("clerk", "supervisor"), store.now()),
        *(1, given.fingerprint, "no"),
    )
    assert str(store.approval("a1").arguments["amount"]) == "3860.00"


def test_a_rejection_counts_until_the_user_speaks(store: Store) -> None:
    """In the run in which it was decided an equal proposal is rejected at once; in the next run a person is asked again."""
    store.say(REF, "one", event("user.said"))
    ask(store, run=1)
    store.say(REF, "two", event("user.said"))
    rejected = vote(store, status="rejected")
    assert ask(store, "a2", run=2, at=key(2)) == rejected
    assert ask(store, "a3", run=3, at=key(3)).id == "a3"


def test_a_rejected_call_is_never_asked_about_again(store: Store) -> None:
    """The very call that was rejected stays rejected, whatever the user says afterwards."""
    ask(store)
    rejected = vote(store, status="rejected")
    assert ask(store, "a2", run=7) == rejected


def test_an_expired_approval_answers_only_its_own_call(store: Store, clock: Clock) -> None:
    """The same call handled again learns that nobody decided in time; an equal call elsewhere asks anew."""
    ask(store)
    clock.now += 100
    assert ask(store, "a2").status == "expired"
    assert ask(store, "a3", at=key(1, 0, CHILD)).id == "a3"
    assert ask(store, "a4").id == "a3"


def test_a_spent_approval_is_no_answer(store: Store) -> None:
    """One approval is one execution: after it, an equal proposal asks again."""
    ask(store)
    vote(store)
    store.claim(claim(approval="a1"))
    assert ask(store, "a2", run=1, at=key(2)).id == "a2"


def test_only_a_pending_proposal_can_be_opened(store: Store) -> None:
    """Nobody slips in an approval that is approved from the start."""
    with pytest.raises(ValueError, match="pending"):
        store.ask(asking(replace(proposal(now=store.now()), status="approved")))
    assert store.approvals() == ()


def test_an_id_is_used_once(store: Store) -> None:
    """A second approval under a known id is an outage, and nothing of it is written."""
    ask(store)
    with pytest.raises(StoreError, match="id"):
        ask(store, fingerprint="g")
    assert [one.fingerprint for one in store.approvals()] == ["f"]
    assert kinds(store) == ["approval.requested"]


@pytest.mark.parametrize("name", ["a2", "a3"], ids=["id-taken", "event-not-json"])
def test_a_failed_proposal_ends_no_window(store: Store, clock: Clock, name: str) -> None:
    """An error undoes the whole command, the expiry that it found included; who looks next writes it down."""
    ask(store)
    ask(store, "a2", fingerprint="g")
    clock.now += 200
    command = replace(asking(proposal(name, now=clock.now, at=key(2))), event=event(x=object()) if name == "a3" else event())
    with pytest.raises(StoreError):
        store.ask(command)
    assert kinds(store) == ["approval.requested"] * 2
    assert [one.status for one in store.approvals()] == ["expired"] * 2
    assert kinds(store).count("approval.expired") == 2


# -- voting


@pytest.mark.parametrize("second", ["approved", "rejected"])
@pytest.mark.parametrize("first", ["approved", "rejected"])
def test_a_lost_vote_says_who_was_first(store: Store, first: str, second: str) -> None:
    """Of two votes one counts; the other learns who decided and when, and leaves no trace."""
    ask(store)
    vote(store, status=first, by="B1")
    with pytest.raises(ApprovalError, match=f"already {first} by B1 at 2027-01-15T08:00:00") as caught:
        vote(store, status=second, by="B2")
    assert caught.value.code == "already_decided"
    assert store.approval("a1").decided_by == "B1"
    assert kinds(store) == ["approval.requested", "approval.resolved"]


def test_a_vote_on_nothing(store: Store) -> None:
    """An unknown id is not found."""
    with pytest.raises(ApprovalError) as caught:
        vote(store)
    assert caught.value.code == "not_found"
    assert store.approval("a1") is None


@pytest.mark.parametrize("status", ["pending", "expired", "consumed", "yes", ""])
def test_a_vote_is_yes_or_no(store: Store, status: str) -> None:
    """Nothing else can be voted."""
    ask(store)
    with pytest.raises(ValueError, match="vote"):
        vote(store, status=status)
    assert store.approval("a1").status == "pending"


def test_a_vote_on_a_spent_approval(store: Store) -> None:
    """Once spent, nothing can be changed."""
    ask(store)
    vote(store)
    store.claim(claim(approval="a1"))
    with pytest.raises(ApprovalError, match="already approved by B1"):
        vote(store, status="rejected")
    assert store.approval("a1").status == "consumed"


def test_a_rejection_gives_the_reservation_back(store: Store) -> None:
    """A rejected call holds no budget any more; an approved one keeps it."""
    for name, position in (("a1", 0), ("a2", 1)):
        store.take(quota((key(1, position), (charge(5),))))
        ask(store, name, fingerprint=name, at=key(1, position))
    vote(store, "a1")
    assert store.take(quota((key(2), (charge(1),)))) != (None,)
    vote(store, "a2", "rejected")
    assert store.take(quota((key(2), (charge(5),)))) == (None,)


# -- the end of the window


def late_vote(store: Store) -> None:
    with pytest.raises(ApprovalError):
        vote(store)


LOOKS = {
    "list": lambda store: store.approvals(),
    "list-of-expired": lambda store: store.approvals(status="expired"),
    "list-of-pending": lambda store: store.approvals(status="pending"),
    "show": lambda store: store.approval("a1"),
    "ask": ask,
    "vote": late_vote,
    "claim": lambda store: store.claim(claim(approval="a1")),
}


@pytest.mark.parametrize("decided", [False, True], ids=["pending", "approved"])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_whoever_looks_first_ends_the_window(store: Store, clock: Clock, look, decided: bool) -> None:
    """At its end, and not before, an undecided or unspent approval expires, once, with a record, and gives its budget back."""
    store.take(quota((key(), (charge(10),))))
    ask(store)
    if decided:
        vote(store)
    clock.now += 99.999
    assert store.approval("a1").status == ("approved" if decided else "pending")
    clock.now += 0.001
    look(store)
    look(store)
    assert store.approval("a1").status == "expired"
    assert kinds(store).count("approval.expired") == 1
    assert store.take(quota((key(2), (charge(10),)))) == (None,)


def test_an_expired_approval_cannot_be_approved(store: Store, clock: Clock) -> None:
    """A late vote is told that the window was over, and when."""
    ask(store)
    clock.now += 101
    with pytest.raises(ApprovalError, match="expired at 2027-01-15T08:01:40") as caught:
        vote(store)
    assert caught.value.code == "expired"


def test_a_decided_approval_does_not_expire(store: Store, clock: Clock) -> None:
    """Rejected and spent ones stay what they are."""
    ask(store)
    ask(store, "a2", fingerprint="g", at=key(2))
    vote(store, "a1", "rejected")
    vote(store, "a2")
    store.claim(claim(key(2), "a2", fingerprint="g"))
    clock.now += 1e6
    assert [one.status for one in store.approvals()] == ["rejected", "consumed"]


def test_listing(store: Store, clock: Clock) -> None:
    """Oldest first; by tenant, status and conversation, alone and together."""
    elsewhere = replace(REF, tenant="globex", principal="E9")
    for name, ref in (("z", REF), ("a", NEXT), ("m", elsewhere)):
        ask(store, name, at=key(ref=ref))
        clock.now += 1
    vote(store, "a")

    def ids(**wanted: str) -> list[str]:
        return [one.id for one in store.approvals(**wanted)]

    assert ids() == ["z", "a", "m"]
    assert ids(tenant="acme") == ["z", "a"]
    assert ids(conversation="conv-1") == ["z", "m"]
    assert ids(status="pending") == ["z", "m"]
    assert ids(tenant="acme", conversation="conv-1", status="pending") == ["z"]
    assert ids(tenant="nobody") == []
