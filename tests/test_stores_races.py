"""The contract of every store under fire: threads, processes, kills. One winner each, nothing lost, and the chain still verifies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Thread

import pytest
from stores_kit import STORES, Clock, a_store, ask, charge, claim, event, key, kinds, outcome, quota, row, turn, vote

from guard.core.ports import InDoubt, Replay, Store, Won
from guard.errors import ApprovalError
from guard.stores import open_store
from guard.stores.chain import verify

TESTS = Path(__file__).parent


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    yield from a_store(request.param, tmp_path, Clock())


def race(threads: int, work) -> list:
    """What each of so many threads gives, all started at once."""
    gate = Barrier(threads)

    def one(number: int):
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(threads)))


def test_eight_threads_race_for_two_hundred_calls(store: Store) -> None:
    """Each call is won by exactly one thread; all others are in doubt about it or replay it."""

    def work(number: int) -> list[int]:
        won = []
        for turn_number in range(1, 201):
            if isinstance(store.claim(claim(key(turn_number), mark=f"f{turn_number}")), Won):
                store.record([row(at=key(turn_number), mark=f"f{turn_number}")], [event("call.end")])
                won.append(turn_number)
        return won

    won = [turn_number for part in race(8, work) for turn_number in part]
    assert sorted(won) == list(range(1, 201))
    assert Counter(kinds(store)) == {"call.begin": 200, "call.end": 200}


def test_eight_threads_race_with_one_content(store: Store) -> None:
    """Equal calls at different places are one action: one is won, the others are that one."""
    answers = race(8, lambda number: type(store.claim(claim(key(1, number)))))
    assert Counter(answers) == {Won: 1, InDoubt: 7}


def test_eight_threads_race_for_one_approval(store: Store) -> None:
    """One vote counts and one claim spends it."""
    ask(store)

    def vote_once(number: int) -> str:
        try:
            return vote(store, by=f"B{number}").decided_by
        except ApprovalError as error:
            return error.code

    votes = Counter(race(8, vote_once))
    assert votes.pop("already_decided") == 7
    assert list(votes) == [store.approval("a1").decided_by]
    claims = race(8, lambda number: type(store.claim(claim(key(1, number), "a1"))))
    assert claims.count(Won) == 1


def test_eight_threads_race_for_a_budget(store: Store) -> None:
    """Of 80 draws on a budget of 50, exactly 50 are given."""
    given = race(8, lambda number: [store.take(quota((key(number, n), (charge(limit=50),)))) for n in range(10)])
    assert sum(answer == (None,) for part in given for answer in part) == 50


def test_eight_threads_open_turns(store: Store) -> None:
    """Every turn gets a number of its own, without gaps."""
    given = race(8, lambda number: [store.open_turn(turn(f"{number}-{n}")).turn for n in range(10)])
    assert sorted(number for part in given for number in part) == list(range(1, 81))


# -- several processes on one file

RACER = """
import json, sys, time
from stores_kit import claim, event, key, row
from guard.core.ports import Won
from guard.stores import open_store

url, keys = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
store = open_store(url)
won = []
for turn in range(1, keys + 1):
    if isinstance(store.claim(claim(key(turn), mark=f"f{turn}")), Won):
        store.record([row(at=key(turn), mark=f"f{turn}")], [event("call.end")])
        won.append(turn)
store.close()
print(json.dumps(won))
"""

HOLDER = """
import sys, time
from stores_kit import ask, claim, vote
from guard.stores import open_store

store = open_store(sys.argv[1])
ask(store)
vote(store)
print(type(store.claim(claim(approval="a1"))).__name__, flush=True)
time.sleep(60)
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(TESTS), *sys.path, str(TESTS.parent)])
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_four_processes_race_on_one_new_file(tmp_path: Path) -> None:
    """Processes that make the file together and race for its calls win each call once; the chain has no fork."""
    url = f"sqlite:///{tmp_path}/guard.db"
    racers = [start(RACER, url, "50") for _ in range(4)]
    assert all(racer.stdout.readline() == "ready\n" for racer in racers)
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    won = [json.loads(racer.communicate(timeout=120)[0]) for racer in racers]
    assert sorted(turn_number for part in won for turn_number in part) == list(range(1, 51))
    store = open_store(url)
    assert verify(store.audit()).records == 100
    store.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_killed_process_leaves_its_call_in_doubt(tmp_path: Path) -> None:
    """Killed between claim and outcome: the claim and the spent approval are on disk, and nobody runs the call again."""
    url = f"sqlite:///{tmp_path}/guard.db"
    holder = start(HOLDER, url)
    assert holder.stdout.readline() == "Won\n"
    holder.kill()
    holder.communicate()
    store = open_store(url)
    assert isinstance(store.claim(claim()), InDoubt)
    assert isinstance(store.claim(claim(key(2))), InDoubt)
    assert store.approval("a1").status == "consumed"
    assert kinds(store) == ["approval.requested", "approval.resolved", "call.begin"]
    assert verify(store.audit()).ok
    store.record([row("unknown")], [event("call.unknown")])
    store.record([row("done", outcome=outcome("late"))], [event("call.end")])
    late = store.claim(claim())
    assert isinstance(late, Replay)
    assert late.row.outcome.content == "late"
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_children_go_on_with_the_same_object(tmp_path: Path) -> None:
    """Forked while another thread writes, children and parent all go on: every record is there, ids differ, the chain holds."""
    store = open_store(f"sqlite:///{tmp_path}/guard.db")
    writer = Thread(target=lambda: [store.record([], [event("thread")]) for _ in range(60)])
    writer.start()
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(5):
                    store.record([], [event("child")])
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(child)
        store.record([], [event("parent")])
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    writer.join()
    assert Counter(kinds(store)) == {"thread": 60, "child": 15, "parent": 3}
    assert len({json.loads(record.body)["id"] for record in store.audit()}) == 78
    assert verify(store.audit()).ok
    store.close()
