"""The writer: the one thread of a process that writes to a file, and the queue in front of it.

Callers put jobs into the queue and sleep until theirs has ended. Whoever was answered by one batch often comes back at once: the next batch waits for as
many, a fraction of what the last one took, so that all of them share a flush. The thread starts with the first job, and ends when the store is closed or forgotten,
and before the process is forked; while nothing is to be done it knows the writer only weakly. A caller that finds nobody at work or waiting does its
job itself. The main thread never does, and no other way holds a lock that the thread needs, so Ctrl-C in a caller stops nobody else. Comes after `batch`,
before `database`.
"""

from __future__ import annotations

import sys
import threading
import weakref
from _thread import LockType
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from guard.errors import StoreError
from guard.stores.batch import run_batch
from guard.stores.faults import closed
from guard.stores.file import Connection
from guard.stores.haste import LaterError, begins, in_haste
from guard.stores.job import Job, Many
from guard.stores.pen import Pen

T = TypeVar("T")
MOMENT = 0.1
"""Seconds without a work after which records are filed."""
_SHARE, _LONGEST = 0.25, 0.005
"""Of the time that the last batch took, and seconds at most: for how long a batch waits for others. One that nobody shared waits for nobody."""
_WITHIN = "the store was called from within its own transaction"
_GONE = "the process was forked while its writer was asked"


