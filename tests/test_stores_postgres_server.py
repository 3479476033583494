"""The PostgreSQL store and its server: cuts, stops, time-outs, settings, versions, waiting, and what errors say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import postgres_kit
import psycopg
import pytest
from postgres_parts import SHORT, told
from stores_kit import REF, ask, claim, event, key, kinds, records, row, turn, vote
from test_stores_races import TESTS, race

from guard.core.ports import Store, Won
from guard.errors import StoreError
from guard.extras import install
from guard.stores import migrations, open_store, postgres_sql, schema
from guard.stores.chain import verify_store
from guard.stores.postgres import postgres_store
from guard.stores.postgres_chains import chain_of
from guard.stores.postgres_wire import Wire


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_kit.database() as made:
        yield made


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as made:
        yield made
        assert verify_store(made).ok


def test_a_killed_connection_is_an_outage_and_the_next_call_works(store: Store, url: str) -> None:
    """Ended in the middle of a transaction: nothing is written, the caller is told, and a new connection takes over by itself."""
    store.open(REF)

    def cut(number: int) -> tuple[Any, ...]:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        postgres_kit.run(url, ended)
        return (event("told", turn=number),)

    with pytest.raises(StoreError) as caught:
        store.open_turn(turn(told=cut))
    assert caught.value.code == "connection_lost"
    assert store.open_turn(turn()).turn == 1
    assert kinds(store) == []


def test_a_connection_that_was_cut_while_idle_is_not_noticed(store: Store, url: str) -> None:
    """Nothing had begun on it, so the work is done on another one."""
    race(4, lambda number: store.record([], [told(number)]))
    postgres_kit.run(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )
    store.record([], [told(9)])
    assert len(records(store)) == 5


def test_a_stopped_server_is_an_outage_in_bounded_time() -> None:
    """Every call is refused at once while it is down, and works as soon as it is back: records, claims and secret are what they were."""
    server = postgres_kit.Embedded(safe=True)
    migrations.migrate(server.url)
    with closing(postgres_store(server.url, limits=SHORT)) as store:
        secret = store.secret
        store.claim(claim())
        server.stop("immediate")
        for way in (lambda: store.record([row()], [event()]), lambda: store.rows(REF), lambda: store.claim(claim(key(2)))):
            began = time.monotonic()
            with pytest.raises(StoreError) as caught:
                way()
            assert caught.value.code == "connection_lost"
            assert time.monotonic() - began < 5
        with pytest.raises(StoreError):
            open_store(server.url)
        server.start()
        store.record([row(at=key(9), mark="m9")], [event("later")])
        assert kinds(store) == ["call.begin", "later"]
        assert [found.status for found in store.rows(REF)] == ["started", "done"]
        assert verify_store(store).ok
        assert store.secret == secret
    server.stop()


def test_a_lock_that_is_not_free_in_time_is_a_time_out(url: str) -> None:
    """Somebody else keeps the conversation: a refusal after the wait, and success once it is free."""
    with closing(postgres_store(url, limits=SHORT)) as store:
        store.open(REF)
        with psycopg.connect(url) as other:
            other.execute("SELECT id FROM conversations FOR UPDATE")
            with pytest.raises(StoreError, match="lock was not free") as caught:
                store.claim(claim())
            assert caught.value.code == "timeout"
        assert isinstance(store.claim(claim()), Won)


def test_a_statement_that_takes_too_long_is_a_time_out(url: str) -> None:
    """As a table that somebody rewrites: a refusal in bounded time, also for reading."""
    with closing(postgres_store(url, limits=replace(SHORT, lock=10.0))) as store, psycopg.connect(url) as other:
        other.execute("LOCK TABLE conversations IN ACCESS EXCLUSIVE MODE")
        for way in (lambda: store.rows(REF), lambda: store.claim(claim())):
            with pytest.raises(StoreError, match="too long") as caught:
                way()
            assert caught.value.code == "timeout"


def test_a_process_waits_for_a_free_connection_in_bounded_time(url: str) -> None:
    """With every connection in use, the next caller is told so instead of hanging."""
    with closing(postgres_store(url, limits=replace(SHORT, size=1))) as store:
        inside, leave = Event(), Event()

        def hold(_: int) -> tuple[Any, ...]:
            inside.set()
            leave.wait(5)
            return ()

        holder = Thread(target=lambda: store.open_turn(turn(told=hold)))

        holder.start()
        inside.wait(5)
        with pytest.raises(StoreError, match="every connection is in use"):
            store.rows(REF)
        leave.set()
        holder.join()
        assert store.rows(REF) == ()


def test_commits_that_do_not_wait_for_the_disk_are_refused(store: Any, url: str) -> None:
    """`off` in the database's settings is overruled; where something sets it behind our back, nothing is written."""
    name = url.partition("?")[0].rpartition("/")[2]
    postgres_kit.run(url, f"ALTER DATABASE {name} SET synchronous_commit = off")
    with closing(open_store(url)) as other:
        other.record([], [event("kept")])
    wire = store._tables.pool._idle[-1]
    wire.execute("SELECT set_config('synchronous_commit', 'off', false)")
    wire.settle()
    with pytest.raises(StoreError, match="synchronous_commit"):
        store.claim(claim())
    assert kinds(store) == ["kept"]


