"""Plain claims that wait together are taken with one statement; and what the writer remembers of a file is never older than the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from stores_kit import OTHER, REF, Clock, a_store, claim, event, key, records, row
from writer_kit import Spy, at_once

from guard.core.killing import SetKill
from guard.core.kills import Kill, Killed, Stop
from guard.core.ports import Claim, InDoubt, Replay, Store, Won
from guard.errors import ConversationError, StoreError
from guard.stores import open_store


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.123456)


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    """A file with one conversation."""
    for made in a_store("sqlite", tmp_path, clock):
        made.open(REF)
        made.say(REF, "go", event("user.said"))
        yield made


@pytest.fixture
def ruled(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    """A store that always asks the rules."""
    for made in a_store("memory", tmp_path, clock):
        made.open(REF)
        made.say(REF, "go", event("user.said"))
        yield made


KILL = SetKill(
    kill=Kill(stop=Stop("k1", tool="pay"), by="B1", at=0.0, reason="stop"),
    event=lambda kill: event("kill.set", kill={"id": kill.stop.id}),
    ending=lambda _: event("approval.cancelled"),
    ended=lambda held, _: (held, ()),
)


def database(store: Any) -> Any:
    return store._tables.database


def fresh(number: int, **fields: Any) -> Claim:
    """A claim that nobody made before."""
    return claim(key(number), **{"fingerprint": f"f{number}", "mark": f"m{number}", "idem": f"k{number}", "run": 1, **fields})


def all_at_once(store: Store, commands: list[Claim]) -> list[Any]:
    return at_once(database(store), [partial(store.claim, command) for command in commands])


def said(store: Store) -> list[Any]:
    """What the records say, but for their ids, their places, who wrote them and when."""
    own = ("id", "mono", "chain", "seq", "writer")
    bodies = [json.loads(record.body) for record in records(store)]
    return [{name: value for name, value in body.items() if name not in own} for body in bodies]


@pytest.mark.parametrize("number", [2, 13, 40], ids=["two", "odd", "many"])
def test_calls_that_are_taken_together_are_written_as_each_alone(store: Store, ruled: Store, number: int) -> None:
    """The same answers, rows and records, one commit, and not a statement for each call."""
    commands = [fresh(one) for one in range(1, number + 1)]
    spy = Spy(database(store))
    assert all_at_once(store, commands) == [ruled.claim(command) for command in commands]
    assert spy.seen["COMMIT"] == 1
    assert [asdict(one) for one in store.rows(REF)] == [asdict(one) for one in ruled.rows(REF)]
    assert said(store) == said(ruled)


def odd(name: str) -> tuple[Claim, Callable[[Any], bool]]:
    """A claim that is not won, and what its caller gets."""
    cases: dict[str, tuple[Claim, Callable[[Any], bool]]] = {
        "same-place": (fresh(3), lambda answer: isinstance(answer, InDoubt)),
        "same-content": (claim(key(90), fingerprint="f3", mark="m3", run=1), lambda answer: isinstance(answer, InDoubt)),
        "done-before": (claim(key(91), fingerprint="f0", mark="m0", run=1), lambda answer: isinstance(answer, Replay)),
        "somebody-else's": (
            replace(fresh(92), row=row("started", key(92, ref=OTHER), mark="m92")),
            lambda answer: isinstance(answer, ConversationError),
        ),
        "no-record": (replace(fresh(93), event={"no": "kind"}), lambda answer: isinstance(answer, ValueError)),
    }
    return cases[name]


@pytest.mark.parametrize("name", ["same-place", "same-content", "done-before", "somebody-else's", "no-record"])
def test_one_that_cannot_be_taken_keeps_no_other_from_it(store: Store, name: str) -> None:
    """The rules answer it, every other call is taken once, and the chain is whole."""
    store.record([row("done", key(50), fingerprint="f0", mark="m0", run=1)], [event()])
    other, expected = odd(name)
    answers = all_at_once(store, [*(fresh(one) for one in range(1, 9)), other, *(fresh(one) for one in range(11, 16))])
    assert expected(answers.pop(8)), answers
    assert all(isinstance(answer, Won) for answer in answers)
    assert {one.key.turn for one in store.rows(REF) if one.status == "started"} == {*range(1, 9), *range(11, 16)}
    assert len(records(store)) == 2 + 13


def test_calls_of_conversations_that_are_not_there_are_taken(store: Store) -> None:
    """The rules make the conversation, and the others do not wait for it."""
    new = [replace(REF, conversation=f"new-{one}") for one in range(4)]
    commands = [*map(fresh, range(1, 5)), *(claim(key(1, ref=ref), fingerprint=f"n{ref.conversation}", mark="") for ref in new)]
    assert [type(answer) for answer in all_at_once(store, commands)] == [Won] * 8
    assert [len(store.rows(ref)) for ref in new] == [1] * 4


def test_a_work_that_fails_beside_them_leaves_each_taken_once(store: Store) -> None:
    """What was taken together is undone with it and done again, behind the records that are really there."""

    def spoiled() -> None:
        def work(tables: Any) -> None:
            tables.append(event("spoiled"))
            tables.flush()
            raise ValueError

        store._tables.write(work)  # type: ignore[attr-defined]

    calls = [*(partial(store.claim, fresh(one)) for one in range(1, 10)), spoiled]
    answers = at_once(database(store), calls)
    assert [type(answer) for answer in answers] == [Won] * 9 + [ValueError]
    assert len(records(store)) == 1 + 9


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in-another-process"])
def test_a_kill_stops_calls_that_would_be_taken_together(store: Store, tmp_path: Path, clock: Clock, *, elsewhere: bool) -> None:
    """Nothing that was learnt of the file before hides it, whoever set it."""
    assert [type(answer) for answer in all_at_once(store, [fresh(one) for one in range(1, 5)])] == [Won] * 4
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock)) as other:
        (other if elsewhere else store).set_kill(KILL)
        answers = all_at_once(store, [fresh(one) for one in range(5, 9)])
        assert [type(answer) for answer in answers] == [Killed] * 4
        assert isinstance(store.claim(fresh(10)), Killed)


def test_a_new_epoch_stops_calls_that_would_be_taken_together(store: Store, tmp_path: Path, clock: Clock) -> None:
    """Where somebody else said that a backup was put back, this program has to open the file again."""
    assert [type(answer) for answer in all_at_once(store, [fresh(one) for one in range(1, 5)])] == [Won] * 4
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock)) as other:
        other.restored(
            "a backup was put back", event("store.restored"), lambda one: (replace(one, status="unknown"), event("call.unknown"))
        )
    answers = all_at_once(store, [fresh(one) for one in range(5, 9)])
    assert [getattr(answer, "code", None) for answer in answers] == ["restored"] * 4
    assert all(isinstance(answer, StoreError) for answer in answers)


def test_what_another_process_wrote_is_seen_at_once(store: Store, tmp_path: Path, clock: Clock) -> None:
    """Counters, the newest record and owners: each store goes on from what the other one has written."""
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock)) as other:
        for number in range(6):
            (other, store)[number % 2].say(REF, f"{number}", event("user.said"))
        taken = replace(REF, conversation="taken")
        other.open(taken)
        with pytest.raises(ConversationError):
            store.say(replace(taken, principal="E2"), "mine?", event("user.said"))
    assert [record.seq for record in records(store)] == [*range(1, 8)]


def test_what_was_undone_is_not_remembered(store: Store) -> None:
    """Counters and the newest record are read again after a work that failed, also one that failed before it wrote anything."""

    def fails(tables: Any) -> None:
        talk = tables.talk((REF.tenant, REF.conversation))
        talk.words += 5
        tables.save(talk)
        tables.append(event("never"))
        tables.flush()
        raise ValueError("spoiled")

    for _ in range(2):
        with pytest.raises(ValueError, match="spoiled"):
            store._tables.write(fails)  # type: ignore[attr-defined]
        store.say(REF, "again", event("user.said"))
    assert [json.loads(record.body)["kind"] for record in records(store)] == ["user.said"] * 3
