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


def run_batch(pen: Pen, queue: deque[Job[Any]]) -> None:
    """Do what is queued, and what is added meanwhile, as one transaction; then tell the callers."""
    jobs = _begun(queue)
    done: list[Job[Any]] = []
    try:
        try:
            _transact(pen, jobs, done, _plain)
        except _UndoneError:
            pen.undo()
            again, done[:] = list(done), []
            _transact(pen, chain(again, jobs), done, _parted)
    except BaseException as error:  # noqa: BLE001 - the thread must go on, and every caller must hear of it
        pen.undo()
        _fail(done, error)


def _transact(pen: Pen, jobs: Iterator[Job[Any]], done: list[Job[Any]], do: Callable[[Connection, Job[Any]], bool]) -> None:
    """Do the jobs and commit; `done` are those that are whole so far. Raises what ends all of them."""
    first = next(jobs, None)
    if first is None:
        return
    done.append(first)
    try:
        connection = pen.begin()
    except BaseException:
        done.extend(jobs)  # all who wait hear of it now, not one after the other after as long a wait
        raise
    for job in chain((first,), jobs):
        if job is not first:
            done.append(job)
        if not do(connection, job):
            done.remove(job)
    if done:
        pen.commit(len(done))
    else:
        pen.undo()
    for job in done:
        job.end()


def _begun(queue: deque[Job[Any]]) -> Iterator[Job[Any]]:
    """Jobs in order, until none waits; those that their caller took back are passed over."""
    for _ in range(LIMIT):
        if not queue:
            return
        job = queue.popleft()
        if job.begin():
            yield job


def _plain(connection: Connection, job: Job[Any]) -> bool:
    """One work; False where it failed and nothing came of it. Raises _UndoneError where something did, and what ends the whole batch."""
    before = connection.total_changes
    try:
        job.answer = job.work(connection)
    except BaseException as error:
        connection.known.clear()
        if not connection.in_transaction:
            raise
        job.end(_told(error))
        if connection.total_changes != before:
            raise _UndoneError from None
        return False
    return True


def _parted(connection: Connection, job: Job[Any]) -> bool:
    """One work in a savepoint; False where it failed. Raises what ends the whole batch."""
    if job.ended:
        return False
    connection.execute("SAVEPOINT work")
    try:
        job.answer = job.work(connection)
    except BaseException as error:  # noqa: BLE001 - as above
        _back(connection, error)
        job.end(_told(error))
        return False
    connection.execute("RELEASE work")
    return True


def _back(connection: Connection, error: BaseException) -> None:
    """Undo one work. Raises `error` where SQLite undid the whole transaction because of it."""
    connection.known.clear()
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
