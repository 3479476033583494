"""The wire: one connection to PostgreSQL in pipeline mode: statements are queued, and only an answer that is needed is waited for.

    reply = wire.execute("SELECT principal FROM conversations WHERE id = ?", (name,))    # sends nothing yet
    reply.fetchone()                                                                     # one round trip for all that was queued

psycopg connects and speaks the protocol (its `pq` layer); each statement is prepared once a connection, values travel as text. Not for several
threads at once. Knows no table. Comes after `postgres_errors`, before `postgres_pool`.
"""

from __future__ import annotations

import hashlib
import os
import select
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import psycopg
from psycopg import pq

from guard.core.names import Name
from guard.errors import StoreError
from guard.stores.postgres_errors import FailedError
from guard.stores.stamp import Stamps

_INTEGERS = frozenset({20, 21, 23})
_FLOATS = frozenset({700, 701})
_BOOLEAN: Final = 16
_POLLS: Final = hasattr(select, "poll")
_GOOD: Final = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


@lru_cache(maxsize=512)
def _statement(text: str) -> tuple[bytes, bytes]:
    """Name and SQL of a statement that was written with `?` (which no statement of ours holds for anything else)."""
    first, *rest = text.split("?")
    numbered = first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))
    return b"guard_" + hashlib.sha256(text.encode()).hexdigest()[:16].encode(), numbered.encode()


_GIVEN: Final[dict[type, Callable[[Any], bytes | None]]] = {
    str: str.encode,
    Name: str.encode,
    int: b"%d".__mod__,
    bool: b"%d".__mod__,
    float: lambda value: repr(value).encode(),
    type(None): lambda _: None,
}
"""A value as the text that PostgreSQL reads."""


def _given(values: Sequence[Any]) -> list[bytes | None]:
    """Values as texts. Raises StoreError for one that PostgreSQL cannot hold: libpq would cut it at a zero byte."""
    try:
        texts = [value.encode() if value.__class__ is str else _GIVEN[value.__class__](value) for value in values]
    except UnicodeEncodeError:
        texts = [b"\0"]
    for text in texts:
        if text and 0 in text:
            raise StoreError("a value cannot be stored as text")
    return texts


def _reader(kind: int) -> Callable[[bytes], Any]:
    if kind in _INTEGERS:
        return int
    if kind == _BOOLEAN:
        return b"t".__eq__
    return float if kind in _FLOATS else bytes.decode


class Reply:
    """The answer to one statement, fetched when it is asked for."""

    __slots__ = ("_first", "_next", "_result", "_wire")

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._result: pq.abc.PGresult | None = None
        self._next = 0
        self._first: tuple[Any, ...] | None = None

    def take(self, result: pq.abc.PGresult) -> None:
        """Keep what came."""
        self._result = result

    @property
    def status(self) -> bytes:
        """What the server says that it did."""
        return self._found().command_status or b""

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed or gave."""
        return self._found().command_tuples or 0

    def first(self) -> tuple[Any, ...] | None:
        """The first row, or None; as often as one likes."""
        if self._first is None:
            result = self._found()
            self._first = self._row(result, 0, self._readers(result)) if result.ntuples else None
        return self._first

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        result = self._found()
        if self._next >= result.ntuples:
            return None
        self._next += 1
        return self._row(result, self._next - 1, self._readers(result))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows."""
        result = self._found()
        readers = self._readers(result)
        return [self._row(result, number, readers) for number in range(result.ntuples)]

    def _found(self) -> pq.abc.PGresult:
        if self._result is None:
            self._wire.settle()
        if self._result is None:  # it was queued before an error that somebody caught
            raise FailedError
        return self._result

    @staticmethod
    def _readers(result: pq.abc.PGresult) -> list[Callable[[bytes], Any]]:
        return [_reader(result.ftype(column)) for column in range(result.nfields)]

    @staticmethod
    def _row(result: pq.abc.PGresult, number: int, readers: Sequence[Callable[[bytes], Any]]) -> tuple[Any, ...]:
        values = [result.get_value(number, column) for column in range(len(readers))]
        return tuple(None if value is None else read(value) for value, read in zip(values, readers, strict=True))


def _failure(result: pq.abc.PGresult | None) -> FailedError | None:
    """Why there is no good answer; None for a statement behind the one that failed."""
    if result is not None and result.status == pq.ExecStatus.PIPELINE_ABORTED:
        return None
    state = None if result is None else result.error_field(pq.DiagnosticField.SQLSTATE)
    return FailedError((state or b"").decode())