def test_a_read_only_database_refuses_writes_and_can_be_read(store: Store, url: str) -> None:
    """As after a failover: reading goes on, writing is refused as read-only."""
    store.record([row()], [event()])
    name = url.partition("?")[0].rpartition("/")[2]
    postgres_kit.run(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with closing(open_store(url)) as other:
        assert len(other.rows(REF)) == 1
        with pytest.raises(StoreError) as caught:
            other.record([row(at=key(2))], [event()])
        assert caught.value.code == "read_only"


def test_a_chain_without_its_head_takes_no_record(store: Store, url: str) -> None:
    """No record, no action: the whole transaction fails."""
    postgres_kit.run(url, "DELETE FROM heads WHERE chain = 0")
    with pytest.raises(StoreError) as caught:
        store.claim(claim())
    assert caught.value.code == "damaged"
    assert store.rows(REF) == ()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO audit SELECT chain, 9, prev, hash, body FROM audit WHERE seq = 2",
        "INSERT INTO audit SELECT chain, seq, repeat('1', 64), hash, body FROM audit WHERE seq = 2",
    ],
    ids=["same-prev", "same-seq"],
)
def test_a_fork_is_refused_by_the_database(store: Store, url: str, statement: str) -> None:
    """Two records cannot stand behind one, nor in one place."""
    store.record([], [event("one"), event("two")])
    with pytest.raises(psycopg.errors.UniqueViolation):
        postgres_kit.run(url, statement)


def test_a_value_that_text_cannot_hold_is_refused_whole(store: Store) -> None:
    """A zero byte or half a surrogate pair in a name: a StoreError without the name, and nothing is written."""
    for name in ("a\0b", "a\ud800b"):
        with pytest.raises(StoreError, match="cannot be stored") as caught:
            store.record([row(at=key(ref=replace(REF, conversation=name)))], [event()])
        assert "a" + name[1] not in str(caught.value)
    assert kinds(store) == []


# -- time


def test_time_is_the_servers(store: Store, url: str) -> None:
    """Without a clock of the caller's, leases and `now` follow the server's clock."""
    [(server,)] = postgres_kit.run(url, "SELECT extract(epoch FROM clock_timestamp())::float8")
    won = store.claim(claim())
    assert isinstance(won, Won)
    assert abs(won.at - server) < 5
    assert abs(store.now() - server) < 5


# -- waiting


def test_an_approval_wakes_who_waits(store: Store, url: str) -> None:
    """A vote through any process ends the wait early; several threads may wait."""
    ask(store)
    with closing(open_store(url)) as other:
        other.wait(0.3)  # from now on it listens
        began = time.monotonic()
        with ThreadPoolExecutor(3) as pool:
            waits = [pool.submit(other.wait, 20) for _ in range(3)]
            time.sleep(0.2)
            vote(store)
            for wait in waits:
                wait.result(timeout=10)
        assert time.monotonic() - began < 10


