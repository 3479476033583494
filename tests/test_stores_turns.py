"""The contract of every store: how turns are numbered, and how one that is handled again is recognised."""

from __future__ import annotations

import json

import pytest
from stores_kit import CHILD, NEXT, OTHER, REF, event, key, row, turn, usage

from guard.core.ports import Again, Store
from guard.errors import ConversationError


def opened(store: Store, *args, **fields) -> tuple[int, Again]:
    answer = store.open_turn(turn(*args, **fields))
    return answer.turn, answer.again


def test_turns_are_numbered_across_branches(store: Store) -> None:
    """Numbers rise by one for each new turn of the conversation, whatever its branch, and from 1 in each conversation."""
    assert [opened(store, "a"), opened(store, "b", CHILD), opened(store, "c"), opened(store, "a", NEXT)] == [
        (1, Again.NEW),
        (2, Again.NEW),
        (3, Again.NEW),
        (1, Again.NEW),
    ]


RECOGNISED = [
    pytest.param("d", {}, "d", {}, Again.UNSURE, id="same-without-history"),
    pytest.param("d", {}, "e", {}, Again.NEW, id="other-without-history"),
    pytest.param("d", {}, "d", {"answered": 1, "answered_all": 1}, Again.NEW, id="its-results-are-in-the-history"),
    pytest.param("d", {}, "d", {"answered": 0, "answered_all": 0}, Again.AGAIN, id="its-results-are-missing"),
    pytest.param("d", {}, "d", {"answered": 0}, Again.AGAIN, id="missing-and-no-total"),
    pytest.param("d", {}, "e", {"answered": 0, "answered_all": 0}, Again.NEW, id="other-with-history"),
    pytest.param("d", {"ref": CHILD}, "d", {}, Again.NEW, id="same-in-another-branch"),
    pytest.param("d", {"key": "k"}, "d", {}, Again.NEW, id="turns-with-a-key-are-not-the-newest"),
    pytest.param("d", {"key": "k"}, "d", {"key": "k"}, Again.AGAIN, id="same-key"),
    pytest.param("d", {"key": "k"}, "e", {"key": "k"}, Again.AGAIN, id="same-key-other-content"),
    pytest.param("d", {"key": "k"}, "d", {"key": "l"}, Again.NEW, id="other-key"),
    pytest.param("d", {}, "d", {"key": "k"}, Again.NEW, id="new-key-after-a-turn"),
]


@pytest.mark.parametrize(("first", "how", "second", "then", "again"), RECOGNISED)
def test_second_message_is_recognised(store: Store, first: str, how: dict, second: str, then: dict, again: Again) -> None:
    """A message is the newest turn again only when its calls are the same and the history lacks their results."""
    opened(store, first, **how)
    assert opened(store, second, **then) == (1 if again is Again.AGAIN else 2, again)


@pytest.mark.parametrize(
    ("answered", "answered_all", "again"),
    [
        (3, 3, Again.NEW),
        (4, 4, Again.NEW),
        (0, 2, Again.AGAIN),
        (2, 3, Again.AGAIN),
        (2, 2, Again.UNSURE),
        (1, None, Again.UNSURE),
    ],
)
def test_equal_turns_are_told_apart_by_the_history(store: Store, answered: int, answered_all: int | None, again: Again) -> None:
    """Of three equal turns and one other: all answered is new, none is again, some is again only if all others are answered."""
    for digest in ("d", "x", "d", "d"):
        opened(store, digest, answered=9)
    assert opened(store, "d", answered=answered, answered_all=answered_all)[1] is again


def test_the_same_calls_after_the_user_spoke_are_new(store: Store) -> None:
    """Without a history, an equal message is a new turn once the user has said something since."""
    store.say(REF, "go", event("user.said"))
    assert opened(store) == (1, Again.NEW)
    assert opened(store) == (2, Again.UNSURE)
    store.say(REF, "again", event("user.said"))
    assert opened(store) == (3, Again.NEW)


def test_a_key_is_known_in_every_branch(store: Store) -> None:
    """A host's key names one turn of the conversation, so a child cannot use it for something else."""
    opened(store, key="k")
    assert opened(store, "e", CHILD, key="k") == (1, Again.AGAIN)


