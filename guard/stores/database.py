"""The database: one file for all threads of a process, one writer and many readers, and what happens to both around a fork.

Every failure becomes a StoreError whose text holds no data. Around a fork every connection is closed and the writer's thread has ended, so that
parent and child each open the file anew. Knows no tables. Comes after `writer` and `readers`, before `sqlite`.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from guard.errors import StoreError
from guard.stores.faults import CAUGHT, store_error
from guard.stores.file import Connection, File
from guard.stores.job import Many
from guard.stores.pen import Pen
from guard.stores.readers import Readers
from guard.stores.refiling import MANY
from guard.stores.writer import Writer

T = TypeVar("T")
_open: weakref.WeakSet[Database] = weakref.WeakSet()
_forking: list[Database] = []  # at rest while the process is doubled


class Database:
    """One file. `busy` is how many seconds to wait for another process's write; `prepare` gets each connection that will write."""

    def __init__(self, path: str, *, busy: float, prepare: Callable[[Connection], None] | None = None) -> None:
        file = File(path, busy, prepare)
        self.pen = Pen(file)
        self.readers = Readers(file)
        self.writer = Writer(self.pen)
        self.forked: Callable[[], None] | None = None  # called in a forked child
        try:
            self.pen.open()
            self.pen.tidy(MANY)
        except CAUGHT as error:
            raise store_error(error) from None
        _open.add(self)

    def transact(self, work: Callable[[Connection], T], *, writes: bool, many: Many | None = None) -> T:
        """What `work` gives, in one transaction: committed when it returns, undone when it raises. Raises StoreError.

        A work that writes runs in the writer's thread, maybe together with others, and is on the disk when this returns.
        `many`: see `Job`.
        """
        if writes:
            return self.writer.run(work, many)
        if self.writer.inside():
            raise StoreError("the store was called from within its own transaction")
        try:
            return self.readers.read(work)
        except CAUGHT as error:
            raise store_error(error) from None

    def close(self) -> None:
        """Wait for what is under way and close the file for good; the last process to close a file that it wrote empties the log."""
        if self.pen.wrote:
            self.readers.close()
            self.writer.close()
        else:  # a reader still open keeps SQLite from making a checkpoint
            self.writer.close()
            self.readers.close()

    def rest(self) -> None:
        """Close every connection between two transactions; none begins until `go_on`."""
        self.writer.rest()
        self.readers.rest()

    def go_on(self, *, forked: bool = False) -> None:
        """Undo `rest`."""
        self.readers.go_on()
        if forked:
            self.writer.forked()
        else:
            self.writer.go_on()

    def __del__(self) -> None:
        with suppress(AttributeError, *CAUGHT):  # it may not have got far
            self.readers.close()
            self.pen.drop()


def _before_fork() -> None:
    """Close every file: a child that inherits an open one sees locks that nobody holds."""
    for database in list(_open):
        _forking.append(database)  # first, so that an interrupt in between leaves nothing at rest
        database.rest()


def _after_fork_in_parent() -> None:
    while _forking:
        _forking.pop().go_on()


def _after_fork_in_child() -> None:
    while _forking:
        database = _forking.pop()
        if database.forked is not None:
            database.forked()
        database.go_on(forked=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
