"""Followers: each record arrives at least once and in order, nobody sends twice at once, and what a sink does not take is kept or counted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sinks_kit import QUICK, Shelf, Stuck, box, down, follower, in_order, refusing, standing, told, write
from stores_kit import Clock, a_store

from guard.core.ports import Store
from guard.sinks import Bounds, Planned, Relay, SinkError
from guard.stores.outbox import outbox_of


@pytest.fixture
def plain(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    yield from a_store("memory", tmp_path, clock)


def test_every_record_arrives_in_the_order_of_its_chain(store: Store) -> None:
    """Also those that are written while others are sent; then there is nothing to do."""
    shelf = Shelf()
    one = follower(store, shelf, replace(QUICK, batch=7))
    for conversation in range(5):
        write(store, 6, conversation=f"conv-{conversation}")
        one.step()
    while one.step().did == "sent":
        pass
    everything = [(chain, record.seq) for chain in range(store.chains) for record in store.audit(chain=chain)]
    assert sorted(shelf.numbers()) == sorted(everything)
    assert in_order(shelf.numbers())
    assert (standing(store).sent, standing(store).failures) == (30, 0)
    assert one.step().did == "idle"


def test_a_follower_goes_on_where_another_one_stopped(store: Store) -> None:
    """The cursor stands in the store."""
    write(store, 3)
    follower(store, Shelf()).step()
    write(store, 2)
    later = Shelf()
    follower(store, later).step()
    assert [seq for _, seq in later.numbers()] == [4, 5]


def test_a_new_sink_may_begin_behind_what_is_there(store: Store) -> None:
    """As notifications do: nobody is told of what happened before they were set up."""
    write(store, 4)
    shelf = Shelf()
    one = follower(store, shelf, replace(QUICK, newest=True))
    one.step()
    write(store, 1)
    one.step()
    assert [seq for _, seq in shelf.numbers()] == [5]


def test_two_followers_of_one_sink_never_send_at_once(store: Store, clock: Clock) -> None:
    """The second one finds it taken; when the first one's time is over, it goes on."""
    write(store, 2)
    stuck, other = Stuck(), Shelf("stuck")
    first, second = follower(store, stuck, replace(QUICK, timeout=20)), follower(store, other)
    thread = threading.Thread(target=first.step)
    thread.start()
    while not stuck.calls:
        pass
    assert second.step().did == "elsewhere"
    clock.now += 100
    assert second.step().did == "sent"
    stuck.go.set()
    thread.join()
    assert standing(store, "stuck").sent == 2  # what the first one wrote down too late does not count
    assert follower(store, Shelf("stuck")).step().did == "idle"


def test_a_failure_is_tried_again_later_and_later(store: Store, clock: Clock) -> None:
    """The pause doubles up to its bound, is spread, and is kept in the store: a new process does not begin to hammer."""
    write(store, 1)
    shelf = Shelf(fails=down)
    one = follower(store, shelf, Bounds(policy="block", first=1.0, longest=16.0))
    pauses = []
    for _ in range(7):
        assert one.step().did == "failed"
        assert follower(store, Shelf()).step().did == "waiting"
        pauses.append(standing(store).due - clock.now)
        clock.now = standing(store).due
    assert all(0.5 * bound <= pause <= bound for pause, bound in zip(pauses, (1, 2, 4, 8, 16, 16, 16), strict=True))
    assert (standing(store).failures, standing(store).error) == (7, "nobody answers")
    shelf.fails = None
    assert one.step().did == "sent"
    assert (standing(store).failures, standing(store).error) == (0, "")


def go_on(one: Any, store: Store, clock: Clock, steps: int) -> None:
    for _ in range(steps):
        one.step()
        clock.now = max(clock.now, standing(store).due)


def test_one_that_blocks_stands_still_and_loses_nothing(store: Store, clock: Clock) -> None:
    """However often it fails, and also where it refuses a record for good."""
    write(store, 3)
    shelf = Shelf(fails=refusing(2))
    go_on(follower(store, shelf, replace(QUICK, policy="block", attempts=2)), store, clock, 6)
    found = standing(store)
    assert (len(shelf.got), found.letters, found.dropped) == (1, 0, 0)
    assert sum(found.cursors.values()) == 1


def test_one_that_spools_sets_aside_what_is_refused_and_goes_on(store: Store, clock: Clock) -> None:
    """The others arrive; the record and why stand in the letters, and a record of the audit says so."""
    write(store, 5)
    shelf = Shelf(fails=refusing(2, 4))
    go_on(follower(store, shelf, QUICK), store, clock, 8)
    letters = box(store).letters("shelf", 10)
    assert [(one.seq, one.why) for one in letters] == [(2, "it was refused"), (4, "it was refused")]
    assert {1, 3, 5} <= {one.seq for one in shelf.got}
    assert [body["sink"]["count"] for body in told(store, "sink.spooled")] == [1, 1]
    shelf.fails = None
    assert follower(store, shelf).retry().sent == 2
    assert standing(store).letters == 0
    assert {2, 4} <= {one.seq for one in shelf.got}


def test_one_that_spools_and_is_down_sets_aside_after_so_many_tries(store: Store, clock: Clock) -> None:
    """And the records about it make no further ones, for ever."""
    write(store, 4)
    go_on(follower(store, Shelf(fails=down), replace(QUICK, attempts=3)), store, clock, 12)
    assert standing(store).letters >= 4
    assert len(told(store, "sink.spooled")) == 1


