"""Batches: group commit. Works that wait together become one transaction with one commit, each of them whole or absent.

At first nothing parts the works: a savepoint for each would cost as much as some of them. One that fails before it wrote anything takes nothing
of the others with it. Where one fails after that, the transaction is undone and the others are done again, now each in a savepoint; so a work
may be done more than once, and only the last time counts. Callers are told only when the commit is on the disk; where the commit fails, all of
them are. Runs in the writer's thread. Comes after `job` and `pen`, before `writer`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

from guard.errors import StoreError
from guard.stores.faults import CAUGHT, store_error
from guard.stores.file import Connection
from guard.stores.job import Job
from guard.stores.pen import Pen

LIMIT: Final = 64
"""Works in one batch at most: the first one waits for the last."""


class _UndoneError(Exception):
    """A work failed that had written something: everything since the beginning has to be done again."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class _Batch:
    """The jobs of one transaction: those that are whole so far, and those that failed, which are told once it has ended."""

    def __init__(self, pen: Pen) -> None:
        self._pen = pen
        self.done: list[Job[Any]] = []
        self.failed: list[tuple[Job[Any], BaseException]] = []

    def transact(self, rounds: Iterator[list[Job[Any]]], do: Callable[[Connection, Job[Any]], None]) -> None:
        """Do the jobs of all rounds and commit. Raises what ends all of them, and _UndoneError."""
        jobs = next(rounds, None)
        if jobs is None:
            return
        self.done = [*jobs]
        try:
            connection = self._pen.begin()
        except BaseException:
            self.done.extend(
                chain.from_iterable(rounds)
            )  # all who wait hear of it now, not one after the other after as long a wait
            raise
        while jobs:
            for job in _together(connection, jobs) if do is _plain else jobs:
                self._one(connection, job, do)
            jobs = next(rounds, [])
            self.done.extend(jobs)
        if self.done:
            self._pen.commit(len(self.done))
        else:
            self._pen.undo()

    def _one(self, connection: Connection, job: Job[Any], do: Callable[[Connection, Job[Any]], None]) -> None:
        try:
            do(connection, job)
        except BaseException as error:  # it belongs to whoever wanted the work
            if not connection.in_transaction:
                raise  # SQLite undid all of it
            self.done.remove(job)
            undone = isinstance(error, _UndoneError)
            self.failed.append((job, error.error if isinstance(error, _UndoneError) else error))
            if undone:
                raise

    def tell(self) -> None:
        """Wake the callers."""
        for job in self.done:
            job.end()
        for job, error in self.failed:
            job.end(_told(error))


def run_batch(pen: Pen, queue: deque[Job[Any]]) -> int:
    """Do what is queued, and what is added meanwhile, as one transaction; then tell the callers. How many works there were."""
    rounds, batch = _begun(queue), _Batch(pen)
    try:
        try:
            batch.transact(rounds, _plain)
        except _UndoneError:
            pen.undo()
            batch.transact(chain([batch.done] if batch.done else [], rounds), _parted)
    except BaseException as error:  # noqa: BLE001 - the thread must go on, and every caller must hear of it
        pen.undo()
        _fail(batch.done, error)
    batch.tell()
    return len(batch.done) + len(batch.failed)


def _begun(queue: deque[Job[Any]]) -> Iterator[list[Job[Any]]]:
    """All jobs that wait, in order, and then those that have come meanwhile, until none waits; those that their caller took back are passed over."""
    left = LIMIT
    while queue and left:
        waiting = [queue.popleft() for _ in range(min(len(queue), left))]
        left -= len(waiting)
        if jobs := [job for job in waiting if job.begin()]:
            yield jobs


def _together(connection: Connection, jobs: list[Job[Any]]) -> list[Job[Any]]:
    """Do at once those that can be; the others. Raises _UndoneError where that failed and something had come of it."""
    alike = [job for job in jobs if job.many is not None]
    many = alike[0].many if alike[1:] else None
    if many is None:
        return jobs
    before = connection.total_changes
    try:
        answers = many(connection, [job.work for job in alike])
    except BaseException as error:
        connection.forget()
        if not connection.in_transaction:
            raise
        if connection.total_changes != before:
            raise _UndoneError(error) from None
        return jobs  # each of them says what is wrong with it
    for job, answer in zip(alike, answers, strict=False):
        job.answer = answer
    return [*alike[len(answers) :], *(job for job in jobs if job.many is None)]


def _plain(connection: Connection, job: Job[Any]) -> None:
    """One work. Raises _UndoneError where it failed and something had come of it."""
    before = connection.total_changes
    try:
        job.answer = job.work(connection)
    except BaseException as error:
        connection.forget()
        if connection.in_transaction and connection.total_changes != before:
            raise _UndoneError(error) from None
        raise


def _parted(connection: Connection, job: Job[Any]) -> None:
    """One work in a savepoint."""
    connection.execute("SAVEPOINT work")
    try:
        job.answer = job.work(connection)
    except BaseException as error:
        _back(connection, error)
        raise
    connection.execute("RELEASE work")


def _back(connection: Connection, error: BaseException) -> None:
    """Undo one work. Raises `error` where SQLite undid the whole transaction because of it."""
    connection.forget()
    if not connection.in_transaction:
        raise error
    connection.execute("ROLLBACK TO work")
    connection.execute("RELEASE work")


def _fail(jobs: list[Job[Any]], error: BaseException) -> None:
    ours = isinstance(error, (StoreError, *CAUGHT))
    text = store_error(error) if ours else StoreError(f"the database failed: it answered {type(error).__name__}")
    for job in jobs:
        job.end(StoreError(str(text), code=text.code))  # one for each: a traceback grows in the thread that raises it


def _told(error: BaseException) -> BaseException:
    return store_error(error) if isinstance(error, CAUGHT) else error
