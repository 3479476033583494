"""Waiting for an approval: one connection a process that listens, shared by every thread that waits.

A notice only wakes: whoever waits looks into the tables afterwards, and looks after its time is up whether or not there was one. So whatever goes
wrong here is only a longer wait. Comes after `postgres_pool`, before `postgres`.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from threading import Condition
from typing import Any

import psycopg

from guard.errors import StoreError
from guard.stores import postgres_sql
from guard.stores.postgres_pool import Limits, connect

_LONGEST = 1.0  # seconds that one look at the connection takes, so that `close` need not wait for long
_inherited: list[psycopg.Connection[Any]] = []  # of the process that this one was forked from


class Listener:
    """Wakes those who wait."""

    def __init__(self, url: str, limits: Limits) -> None:
        self._url, self._limits = url, limits
        self._closed = False
        self._connection: psycopg.Connection[Any] | None = None
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._state = Condition()
        self._listening = False  # whether a thread is at the connection
        self._heard = 0

    def _forked(self) -> None:
        """Begin anew in a child: the connection is the parent's, which would lose it if the child closed it."""
        if self._connection is not None:
            _inherited.append(self._connection)
        self._connection = None
        self._begin()

    def wait(self, seconds: float) -> None:
        """Come back when a notice came since the last wait, or after so many seconds, or when the listener is closed."""
        until = time.monotonic() + seconds
        if self._process != os.getpid():
            self._forked()
        with self._state:
            heard = self._heard
        while time.monotonic() < until:
            with self._state:
                if self._heard != heard or self._closed:
                    return
                if self._listening:
                    self._state.wait(until - time.monotonic())
                    continue
                self._listening = True
            self._listen(until)

    def _listen(self, until: float) -> None:
        """Be the one thread at the connection for a while."""
        told = False
        try:
            told = self._hear(min(until, time.monotonic() + _LONGEST))
        except (psycopg.Error, StoreError):
            self._drop()
            time.sleep(max(0.0, min(_LONGEST, until - time.monotonic())))
        finally:
            with self._state:
                self._heard += told
                self._listening = False
                self._state.notify_all()

    def _hear(self, until: float) -> bool:
        if self._connection is None:
            self._connection = connect(self._url, self._limits)
            self._connection.execute(postgres_sql.LISTEN)
        timeout = max(0.0, until - time.monotonic())
        return any(True for _ in self._connection.notifies(timeout=timeout, stop_after=1))

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def close(self) -> None:
        """Stop listening; those who wait come back within a second."""
        if self._process != os.getpid():
            self._forked()
        with self._state:
            self._closed = True
            self._state.notify_all()
            idle = not self._listening
        if idle:
            self._drop()
