"""The same call at the same moment, by threads, tasks and processes: one execution, and every loser gets the winner's outcome."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from crash import places, targets
from crash.racers import GO, chat_of, load, reply, told
from stores_kit import claim, key, records

from guard.core.ports import InDoubt, Won
from guard.stores.chain import verify_store

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
MANY = 64
stores = pytest.mark.parametrize("store", ["memory", *places.NAMES])
files = pytest.mark.parametrize("store", places.NAMES)
slowness = pytest.mark.parametrize("seconds", [0.0, 0.3], ids=["fast", "slow"])
Handle = Callable[[Any, int], Any]


def again(guard: Any, number: int) -> Any:
    """The same reply with the history of its time, as a client sends it twice."""
    return chat_of(guard).handle(reply(1), history=[GO])


def blind(guard: Any, number: int) -> Any:
    """The same reply without a history."""
    return chat_of(guard).handle(reply(1))


def equal(guard: Any, number: int) -> Any:
    """An equal call under another id, as a model proposes it twice."""
    return chat_of(guard).handle(reply(1, f"{number}_"), history=[GO])


ways = pytest.mark.parametrize("way", [again, blind, equal])


def url_of(store: str, folder: Path) -> str:
    return "memory://" if store == "memory" else places.url_of(store, folder)


def at_once(number: int, work: Callable[[int], Any]) -> list[Any]:
    """What each of so many threads gives, all started together."""
    gate = Barrier(number)

    def one(index: int) -> Any:
        gate.wait()
        return work(index)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(one, range(number)))


def one_winner(folder: Path, found: list[list[Any]], guard: Any) -> None:
    """One execution, and everybody has its outcome; a fact on the disk too."""
    assert {tuple(map(tuple, outcomes)) for outcomes in found} == {tuple(map(tuple, found[0]))}
    assert [status for status, _ in found[0]] == ["done"] * len(found[0])
    assert [json.loads(content)["n"] for _, content in found[0]] == list(range(len(found[0])))
    assert sorted(targets.lines(folder, "effect")) == [[str(n)] for n in range(len(found[0]))]
    begun = [record for record in records(guard.store) if '"kind":"call.begin"' in record.body]
    assert (len(begun), verify_store(guard.store).ok) == (len(found[0]), True)


@stores
@slowness
@ways
def test_many_threads_of_one_guard(tmp_path: Path, store: str, seconds: float, way: Handle) -> None:
    """64 threads handle the same call: one runs it, and the other 63 wait for its outcome instead of calling it unknown."""
    guard = load(tmp_path, url_of(store, tmp_path), "sync", seconds)
    chat_of(guard)
    found = at_once(MANY, lambda number: told(way(guard, number)))
    one_winner(tmp_path, found, guard)
    guard.close()


@files
@slowness
@ways
def test_many_threads_of_several_guards(tmp_path: Path, store: str, seconds: float, way: Handle) -> None:
    """The same with eight guards, each with a store of its own on one database."""
    url = url_of(store, tmp_path)
    guards = [load(tmp_path, url, "sync", seconds) for _ in range(8)]
    found = at_once(MANY, lambda number: told(way(guards[number % 8], number)))
    one_winner(tmp_path, found, guards[0])
    for guard in guards:
        guard.close()


@stores
@slowness
@ways
@pytest.mark.parametrize("kind", ["async", "async, plain tools"])
def test_many_tasks_of_one_guard(tmp_path: Path, store: str, seconds: float, way: Handle, kind: str) -> None:
    """64 tasks of one event loop: as for threads, whether the tool is awaited or not."""
    guard = load(tmp_path, url_of(store, tmp_path), kind, seconds)

    async def all_at_once() -> list[Any]:
        return [told(turn) for turn in await asyncio.gather(*(way(guard, number) for number in range(MANY)))]

    one_winner(tmp_path, asyncio.run(all_at_once()), guard)
    guard.close()


@stores
def test_many_threads_claim_one_call(tmp_path: Path, store: str) -> None:
    """The store itself lets one of 64 win; to the others the call is in doubt and not lost."""
    guard = load(tmp_path, url_of(store, tmp_path), "sync", 0.0)
    found = at_once(MANY, lambda number: guard.store.claim(claim()))
    assert sum(isinstance(answer, Won) for answer in found) == 1
    assert sum(isinstance(answer, InDoubt) and not answer.lost for answer in found) == MANY - 1
    assert guard.store.claim(claim(key(2))) == InDoubt(row=next(answer.row for answer in found if isinstance(answer, InDoubt)))
    guard.close()


# -- processes


def processes(folder: Path, url: str, kind: str, number: int, calls: int, seconds: float) -> list[list[Any]]:
    """What each process was told."""
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    given = [str(folder), url, kind, str(number), str(calls), str(seconds)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "crash.racers", *given],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@files
@slowness
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_eight_processes_handle_one_call(tmp_path: Path, store: str, seconds: float, kind: str) -> None:
    """One process runs it; every other one gives back that process's outcome."""
    url = url_of(store, tmp_path)
    found = processes(tmp_path, url, kind, 8, 1, seconds)
    guard = load(tmp_path, url, "sync", 0.0)
    one_winner(tmp_path, found, guard)
    guard.close()


@files
@slowness
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_two_processes_handle_one_reply_with_three_actions(tmp_path: Path, store: str, seconds: float, kind: str) -> None:
    """Each action runs once, in whichever process; both have all three results, in call order."""
    url = url_of(store, tmp_path)
    found = processes(tmp_path, url, kind, 2, 3, seconds)
    guard = load(tmp_path, url, "sync", 0.0)
    one_winner(tmp_path, found, guard)
    guard.close()