def test_a_known_turn_comes_with_its_rows(store: Store) -> None:
    """Handled again, a turn brings its own rows by position; a new one brings none."""
    opened(store)
    store.record([row(at=key(1, 1)), row("held", at=key(1, 0)), row(at=key(2, 5, CHILD))], [event()])
    opened(store, "d", CHILD)
    for how in ({"answered": 0}, {}):
        again = store.open_turn(turn(**how))
        assert {position: found.status for position, found in again.rows.items()} == {0: "held", 1: "done"}
    assert store.open_turn(turn("e")).rows == {}


def test_an_unsure_turn_counts(store: Store) -> None:
    """What may be a repetition gets a number, a step and its usage of its own: a loop cannot hide in it."""
    store.open_turn(turn(usage=usage(10)))
    unsure = store.open_turn(turn(usage=usage(10)))
    assert (unsure.again, unsure.turn, unsure.steps, unsure.tokens) == (Again.UNSURE, 2, 2, 20)


def test_a_numbered_turn_records_its_events_with_its_number(store: Store) -> None:
    """The proposals of a new turn are in the audit under its number; the same turn again records nothing."""
    store.open_turn(turn())
    told = lambda number: tuple(event("call.proposed", turn=number, position=position) for position in range(2))
    store.open_turn(turn("e", told=told))
    store.open_turn(turn("e", answered=0, told=told))
    found = [json.loads(record.body) for record in store.audit()]
    assert [(one["kind"], one["turn"], one["position"]) for one in found] == [("call.proposed", 2, 0), ("call.proposed", 2, 1)]


OLDER = [
    pytest.param("dx", {"answered": 0, "answered_all": 0}, (1, Again.AGAIN), id="its-old-history"),
    pytest.param("dx", {"answered": 0}, (1, Again.AGAIN), id="its-results-are-missing-and-no-total"),
    pytest.param("dxy", {"answered": 0, "answered_all": 0}, (1, Again.AGAIN), id="much-older"),
    pytest.param("xdy", {"answered": 0, "answered_all": 1}, (2, Again.AGAIN), id="its-old-history-with-others"),
    pytest.param("dxdx", {"answered": 1, "answered_all": 2}, (3, Again.AGAIN), id="the-newest-of-equal-ones"),
    pytest.param("ddx", {"answered": 1, "answered_all": 1}, (2, Again.AGAIN), id="two-in-a-row"),
    pytest.param("xydxy", {"answered": 0, "answered_all": 1}, (6, Again.UNSURE), id="a-history-cut-off-at-its-front"),
    pytest.param("dx", {"answered": 0, "answered_all": 1}, (3, Again.UNSURE), id="a-history-of-another-time"),
    pytest.param("dx", {"answered": 1, "answered_all": 2}, (3, Again.NEW), id="its-results-are-in-the-history"),
    pytest.param("dxdx", {"answered": 2, "answered_all": 4}, (5, Again.NEW), id="all-results-are-in-the-history"),
    pytest.param("dx", {}, (3, Again.NEW), id="without-history"),
    pytest.param("xy", {"answered": 0, "answered_all": 0}, (3, Again.NEW), id="never-seen"),
    pytest.param("dx", {"answered": 0, "answered_all": 0, "ref": CHILD}, (3, Again.NEW), id="seen-in-another-branch"),
]


@pytest.mark.parametrize(("before", "how", "answer"), OLDER)
def test_an_older_turn_is_recognised(store: Store, before: str, how: dict, answer: tuple[int, Again]) -> None:
    """A reply that comes back with the history of its time is the turn that it was; one that only may be it counts as a new one."""
    for number, digest in enumerate(before, 1):
        opened(store, digest, answered=9)
        store.record([row(at=key(number))], [])
    found = store.open_turn(turn("d", **how))
    assert (found.turn, found.again) == answer
    newest = max((number for number, digest in enumerate(before, 1) if digest == "d"), default=0)
    assert [one.key.turn for one in found.rows.values()] == ([] if found.again is Again.NEW else [newest])


def test_the_newest_turn_with_these_calls(store: Store) -> None:
    """Its number in its own branch, keyed turns left out; None where there is none, and nobody else may ask."""
    for how in ({}, {}, {"ref": CHILD}, {"key": "k"}):
        store.open_turn(turn(**how))
    assert [store.turn_of(REF, "d"), store.turn_of(CHILD, "d"), store.turn_of(REF, "e"), store.turn_of(NEXT, "d")] == [
        2,
        3,
        None,
        None,
    ]
    with pytest.raises(ConversationError):
        store.turn_of(OTHER, "d")
