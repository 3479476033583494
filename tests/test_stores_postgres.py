"""The PostgreSQL store: what the server, the locks and the connections promise beyond the contract of every store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from threading import Barrier, Event, Thread
from typing import Any

import postgres_kit
import psycopg
import pytest
from stores_kit import REF, ask, charge, claim, event, key, kinds, proposal, quota, records, row, turn, vote
from test_stores_races import TESTS, race, start

from guard.core.ports import AskApproval, Store, Won
from guard.errors import ApprovalError, StoreError
from guard.stores import migrations, open_store, schema
from guard.stores.chain import verify_store
from guard.stores.postgres import postgres_store
from guard.stores.postgres_chains import chain_of
from guard.stores.postgres_pool import Limits

SHORT = Limits(statement=0.5, lock=0.2, connect=2.0, free=0.5)
WRITERS = 16


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_kit.database() as made:
        yield made


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as made:
        yield made
        assert verify_store(made).ok


def there(turn: int, conversation: int = 0) -> Any:
    return key(turn, ref=replace(REF, conversation=f"conv-{conversation}"))


def told(conversation: int, kind: str = "call.begin") -> dict[str, Any]:
    return event(kind, conversation=f"conv-{conversation}")


# -- threads


def test_sixteen_threads_race_for_one_call(store: Store) -> None:
    """One of them wins it, whether or not the conversation exists already."""
    for turn in range(1, 6):
        found = race(WRITERS, lambda _, turn=turn: type(store.claim(claim(key(turn), mark=f"m{turn}"))))
        assert found.count(Won) == 1
    assert kinds(store) == ["call.begin"] * 5


def test_sixteen_threads_race_for_one_approval(store: Store) -> None:
    """One vote counts, one claim spends it, and the losers are told so."""
    ask(store)

    def decide(number: int) -> str:
        try:
            return str(vote(store, by=f"B{number}").decided_by)
        except ApprovalError as error:
            return error.code

    assert Counter(race(WRITERS, decide))["already_decided"] == WRITERS - 1
    assert race(WRITERS, lambda number: type(store.claim(claim(key(1, number), "a1")))).count(Won) == 1
    assert store.approval("a1").status == "consumed"


def test_a_budget_over_conversations_is_never_overdrawn(store: Store) -> None:
    """Sixteen conversations draw on one budget of 40, each in its own order of two budgets: 40 draws are given, none is lost."""

    def draw(number: int) -> int:
        names = ("a", "b") if number % 2 else ("b", "a")
        both = tuple(charge(limit=40, scope="tenant", name=name) for name in names)
        return sum(store.take(quota((there(turn, number), both))) == (None,) for turn in range(1, 5))

    assert sum(race(WRITERS, draw)) == 40


def test_chains_do_not_fork_under_sixteen_writers(store: Store) -> None:
    """Every record stands in the chain of its conversation, and every chain holds, however many write at once."""

    def write(number: int) -> None:
        for turn in range(1, 21):
            store.record([row(at=there(turn, number))], [told(number), told((number + turn) % 7, "other")])

    race(WRITERS, write)
    assert verify_store(store).records == WRITERS * 20 * 2
    for chain in range(store.chains):
        assert {chain_of(json.loads(record.body)) for record in store.audit(chain=chain)} <= {chain}
    assert sum(bool(store.audit(chain=chain, limit=1)) for chain in range(store.chains)) > 8


def test_ends_of_many_windows_are_written_once(store: Store, url: str) -> None:
    """Listers that find the same approvals expired neither block each other nor write an end twice."""
    with closing(open_store(url, clock=lambda: 1.0)) as earlier:
        for number in range(20):
            given = proposal(f"a{number}", now=1.0, at=there(1, number), window=1.0)
            earlier.ask(AskApproval(proposal=given, event=event("approval.requested"), run=0))
    for found in race(8, lambda _: store.approvals()):
        assert {one.status for one in found} == {"expired"}
    assert Counter(kinds(store)) == {"approval.requested": 20, "approval.expired": 20}


def test_workers_pick_different_calls_without_waiting(store: Store) -> None:
    """Of twenty approved calls each is picked by one worker, though all ask at once."""
    for number in range(20):
        ask(store, f"a{number}", at=key(1, number), fingerprint=f"f{number}")
        vote(store, f"a{number}")
        store.record([row("held", key(1, number), fingerprint=f"f{number}", mark="", approval=f"a{number}")], [event()])
    picked = race(8, lambda _: [found.key.position for _ in range(4) for found in store.pick(grace=0, lease=60, limit=3)])
    assert sorted(position for part in picked for position in part) == list(range(20))


def test_a_text_and_a_dict_of_one_conversation_share_a_chain() -> None:
    """However an event is written, its conversation decides; one of no conversation is in chain 0."""
    for name in ("conv", 'c"\\', "é\n", "😀", "\ud83d"):
        fields = {"kind": "k", "tenant": "acme", "conversation": name, "args": {"tenant": "x", "conversation": "y"}}
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))[1:-1]
        assert chain_of(text) == chain_of(fields)
    assert chain_of('"kind":"k"') == chain_of({"kind": "k"}) == chain_of({"kind": "k", "tenant": "acme"}) == 0


# -- processes

RACER = """
import sys
from stores_kit import charge, claim, event, key, quota, row, vote
from guard.core.ports import Won
from guard.errors import ApprovalError
from guard.stores import open_store

