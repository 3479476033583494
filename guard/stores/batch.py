"""Batches: group commit. Works that wait together become one transaction with one commit, each of them whole or absent.

The first work is the transaction itself; each further one runs in a savepoint, so that one that fails takes nothing of the others with it.
Callers are told only when the commit is on the disk; where the commit fails, all of them are. Runs in the writer's thread. Comes after `job` and
`pen`, before `writer`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from guard.errors import StoreError
from guard.stores.faults import CAUGHT, store_error
from guard.stores.file import Connection
from guard.stores.job import Job
from guard.stores.pen import Pen

LIMIT: Final = 64
"""Works in one batch at most: the first one waits for the last."""


def run_batch(pen: Pen, queue: deque[Job[Any]]) -> None:
    """Do what is queued, and what is added meanwhile, as one transaction; then tell the callers."""
    jobs = _begun(queue)
    first = next(jobs, None)
    if first is None:
        return
    try:
        connection = pen.begin()
    except BaseException as error:  # noqa: BLE001 - all who wait hear of it now, not one after the other after as long a wait
        pen.undo()
        _fail([first, *jobs], error)
        return
    try:
        first.answer = first.work(connection)
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever wanted the work
        pen.undo()
        first.end(_told(error))
        return
    _others(pen, connection, [first], jobs)


def _others(pen: Pen, connection: Connection, done: list[Job[Any]], jobs: Iterator[Job[Any]]) -> None:
    """The further works and the commit. `done` are begun, and whole so far."""
    try:
        for job in jobs:
            _add(connection, job, done)
        pen.commit(len(done))
    except BaseException as error:  # noqa: BLE001 - the thread must go on, and every caller must hear of it
        pen.undo()
        _fail(done, error)
    else:
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


def _add(connection: Connection, job: Job[Any], done: list[Job[Any]]) -> None:
    """One further work. Raises what ends the whole batch."""
    done.append(job)
    connection.execute("SAVEPOINT work")
    try:
        job.answer = job.work(connection)
    except BaseException as error:  # noqa: BLE001 - as above
        _back(connection, error)
        done.pop()
        job.end(_told(error))
    else:
        connection.execute("RELEASE work")


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
