"""The contract of every store: limits over windows count what was drawn within them, what is open however long ago, and nothing else."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import postgres_kit
import pytest
from older_kit import as_of
from stores_kit import NEXT, OTHER, Clock, ask, charge, event, key, quota, row, url_of, vote
from test_stores_races import race, start

from guard.core.ports import Charge, Store
from guard.stores import open_store, schema, spans

DAY = 86_400.0


def window(amount: object = 1, limit: object = 3, *, per: float = DAY, name: str = "window:calls", **fields: Any) -> Charge:
    return replace(charge(amount, limit, name=name, scope="person"), window=per, rule="limit", **fields)


def draw(store: Store, turn: int, given: Charge | None = None, **at: Any) -> bool:
    """Whether the call of this turn may go on."""
    return store.take(quota((key(turn, **at), (given or window(),)))) == (None,)


def ended(store: Store, turn: int, status: str = "done", **at: Any) -> None:
    store.record([row(status, key(turn, **at), fingerprint=f"f{turn}", mark="")], [event()])


def test_a_window_slides(store: Store, clock: Clock) -> None:
    """Each draw leaves by itself, one window after its call ended: there is no edge at which a whole bucket is free again."""
    for turn in (1, 2, 3):
        assert draw(store, turn)
        ended(store, turn)
        clock.now += 100
    assert not draw(store, 4)
    clock.now += DAY - 300 - 0.5
    assert not draw(store, 4)
    clock.now += 0.5
    assert draw(store, 4)
    assert not draw(store, 5)


def test_conversations_share_a_window(store: Store) -> None:
    """What counts together is the budget, whichever conversation draws."""
    assert draw(store, 1)
    assert draw(store, 1, ref=NEXT)
    assert draw(store, 1, ref=replace(OTHER, conversation="conv-3"))
    assert not draw(store, 2, ref=NEXT)


@pytest.mark.parametrize("status", ["started", "unknown"])
def test_what_is_open_counts_however_long_ago(store: Store, clock: Clock, status: str) -> None:
    """A call that is under way or unknown never leaves; once it ended, it counts one window more, and half a minute at most besides."""
    for turn in (1, 2, 3):
        draw(store, turn)
        ended(store, turn, status)
    clock.now += 10 * DAY
    assert not draw(store, 4)
    for turn in (1, 2, 3):
        ended(store, turn)
    clock.now += DAY - 1
    assert not draw(store, 4)
    clock.now += 1 + spans.LOOK
    assert draw(store, 4)


def test_a_held_call_counts_until_its_time_is_over(store: Store, clock: Clock) -> None:
    """A hold that is older than the window counts while somebody may still decide; one that nobody looked at again does not for ever."""
    ask(store, window=3 * DAY)
    store.record([row("held", approval="a1", mark="")], [event()])
    given = window(limit=1)
    assert draw(store, 1, given)
    clock.now += 2 * DAY
    assert not draw(store, 2, given)
    clock.now += DAY + 1
    assert draw(store, 2, given)


def test_a_rejected_call_gives_its_place_back(store: Store) -> None:
    """What will not run takes nothing from the window."""
    ask(store)
    store.record([row("held", approval="a1", mark="")], [event()])
    assert draw(store, 1, window(limit=1))
    assert not draw(store, 2, window(limit=1))
    vote(store, status="rejected")
    assert draw(store, 2, window(limit=1))


@pytest.mark.parametrize(
    ("status", "name", "left"), [("refused", "window:calls", 3), ("failed", "window:calls", 2), ("failed", "sum:x", 3)]
)
def test_what_an_end_gives_back(store: Store, status: str, name: str, left: int) -> None:
    """A refusal gives back everything, a failure its sums only."""
    draw(store, 1, window(name=name))
    ended(store, 1, status)
    assert sum(draw(store, turn, window(name=name)) for turn in range(2, 7)) == left


def test_giving_back_after_the_window_takes_nothing_from_others(store: Store, clock: Clock) -> None:
    """A draw that left by itself is not given back a second time."""
    draw(store, 1, window(2, 3, name="sum:x"))
    clock.now += DAY + spans.UNDER_WAY
    assert draw(store, 2, window(3, 3, name="sum:x"))
    ended(store, 1, "refused")
    assert not draw(store, 3, window(1, 3, name="sum:x"))


def test_a_call_that_was_let_through_and_lost_leaves_later(store: Store, clock: Clock) -> None:
    """Nothing recorded of it: its process may be gone or may be busy, so it counts a while longer; then its place is free."""
    draw(store, 1, window(limit=1))
    clock.now += DAY + spans.UNDER_WAY - 1
    assert not draw(store, 2, window(limit=1))
    clock.now += 1
    assert draw(store, 2, window(limit=1))


def test_a_call_that_goes_on_after_its_window_draws_again(store: Store, clock: Clock) -> None:
    """Handled again by another process, a call whose draw has left must find room like any other."""
    draw(store, 1, window(limit=1))
    clock.now += DAY + spans.UNDER_WAY
    assert draw(store, 2, window(limit=1))
    assert not draw(store, 1, window(limit=1))
    assert draw(store, 2, window(limit=1))  # its own draw is still there


def test_a_window_that_the_policy_gained_is_drawn_by_calls_that_waited(store: Store) -> None:
    """A call that holds other budgets already draws on the new window too, and only on that."""
    old, new = charge(limit=1), window(limit=1)
    assert store.take(quota((key(1), (old,)))) == (None,)
    assert store.take(quota((key(1), (old, new)))) == (None,)
    assert not draw(store, 2, new)


def test_a_clock_that_goes_back_frees_nothing(store: Store, clock: Clock) -> None:
    """While the clock is behind, the time of the budget stands still: what was drawn counts on, and what left before stays away."""
    draw(store, 1, window(limit=2))
    ended(store, 1)
    clock.now += DAY / 2
    draw(store, 2, window(limit=2))
    ended(store, 2)
    clock.now -= 10 * DAY
    assert not draw(store, 3, window(limit=2))
    clock.now += 10 * DAY + DAY / 2 - 1
    assert not draw(store, 3, window(limit=2))
    clock.now += 1
    assert draw(store, 3, window(limit=2))
    clock.now -= DAY
    assert not draw(store, 4, window(limit=2))


@pytest.mark.parametrize("amount", ["-1", "NaN", "Infinity", "1E-300", "1E+300"])
def test_amounts_that_cannot_be_counted_are_too_much(store: Store, amount: str) -> None:
    """Below zero, no number, or beyond what can be added exactly: refused, and nothing changes."""
    draw(store, 1, window(2, 3))
    assert not draw(store, 2, window(amount, 3))
    assert draw(store, 3, window(0, 3))
    assert draw(store, 4, window(1, 3))


def test_when_it_fits_again_is_told_to_whom_it_belongs(store: Store, clock: Clock) -> None:
    """The earliest time at which enough has left, for a budget of one's own; nothing of a budget that others draw on."""
    begun = clock.now
    for turn, amount in ((1, 2), (2, 1)):
        draw(store, turn, window(amount, own=True))
        ended(store, turn)
        clock.now += 60
    asked = (window(1, own=True), window(3, own=True), window(4, own=True), window(1))
    answers = [store.take(quota((key(9), (one,))))[0] for one in asked]
    assert [answer.again for answer in answers] == [begun + DAY, begun + 60 + DAY, None, None]