url, number = sys.argv[1], int(sys.argv[2])
store = open_store(url)
print("ready", flush=True)
sys.stdin.readline()
won = [turn for turn in range(1, 41) if isinstance(store.claim(claim(key(turn), mark=f"m{turn}")), Won)]
given = sum(store.take(quota((key(number, n), (charge(limit=30),)))) == (None,) for n in range(10))
try:
    vote(store, by=f"B{number}")
    decided = 1
except ApprovalError:
    decided = 0
spent = isinstance(store.claim(claim(key(100, number), "a1", fingerprint="g", mark="g")), Won)
print(len(won), given, decided, int(spent))
"""


def test_four_processes_race_for_calls_budget_and_approval(store: Store, url: str) -> None:
    """Each call is won once, the budget is drawn to its limit, one vote counts and one claim spends it."""
    ask(store, fingerprint="g")
    racers = [start(RACER, url, str(number)) for number in range(4)]
    assert all(racer.stdout.readline() == "ready\n" for racer in racers)
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    found = [[int(word) for word in racer.communicate(timeout=60)[0].split()] for racer in racers]
    assert [sum(column) for column in zip(*found, strict=True)] == [40, 30, 1, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_children_use_connections_of_their_own(store: Store) -> None:
    """A child that writes and ends in the ordinary way takes nothing from its parent, who goes on with its connection."""
    store.record([], [event("parent")])
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                store.record([], [event("child")])
                store.close()
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(child)
    before = connections(store)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    store.record([], [event("parent")])
    assert before <= connections(store)
    assert Counter(kinds(store)) == {"parent": 2, "child": 3}


def connections(store: Any) -> set[int]:
    """The server's processes behind the idle connections."""
    return {wire._conn.backend_pid for wire in store._tables.pool._idle}


# -- the server


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
    postgres_kit.run(
        url, f"DELETE FROM schema_version WHERE version > {version}", f"INSERT INTO schema_version VALUES ({version})"
    )
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
        assert postgres_kit.run(url, "SELECT version FROM schema_version ORDER BY version") == [(1,), (2,)]
        with closing(open_store(url)) as store:
            store.record([row()], [event()])
            assert verify_store(store).ok


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
    with pytest.raises(StoreError, match=r"pip install 'guard-middleware\[postgres\]'"):
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
    counted = "SELECT COUNT(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    until = time.monotonic() + 5
    while postgres_kit.run(url, counted) != [(0,)] and time.monotonic() < until:
        time.sleep(0.05)
    assert postgres_kit.run(url, counted) == [(0,)]
