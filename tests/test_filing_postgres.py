"""Filing behind the decisions on PostgreSQL: searches are exact whatever is filed so far, however many processes write, file or die."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import postgres_kit
import psycopg
import pytest
from older_kit import as_of
from search_kit import log, record
from stores_kit import Clock
from test_filing_tail import run

from guard.cli import audit_verify
from guard.core.ports import Store
from guard.core.searching import Sought
from guard.stores import filing, open_store, postgres_filer, postgres_filing, schema, steps_revisions
from guard.stores.migrations import migrate

_TRIGGERS = "SELECT COUNT(*) FROM pg_trigger WHERE tgname = 'audit_filed'"
_FILED = "SELECT COUNT(*) FROM filed"


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_kit.database() as made:
        yield made


def faultless(store: Store) -> bool:
    """Whether verify finds nothing wrong, besides that these records tell of an approval and of calls which were never any."""
    found = [one.what for one in audit_verify.stored_report(store, [], None).problems]
    return [what for what in found if "ap_1" not in what and "is not among the calls" not in what] == []


def whole(store: Store) -> bool:
    """Whether everything is filed about every record of every chain, and nothing else."""
    for chain in range(store.chains):
        every, copies = store.audit(chain=chain), store.copies(chain=chain, limit=100_000)
        if len(every) != len(copies) or any(filing.differing(*pair) for pair in zip(every, copies, strict=True)):
            return False
    return True


def until(done: Any) -> None:
    """Wait for something that comes by itself."""
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_decision_files_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record alone stands in its transaction; it is found at once, by a person's hash, too, and by other processes' stores."""
    monkeypatch.setattr(postgres_filer, "MOMENT", 60.0)
    assert postgres_kit.run(url, _TRIGGERS) == [(0,)]
    with closing(open_store(url, clock=Clock())) as store, closing(open_store(url, clock=Clock())) as other:
        for number in range(3):
            store.record((), log())
            assert postgres_kit.run(url, _FILED) == [(0,)]
            for one in (store, other):
                assert len(one.search(Sought(tags=("tag-ann",)))) == 2 * (number + 1)
                assert len(one.search(Sought())) == len(log()) * (number + 1)
                assert one.tally(Sought(), ()) == (((), len(log()) * (number + 1)),)
    assert postgres_kit.run(url, _FILED) == [(3 * len(log()),)], "at close everything is filed"


def test_records_are_filed_a_moment_later(url: str) -> None:
    """Nobody has to ask; and what comes meanwhile has a moment of its own."""
    with closing(open_store(url, clock=Clock())) as store:
        for number in range(1, 4):
            store.record((), log())
            until(lambda number=number: postgres_kit.run(url, _FILED) == [(number * len(log()),)])
        assert whole(store)


def test_one_process_files_at_a_time(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who meets another at it files nothing, and looks again until the other is through."""
    monkeypatch.setattr(postgres_filer, "MOMENT", 0.05)
    with closing(open_store(url, clock=Clock())) as store:
        with psycopg.connect(url) as other:
            other.execute(postgres_filing.TRY)
            store.record((), log())
            time.sleep(1)
            assert other.execute(_FILED).fetchone() == (0,)
        until(lambda: postgres_kit.run(url, _FILED) == [(len(log()),)])
        assert whole(store)


def test_what_others_left_is_filed_by_who_meets_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is much; a little is read by the searches until somebody writes."""
    with closing(open_store(url, clock=Clock())) as store:
        store.record((), [record("call.end", conversation=f"c{number}") for number in range(40)])
    for many, filed in ((1_000, 0), (10, 40)):
        postgres_kit.run(url, "DELETE FROM filed")
        monkeypatch.setattr("guard.stores.postgres.MANY", many)
        with closing(open_store(url, clock=Clock())) as store:
            assert len(store.search(Sought())) == 40
            until(lambda filed=filed: postgres_kit.run(url, _FILED) == [(filed,)])


DIES = """
import os, signal, sys
from search_kit import log
from guard.stores import open_store, postgres_filer
postgres_filer.MOMENT = 60.0
store = open_store(sys.argv[1])
store.record((), log())
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_is_killed_before_it_filed_loses_no_record(url: str) -> None:
    """Everything is found and verified, and is filed by the next one who writes."""
    dead = run(DIES, url)
    dead.communicate(timeout=60)
    assert dead.returncode == -signal.SIGKILL
    assert postgres_kit.run(url, _FILED) == [(0,)]
    with closing(open_store(url, clock=Clock())) as store:
        assert len(store.search(Sought())) == len(log())
        assert faultless(store)
        store.record((), [record("call.end")])
        until(lambda: postgres_kit.run(url, _FILED) == [(len(log()) + 1,)])
        assert whole(store)


WRITES = """
import sys
from search_kit import log, record
from guard.core.searching import Sought
from guard.stores import open_store, postgres_filer
postgres_filer.MOMENT, postgres_filer.PORTION = 0.01, 3
store = open_store(sys.argv[1])
for number in range(15):
    store.record((), [{**one, "conversation": f"c{number % 5}"} for one in log()])
    if number % 4 == 0:
        store.catch_up()
    assert len(store.search(Sought())) >= (number + 1) * len(log())
store.close()
"""


def test_processes_file_one_database_without_getting_in_each_others_way(url: str) -> None:
    """No error, no record filed twice or left out; who searches finds each record once all the while."""
    all_of = [run(WRITES, url) for _ in range(3)]
    with closing(open_store(url)) as store:
        while any(one.poll() is None for one in all_of):
            found = [(one.chain, one.seq) for one in store.search(Sought(newest=False))]
            assert len(set(found)) == len(found)
            assert len(store.filed(Sought(), ("kind",))) >= len(found)
        assert [(one.communicate(timeout=60)[1], one.returncode) for one in all_of] == [("", 0)] * 3
        store.catch_up()
        assert sum(len(store.audit(chain=chain)) for chain in range(store.chains)) == 3 * 15 * len(log())
        assert whole(store)


def test_a_database_whose_trigger_filed_goes_on_without_it(url: str) -> None:
    """A migration takes the trigger away, keeps what it filed, and from there on records are filed behind."""
    with closing(open_store(url, clock=Clock())) as store:
        store.record((), log())
    for statement in as_of(schema.STEPS.index(steps_revisions.STEP), "postgres"):
        postgres_kit.run(url, statement)
    assert postgres_kit.run(url, _TRIGGERS) == [(1,)]
    migrate(url)
    assert postgres_kit.run(url, _TRIGGERS) == [(0,)]
    with closing(open_store(url, clock=Clock())) as store:
        store.record((), log())
        assert len(store.search(Sought())) == 2 * len(log())
        store.catch_up()
        assert whole(store)


def test_a_portion_that_fails_costs_no_record(url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is said once, decisions go on, searches read what is not filed, and verify finds nothing wrong."""
    postgres_kit.run(url, "ALTER TABLE filed ADD CONSTRAINT never CHECK (kind <> 'call.end')")
    with closing(open_store(url, clock=Clock())) as store:
        store.record((), log())
        until(lambda: "not made findable" in caplog.text)
        store.record((), log())
        assert len(store.search(Sought())) == 2 * len(log())
        assert faultless(store)
    assert postgres_kit.run(url, _FILED) == [(0,)]
    assert caplog.text.count("not made findable") == 1
