"""The PostgreSQL store: what its locks promise to threads and processes, beyond the contract of every store."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import postgres_kit
import pytest
from postgres_parts import WRITERS, there, told
from stores_kit import ask, charge, claim, event, key, kinds, proposal, quota, row, vote
from test_stores_races import race, start

from guard.core.ports import AskApproval, Store, Won
from guard.errors import ApprovalError
from guard.stores import open_store
from guard.stores.chain import verify_store
from guard.stores.postgres_chains import chain_of


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_kit.database() as made:
        yield made


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as made:
        yield made
        assert verify_store(made).ok


# -- threads


def test_sixteen_threads_race_for_one_call(store: Store) -> None:
    """One of them wins it, whether or not the conversation exists already."""
    for number in range(1, 6):
        found = race(WRITERS, lambda _, number=number: type(store.claim(claim(key(number), mark=f"m{number}"))))
        assert found.count(Won) == 1
    assert kinds(store) == ["call.begin"] * 5


def test_sixteen_threads_race_for_one_approval(store: Store) -> None:
    """One vote counts, one claim spends it, and the losers are told so."""
    ask(store)

    def decide(number: int) -> str:
        try:
            return str(vote(store, by=f"B{number}").decided_by)
        except ApprovalError as error:
            return error.code

    assert Counter(race(WRITERS, decide))["already_decided"] == WRITERS - 1
    assert race(WRITERS, lambda number: type(store.claim(claim(key(1, number), "a1")))).count(Won) == 1
    assert store.approval("a1").status == "consumed"


def test_a_budget_over_conversations_is_never_overdrawn(store: Store) -> None:
    """Sixteen conversations draw on one budget of 40, each in its own order of two budgets: 40 draws are given, none is lost."""

    def draw(number: int) -> int:
        names = ("a", "b") if number % 2 else ("b", "a")
        both = tuple(charge(limit=40, scope="tenant", name=name) for name in names)
        return sum(store.take(quota((there(step, number), both))) == (None,) for step in range(1, 5))

    assert sum(race(WRITERS, draw)) == 40


def test_chains_do_not_fork_under_sixteen_writers(store: Store) -> None:
    """Every record stands in the chain of its conversation, and every chain holds, however many write at once."""

    def write(number: int) -> None:
        for step in range(1, 21):
            store.record([row(at=there(step, number))], [told(number), told((number + step) % 7, "other")])

    race(WRITERS, write)
    assert verify_store(store).records == WRITERS * 20 * 2
    for chain in range(store.chains):
        assert {chain_of(json.loads(record.body)) for record in store.audit(chain=chain)} <= {chain}
    assert sum(bool(store.audit(chain=chain, limit=1)) for chain in range(store.chains)) > 8


def test_ends_of_many_windows_are_written_once(store: Store, url: str) -> None:
    """Listers that find the same approvals expired neither block each other nor write an end twice."""
    with closing(open_store(url, clock=lambda: 1.0)) as earlier:
        for number in range(20):
            given = proposal(f"a{number}", now=1.0, at=there(1, number), window=1.0)
            earlier.ask(AskApproval(proposal=given, event=event("approval.requested"), run=0))
    for found in race(8, lambda _: store.approvals()):
        assert {one.status for one in found} == {"expired"}
    assert Counter(kinds(store)) == {"approval.requested": 20, "approval.expired": 20}


def test_workers_pick_different_calls_without_waiting(store: Store) -> None:
    """Of twenty approved calls each is picked by one worker, though all ask at once."""
    for number in range(20):
        ask(store, f"a{number}", at=key(1, number), fingerprint=f"f{number}")
        vote(store, f"a{number}")
        store.record([row("held", key(1, number), fingerprint=f"f{number}", mark="", approval=f"a{number}")], [event()])
    picked = race(8, lambda _: [found.key.position for _ in range(4) for found in store.pick(grace=0, lease=60, limit=3)])
    assert sorted(position for part in picked for position in part) == list(range(20))


def test_a_text_and_a_dict_of_one_conversation_share_a_chain() -> None:
    """However an event is written, its conversation decides; one of no conversation is in chain 0."""
    for name in ("conv", 'c"\\', "é\n", "😀", "\ud83d"):
        fields = {"kind": "k", "tenant": "acme", "conversation": name, "args": {"tenant": "x", "conversation": "y"}}
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))[1:-1]
        assert chain_of(text) == chain_of(fields)
    assert chain_of('"kind":"k"') == chain_of({"kind": "k"}) == chain_of({"kind": "k", "tenant": "acme"}) == 0


# -- processes

RACER = """
import sys
from stores_kit import charge, claim, event, key, quota, row, vote
from guard.core.ports import Won
from guard.errors import ApprovalError
from guard.stores import open_store

url, number = sys.argv[1], int(sys.argv[2])
store = open_store(url)
print("ready", flush=True)
sys.stdin.readline()
won = [turn for turn in range(1, 41) if isinstance(store.claim(claim(key(turn), mark=f"m{turn}")), Won)]
given = sum(store.take(quota((key(number, n), (charge(limit=30),)))) == (None,) for n in range(10))
try:
    vote(store, by=f"B{number}")
    decided = 1
except ApprovalError:
    decided = 0
spent = isinstance(store.claim(claim(key(100, number), "a1", fingerprint="g", mark="g")), Won)
print(len(won), given, decided, int(spent))
"""


def test_four_processes_race_for_calls_budget_and_approval(store: Store, url: str) -> None:
    """Each call is won once, the budget is drawn to its limit, one vote counts and one claim spends it."""
    ask(store, fingerprint="g")
    racers = [start(RACER, url, str(number)) for number in range(4)]
    assert all(racer.stdout.readline() == "ready\n" for racer in racers)
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    found = [[int(word) for word in racer.communicate(timeout=60)[0].split()] for racer in racers]
    assert [sum(column) for column in zip(*found, strict=True)] == [40, 30, 1, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_children_use_connections_of_their_own(store: Store) -> None:
    """A child that writes and ends in the ordinary way takes nothing from its parent, who goes on with its connection."""
    store.record([], [event("parent")])
    store.wait(0.05)
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                store.record([], [event("child")])
                store.wait(0.05)
                store.close()
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(child)
    before = connections(store)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    store.record([], [event("parent")])
    assert store._tables.listener._connection.execute("SELECT 1").fetchone() == (1,)
    assert before <= connections(store)
    assert Counter(kinds(store)) == {"parent": 2, "child": 3}


def connections(store: Any) -> set[int]:
    """The server's processes behind the idle connections."""
    return {wire._conn.backend_pid for wire in store._tables.pool._idle}
