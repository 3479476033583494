"""The contract of every store: rows, what may overwrite them, the ledger and twins."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from stores_kit import (
    CHILD,
    NEXT,
    REF,
    event,
    key,
    kinds,
    outcome,
    refused,
    row,
)

from guard.core.model import Evidence, Image
from guard.core.ports import FindTwins, LoadLedger, Store
from guard.core.reasons import Reason
from guard.errors import StoreError


def test_rows_come_back_as_they_were(store: Store) -> None:
    """Every field of a row survives: exact numbers, pictures, odd text, the host's key, the branch."""
    at = key(3, 2, CHILD, "host-key")
    arguments = {"amount": Decimal("3860.00"), "n": 10**30, "s": "\ud83d\0é", "deep": [{"a": None}, True]}
    full = replace(
        row(at=at, mark="m"),
        arguments=arguments, owned=frozenset({"n", "amount"}), evidence=(Evidence(turn=1, position=0),), approval="a1",
        value={"rows": [Decimal("1.10")]}, run=4, repeat=True, settled=True, at=12.5,
        outcome=outcome(("text", Image(data="AA==")), arguments, replayed=True, approval="a1", turn=3, position=2),
    )  # fmt: skip
    bare = replace(row("refused", key(3, 3, CHILD)), outcome=refused(), fingerprint="", mark="", kind="")
    store.record([full, bare], [event()])
    assert store.rows(CHILD) == (full, bare)
    assert str(store.rows(CHILD)[0].arguments["amount"]) == "3860.00"


OVERWRITES = [
    ("allowed", "done", "done"),
    ("allowed", "refused", "refused"),
    ("held", "refused", "refused"),
    ("held", "done", "done"),
    ("refused", "done", "done"),
    ("started", "allowed", "started"),
    ("started", "held", "started"),
    ("started", "alias", "started"),
    ("started", "refused", "started"),
    ("started", "done", "done"),
    ("started", "unknown", "unknown"),
    ("done", "done", "done"),
    ("done", "failed", "done"),
    ("done", "refused", "done"),
    ("done", "started", "done"),
    ("failed", "done", "failed"),
    ("failed", "held", "failed"),
    ("unknown", "done", "done"),
    ("unknown", "failed", "failed"),
    ("unknown", "alias", "unknown"),
    ("unknown", "refused", "unknown"),
    ("unknown", "started", "unknown"),
]


@pytest.mark.parametrize(("old", "new", "kept"), OVERWRITES, ids=["-".join(one[:2]) for one in OVERWRITES])
def test_what_has_ended_is_not_written_over(store: Store, old: str, new: str, kept: str) -> None:
    """Finished rows keep their first content, unknown ones are settled by a late truth, started ones are not undecided again."""
    store.record([row(old, value=1, run=1)], [])
    store.record([row(new, value=2, run=1)], [])
    found = store.rows(REF)[0]
    assert (found.status, found.value) == (kept, 2 if new == kept and old != kept else 1)


@pytest.mark.parametrize(
    ("old", "reason", "kept"),
    [
        ("started", Reason.INTERRUPTED, "refused"),
        ("started", Reason.STORE_UNAVAILABLE, "refused"),
        ("started", Reason.INTERNAL_ERROR, "refused"),
        ("started", Reason.NOT_AUTHORIZED, "started"),
        ("started", Reason.CONFLICT, "started"),
        ("started", Reason.APPROVAL_INVALID, "started"),
        ("unknown", Reason.INTERRUPTED, "unknown"),
        ("done", Reason.INTERRUPTED, "done"),
    ],
)
def test_a_taken_call_is_refused_only_when_it_could_not_start(store: Store, old: str, reason: Reason, kept: str) -> None:
    """A refusal that another walk of the same place decided says nothing about the call that is running there."""
    store.record([row(old)], [])
    store.record([row("refused", outcome=outcome(status="refused", reason=reason))], [])
    assert store.rows(REF)[0].status == kept


@pytest.mark.parametrize("old", ["started", "unknown"])
@pytest.mark.parametrize("new", ["done", "failed", "unknown", "refused"])
def test_an_ending_belongs_to_its_content(store: Store, old: str, new: str) -> None:
    """What is said about other content in the same place does not end a call that is under way or in doubt."""
    store.record([row(old)], [])
    store.record([row(new, fingerprint="g", outcome=outcome(status="refused", reason=Reason.INTERRUPTED))], [])
    assert (store.rows(REF)[0].status, store.rows(REF)[0].fingerprint) == (old, "f")


