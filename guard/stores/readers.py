"""Readers: a few connections for transactions that only read; they neither wait for the writer nor keep it waiting.

A reader is used by one thread at a time. One that an interrupt lost on its way is closed when Python forgets it. Comes after `gate` and `file`,
before `database`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import RLock
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from guard.stores import schema
from guard.stores.faults import CAUGHT, closed
from guard.stores.file import Connection, File
from guard.stores.gate import Gate

T = TypeVar("T")
_IDLE: Final = 8  # readers kept open while nobody reads


class _ShutError(Exception):
    """The reader was closed before the transaction began."""


class Reader:
    """One connection, behind a gate."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.connection: Connection | None = None

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` gives, seeing one state of the file."""

        def whole() -> T:
            connection = self.connection
            if connection is None:
                raise _ShutError
            if connection.in_transaction:  # the one before was interrupted, and interrupted again while it was undone
                connection.execute("ROLLBACK")
            connection.begins(alone=False)
            connection.execute(schema.BEGIN_READ)
            answer = work(connection)
            connection.execute("COMMIT")
            return answer

        return self.gate.run(whole, self._undo)

    def _undo(self) -> None:
        try:
            if self.connection is not None and self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except CAUGHT:
            self.drop()

    def drop(self) -> None:
        """Close; the next transaction opens another connection."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        self.drop()


class Readers:
    """The readers of one file in one process."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._idle: deque[Reader] = deque()
        self._all: WeakValueDictionary[int, Reader] = WeakValueDictionary()
        self._opening = RLock()  # held while the process is doubled: nothing opens then
        self._held: list[Reader] = []
        self._closed = False

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` gives, in a transaction. Raises StoreError once it is closed."""
        reader = self._take()
        try:
            while True:
                self._open(reader)
                with suppress(_ShutError):  # a fork came in between
                    return reader.read(work)
        finally:
            self._give(reader)

    def _take(self) -> Reader:
        with suppress(IndexError):
            return self._idle.pop()
        reader = Reader()
        self._all[id(reader)] = reader
        return reader

    def _open(self, reader: Reader) -> None:
        if reader.connection is not None and not self._closed:
            return
        with self._opening:
            if self._closed:
                raise closed()
            if reader.connection is None:
                reader.connection = self._file.to_read()

    def _give(self, reader: Reader) -> None:
        if len(self._idle) < _IDLE and not self._closed:
            self._idle.append(reader)

    def rest(self) -> None:
        """Wait for the transactions under way and close every connection; none begins until `go_on`."""
        self._opening.acquire()
        for ref in self._all.valuerefs():
            reader = ref()
            if reader is not None:
                self._held.append(reader)  # first, so that an interrupt in between leaves no lock behind
                reader.gate.lock.acquire()
                reader.drop()

    def go_on(self) -> None:
        """Undo `rest`, in the parent and in the child of a fork."""
        while self._held:
            with suppress(RuntimeError):  # interrupted before it was taken
                self._held.pop().gate.lock.release()
        with suppress(RuntimeError):
            self._opening.release()

    def close(self) -> None:
        """Wait for the transactions under way and close for good."""
        self._closed = True
        try:
            self.rest()
        finally:
            self.go_on()
        self._idle.clear()
