"""Stores that fail in the ways that stores fail, each before a tool acts and while it does: no act without a record, and no outcome that is lost or made up.

Before the act it is a refusal that names its cause, and the same message runs once the store is back. After the act the outcome is kept in the
process and told when the store is back, or it is unknown; it is never refused, never failed, and never run again.
"""

from __future__ import annotations

import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import postgres_kit
import psycopg
import pytest
from life_kit import DONE, LEASE, UNKNOWN, Life, error, living, reply, said, until
from stores_kit import Clock

from guard.core.ports import Store
from guard.stores.chain import verify_store
from guard.stores.postgres import postgres_store
from guard.stores.postgres_pool import Limits
from guard.stores.sqlite import sqlite_store

pytestmark = pytest.mark.slow

Failure = Callable[[Any], AbstractContextManager[None]]
QUICK = Limits(statement=0.5, lock=0.3, connect=2.0, free=1.0)


# -- files


@contextmanager
def full_file(_: Path) -> Iterator[None]:
    """Whatever file this process writes to: as on a disk without room, where SQLite is told so in another word."""
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)


@contextmanager
def locked_file(file: Path) -> Iterator[None]:
    """Another program keeps the write lock."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


@contextmanager
def file_elsewhere(file: Path) -> Iterator[None]:
    """Somebody moved the file away, and puts it where it was."""
    there = [path for path in file.parent.iterdir() if path.name.startswith(file.name)]
    away = file.parent / "away"
    away.mkdir()
    for path in there:
        path.rename(away / path.name)
    try:
        yield
    finally:
        for path in there:
            path.unlink(missing_ok=True)
            (away / path.name).rename(path)


# -- databases


@contextmanager
def lost_connection(url: str) -> Iterator[None]:
    """The server ends every connection and takes no new one."""
    allowed = f"ALTER DATABASE {_name(url)} ALLOW_CONNECTIONS {{}}"
    postgres_kit.run(postgres_kit.server(safe=False), allowed.format("false"), _ended(url))
    try:
        yield
    finally:
        postgres_kit.run(postgres_kit.server(safe=False), allowed.format("true"))


@contextmanager
def read_only_database(url: str) -> Iterator[None]:
    """As after a failover: the server that answers takes no writes."""
    postgres_kit.run(
        postgres_kit.server(safe=False), f"ALTER DATABASE {_name(url)} SET default_transaction_read_only = on", _ended(url)
    )
    try:
        yield
    finally:
        postgres_kit.run(
            postgres_kit.server(safe=False), f"ALTER DATABASE {_name(url)} RESET default_transaction_read_only", _ended(url)
        )


@contextmanager
def kept_table(url: str) -> Iterator[None]:
    """Somebody keeps a table for themselves: every statement about it waits until it times out."""
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE calls IN ACCESS EXCLUSIVE MODE")
        yield


def answers(state: str) -> Failure:
    """Every record is answered with this state, as the server itself does where it is so."""

    @contextmanager
    def failing(url: str) -> Iterator[None]:
        raising = f"BEGIN RAISE EXCEPTION USING ERRCODE = '{state}'; END"
        made = f"CREATE FUNCTION failing() RETURNS trigger LANGUAGE plpgsql AS $$ {raising} $$"
        postgres_kit.run(url, made, "CREATE TRIGGER failing BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION failing()")
        try:
            yield
        finally:
            postgres_kit.run(url, "DROP FUNCTION failing CASCADE")

    return failing


def _name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def _ended(url: str) -> str:
    return f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{_name(url)}'"  # noqa: S608 - a name of our own


FILES: dict[str, tuple[Failure, str]] = {
    "no file may grow": (full_file, "io_error"),
    "locked file": (locked_file, "locked"),
    "file moved away": (file_elsewhere, "moved"),
}
DATABASES: dict[str, tuple[Failure, str]] = {
    "full disk": (answers("53100"), "disk_full"),
    "deadlock": (answers("40P01"), "deadlock"),
    "statement time-out": (kept_table, "timeout"),
    "lost connection": (lost_connection, "connection_lost"),
    "read-only": (read_only_database, "read_only"),
}
CASES = [
    *(pytest.param("sqlite", *case, id=f"sqlite, {name}") for name, case in FILES.items()),
    *(pytest.param("postgres", *case, id=f"postgres, {name}") for name, case in DATABASES.items()),
]
cases = pytest.mark.parametrize(("kind", "failure", "cause"), CASES)


@contextmanager
def on(kind: str, folder: Path) -> Iterator[tuple[Life, Any, Callable[[], Store]]]:
    """A life on a store of its own that waits for nobody for long, what its failures are told of, and how the store is opened once more."""
    clock, opened = Clock(), list[Store]()
    with ExitStack() as stack:
        place = folder / "guard.db" if kind == "sqlite" else stack.enter_context(postgres_kit.database())

        def another() -> Store:
            made = (
                sqlite_store(str(place), clock=clock, busy=0.2)
                if kind == "sqlite"
                else postgres_store(str(place), clock=clock, limits=QUICK)
            )
            opened.append(made)
            return made

        with living(Life(folder, "sync", another(), clock)) as life:
            yield life, place, another
            assert verify_store(opened[-1]).ok
        for store in opened:
            store.close()


@cases
@pytest.mark.parametrize("tool", ["once", "held"])
def test_before_the_act_it_is_a_refusal_with_its_cause(
    tmp_path: Path, kind: str, failure: Failure, cause: str, tool: str
) -> None:
    """Nothing runs, the model is told why, or that an approved call still waits, and the same message runs once the store is back."""
    with on(kind, tmp_path) as (life, place, _):
        guard = life.process()
        chat = life.chat(guard)
        history = [chat.user("go")]
        if tool == "held":
            chat.handle(reply((tool, 1)), history=history)
            life.approve(guard)
        with failure(place):
            [told] = chat.handle(reply((tool, 1)), history=history).outcomes
            if told.status == "held":  # the turn could not be opened, and what the ledger has of it could be read
                assert (tool, told.replayed) == ("held", True)
            else:
                assert (said(told), error(told)["cause"]) == (("refused", "store_unavailable"), cause)
            assert life.ran == []
        [told] = chat.handle(reply((tool, 1)), history=history).outcomes
        assert (said(told), len(life.ran)) == (DONE, 1)


@cases
@pytest.mark.parametrize("tool", ["once", "held"])
def test_after_the_act_the_outcome_is_told_when_the_store_is_back(
    tmp_path: Path, kind: str, failure: Failure, cause: str, tool: str
) -> None:
    """Unknown while nobody can write it down, then done; told once, and the act was one."""
    with on(kind, tmp_path) as (life, place, _):
        guard = life.process()
        chat = life.chat(guard)
        history = [chat.user("go")]
        if tool == "held":
            chat.handle(reply((tool, 1)), history=history)
            life.approve(guard)
        failed: list[AbstractContextManager[None]] = []

        def act(n: int) -> dict[str, int]:
            failed.append(failure(place))
            failed[0].__enter__()
            return {"acted": n}

        life.answers[tool] = act
        try:
            [told] = chat.handle(reply((tool, 1)), history=history).outcomes
            assert said(told) == UNKNOWN
        finally:
            failed[0].__exit__(None, None, None)
        until(lambda: life.statuses() == ["done"], seconds=20)
        assert "acted" in life.settled(guard)
        assert life.settled(guard) == ""
        assert said(chat.handle(reply((tool, 1)), history=history).outcomes[0]) == DONE
        assert len(life.ran) == 1


@cases
def test_a_process_that_ends_with_it_leaves_the_call_unknown(tmp_path: Path, kind: str, failure: Failure, cause: str) -> None:
    """Nobody else knows how it ended: whoever comes after says unknown, and nothing runs again."""
    with on(kind, tmp_path) as (life, place, another):
        guard = life.process()
        chat = life.chat(guard)
        history = [chat.user("go")]
        failed: list[AbstractContextManager[None]] = []

        def act(n: int) -> dict[str, int]:
            failed.append(failure(place))
            failed[0].__enter__()
            return {"acted": n}

        life.answers["once"] = act
        try:
            assert said(chat.handle(reply(("once", 1)), history=history).outcomes[0]) == UNKNOWN
            guard.close()
        finally:
            failed[0].__exit__(None, None, None)
        life.clock.now += LEASE + 1
        life.store = another()
        after = life.process()
        resumed = life.chat(after).resume([*history, reply(("once", 1))])
        assert "outcome_unknown" in str(resumed[-1])
        assert said(life.chat(after).handle(reply(("once", 1)), history=history).outcomes[0]) == UNKNOWN
        assert len(life.ran) == 1
        assert [call.tool for call in after.unknown.list()] == ["once"]


def put_back(url: str) -> Callable[[], None]:
    """A backup of the database as it is now; calling what this gives puts it back in its place."""
    name, server = _name(url), postgres_kit.server(safe=False)
    postgres_kit.run(server, _ended(url), f"CREATE DATABASE {name}_backup TEMPLATE {name}")

    def back() -> None:
        postgres_kit.run(server, f"DROP DATABASE {name} WITH (FORCE)", f"ALTER DATABASE {name}_backup RENAME TO {name}")

    return back


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_database_that_was_put_back(tmp_path: Path, when: str) -> None:
    """A program that knows of later records starts nothing any more; what it was at is unknown, and no outcome is told as written."""
    with on("postgres", tmp_path) as (life, place, another):
        guard = life.process()
        chat = life.chat(guard)
        chat.user("go")
        back = put_back(place)
        assert said(chat.handle(reply(("once", 1))).outcomes[0]) == DONE
        if when == "before":
            back()
        else:
            life.answers["once"] = lambda n: back() or {"acted": n}
        [told] = chat.handle(reply(("once", 2), call_id="d")).outcomes
        assert said(told) == (("refused", "store_restored") if when == "before" else UNKNOWN)
        assert said(chat.handle(reply(("once", 3), call_id="e")).outcomes[0]) == ("refused", "store_restored")
        assert [n for _, n, _ in life.ran] == ([1] if when == "before" else [1, 2])
        another()
