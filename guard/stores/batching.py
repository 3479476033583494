"""Batching: the records of allowed look-ups wait a moment and are written together with what comes next, within a stated time.

What waits is written before anything else that this process writes or reads, in the order in which it came, so chains stay whole and nobody here sees a
store without it. Where that fails it is kept, and nothing more may wait until it was written. A process that dies loses what waits; since it has told
the store that it batches, the next one to open it can say so (`audit.gap`). Knows no record's content. Comes before `ledger`.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from guard.core.ports import Event
from guard.errors import AnsweredInterrupt, StoreError
from guard.stores.backend import Backend
from guard.stores.haste import LaterError, in_haste
from guard.stores.locks import Lock
from guard.stores.tables import Tables

T = TypeVar("T")
Work: TypeAlias = Callable[[Tables], Any]
MOST: Final = 1_000
"""Works that wait at most: one more, and they are written now."""
_LOG: Final = logging.getLogger("guard")
_all: weakref.WeakSet[Batching] = weakref.WeakSet()


def stating(event: Event, within: float) -> Event:
    """The record, saying within how many seconds it was to be written."""
    return f'{event},"within":{within:g}' if isinstance(event, str) else {**event, "within": within}


class Batching:
    """The tables of one store, and what waits for them. `within` is how many seconds it may wait; 0: nothing does."""

    def __init__(self, tables: Backend) -> None:
        self._tables = tables
        self.within = 0.0
        self._renew()
        _all.add(self)

    def _renew(self) -> None:
        """Nothing waits: at first, and in the child of a fork, where it is the parent's to write."""
        self._free = threading.Condition()
        self._queue: list[Work] = []
        self._under_way = False
        self._failed = False
        self._timer: threading.Timer | None = None

    def put(self, work: Work) -> bool:
        """Let a work wait. False where it may not: then whoever brought it must have it written now."""
        with self._free:
            if not self.within or self._failed or len(self._queue) >= MOST:
                return False
            self._queue.append(work)
            if self._timer is None:
                self._wait()
        return True

    def write(self, work: Callable[[Tables], T]) -> T:
        """What `work` gives, in the transaction that writes what waits before it."""
        queued = self._take() if self._queue or self._under_way else []
        if not queued:
            return self._tables.write(work)

        def both(tables: Tables) -> T:
            for one in queued:
                one(tables)
            return work(tables)

        left = queued
        try:
            answer = self._tables.write(both)
            left = []
        except AnsweredInterrupt as interrupt:
            left = [] if interrupt.error is None else queued
            raise
        finally:
            self._done(left)
        return answer

    def read(self, work: Callable[[Tables], T]) -> T:
        """What `work` gives, behind everything that waits."""
        if self._queue or self._under_way:
            self.flush()
        return self._tables.read(work)

    def flush(self) -> None:
        """Write what waits, now. Raises StoreError."""
        if self._queue or self._under_way:
            self.write(lambda _: None)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the tables have."""
        return getattr(self._tables, name)

    @property
    def lock(self) -> Lock:
        """As of the tables."""
        return self._tables.lock

    @property
    def older(self) -> bool:
        """As of the tables."""
        return self._tables.older

    def clock(self) -> float:
        """As of the tables."""
        return self._tables.clock()

    def wait(self, seconds: float) -> None:
        """As of the tables."""
        self._tables.wait(seconds)

    def accept(self) -> None:
        """As of the tables."""
        self._tables.accept()

    def close(self) -> None:
        """As of the tables."""
        self._tables.close()

    def stop(self) -> None:
        """Write what waits, and let nothing wait any more."""
        self.within = 0.0
        try:
            self.flush()
        except StoreError as error:
            _LOG.warning("%d records of look-ups could not be written: %s", len(self._queue), error)

    def _take(self) -> list[Work]:
        """Everything that waits, once nobody else is writing what waited before it."""
        if not self._queue and not self._under_way:
            return []
        with self._free:
            while self._under_way:
                if in_haste() is not None:
                    raise LaterError
                self._free.wait()
            found, self._queue = self._queue, []
            self._under_way = bool(found)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return found

    def _done(self, left: list[Work]) -> None:
        with self._free:
            self._queue[:0] = left
            self._under_way, self._failed = False, bool(left)
            if left and self.within:
                self._wait()
            self._free.notify_all()

    def _wait(self) -> None:
        """Look again when the time is over."""
        self._timer = threading.Timer(self.within, self._due, (weakref.ref(self),))
        self._timer.daemon = True
        self._timer.start()

    @staticmethod
    def _due(ref: weakref.ref[Batching]) -> None:
        """The time is over."""
        batching = ref()
        if batching is None:
            return
        try:
            batching.flush()
        except Exception as error:  # noqa: BLE001 - whatever a store raises: what it did not take is kept
            _LOG.warning("records of look-ups wait for the store to be back: %s", type(error).__name__)


def _forked() -> None:
    for one in list(_all):
        one._renew()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