def test_a_shadow_says_what_it_would_refuse_and_refuses_nothing(store: Store) -> None:
    """It draws only what it would have let through, on a budget of its own."""
    shadow, other = window(limit=1, shadow=True), charge(limit=9)
    answers = [store.take(quota((key(turn), (shadow, other))))[0] for turn in (1, 2)]
    assert answers[0] is None
    assert answers[1].over == (shadow,)
    assert store.take(quota((key(3), (charge(8, 9),)))) == (charge(8, 9),)


def test_ten_thousand_draws_stay_exact(store: Store, clock: Clock) -> None:
    """A budget with very many draws is counted right, while they are in the window and after they have left."""
    one = window("0.01", "100")
    for block in range(10):
        calls = [(key(block + 1, position), (one,)) for position in range(1_000)]
        assert set(store.take(quota(*calls))) == {None}
        clock.now += 1
    assert not draw(store, 90, one)
    clock.now += DAY + spans.UNDER_WAY - 9
    assert draw(store, 90, window("20", "100"))
    assert not draw(store, 91, window("0.01", "20"))


@pytest.mark.parametrize("conversations", [1, 16])
def test_sixteen_threads_cannot_slip_under_a_sum(store: Store, conversations: int) -> None:
    """However many draw at once, from one conversation or from many, the sum stays below the limit to the last cent."""

    def work(number: int) -> int:
        ref = replace(NEXT, conversation=f"conv-{number % conversations}")
        return sum(draw(store, number * 10 + n, window("2.50", 100, name="sum:x"), ref=ref) for n in range(1, 6))

    assert sum(race(16, work)) == 40


