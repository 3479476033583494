"""The contract of every store: budgets are drawn on once, exactly, and given back when a call did not run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stores_kit import REF, charge, claim, event, key, outcome, quota, row

from guard.core.ports import Charge, Store, Won
from guard.core.reasons import Reason


def test_quota_is_reserved_once_for_each_call(store: Store) -> None:
    """Calls draw in order until the budget is spent; a call that holds something already is never charged again."""
    one, two, three = (key(1, position) for position in range(3))
    limit = (charge(limit=2),)
    assert store.take(quota((one, limit), (one, limit), (two, limit), (three, limit))) == (None, None, None, limit[0])
    assert store.take(quota((two, limit), (three, limit))) == (None, limit[0])
    assert store.take(quota()) == ()


def test_a_call_that_is_walked_again_holds_what_it_drew(store: Store) -> None:
    """It draws nothing more; one that turns out to hold nothing, or that now draws over a window, draws as a first time."""
    limit, window = (charge(limit=2),), (replace(charge(limit=1, name="w"), window=60.0),)
    assert store.take(quota((key(1, 0), limit))) == (None,)
    assert store.take(replace(quota((key(1, 0), limit)), again=True)) == (None,)
    assert store.take(replace(quota((key(1, 0), limit), (key(1, 1), limit)), again=True)) == (None, None)
    assert store.take(replace(quota((key(1, 0), window)), again=True)) == (None,)
    assert store.take(quota((key(1, 2), limit))) == limit
    assert isinstance(store.take(quota((key(1, 3), window)))[0], Charge)


def test_the_first_exceeded_charge_is_named_and_nothing_is_taken(store: Store) -> None:
    """A call takes all of its charges or none, so a later call still finds what the refused one did not take."""
    first, tight = charge(5, 10, name="a"), charge(3, 2, name="b")
    assert store.take(quota((key(1, 0), (first, tight)))) == (tight,)
    assert store.take(quota((key(1, 1), (charge(10, 10, name="a"),)))) == (None,)


def test_charges_of_one_call_add_up(store: Store) -> None:
    """Two charges of one call on the same budget count together; other scopes and names are other budgets."""
    pair = (charge(6, 10), charge(6, 10))
    assert store.take(quota((key(1, 0), pair))) == (pair[1],)
    assert store.take(quota((key(1, 1), (charge(6), charge(6, scope="day"), charge(6, name="sum:x"))))) == (None,)


def test_a_whole_turn_takes_everything_or_nothing(store: Store) -> None:
    """With `whole`, one exceeded call refuses every call that holds nothing yet, with the same charge."""
    limit = (charge(limit=3),)
    store.take(quota((key(1, 0), limit)))
    calls = [(key(1, position), limit) for position in range(4)]
    assert store.take(quota(*calls, whole=True)) == (None, limit[0], limit[0], limit[0])
    assert store.take(quota(*calls[:3], whole=True)) == (None, None, None)


@pytest.mark.parametrize(
    ("amount", "limit"),
    [
        ("-1", "10"),
        ("NaN", "10"),
        ("1", "NaN"),
        ("Infinity", "10"),
        ("1E-300", "10"),
        ("10.0000000000000000000000000000000001", "10"),
    ],
)
def test_an_amount_that_cannot_be_added_exactly_is_exceeded(store: Store, amount: str, limit: str) -> None:
    """Below zero, not a number, endless, finer than can be added, or over by the last digit: refused, and nothing taken."""
    store.take(quota((key(1, 0), (charge(0, 10),))))
    store.take(quota((key(1, 1), (charge(1, 10, scope="x"),))))
    given = charge(amount, limit, scope="x")
    assert store.take(quota((key(1, 2), (given,)))) == (given,)
    assert store.take(quota((key(1, 3), (charge(9, 10, scope="x"),)))) == (None,)


def test_sums_keep_every_digit(store: Store) -> None:
    """Three times 0.1 is exactly 0.3."""
    tenth = (charge("0.1", "0.3"),)
    assert store.take(quota(*[(key(1, position), tenth) for position in range(4)])) == (None, None, None, tenth[0])


@pytest.mark.parametrize(
    ("before", "status", "calls_left", "sum_left"),
    [
        (None, "refused", 10, 10),
        ("held", "refused", 10, 10),
        ("started", "refused", 6, 6),
        ("started", "failed", 6, 10),
        ("unknown", "failed", 6, 10),
        ("started", "done", 6, 6),
        ("started", "unknown", 6, 6),
        (None, "held", 6, 6),
        (None, "allowed", 6, 6),
        ("done", "refused", 6, 6),
        ("unknown", "refused", 6, 6),
    ],
)
def test_what_a_row_gives_back(store: Store, before: str | None, status: str, calls_left: int, sum_left: int) -> None:
    """A refusal gives everything back, a failure its sums; what ran, may have run or may run keeps it; what has ended stays."""
    store.take(quota((key(), (charge(4), charge(4, name="sum:amount")))))
    if before:
        store.record([row(before)], [])
    for _ in range(2):
        store.record([row(status)], [])
    for name, left in (("calls", calls_left), ("sum:amount", sum_left)):
        over = charge(left + 1, name=name)
        assert store.take(quota((key(2), (over,)))) == (over,)
        assert store.take(quota((key(3, left, ref=REF), (charge(left, name=name),)))) == (None,)
        store.record([row("refused", key(3, left))], [])


def test_marking_a_finished_call_as_delivered_gives_nothing_back(store: Store) -> None:
    """A late refusal that only leaves its mark on a finished row does not free what that row used."""
    store.take(quota((key(), (charge(10),))))
    store.record([row()], [])
    store.record([row("refused", settled=True)], [])
    assert store.take(quota((key(2), (charge(1),)))) != (None,)


@pytest.mark.parametrize(
    ("status", "reason", "calls_left", "sum_left"),
    [
        ("failed", None, 6, 10),
        ("refused", Reason.INTERRUPTED, 10, 10),
        ("refused", Reason.STORE_UNAVAILABLE, 10, 10),
        ("refused", Reason.NOT_AUTHORIZED, 6, 6),
        ("done", None, 6, 6),
        ("unknown", None, 6, 6),
    ],
)
def test_what_a_taken_call_gives_back(store: Store, status: str, reason: Reason | None, calls_left: int, sum_left: int) -> None:
    """A call that was claimed and then failed gives its sums back, one that could not start everything, whatever the run."""
    store.say(REF, "go", event("user.said"))
    store.take(quota((key(), (charge(4), charge(4, name="sum:amount")))))
    won = store.claim(claim())
    assert isinstance(won, Won)
    ended = row(status, outcome=outcome(status=status, reason=reason))
    store.record([replace(ended, at=won.at)], [])
    for name, left in (("calls", calls_left), ("sum:amount", sum_left)):
        over = charge(left + 1, name=name)
        assert store.take(quota((key(2), (over,)))) == (over,)
        assert store.take(quota((key(3, left), (charge(left, name=name),)))) == (None,)
        store.record([row("refused", key(3, left))], [])
