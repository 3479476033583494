"""Benchmark of the floor under tests/bench/hold.py: what holding a call and going on with it costs SQLite's driver alone, in one thread, without rules.

    python tests/bench/hold_floor.py
    python tests/bench/hold_floor.py --rounds 300

The statements of the rounds are noted with their values, and executed once more, in their order and in the same transactions, on a copy of the file as it was before. `all` is what
they take together; `writes` are those alone that write a row, with `BEGIN` and `COMMIT`: the least that holding and resuming can cost while these rows are
written. Figures are medians of processor time of the thread in microseconds, system calls included, so the disk's share of a commit (see `a bare
commit` of the other benchmark) is in them; `beyond` is held and resumed less an allowed call. No test asserts a time.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import tempfile
import time
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE)]

import hold  # noqa: E402 - behind the path to it

from guard import Guard, PolicyWarning  # noqa: E402 - behind the path to it
from guard.stores import file  # noqa: E402 - behind the path to it
from guard.stores.sqlite_take import prepare  # noqa: E402 - behind the path to it

WARM = 30
ENDS = ("BEGIN", "COMMIT", "ROLLBACK")
WRITES = ("INSERT", "UPDATE", "DELETE")


class Noting(file.Connection):
    """A connection that notes what it executes, once it is told to."""

    said: ClassVar[list[tuple[str, Any, int]]] = []
    on: ClassVar[bool] = False

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """As ever, and noted."""
        if Noting.on and not statement.startswith(("PRAGMA", "SAVEPOINT", "RELEASE")):
            self.said.append((statement, values[0] if values else (), id(self)))
        return super().execute(statement, *values)

    def executemany(self, statement: str, rows: Any) -> sqlite3.Cursor:
        """As ever, and noted."""
        kept = list(rows)
        if Noting.on:
            self.said.append((statement, kept, id(self)))
        return super().executemany(statement, kept)


class Step(list[float]):
    """Puts a mark behind the statements of a step as its time is noted."""

    def __init__(self, name: str) -> None:
        self.name = name

    def append(self, _: float) -> None:
        Noting.said.append((f"-- {self.name}", (), 0))


def noted(folder: Path, rounds: int) -> Path:
    """Walk so many rounds, note their statements, and give a copy of the file from before."""
    (folder / "tools.yaml").write_text(hold.POLICY)
    real, file.Connection = file.Connection, Noting  # type: ignore[misc]
    try:
        with Guard.load(folder, tools=[hold.ask, hold.act, hold.bar], store=f"sqlite:///{folder}/guard.db") as guard:
            for number in range(WARM):
                hold.one_round(guard, number, {step: [] for step in hold.STEPS})
            with closing(sqlite3.connect(folder / "guard.db")) as now, closing(sqlite3.connect(folder / "copy.db")) as copy:
                now.backup(copy)
            Noting.on = True
            for number in range(WARM, WARM + rounds):
                hold.one_round(guard, number, {step: Step(step) for step in hold.STEPS})
            Noting.on = False
    finally:
        file.Connection = real  # type: ignore[misc]
    return folder / "copy.db"


def replayed(path: Path, *, reads: bool) -> dict[str, float]:
    """Medians of what each step's statements take."""
    spent: dict[str, list[float]] = {step: [] for step in hold.STEPS}
    took = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as lite:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 0"):
            lite.execute(f"PRAGMA {pragma}")
        prepare(lite)
        for transaction in transactions(reads=reads):
            begin = time.thread_time_ns()
            for statement, values, _ in transaction:
                if statement.startswith("-- "):
                    spent[statement[3:]].append(took / 1000)
                    took, begin = 0, time.thread_time_ns()
                elif isinstance(values, list):
                    lite.executemany(statement, values)
                else:
                    lite.execute(statement, values).fetchall()
            took += time.thread_time_ns() - begin
    return {step: statistics.median(times) for step, times in spent.items() if step != "refused"}  # opening stands before it


def transactions(*, reads: bool) -> list[list[tuple[str, Any, int]]]:
    """What was noted, transaction by transaction of each connection; without `reads` only what writes, and what begins and ends it."""
    found: list[list[tuple[str, Any, int]]] = []
    now: dict[int, list[tuple[str, Any, int]]] = {}
    for one in Noting.said:
        statement, _, whose = one
        if statement.startswith("-- "):
            found.append([one])
        elif reads or statement.startswith((*ENDS, *WRITES)):
            now.setdefault(whose, []).append(one)
            if statement.startswith(ENDS[1:]):
                done = now.pop(whose)
                found += [done] if reads or any(text.startswith(WRITES) for text, _, _ in done) else []
    return found


def main() -> None:
    """Measure and print."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--rounds", type=int, default=200)
    wanted = reader.parse_args()
    warnings.simplefilter("ignore", PolicyWarning)
    for name, reads in (("all", True), ("writes", False)):
        Noting.said.clear()
        with tempfile.TemporaryDirectory() as folder:
            found = replayed(noted(Path(folder), wanted.rounds), reads=reads)
        found["beyond"] = found["held"] + found["resumed"] - found["allowed"]
        print(f"{name:8}" + "".join(f"  {step} {spent:.0f}" for step, spent in found.items()) + "   (µs)")


if __name__ == "__main__":
    main()