class Writer:
    """Does works one batch after the other with one pen."""

    def __init__(self, pen: Pen) -> None:
        self._pen = pen
        self._starting = threading.RLock()  # held while the process is doubled: no thread starts then
        self._free = threading.RLock()  # held by whoever has the pen
        self._closed = False
        self._renew()

    def _renew(self) -> None:
        """Nothing queued and no thread: at first, and in the child of a fork."""
        self._queue: deque[Job[Any]] = deque()
        self._wake = threading.Lock()  # free when there may be something to do
        self._wake.acquire()
        self._post: dict[int, threading.Thread] = {}  # who serves; atomic to take, so that two threads never do
        self._last, self._patience = 1, 0.0  # works of the last batch, and for how long the next one waits for as many
        self._wanted = 1  # so many queued works wake the thread
        self._at_it = 0  # the thread that does a work of its own
        self._lately = 0.0  # when that was last
        self._pause = -1.0  # for how long the thread sleeps; -1: until it is woken
        self._leaving = ""  # "now": after this batch; "done": after all that is queued

    def run(self, work: Callable[[Connection], T], many: Many | None = None) -> T:
        """What `work` gives, committed; nothing of it is written where it raises. Raises StoreError, and AnsweredInterrupt.

        A KeyboardInterrupt that is no AnsweredInterrupt means that the work was not begun, or that it came after everything was done.
        """
        job = Job(work, many)
        try:
            if (within := in_haste()) is not None:
                self._now(job, within)
            elif not self._alone(job):
                self._send(job)
                job.wait()
            if job.error is None:
                answer: T = job.answer  # no call here, where Ctrl-C would be looked for
                return answer
        except BaseException as error:  # noqa: BLE001 - goes on up, when it is certain what became of the job
            job.interrupted(error)
        raise job.failure()

    def _now(self, job: Job[Any], within: float) -> None:
        """Do a work right here and within so many seconds. Raises LaterError, with nothing done, where that cannot be."""
        if not self._pen.ready:
            raise LaterError
        began = self._alone(job, within)
        begins()
        if not began:
            raise LaterError
        if isinstance(job.error, StoreError) and job.error.code == "locked":  # all of it is undone
            job.error = LaterError()

    def _alone(self, job: Job[Any], within: float | None = None) -> bool:
        """Do a work right here where nobody else writes or waits: two threads need not wait for each other then. Whether it was done.

        Not while batches are shared: the first of those whom one has answered would have a flush to itself, and all others wait for it.
        Never in the main thread: Ctrl-C could come in the middle. What may follow a batch (checkpoints, filing) stays with the writer's thread.
        """
        if (
            self._queue
            or self._last > 1
            or self._closed
            or threading.current_thread() is threading.main_thread()
            or self.inside()
        ):
            return False
        if not self._free.acquire(blocking=False):
            return False
        try:
            if self._closed or self._leaving:
                return False
            self._at_it = threading.get_ident()
            with self._pen.waiting(within):
                run_batch(self._pen, deque((job,)))
        finally:
            self._at_it, self._lately = 0, monotonic()
            self._free.release()
        if self._pause < 0 or self._queue:
            self._rouse()
        return True

    def _rouse(self) -> None:
        """Have the thread look for what there is to do."""
        if not self._post:
            self._start()
        _rouse(self._wake)

    def _send(self, job: Job[Any]) -> None:
        self._refuse_closed()
        if self.inside():
            raise StoreError(_WITHIN)
        if sys.is_finalizing():  # the thread does not run any more
            raise StoreError("the program is ending")
        self._queue.append(job)
        if not self._post:
            self._start()
        if len(self._queue) >= self._wanted:
            _rouse(self._wake)
        self._refuse_closed(job)

    def _refuse_closed(self, job: Job[Any] | None = None) -> None:
        """Also a `job` that came too late for the thread to see it."""
        if self._closed and (job is None or job.take_back()):
            raise closed()

    def inside(self) -> bool:
        """Whether this thread has the pen, as in a work that calls the store."""
        thread, mine = self._post.get(0), threading.get_ident()
        return self._at_it == mine or (thread is not None and thread.ident == mine)

    def _start(self) -> None:
        with self._starting:
            if self._post or self._closed:
                return
            ready = threading.Event()
            ref = weakref.ref(self, _rouser(self._wake))
            arguments = (ref, self._wake, self._post, ready)
            try:
                threading.Thread(target=_serve, args=arguments, daemon=True, name="guard-writer").start()
            except RuntimeError:
                raise StoreError("no thread can be started") from None
            ready.wait()

    def serve(self, *, idle: bool) -> float | None:
        """Do everything that is queued, in the writer's thread; for how long to sleep then (-1: until woken), None when it is to leave.

        `idle`: nothing came for a moment, so that what may wait for days is done, a portion at a time.
        """
        with self._free:
            pause = self._served(idle=idle and monotonic() - self._lately >= MOMENT)
            leaves = bool(self._leaving)
            self._pause = -1.0 if leaves else pause
        return None if leaves else pause

    def _served(self, *, idle: bool) -> float:
        if not self._queue and not self._leaving:
            self._pen.checkpoint()  # of works that were done elsewhere
        more = idle or self._pen.pressing()
        while (self._queue or (more and not self._leaving)) and self._leaving != "now":
            if self._queue:
                self._gather()
                begun = monotonic()
                self._last = run_batch(self._pen, self._queue)
                self._patience = min((monotonic() - begun) * _SHARE, _LONGEST)
                self._pen.checkpoint()
                more = self._pen.pressing()
            if more:
                more = self._pen.chore() and idle
        return MOMENT if self._pen.due else -1

    def _gather(self) -> None:
        """Wait a moment for as many as the last batch had."""
        if len(self._queue) >= self._last:
            return
        self._wanted = self._last
        until = monotonic() + self._patience
        while len(self._queue) < self._last and not self._leaving and (left := until - monotonic()) > 0:
            self._wake.acquire(timeout=left)
        self._wanted = 1

    def _leave(self, how: str) -> None:
        """Make the thread end, and wait for it."""
        self._leaving = how
        thread = self._post.get(0)
        if thread is not None and not self.inside():
            _rouse(self._wake)
            thread.join()

    def rest(self) -> None:
        """End the thread between two batches and close the pen; nothing is written until `go_on` or `forked`."""
        self._starting.acquire()
        self._leave("now")
        self._free.acquire()
        self._pen.drop()

    def go_on(self) -> None:
        """Undo `rest`: what was queued meanwhile is done."""
        self._leaving = ""
        for lock in (self._free, self._starting):
            with suppress(RuntimeError):  # interrupted before it was taken
                lock.release()
        if self._queue:
            self._start()
            _rouse(self._wake)

    def forked(self) -> None:
        """Begin anew in the child of a fork; the queued jobs are the parent's."""
        queue = self._queue
        self._renew()
        for job in queue:
            job.end(StoreError(_GONE))
        self.go_on()

    def close(self) -> None:
        """Do what is queued and close the pen for good. Raises StoreError within a transaction."""
        if self.inside():
            raise StoreError(_WITHIN)
        self._closed = True
        with self._starting:
            self._leave("done")
            with self._free:
                try:
                    if self._pen.wrote:
                        self._pen.tidy()
                finally:
                    self._pen.drop()
        for job in self._queue:
            if job.begin():
                job.end(closed())


def _rouse(wake: LockType) -> None:
    if wake.locked():
        with suppress(RuntimeError):  # somebody else was faster
            wake.release()


def _rouser(wake: LockType) -> Callable[[Any], None]:
    return lambda _: _rouse(wake)


def _serve(ref: weakref.ref[Writer], wake: LockType, post: dict[int, threading.Thread], ready: threading.Event) -> None:
    """The thread: asleep between batches, and then the writer may be forgotten."""
    mine = threading.current_thread()
    first = post.setdefault(0, mine)
    ready.set()
    pause = -1.0
    while first is mine:
        woken = wake.acquire(timeout=pause)
        writer = ref()
        rest = None if writer is None else writer.serve(idle=not woken)
        if rest is None:
            post.clear()
            return
        pause = rest
        del writer