DRAWER = """
import sys
from dataclasses import replace
from stores_kit import NEXT, charge, key, quota
from guard.stores import open_store

url, number = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
store = open_store(url)
one = replace(charge("2.50", 100, name="sum:x", scope="person"), window=86400.0)
ref = replace(NEXT, conversation=f"conv-{number}")
print(sum(store.take(quota((key(turn, ref=ref), (one,)))) == (None,) for turn in range(1, 21)))
store.close()
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_four_processes_cannot_slip_under_a_sum(tmp_path: Path, kind: str) -> None:
    """Processes share the window of one database."""
    with url_of(kind, tmp_path) as url:
        drawers = [start(DRAWER, url, str(number)) for number in range(4)]
        assert all(drawer.stdout.readline() == "ready\n" for drawer in drawers)
        for drawer in drawers:
            drawer.stdin.write("\n")
            drawer.stdin.flush()
        assert sum(int(drawer.communicate(timeout=120)[0]) for drawer in drawers) == 40


KILLED = """
import os
from stores_kit import key, quota
from test_stores_windows import window
from guard.stores import open_store
import sys

open_store(sys.argv[1]).take(quota((key(1), (window(limit=1),))))
os._exit(9)
"""


def test_a_process_that_dies_between_reserving_and_taking_frees_its_place_later(tmp_path: Path) -> None:
    """What it reserved counts on after a restart, and leaves by itself."""
    url = f"sqlite:///{tmp_path}/guard.db"
    died = start(KILLED, url)
    died.communicate(timeout=60)
    assert died.returncode == 9
    with closing(open_store(url)) as store:
        assert not draw(store, 2, window(limit=1))
        now = store.now()
    with closing(open_store(url, clock=Clock(now + DAY + spans.UNDER_WAY + 1))) as store:
        assert draw(store, 2, window(limit=1))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_database_with_open_draws_is_migrated(tmp_path: Path, kind: str) -> None:
    """What was drawn before the tables knew windows counts on, is given back as before, and windows begin beside it."""
    with url_of(kind, tmp_path) as url:
        with closing(open_store(url)) as store:
            store.take(quota((key(1), (charge(4, 10),)), (key(2), (charge(4, 10),))))
        for statement in as_of(2, kind):
            if kind == "postgres":
                postgres_kit.run(url, statement)
            else:
                with closing(sqlite3.connect(tmp_path / "guard.db")) as file:
                    file.execute(statement)
                    file.commit()
        if kind == "postgres":
            done = subprocess.run(
                [sys.executable, "-m", "guard", "serve", "migrate", "--store", url], capture_output=True, check=False
            )
            assert f"to {schema.VERSION}" in done.stdout.decode()
        with closing(open_store(url)) as store:
            assert store.take(quota((key(3), (charge(3, 10),)))) != (None,)
            ended(store, 1, "refused")
            assert store.take(quota((key(3), (charge(3, 10), window(Decimal(3), 3))))) == (None,)
            assert not draw(store, 4)
