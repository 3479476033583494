"""Benchmark of holding a call and going on with it: processor time beyond what the same call costs when nobody is asked.

    python tests/bench/hold.py                      # memory and SQLite
    python tests/bench/hold.py --rounds 500 --json

A round handles one reply with an allowed action, one (in a conversation of its own) with an action that is held, lets somebody approve it, and asks for what was settled. Figures
are medians of processor time of the process in microseconds, system calls included and waiting for the disk left out. What the kernel spends on
flushing is the disk's part: `commits` more than the allowed call had, each as dear as one row that the bare driver commits in the same run (`a bare
commit`). `in sqlite3` is the floor of the rest: what the driver's own calls took, statements and commits apart, without any rule, measured in rounds
of their own; tests/bench/hold_floor.py executes the same statements in one thread. `refused` is a call that the policy refuses: what it costs to read, judge and record one call at all. No test asserts a time.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

from wire_helpers import message  # noqa: E402 - behind the path to it

from guard import Guard, PolicyWarning, Session  # noqa: E402 - behind the path to it
from guard.stores import file  # noqa: E402 - behind the path to it

POLICY = """
tools:
  ask: {kind: action, allow: [staff], approve: {by: [boss]}}
  act: {kind: action, allow: [staff], approve: never}
  bar: {kind: action, allow: [boss], approve: never}
limits: {run: {calls: 1000000}}
"""
ANN, BOSS = Session(principal="u1", roles=("staff",)), Session(principal="b1", roles=("boss",))
STEPS = ("refused", "allowed", "held", "vote", "resumed")


def ask(n: int) -> dict[str, int]:
    """Do something that a person is asked about."""
    return {"n": n}


def act(n: int) -> dict[str, int]:
    """Do something."""
    return {"n": n}


def bar(n: int) -> dict[str, int]:
    """Do what this caller may not."""
    return {"n": n}


def timed(work: Callable[[], Any], into: list[float]) -> Any:
    """What `work` gives; its processor time is noted in microseconds."""
    begin = time.process_time_ns()
    found = work()
    into.append((time.process_time_ns() - begin) / 1000)
    return found


def one_round(guard: Guard, number: int, spent: dict[str, list[float]]) -> None:
    """New conversations: a refused action in one, an allowed one in another; in a third a held one, a yes, and what was settled. All histories are equally long."""
    barred, plain, chat = (guard.open(ANN, wire="openai-chat", conversation=f"{name}{number}") for name in ("r", "a", "h"))
    replies = [message("openai-chat", (f"c{n}", name, f'{{"n": {number}}}')) for n, name in enumerate(("act", "ask", "bar"))]
    spoken = [[one.user("go")] for one in (plain, chat, barred)]
    timed(lambda: barred.handle(replies[2], history=spoken[2]), spent["refused"])
    timed(lambda: plain.handle(replies[0], history=spoken[0]), spent["allowed"])
    turn = timed(lambda: chat.handle(replies[1], history=spoken[1]), spent["held"])
    timed(lambda: guard.approvals.approve(turn.pending[0], approver=BOSS), spent["vote"])
    if "done" not in str(timed(chat.settled, spent["resumed"])):
        sys.exit("the approved call did not run")


def bare_commit(folder: Path) -> float:
    """Processor time of one durable row with nothing but the driver: the median, in microseconds."""
    spent: list[float] = []
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as connection:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        for _ in range(200):
            timed(lambda: connection.execute("INSERT INTO bare (body) VALUES (?)", ("x" * 700,)), spent)
    return statistics.median(spent)


def counted(guard: Guard, into: list[int]) -> None:
    """Count what the store commits to a file from here on."""
    pen = guard.store._tables.database.pen
    commit = pen.commit

    def one(works: int) -> None:
        into.append(works)
        commit(works)

    pen.commit = one


def disk(guard: Guard, folder: Path) -> dict[str, float]:
    """Commits of one more round beyond those of the allowed call, and what a commit costs the driver alone."""
    commits: dict[str, list[int]] = {step: [] for step in STEPS}
    now: list[int] = []
    counted(guard, now)

    class Noted(list[float]):
        """Notes the commits of a step as its time is noted."""

        def __init__(self, step: str) -> None:
            self.step = step

        def append(self, _: float) -> None:
            commits[self.step], now[:] = list(now), []

    one_round(
        guard, -1, {step: Noted(step) for step in STEPS}
    )  # all conversations are opened, and spoken in, before the first step
    beyond = len(commits["held"]) + len(commits["resumed"]) - len(commits["allowed"])
    return {"commits beyond allowed": beyond, "a bare commit": bare_commit(folder)}


class Inside(file.Connection):
    """A connection that adds up what its calls take of the processor."""

    spent: ClassVar[list[int]] = [0, 0]
    """Nanoseconds of statements, and of commits."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """As ever, and timed."""
        begin = time.thread_time_ns()
        try:
            return super().execute(statement, *values)
        finally:
            self.spent[statement == "COMMIT"] += time.thread_time_ns() - begin


def inside(folder: Path, rounds: int) -> dict[str, float]:
    """Means of what the driver's calls took for holding and going on, beyond an allowed call."""
    found: dict[str, list[list[float]]] = {step: [] for step in STEPS}

    class Noted(list[float]):
        """Notes what the calls of a step took as its time is noted."""

        def __init__(self, step: str) -> None:
            self.step = step

        def append(self, _: float) -> None:
            found[self.step].append([one / 1000 for one in Inside.spent])
            Inside.spent[:] = [0, 0]

    real, file.Connection = file.Connection, Inside  # type: ignore[misc]
    try:
        with Guard.load(folder, tools=[ask, act, bar], store=f"sqlite:///{folder}/inside.db") as guard:
            for number in range(rounds):
                one_round(guard, number, {step: Noted(step) for step in STEPS})
    finally:
        file.Connection = real  # type: ignore[misc]
    each = {step: [statistics.median(column) for column in zip(*times, strict=True)] for step, times in found.items()}
    both = [each["held"][n] + each["resumed"][n] - each["allowed"][n] for n in (0, 1)]
    return {"in sqlite3: statements": both[0], "in sqlite3: commits": both[1]}


def measured(url: str, folder: Path, rounds: int) -> dict[str, float]:
    """Medians of each step, and what holding and resuming cost beyond an allowed call."""
    (folder / "tools.yaml").write_text(POLICY)
    spent: dict[str, list[float]] = {step: [] for step in STEPS}
    with Guard.load(folder, tools=[ask, act, bar], store=url) as guard:
        for number in range(rounds):
            one_round(guard, number, spent)
        more = disk(guard, folder) if url.startswith("sqlite") else {}
    found = {step: statistics.median(times[rounds // 10 :]) for step, times in spent.items()}
    beyond = found["held"] + found["resumed"] - found["allowed"]
    if more:
        more["without them"] = beyond - more["commits beyond allowed"] * more["a bare commit"]
        more |= inside(folder, rounds // 3)
    return {**found, "hold and resume, beyond allowed": beyond, **more}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PolicyWarning)
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, url in (("memory", "memory://"), ("sqlite", f"sqlite:///{folder}/guard.db")):
            table[name] = measured(url, Path(folder), arguments.rounds)
    if arguments.json:
        print(json.dumps(table))
        return
    for name, found in table.items():
        print(f"{name:8}" + "".join(f"  {step} {spent:.0f}" for step, spent in found.items()) + "   (µs)")


if __name__ == "__main__":
    main()
