"""The contract of every store: what a run and a conversation have used, and how long a run took."""

from __future__ import annotations

from decimal import Decimal

import pytest
from stores_kit import CHILD, REF, Clock, asking, event, key, proposal, turn, usage, vote

from guard.core.ports import Again, OpenTurn, Store


def test_counters_of_a_run_and_of_the_conversation(store: Store, clock: Clock) -> None:
    """Steps, tokens and cost count new turns only, start afresh when the user speaks, and go on for the conversation."""
    first = store.open_turn(turn("a", usage=usage(100, "0.10")))
    assert (first.run, first.steps, first.tokens, first.cost) == (0, 1, 100, Decimal("0.10"))
    clock.now += 5
    again = store.open_turn(turn("a", usage=usage(100, "0.10"), answered=0))
    assert (again.steps, again.tokens, again.seconds) == (1, 100, 5.0)
    store.open_turn(turn("b", CHILD, usage=usage(1, "0.01")))
    store.say(REF, "hi", event("user.said"))
    clock.now += 2
    later = store.open_turn(turn("c", usage=usage(10, "0.20")))
    assert (later.run, later.steps, later.tokens, later.cost, later.seconds) == (1, 1, 10, Decimal("0.20"), 2.0)
    assert (later.total_tokens, later.total_cost) == (111, Decimal("0.31"))


def test_what_a_reply_did_not_say_stays_unknown(store: Store) -> None:
    """One reply without usage or price makes the run's figures unknown until the user speaks, and the total cost for good."""
    store.open_turn(turn("a", usage=usage(5, None, known=False)))
    after = store.open_turn(turn("b", usage=usage(5, "1")))
    assert (after.tokens_known, after.cost, after.total_cost) == (False, None, None)
    store.say(REF, "hi", event("user.said"))
    fresh = store.open_turn(turn("c", usage=usage(5, "1")))
    assert (fresh.tokens_known, fresh.cost, fresh.total_cost) == (True, Decimal(1), None)


def test_waiting_for_people_costs_no_time(store: Store, clock: Clock) -> None:
    """The union of the times in which an approval was undecided is left out: overlaps once, expired ones to their end."""
    store.say(REF, "go", event("user.said"))
    start = clock.now
    for name, begin, position in (("a", 10, 0), ("b", 15, 1), ("c", 50, 2)):
        clock.now = start + begin
        store.ask(asking(proposal(name, now=clock.now, window=20, at=key(1, position), fingerprint=name), run=1))
    clock.now = start + 20
    store.vote("a", status="approved", by="B", reason=None, event=event("approval.resolved"))
    clock.now = start + 60
    # a waited 10..20, b 15..35 (expired there), c 50..now
    assert store.open_turn(turn()).seconds == pytest.approx(60 - 25 - 10)
    store.say(REF, "next", event("user.said"))
    clock.now += 7
    assert store.open_turn(turn("e")).seconds == pytest.approx(7)


def test_the_total_of_tokens_stays_unknown(store: Store) -> None:
    """One reply that did not say its tokens makes the total of the conversation unknown for good, in every branch."""
    assert store.open_turn(turn("a", usage=usage(5))).total_known
    assert not store.open_turn(turn("b", CHILD, usage=usage(0, known=False))).total_known
    store.say(REF, "hi", event("user.said"))
    fresh = store.open_turn(turn("c", usage=usage(5)))
    assert (fresh.tokens_known, fresh.total_known, fresh.total_tokens) == (True, False, 10)


def asked(store: Store, name: str = "a", *, at: int = 1) -> None:
    store.ask(asking(proposal(name, now=store.now(), window=10_000, at=key(at), fingerprint=name), run=1))


GOES_ON = [
    pytest.param(turn("e"), id="the-next-message"),
    pytest.param(turn("e", CHILD), id="a-message-of-a-child"),
    pytest.param(turn("e", key="k"), id="a-message-with-a-key"),
]


@pytest.mark.parametrize("following", GOES_ON)
def test_waiting_ends_when_the_conversation_goes_on(store: Store, clock: Clock, following: OpenTurn) -> None:
    """A held call stops the clock of the run until the next message is handled, and never again for that call."""
    store.say(REF, "go", event("user.said"))
    store.open_turn(turn())
    asked(store)
    clock.now += 1000
    assert store.open_turn(following).seconds == 0
    clock.now += 30
    assert store.open_turn(turn("f")).seconds == 30
    vote(store, "a")
    clock.now += 5
    assert store.open_turn(turn("g")).seconds == 35


def test_a_conversation_that_waits_pays_nothing(store: Store, clock: Clock) -> None:
    """The same turn handled again opens no turn, so the wait goes on, until a person has decided."""
    store.say(REF, "go", event("user.said"))
    store.open_turn(turn())
    asked(store)
    for _ in range(3):
        clock.now += 1000
        again = store.open_turn(turn(answered=0))
        assert (again.again, again.seconds) == (Again.AGAIN, 0)
    vote(store, "a")
    clock.now += 7
    assert store.open_turn(turn(answered=0)).seconds == 7


def test_each_wait_ends_with_its_own_next_turn(store: Store, clock: Clock) -> None:
    """A second held call, asked for after the conversation went on, stops the clock anew."""
    store.say(REF, "go", event("user.said"))
    for number, name in enumerate("ab", 1):
        store.open_turn(turn(name))
        clock.now += 1
        asked(store, name, at=number)
        clock.now += 100
    assert store.open_turn(turn("c")).seconds == 2
