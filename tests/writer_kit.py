"""What the tests of the SQLite store's writer share: works on a plain table, and callers that wait together."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from guard.stores.database import Database
from guard.stores.job import Job

TABLE = "CREATE TABLE things (n INTEGER, body TEXT)"


@contextmanager
def a_database(file: Path, busy: float = 5) -> Iterator[Database]:
    """A file with a table of things."""
    made = Database(str(file), busy=busy)
    made.transact(lambda c: c.execute(TABLE), writes=True)
    yield made
    made.close()


def put(number: int, *, times: int = 1, fails: bool = False) -> Callable[[Any], int]:
    """A work of so many rows; one that fails does so behind its rows."""

    def work(connection: Any) -> int:
        for _ in range(times):
            connection.execute("INSERT INTO things VALUES (?, '')", (number,))
        if fails:
            raise ValueError(number)
        return number

    return work


def things(file: Path) -> Counter[int]:
    """What stands in the file, as another process sees it."""
    with closing(sqlite3.connect(file)) as connection:
        return Counter(number for (number,) in connection.execute("SELECT n FROM things"))


class Spy:
    """Counts the statements of the writer's connection by their first word."""

    def __init__(self, database: Database) -> None:
        self.seen: Counter[str] = Counter()
        database.pen.open().set_trace_callback(self)

    def __call__(self, statement: str) -> None:
        self.seen[statement.split(maxsplit=1)[0]] += 1


def together(database: Database, works: list[Callable[[Any], Any]]) -> list[Any]:
    """What each work gives or raises, in order, when all of them wait while the writer does something else."""
    return at_once(database, [partial(database.transact, work, writes=True) for work in works])


def at_once(database: Database, calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each call of a store gives or raises, in order, when the works of all of them wait while the writer does something else."""
    begun, free = threading.Event(), threading.Event()

    def hold(_: Any) -> None:
        begun.set()
        free.wait(10)
        raise RuntimeError  # a batch ends with a first work that fails, so the others are one of their own

    def one(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        database.writer._send(Job(hold))  # to the writer's thread, which takes all that waits in one batch
        begun.wait(10)
        answers = []
        for number, call in enumerate(calls, 1):
            answers.append(pool.submit(one, call))
            until = time.monotonic() + 10
            while len(database.writer._queue) < number and time.monotonic() < until:
                time.sleep(0.0005)
        free.set()
        return [answer.result(10) for answer in answers]