def test_a_notice_is_no_part_of_the_vote(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notice inside of a transaction makes all commits of the server wait for each other: it is sent alone, once the vote is committed."""
    ask(store)
    sent: list[str] = []
    execute = Wire.execute
    monkeypatch.setattr(Wire, "execute", lambda wire, text, values=(): sent.append(text) or execute(wire, text, values))
    vote(store)
    told = sent.index(postgres_sql.NOTIFY)
    assert sent.count(postgres_sql.NOTIFY) == 1
    assert sent[:told].count("COMMIT") == sent[:told].count(postgres_sql.BEGIN_WRITE) >= 1


def test_a_wait_ends_by_itself_and_when_nobody_can_be_asked(store: Store) -> None:
    """A notice only shortens a wait: without one, or without a server, it lasts as long as was asked."""
    for url in (None, "postgresql://127.0.0.1:1/none"):
        store._tables.listener._url = url or store._tables.listener._url
        began = time.monotonic()
        store.wait(0.3)
        assert 0.25 < time.monotonic() - began < 3
        store._tables.listener._drop()


# -- opening and migrating


def test_a_database_is_not_changed_by_opening_it() -> None:
    """Without tables, or with those of an earlier version: an error that names the command, and nothing is made."""
    with postgres_kit.database(empty=True) as url:
        with pytest.raises(StoreError, match="guard serve migrate --store postgresql://") as caught:
            open_store(url)
        assert caught.value.code == "version"
        assert postgres_kit.run(url, "SELECT COUNT(*) FROM pg_class WHERE relname = 'calls'") == [(0,)]


@pytest.mark.parametrize("version", [schema.VERSION - 1, schema.VERSION + 1])
def test_another_version_is_not_opened(url: str, version: int) -> None:
    """Older: migrate. Newer: update the program; a migration does not touch it."""
    change = (
        f"DELETE FROM schema_version WHERE version = {schema.VERSION}"  # noqa: S608 - a number of our own
        if version < schema.VERSION
        else f"INSERT INTO schema_version VALUES ({version})"  # noqa: S608 - a number of our own
    )
    postgres_kit.run(url, change)
    for way in (open_store, *([migrations.look, migrations.migrate] if version > schema.VERSION else [])):
        with pytest.raises(StoreError) as caught:
            way(url)
        assert caught.value.code == "version"
        assert ("update the program" in str(caught.value)) == (version > schema.VERSION)


def test_migrations_at_once_are_as_good_as_one() -> None:
    """Each says what it found; the steps are taken once, and the key is made once."""
    with postgres_kit.database(empty=True) as url:
        assert migrations.look(url).due
        found = race(6, lambda _: migrations.migrate(url).found)
        assert sorted(found) == [0, *[schema.VERSION] * 5]
        assert not migrations.look(url).due
        assert postgres_kit.run(url, "SELECT COUNT(*) FROM keys") == [(1,)]
        assert postgres_kit.run(url, "SELECT version FROM schema_version ORDER BY version") == [
            (number,) for number in range(1, schema.VERSION + 1)
        ]
        with closing(open_store(url)) as store:
            store.record([row()], [event()])
            assert verify_store(store).ok


def test_the_command_migrates_once_and_says_from_where(tmp_path: Path) -> None:
    """`guard serve migrate`: due, done, nothing to do; for a database and for a file, in words and as JSON."""
    with postgres_kit.database(empty=True) as url:
        for store in (url, "sqlite:///guard.db"):
            ran = [serve(tmp_path, store, *more) for more in (["--check"], ["--check", "--json"], [], ["--json"], ["--check"])]
            assert [code for code, _ in ran] == [1, 1, 0, 0, 0]
            assert [told for _, told in ran] == [
                f"a migration is due: from version 0 to {schema.VERSION}\n",
                f'{{"from":0,"to":{schema.VERSION},"due":true,"migrated":false}}\n',
                f"migrated from version 0 to {schema.VERSION}\n",
                f'{{"from":{schema.VERSION},"to":{schema.VERSION},"due":false,"migrated":false}}\n',
                f"the database is at version {schema.VERSION} already\n",
            ]
    assert serve(tmp_path, "memory://")[0] == 2


def serve(folder: Path, store: str, *more: str) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, "-m", "guard", "serve", "migrate", "--store", store, *more],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(TESTS.parent)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stdout


def test_the_audit_command_checks_every_chain(store: Store, url: str) -> None:
    """Records of all chains by time; one that was changed in any chain is found, with its chain."""
    for number in range(6):
        store.record([], [told(number)])
    ran = audit(url)
    assert ran.returncode == 0
    assert "6 records, the chain holds" in ran.stdout
    changed = chain_of(told(3))
    with pytest.raises(psycopg.errors.RaiseException):
        postgres_kit.run(url, "DELETE FROM audit")
    postgres_kit.run(url, "ALTER TABLE audit DISABLE TRIGGER USER")
    change = "UPDATE audit SET body = replace(body, '{}', '{}') WHERE chain = {} AND seq = 1"
    postgres_kit.run(url, change.format("begin", "ended", changed))
    ran = audit(url)
    assert ran.returncode == 1
    assert f"BROKEN at record 1 of chain {changed}" in ran.stderr
    postgres_kit.run(url, change.format("ended", "begin", changed))


def audit(url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "guard", "audit", "--store", url]
    return subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)


def test_a_foreign_database_is_left_as_it_is() -> None:
    """Somebody else's table of the same name: the migration fails whole."""
    with postgres_kit.database(empty=True) as url:
        postgres_kit.run(url, "CREATE TABLE calls (x int)")
        with pytest.raises(StoreError):
            migrations.migrate(url)
        assert postgres_kit.run(url, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [("calls",)]


# -- what is said


URLS = {
    "nobody-listens": "postgresql://ann:PLANTED@127.0.0.1:1/guard?connect_timeout=2",
    "no-such-host": "postgresql://ann:PLANTED@no-such-host.invalid/guard",
    "no-url": "postgresql://ann:PLANTED@host:port/guard",
    "unknown-option": "postgresql://ann@host/guard?password=PLANTED&unknown=1",
    "other-name": "postgres://ann:PLANTED@127.0.0.1:1/guard",
}


@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
def test_no_error_repeats_the_password(url: str) -> None:
    """Neither the store's text, nor what hangs on it, nor the command line's."""
    with pytest.raises(StoreError) as caught:
        open_store(url)
    assert "PLANTED" not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert caught.value.__suppress_context__
    for command in (["audit"], ["serve", "migrate"]):
        ran = subprocess.run(
            [sys.executable, "-m", "guard", *command, "--store", url],
            cwd=TESTS.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode in {1, 2}
        assert "PLANTED" not in ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without psycopg: what to install, and every other store works."""
    for name in [name for name in sys.modules if name.startswith("guard.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("guard.stores.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=re.escape(install("postgres"))):
        open_store("postgresql://host/db")
    open_store("memory://").close()


def test_a_closed_store_is_an_outage(store: Store, url: str) -> None:
    """After `close` everything is a StoreError, a wait ends at once, and closing twice is fine."""
    other = open_store(url)
    other.close()
    other.close()
    ways: tuple[Callable[[], Any], ...] = (
        lambda: other.rows(REF),
        lambda: other.record([], [event()]),
        lambda: other.claim(claim()),
    )
    for way in ways:
        with pytest.raises(StoreError, match="closed") as caught:
            way()
        assert caught.value.code == "closed"
    other.wait(20)


def test_no_connection_is_left_behind(url: str) -> None:
    """Whoever used a store and closed it leaves no process of the server behind."""
    store = open_store(url)
    gate = Barrier(8)

    def one(_: int) -> None:
        gate.wait()
        store.record([row()], [event()])
        with pytest.raises(ValueError, match="kind"):
            store.record([], [{}])

    race(8, one)
    store.wait(0.1)
    store.close()
    postgres_kit.left_alone(url)
