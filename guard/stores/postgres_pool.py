"""The pool: the connections of one process to one PostgreSQL server, each made safe before its first use.

A thread that needs one takes the last that was given back or makes one; nothing runs in the background, so a server that is down is noticed at
once and one that is back is used at once. A forked child begins with none. Ctrl-C at any moment leaves no connection half used. Comes
after `postgres_wire`, before `postgres`.
"""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import get_ident
from typing import Any, Final, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from guard.errors import StoreError
from guard.stores.postgres_errors import FailedError, store_error, told_state
from guard.stores.postgres_wire import Wire

T = TypeVar("T")
_open: weakref.WeakSet[Pool] = weakref.WeakSet()
_inherited: list[Wire] = []  # of the process that this one was forked from

CONFIGURE: Final = (
    "SELECT set_config('statement_timeout', ?, false), set_config('lock_timeout', ?, false),"
    " set_config('idle_in_transaction_session_timeout', ?, false), set_config('plan_cache_mode', 'force_generic_plan', false),"
    " set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'"
    " ELSE current_setting('synchronous_commit') END, false)"
)
"""Every statement has an index: a plan that was made while its table was empty must not stay a scan of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long things may take, in seconds, and how many connections a process may have."""

    statement: float = 10.0
    lock: float = 5.0
    connect: float = 5.0
    free: float = 5.0  # for a connection that is not in use
    idle: float = 30.0  # of an open transaction
    size: int = 16


class Quiet(psycopg.Connection[Any]):
    """A connection that a forgotten store takes with it: libpq's own object closes it, in the process that made it."""

    def __del__(self, *_: Any) -> None:
        """Nothing to warn of."""


def connect(url: str, limits: Limits) -> psycopg.Connection[Any]:
    """A plain connection. Raises StoreError, whose text holds nothing of the URL."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise StoreError("this is not a URL of a PostgreSQL database; write postgresql://user@host/database") from None
    more: dict[str, Any] = {
        "connect_timeout": max(2, round(limits.connect)),
        "application_name": "guard",
        "tcp_user_timeout": round(limits.statement * 1000),
        "client_encoding": "UTF8",
    }
    try:
        return Quiet.connect(**{**more, **given}, autocommit=True)
    except psycopg.Error as error:
        state = error.sqlstate or told_state(str(error))
        if state:
            raise store_error(FailedError(state)) from None
        raise StoreError(
            "the database failed: the server cannot be reached; look at host and port, and whether it runs",
            code="connection_lost",
        ) from None


class StaleError(Exception):
    """A connection that was used before is gone, and nothing was done on it since. Never leaves the stores."""


class Pool:
    """The connections to one database."""

    def __init__(self, url: str, limits: Limits) -> None:
        self._url = url
        self.limits = limits
        self._idle: deque[Wire] = deque()
        self._busy: dict[int, bool] = {}  # threads that are inside
        self._freed: SimpleQueue[None] = SimpleQueue()
        self._closed = False
        self.check: Callable[[Wire], None] | None = None  # looks at what a new connection leads to
        _open.add(self)

    @property
    def at_rest(self) -> bool:
        """Whether no thread is inside."""
        return not self._busy

    def run(self, work: Callable[[Wire], T]) -> T:
        """What `work` gives on a connection of its own. Raises StoreError when there is none, or when this thread has one already."""
        me, mine = get_ident(), False
        try:
            if me in self._busy:
                raise StoreError("the store was called from within its own transaction")
            self._room(time.monotonic() + self.limits.free)
            self._busy[me] = mine = True
            return self._with_wire(work)
        finally:
            if mine:
                del self._busy[me]
                self._freed.put(None)

    def _room(self, until: float) -> None:
        """Wait until fewer threads are inside than there may be connections."""
        while len(self._busy) >= self.limits.size:
            if time.monotonic() > until:
                raise StoreError("the database failed: every connection is in use", code="timeout")
            with suppress(Empty):
                self._freed.get(timeout=0.02)
        while self._freed.qsize() > self.limits.size:
            self._freed.get_nowait()

    def _with_wire(self, work: Callable[[Wire], T]) -> T:
        wire = self._taken()
        try:
            answer = work(wire)
        except FailedError as failed:
            stale = failed.lost and wire.fresh
            self._back(wire, usable=not failed.lost and wire.rollback())
            if stale:
                raise StaleError from None
            raise
        except Exception:
            self._back(wire, usable=wire.rollback())
            raise
        except BaseException:
            wire.abandon()
            raise
        self._back(wire, usable=True)
        return answer

    def _taken(self) -> Wire:
        if self._closed:
            raise StoreError("the store is closed", code="closed")
        try:
            wire = self._idle.pop()
        except IndexError:
            return self.fresh()
        wire.fresh = True
        return wire

    def fresh(self) -> Wire:
        """A new connection, made safe. Raises StoreError."""
        limits = self.limits
        wire = Wire(connect(self._url, limits), patience=limits.statement + 5.0)
        try:
            wire.execute(CONFIGURE, [f"{round(span * 1000)}ms" for span in (limits.statement, limits.lock, limits.idle)])
            wire.settle()
            if self.check is not None:
                self.check(wire)
        except FailedError as failed:
            wire.close()
            raise store_error(failed) from None
        except BaseException:
            wire.close()
            raise
        return wire

    def _back(self, wire: Wire, *, usable: bool) -> None:
        if usable and not self._closed:
            self._idle.append(wire)
        else:
            wire.close()

    def forget(self) -> None:
        """Close what is idle: the server was away, so all of it is stale."""
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def close(self) -> None:
        """Close everything for good; what is in use is closed when it is given back."""
        self._closed = True
        self.forget()

    def forked(self) -> None:
        """Begin anew in a child: the connections are the parent's, which would lose them if a child closed them."""
        _inherited.extend(self._idle)
        self._idle, self._busy, self._freed = deque(), {}, SimpleQueue()


def _after_fork_in_child() -> None:
    for pool in list(_open):
        pool.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
