"""Benchmark of the floor under tests/bench/stores.py: what rows cost on SQLite with the driver alone, in one thread, without rules.

    python tests/bench/stores_floor.py
    python tests/bench/stores_floor.py --workers 16 --rounds 9

One row a commit; so many rows a commit; and the statements of so many claims a commit, their values made before. The last one is the least that a
claim can cost where so many share a flush: no store on this file can be quicker. What is printed are medians over the rounds, each of which measures all
three, and the time of a flush beside each. No test asserts a time.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE)]

from stores import BODY, INSERT, command, flush_ms, opened  # noqa: E402 - behind the path to it

from guard.stores.plain import plain  # noqa: E402 - behind the path to it
from guard.stores.sqlite_take import TAKE, TAKE_MANY  # noqa: E402 - behind the path to it


class StoppedError(Exception):
    """Takes back what was only done to see the values of its statements."""


def floor(workers: int, rows: int) -> list[float]:
    """Microseconds of one row a commit, of a row where `workers` share one, and of a claim where as many share one."""
    with opened("sqlite") as (url, store):
        tables = store._tables
        for worker in range(workers):
            store.claim(command(worker, 1))
        with sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None) as lite:
            lite.execute("PRAGMA synchronous = FULL")
            alone = timed(lite, [[(INSERT, (BODY,))]] * rows) / rows
            together = timed(lite, [[(INSERT, (BODY,))] * workers] * (rows // workers)) / rows
        pen, statements = tables.database.pen, []
        with suppress(StoppedError):
            tables.write(lambda made: taking(made, workers, rows, statements))
        took = timed(pen.open(), shared([values for _, values in statements], workers)) / rows
        store.close()
    return [alone, together, took]


def taking(tables: Any, workers: int, rows: int, statements: list[tuple[str, tuple[Any, ...]]]) -> None:
    """Note the statements of so many claims, and undo them."""
    real = tables.connection
    noting = SimpleNamespace(total_changes=0)

    def note(statement: str, values: tuple[Any, ...]) -> Any:
        if statement != TAKE:
            return real.execute(statement, values)
        noting.total_changes += 1
        return statements.append((statement, values))

    noting.execute = note
    tables.connection = noting
    for number in range(rows):
        given = plain(command(number % workers, number + 2), 0)
        tables.take(given)
    raise StoppedError


def shared(claims: list[tuple[Any, ...]], size: int) -> list[list[tuple[str, tuple[Any, ...]]]]:
    """The statements of so many claims in each transaction, as few as the store makes of them."""
    found = []
    for at in range(0, len(claims), size):
        left, few = claims[at : at + size], []
        for many, statement in {**TAKE_MANY, 1: TAKE}.items():
            while len(left) >= many:
                few.append((statement, tuple(chain.from_iterable(left[:many]))))
                left = left[many:]
        found.append(few)
    return found


def timed(connection: sqlite3.Connection, transactions: list[list[tuple[str, tuple[Any, ...]]]]) -> float:
    """Microseconds that the statements of so many transactions take."""
    begin = time.perf_counter()
    for statements in transactions:
        connection.execute("BEGIN IMMEDIATE")
        for one in statements:
            connection.execute(*one)
        connection.execute("COMMIT")
    return (time.perf_counter() - begin) * 1e6


def main() -> int:
    """Read the command line and print."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--workers", type=int, default=16, help="rows and claims that share a commit; default: %(default)s")
    reader.add_argument("--rounds", type=int, default=5)
    reader.add_argument("--rows", type=int, default=1600, help="of one round; default: %(default)s")
    wanted = reader.parse_args()
    rounds = []
    for _ in range(wanted.rounds):
        alone, together, took = floor(wanted.workers, wanted.rows)
        rounds.append((alone, together, alone / together, took, alone / took, flush_ms(None)))
    alone, together, rows, took, claims, flush = map(statistics.median, zip(*rounds, strict=True))
    print(f"one row a commit                {alone:6.0f} µs")
    print(f"{wanted.workers:2} rows a commit, each          {together:6.0f} µs   {rows:5.1f} times as many")
    print(
        f"{wanted.workers:2} claims a commit, each        {took:6.0f} µs   {claims:5.1f} times as many   (flush {flush:.2f} ms)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
