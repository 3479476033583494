"""The contract of every store: conversations, turns, what a run has used, and opening by URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from stores_kit import (
    CHILD,
    NEXT,
    OTHER,
    REF,
    STORES,
    Clock,
    a_store,
    asking,
    charge,
    event,
    key,
    proposal,
    quota,
    row,
    turn,
    usage,
)

from guard.core.ports import Again, FindTwins, LoadLedger, Store
from guard.errors import ConversationError, StoreError
from guard.stores import open_store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    yield from a_store(request.param, tmp_path, clock)


def opened(store: Store, *args, **fields) -> tuple[int, Again]:
    answer = store.open_turn(turn(*args, **fields))
    return answer.turn, answer.again


def test_a_conversation_belongs_to_who_opened_it(store: Store) -> None:
    """Opening it again is fine for its owner in any branch, and an error for anybody else, by every way in."""
    store.open(REF)
    store.open(CHILD)
    refused_ways = [
        lambda: store.open(OTHER),
        lambda: store.say(OTHER, "hello", event("user.said")),
        lambda: store.open_turn(turn(ref=OTHER)),
        lambda: store.load_ledger(LoadLedger(ref=OTHER, tools=frozenset(), before=9, words=True)),
        lambda: store.find_twins(FindTwins(ref=OTHER, fingerprints=("f",))),
        lambda: store.rows(OTHER),
        lambda: store.take(quota((key(ref=OTHER), (charge(),)))),
        lambda: store.record([row(at=key(ref=OTHER))], [event()]),
        lambda: store.ask(asking(proposal(now=store.now(), at=key(ref=OTHER)))),
    ]
    for way in refused_ways:
        with pytest.raises(ConversationError, match="somebody else") as caught:
            way()
        assert "E1" not in str(caught.value)
    assert store.audit() == ()


def test_a_refused_command_creates_no_conversation(store: Store) -> None:
    """A command that names the same conversation for two people fails whole: neither of them owns it afterwards."""
    for attempt in (lambda: store.take(quota((key(ref=OTHER), ()), (key(), ()))), lambda: store.say(OTHER, "x", event(seq=1))):
        with pytest.raises((ConversationError, ValueError)):
            attempt()
        assert store.rows(REF) == store.rows(OTHER) == ()
    store.open(REF)


def test_tenants_do_not_share_conversations(store: Store) -> None:
    """The same name in another tenant is another conversation, whoever owns the first."""
    store.open(REF)
    elsewhere = replace(OTHER, tenant="globex")
    store.open(elsewhere)
    store.record([row()], [event()])
    assert store.rows(elsewhere) == ()


def test_a_conversation_that_nobody_opened_is_empty(store: Store) -> None:
    """Reading it gives nothing and creates nothing; writing to it creates it for that principal."""
    assert store.rows(REF) == ()
    assert store.load_ledger(LoadLedger(ref=REF, tools=frozenset({"pay"}), before=9, words=True)).words == ()
    assert store.find_twins(FindTwins(ref=REF, fingerprints=("f",))) == {}
    store.open(OTHER)
    with pytest.raises(ConversationError):
        store.open(REF)


# -- turns


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


def test_audit_pages(store: Store) -> None:
    """`after` and `limit` cut the records in order of seq, from 1 without gaps."""
    store.record([], [event(str(number)) for number in range(5)])
    assert [record.seq for record in store.audit()] == [1, 2, 3, 4, 5]
    assert [record.seq for record in store.audit(after=2, limit=2)] == [3, 4]
    assert store.audit(after=5) == ()
    assert store.audit(limit=0) == ()


def test_now_is_the_clock(store: Store, clock: Clock) -> None:
    """Time is the store's clock and nothing else."""
    clock.now = 5.0
    assert store.now() == 5.0


# -- opening


@pytest.mark.parametrize("url", ["", "memory", "mysql://x", "guard.db", "SQLITE:///x.db", "postgresql://host/db"])
def test_an_unknown_scheme_names_the_known_ones(url: str) -> None:
    """A store that does not exist (yet) is refused with the ones that do, without repeating the URL and its password."""
    with pytest.raises(StoreError, match="memory://, sqlite://") as caught:
        open_store(url)
    assert ("not available yet" in str(caught.value)) == url.startswith("postgresql")


@pytest.mark.parametrize(
    "url",
    ["memory://x", "sqlite://", "sqlite:///", "sqlite://x.db", "sqlite:///:memory:", "sqlite:///a.db?mode=ro", "sqlite:///d/"],
)
def test_a_malformed_url_is_refused(url: str) -> None:
    """What a URL cannot mean is an error, not a guess."""
    with pytest.raises(StoreError):
        open_store(url)


def test_relative_and_absolute_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes are relative to the working directory at that time, four are absolute."""
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite:///relative.db", f"sqlite:///{tmp_path}/absolute.db"):
        open_store(url).close()
    assert {"relative.db", "absolute.db"} <= {path.name for path in tmp_path.iterdir()}