def test_a_finished_row_can_be_marked_delivered(store: Store) -> None:
    """The mark that an outcome was delivered is added to a finished row without touching the rest, and never taken away."""
    store.record([row(value=1)], [])
    store.record([row(value=2, settled=True)], [])
    store.record([row(value=3)], [])
    assert [(found.value, found.settled) for found in store.rows(REF)] == [(1, True)]


def test_rows_of_a_turn_and_of_all_branches(store: Store) -> None:
    """Rows come in order of turn and position, all branches together, whatever the order of writing."""
    store.record([row(at=key(2, 0, CHILD)), row(at=key(1, 1)), row(at=key(1, 0))], [])
    assert [(found.key.turn, found.key.position, found.key.ref.branch) for found in store.rows(REF)] == [
        (1, 0, ""),
        (1, 1, ""),
        (2, 0, "child"),
    ]
    assert [found.key.position for found in store.rows(CHILD, turn=1)] == [0, 1]
    assert store.rows(REF, turn=9) == ()


def test_the_ledger_gives_earlier_calls_of_the_tools_asked_for(store: Store) -> None:
    """Calls that ran, may have run or may yet run, from turns before this one, oldest first; and the words when asked for."""
    statuses = ["done", "started", "unknown", "held", "failed", "refused", "allowed"]
    store.record([row(status, key(2, position)) for position, status in enumerate(statuses)], [])
    store.record(
        [row(at=key(1)), row(at=key(3), tool="pay"), row(at=key(1, 1), tool="read"), row(at=key(1, 2), tool="other")], []
    )
    store.say(REF, "first \ud83d", event("user.said"))
    store.say(CHILD, "second", event("user.said"))

    def load(*tools: str, before: int = 3, words: bool = False):
        return store.load_ledger(LoadLedger(ref=REF, tools=frozenset(tools), before=before, words=words))

    def places(ledger) -> list[tuple[int, int]]:
        return [(found.key.turn, found.key.position) for found in ledger.calls]

    assert places(load("pay")) == [(1, 0), (2, 0), (2, 1), (2, 2), (2, 3)]
    assert places(load("pay", "read", before=2)) == [(1, 0), (1, 1)]
    assert load("pay").words == ()
    assert load(words=True).words == ("first \ud83d", "second")
    assert places(load(words=True)) == []


def test_twins_are_the_newest_calls_that_ran_or_may_run(store: Store) -> None:
    """For each mark the newest held, started, unknown or done call of this conversation, whatever its fingerprint; others are not twins."""
    store.record([row("done", key(1)), row("held", key(2, 1)), row("refused", key(3)), row("failed", key(4))], [])
    store.record([row("unknown", key(2, 0), mark="g"), row("refused", key(5), mark="h")], [])
    store.record([row("held", key(7, 1), mark="j"), row("done", key(7, 0), mark="j")], [])
    store.record([row("done", key(8), mark=""), row("done", key(6), mark="k", fingerprint="other")], [])
    store.record([row("started", key(9, ref=NEXT), mark="h")], [])
    found = store.find_twins(FindTwins(ref=CHILD, marks=("f", "g", "h", "i", "j", "k", "")))
    assert {name: (one.status, one.key.turn, one.key.position) for name, one in found.items()} == {
        "f": ("held", 2, 1),
        "g": ("unknown", 2, 0),
        "j": ("held", 7, 1),
        "k": ("done", 6, 0),
    }


def test_a_changed_mark_leaves_no_trace_in_the_search(store: Store) -> None:
    """A row that is written anew with another mark or tool is found under the new one only."""
    store.record([row("held", mark="f", tool="pay")], [])
    store.record([row("held", mark="g", tool="read")], [])
    assert set(store.find_twins(FindTwins(ref=REF, marks=("f", "g")))) == {"g"}
    ledger = store.load_ledger(LoadLedger(ref=REF, tools=frozenset({"pay"}), before=9, words=False))
    assert ledger.calls == ()


def test_rows_and_events_are_written_together_or_not_at_all(store: Store) -> None:
    """An event that cannot be written undoes the whole command: no row, no other event."""
    for bad, error in (({"kind": "k", "x": object()}, StoreError), ({"kind": "k", "seq": 1}, ValueError)):
        with pytest.raises(error):
            store.record([row()], [event(), bad])
        assert store.rows(REF) == ()
        assert store.audit() == ()
    store.record([], [event("one"), event("two")])
    assert kinds(store) == ["one", "two"]
