"""What a store does with questions and grants that end each other: one contract for all three."""

from __future__ import annotations

from stores_kit import Clock, asking, claim, key, kinds, proposal
from test_stores_grants import claimed, given, grant

from guard.core.ports import Conflict, Store, Won


def test_a_yes_that_came_while_a_grant_answered_is_not_spent_on_a_second_call(store: Store, clock: Clock) -> None:
    """Approved between the look and the claim: the call runs once under the grant, and that yes ends with it; one for another place stays."""
    made = given(store, clock)
    store.ask(asking(proposal("a2", now=clock.now, fingerprint="fconv-1-1-0", at=key(1))))
    store.ask(asking(proposal("a3", now=clock.now, fingerprint="fconv-1-2-0", at=key(2))))
    for name in ("a2", "a3"):
        store.vote(name, status="approved", by="B1", reason=None, event={"kind": "approval.resolved", "tenant": "acme"})
    assert isinstance(claimed(store, made, key(1)), Won)
    ended, other = store.approval("a2"), store.approval("a3")
    assert ended is not None
    assert other is not None
    assert (ended.status, ended.ended_by, other.status) == ("cancelled", "gr_1", "approved")
    assert kinds(store).count("approval.cancelled") == 1
    again = claim(key(9), "a2", fingerprint="fconv-1-1-0", mark="fconv-1-1-0", repeat=True)
    assert not isinstance(store.claim(again), Won)


def test_only_what_a_grant_lacks_leaves_a_question_open(store: Store, clock: Clock) -> None:
    """Used up, over, or for other calls: whoever is asked stays asked. After a no, or an end, the call is over, too."""
    made = given(store, clock, grant(uses=1))
    assert isinstance(claimed(store, made, key(1)), Won)
    short = claimed(store, made, key(2))
    assert isinstance(short, Conflict)
    assert short.waits
    store.ask(asking(proposal("a2", now=clock.now, fingerprint="fconv-1-3-0", at=key(3))))
    store.vote("a2", status="rejected", by="B1", reason=None, event={"kind": "approval.resolved", "tenant": "acme"})
    refused = claimed(store, given(store, clock, grant(id="gr_2", approval="a9")), key(3))
    assert isinstance(refused, Conflict)
    assert not refused.waits