def test_letters_that_are_refused_again_stay(store: Store, clock: Clock) -> None:
    """With the number of tries counted on."""
    write(store, 2)
    shelf = Shelf(fails=refusing(1, 2))
    one = follower(store, shelf)
    go_on(one, store, clock, 4)
    shelf.fails = refusing(2)
    assert one.retry().did == "failed"
    assert [(letter.seq, letter.tries) for letter in box(store).letters("shelf", 9)] == [(2, 2)]


def test_one_that_drops_counts_what_it_passed_over(store: Store, clock: Clock) -> None:
    """In the log and in its standing; what comes later is sent."""
    write(store, 4)
    shelf = Shelf(fails=down)
    one = follower(store, shelf, replace(QUICK, policy="drop", attempts=2))
    go_on(one, store, clock, 2)
    shelf.fails = None
    go_on(one, store, clock, 2)
    assert standing(store).dropped == 4
    [body] = told(store, "sink.dropped")
    assert (body["sink"]["count"], [*body["sink"]["records"].values()]) == (4, [[1, 4]])
    assert [one.seq for one in shelf.got if "sink.dropped" not in one.body] == []


def test_one_that_drops_keeps_no_more_than_its_queue(store: Store) -> None:
    """The oldest records are passed over before anything is sent."""
    write(store, 30)
    shelf = Shelf()
    one = follower(store, shelf, replace(QUICK, policy="drop", queue=10))
    while one.step().did == "sent":
        pass
    assert standing(store).dropped == 21
    assert [one.seq for one in shelf.got if "sink." not in one.body] == [*range(22, 31)]


def test_one_that_drops_keeps_nothing_older_than_its_age(plain: Store, clock: Clock) -> None:
    """A notice of yesterday is none."""
    write(plain, 3)
    clock.now += 100
    write(plain, 2)
    shelf = Shelf()
    one = follower(plain, shelf, replace(QUICK, policy="drop", age=60))
    while one.step().did == "sent":
        pass
    assert [one.seq for one in shelf.got][:2] == [4, 5]
    assert told(plain, "sink.dropped")[0]["sink"]["count"] == 3


def test_more_letters_than_the_queue_takes_are_given_up_and_counted(plain: Store, clock: Clock) -> None:
    """The oldest ones."""
    write(plain, 6)
    go_on(follower(plain, Shelf(fails=refusing(*range(1, 7))), replace(QUICK, queue=2)), plain, clock, 12)
    assert [one.seq for one in box(plain).letters("shelf", 9)][:2] == [5, 6]
    assert standing(plain).dropped >= 4
    assert told(plain, "sink.dropped")[0]["sink"]["why"] == "more than 2 records were set aside"


def test_only_the_kinds_asked_for_are_sent(store: Store) -> None:
    """Others are passed over without being written down one by one, and come again to nobody."""
    shelf = Shelf()
    one = follower(store, shelf, replace(QUICK, kinds=("approval.", "call.end"), batch=4))
    for kind in ("call.decided", "approval.requested", "call.endless", "call.end", "user.said") * 3:
        write(store, 1, kind=kind)
    while one.step().wait == 0:
        pass
    assert [one.body.partition('"kind":"')[2].partition('"')[0] for one in shelf.got] == ["approval.requested", "call.end"] * 3


def test_a_sink_that_hangs_costs_its_own_time_only(plain: Store, clock: Clock) -> None:
    """The attempt ends after its time, no second one begins beside it, and a writer never waits."""
    write(plain, 1)
    stuck = Stuck()
    one = follower(plain, stuck, replace(QUICK, timeout=0.05))
    assert one.step().error == "it did not end within 0.05 seconds"
    clock.now = standing(plain, "stuck").due
    write(plain, 1)
    assert one.step().error == "it hangs: an earlier attempt has not ended"
    assert (stuck.calls, one.hangs()) == (1, True)
    stuck.go.set()
    while one.hangs():
        pass
    clock.now = standing(plain, "stuck").due
    assert one.step().did == "sent"
    assert {seq for _, seq in stuck.numbers()} == {1, 2}


def test_whatever_a_sink_raises_is_told_without_its_text(plain: Store) -> None:
    """An exception may hold a secret: its name is told, nothing else."""

    def raises(_: Any) -> SinkError:
        raise ValueError("hunter2")

    write(plain, 1)
    assert follower(plain, Shelf(fails=raises)).step().error == "it failed: ValueError"


def test_a_relay_follows_until_it_is_closed(store: Store) -> None:
    """Each sink in its own thread: one that is down holds nobody up; then all are closed."""
    good, bad = Shelf("good"), Shelf("bad", fails=down)
    with Relay(outbox_of(store), [Planned(sink=good, bounds=QUICK), bad]):
        for conversation in range(4):
            write(store, 5, conversation=f"conv-{conversation}")
        for _ in range(2000):
            if len(good.got) == 22:
                break
            threading.Event().wait(0.01)
    assert len(good.got) == 22  # with the records of both beginnings
    ends = [body["export"] for body in told(store, "audit.export") if body["export"]["step"] == "end"]
    assert [(one["to"], one["count"]) for one in ends] == [("good", 20)]
    assert (good.closed, bad.closed) == (True, True)