class Wire:
    """One connection. `patience` is how many seconds an answer may take, whatever the server promised."""

    def __init__(self, connection: psycopg.Connection[Any], *, patience: float) -> None:
        self._process = os.getpid()
        self._connection = connection
        self.stamps = Stamps()
        self.fresh = False  # whether nothing was answered on it since it was handed out once more
        self.ending = False  # a COMMIT was sent whose answer has not come
        self._opening = ""  # what begins the transaction, until its first statement
        self._conn = connection.pgconn
        self._patience = patience
        self._prepared: set[bytes] = set()
        self._pending: list[Reply | bytes] = []  # replies, and names of statements being prepared
        self._conn.enter_pipeline_mode()

    def begin(self, text: str) -> None:
        """Begin a transaction with the next statement, by this one."""
        self._opening = text

    def execute(self, text: str, values: Sequence[Any] = ()) -> Reply:
        """Queue a statement."""
        if self._opening:
            opening, self._opening = self._opening, ""
            self.execute(opening)
        name, numbered = _statement(text)
        given = _given(values)
        try:
            if name not in self._prepared and name not in self._pending:
                self._conn.send_prepare(name, numbered)
                self._pending.append(name)
            self._conn.send_query_prepared(name, given)
        except psycopg.Error:
            raise FailedError from None
        reply = Reply(self)
        self._pending.append(reply)
        return reply

    def settle(self) -> None:
        """Send what is queued and take every answer. Raises FailedError for the first statement that failed."""
        until = time.monotonic() + self._patience
        self._flush(until)
        pending, self._pending = self._pending, []
        failed: FailedError | None = None
        for entry in pending:
            result = self._result(until)
            if result is not None and result.status in _GOOD:
                if isinstance(entry, Reply):
                    entry.take(result)
                else:
                    self._prepared.add(entry)
            else:
                failed = failed or _failure(result)
            if result is not None:
                self._conn.get_result()  # None: the end of this answer
        self._result(until)  # the sync itself
        self.fresh = self.fresh and failed is not None and failed.lost
        if failed is not None:
            raise failed

    def alone(self, text: str, values: Sequence[Any]) -> Reply:
        """A statement that is a transaction by itself instead of the one that was to begin; durable when this returns. Raises as `commit` does."""
        self._opening = ""
        self.ending = True
        reply = self.execute(text, values)
        self.settle()
        self.ending = False
        return reply

    def commit(self) -> None:
        """End the transaction for good. Raises FailedError; when the connection was lost, nobody knows."""
        self.ending = True
        reply = self.execute("COMMIT")
        self.settle()
        self.ending = False
        if reply.status != b"COMMIT":
            raise FailedError("25P02")

    def rollback(self) -> bool:
        """Undo the transaction; False where the connection is of no more use."""
        self._opening, self.ending = "", False
        try:
            self.execute("ROLLBACK")
            self.settle()
        except FailedError:
            pass
        return self._conn.transaction_status == pq.TransactionStatus.IDLE

    def _result(self, until: float) -> pq.abc.PGresult | None:
        try:
            while self._conn.is_busy():
                self._ready(until)
                self._conn.consume_input()
            result = self._conn.get_result()
        except psycopg.Error:
            raise FailedError from None
        if result is None and self._conn.status == pq.ConnStatus.BAD:
            raise FailedError
        return result

    def _flush(self, until: float) -> None:
        try:
            self._conn.pipeline_sync()
            while self._conn.flush():
                if self._ready(until, writing=True):
                    self._conn.consume_input()
        except psycopg.Error:
            raise FailedError from None

    def _ready(self, until: float, *, writing: bool = False) -> bool:
        """Wait for the socket; whether there is something to read."""
        rest = max(0.0, until - time.monotonic())
        socket = self._conn.socket
        if not _POLLS:
            found = select.select([socket], [socket] if writing else [], [], rest)
            readable, any_at_all = bool(found[0]), bool(found[0] or found[1])
        else:
            poll = select.poll()
            poll.register(socket, select.POLLIN | (select.POLLOUT if writing else 0))
            events = poll.poll(rest * 1000)
            readable, any_at_all = bool(events and events[0][1] & ~select.POLLOUT), bool(events)
        if not any_at_all:
            raise FailedError  # the server or the network says nothing: nobody knows what became of it
        return readable

    def abandon(self) -> None:
        """Give the connection up in the middle of something. A COMMIT that may be under way is waited for: half a second later is a lie."""
        try:
            if self.ending:
                self._drain(time.monotonic() + self._patience)
        except FailedError:
            pass
        finally:
            self.close()

    def _drain(self, until: float) -> None:
        self._flush(until)
        empty = 0
        while empty < 2:  # one separates two answers, two in a row are the end
            empty = empty + 1 if self._result(until) is None else 0

    def close(self) -> None:
        """Give the connection up; an open transaction is undone by the server."""
        self._connection.close()

    def __del__(self) -> None:
        if (
            getattr(self, "_connection", None) is not None and self._process == os.getpid()
        ):  # an interrupt may have come before it was given back
            self._connection.close()
