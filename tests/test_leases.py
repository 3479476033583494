"""Leases: who took a call is believed to be at it, no shorter and no longer, unless its process is surely gone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from life_kit import DONE, ENTRIES, UNKNOWN, Life, a_life, error, lives, living, said, until
from stores_kit import Clock

from guard.core.ports import Store
from guard.stores import executors, open_store

TESTS = Path(__file__).parent


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


class Slow:
    """A store whose claims take so many seconds after they were won: a machine that sleeps."""

    def __init__(self, inner: Store, seconds: float) -> None:
        self.inner, self.seconds, self.blocking, self.secret = inner, seconds, inner.blocking, inner.secret

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def claim(self, command: Any) -> Any:
        return self._later(self.inner.claim(command))

    def begin(self, command: Any) -> Any:
        return self._later(self.inner.begin(command))

    def _later(self, found: Any) -> Any:
        time.sleep(self.seconds)
        return found


SHORT = {
    "no time-out": "lease: 300ms",
    "a time-out": "lease: 300ms, timeout: 200ms",
}


@pytest.mark.parametrize("case", SHORT)
def test_a_call_starts_only_with_enough_of_its_lease_left(life: Life, case: str) -> None:
    """Too late after its claim it is refused, nothing ran, and it may be proposed again."""
    changed = {"once": f"{ENTRIES['once']}, {SHORT[case]}"}
    one = life.propose(life.process(Slow(life.store, 0.25), **changed), ("once", 1))[0]
    assert (said(one), error(one)["retry"]) == (("refused", "lease_over"), True)
    assert (life.ran, life.statuses()) == ([], ["refused"])
    assert said(life.propose(life.process(**changed), ("once", 1), call_id="d")[0]) == DONE


def test_a_further_attempt_that_is_too_late_is_unknown(life: Life) -> None:
    """The first attempt may have taken effect: that the second one was not started is no answer."""
    changed = {"same": f"{ENTRIES['same']}, lease: 300ms"}
    life.dies("same", **changed)
    one = life.propose(life.process(Slow(life.store, 0.25), **changed), ("same", 1))[0]
    assert said(one) == UNKNOWN
    assert (life.ran, life.rows()[0].status) == ([], "unknown")


@pytest.mark.parametrize("before", [False, True], ids=["first", "after a longer one"])
def test_a_lease_is_renewed_while_the_tool_runs_and_no_longer(tmp_path: Path, before: bool) -> None:
    """Longer than its lease: nobody takes the call for lost meanwhile; once it has ended nothing is renewed any more."""
    store = open_store(f"sqlite:///{tmp_path / 'guard.db'}")
    life = Life(tmp_path, "sync", store, Clock())
    seen: list[bool] = []

    def long(n: int) -> None:
        for _ in range(12):
            time.sleep(0.05)
            row = store.rows(life.rows()[-1].key.ref)[-1]
            seen.append(row.lease is not None and row.lease > store.now() and store.doubtful() == ())

    life.answers["once"] = long
    with living(life):
        guard = life.process(once=f"{ENTRIES['once']}, lease: 250ms")
        if before:
            life.propose(guard, ("back", 5), call_id="b")  # its lease is half a minute: the keeper sleeps
        one = life.propose(guard, ("once", 1))[0]
    assert (said(one), all(seen), len(seen)) == (DONE, True, 12)
    assert guard.hands.keeper._held == {}
    last = store.rows(life.rows()[-1].key.ref)[-1].lease
    time.sleep(0.2)
    assert store.rows(life.rows()[-1].key.ref)[-1].lease == last
    guard.close()


CHILD = """
import os, sys, time
from pathlib import Path
from life_kit import LIVING, Life
from stores_kit import Clock
from guard.stores import open_store
folder = Path(sys.argv[1])
store = open_store(f"sqlite:///{folder / 'guard.db'}")
life = Life(folder, "sync", store, Clock())
LIVING.append(life)
def act(n):
    print(life.ran[-1][2], flush=True)
    time.sleep(60)
life.answers["same"] = life.answers["once"] = act
life.propose(life.process(), (sys.argv[2], 1))
"""


@pytest.mark.parametrize("tool", ["once", "same"])
def test_a_call_whose_process_was_killed_is_lost_at_once(tmp_path: Path, tool: str) -> None:
    """Nobody waits for the end of a dead process's lease: unknown, or run again with the same key in another process."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path), tool], env=environment(FIRST=str(TESTS)), stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    key = child.stdout.readline().strip()
    store = open_store(f"sqlite:///{tmp_path / 'guard.db'}")
    assert store.doubtful() == ()  # it is under way
    child.kill()
    child.stdout.close()
    until(store.doubtful)  # a zombie, not waited for, does nothing any more
    child.wait()
    life = Life(tmp_path, "sync", store, Clock())
    begun = time.monotonic()
    with living(life):
        one = life.propose(life.process(), (tool, 1))[0]
    assert time.monotonic() - begun < 5
    assert said(one) == (DONE if tool == "same" else UNKNOWN)
    assert life.keys(tool) == ([key] if tool == "same" else [])
    store.close()


ZOMBIES: list[subprocess.Popen[bytes]] = []


def _dead() -> str:
    child = subprocess.Popen(["sleep", "60"])
    name = f"{executors._place()}:{child.pid}:{executors._began(child.pid)}"
    child.kill()
    child.wait()
    return name


def _zombie() -> str:
    child = subprocess.Popen(["sleep", "60"])
    name = f"{executors._place()}:{child.pid}:{executors._began(child.pid)}"
    child.kill()
    until(lambda: executors._began(child.pid) == "dead")
    ZOMBIES.append(child)
    return name


def _named(pid: object, began: object = "1", place: str | None = None) -> str:
    return f"{executors._place() if place is None else place}:{pid}:{began}"


GONE: dict[str, tuple[Callable[[], str], bool]] = {
    "this one": (executors.me, False),
    "killed": (_dead, True),
    "killed and not waited for": (_zombie, True),
    "a number that was used again": (lambda: _named(1, "999999999999"), True),
    "somebody else's, alive": (lambda: _named(1, executors._began(1)), False),
    "another boot": (lambda: _named(999_999_999, place="00000000-0000/pid:[1]"), False),
    "another namespace": (lambda: _named(999_999_999, place=executors._place() + "1"), False),
    "a number beyond all": (lambda: _named(10**17), True),
    "a number beyond counting": (lambda: _named("9" * 5000), False),
    "a superscript": (lambda: _named("²"), False),
    "no number": (lambda: _named("x"), False),
    "a negative number": (lambda: _named(-1), False),
    "nothing": (lambda: "", False),
    "garbage": (lambda: "::::", False),
    "no place": (lambda: ":999999999:1", False),
}


@pytest.mark.parametrize("case", GONE)
def test_which_process_is_surely_gone(case: str) -> None:
    """Only one of this boot and namespace whose number nobody has, or somebody else; what cannot be known is not gone."""
    make, gone = GONE[case]
    assert executors.gone(make()) is gone
    for zombie in ZOMBIES:
        zombie.wait()
