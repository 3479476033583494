"""The tail: what a search knows of records that are not filed is what stands in the database it sees, whatever was read before and by whom."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_kit import log
from stores_kit import Clock
from test_filing_tail import sql, unfile

from guard.core.log import Sealed
from guard.core.searching import Sought
from guard.stores import open_store, tail
from guard.stores.chain import GENESIS, seal
from guard.stores.log import FileLog
from guard.stores.tail import Lying, Tail


def chain(number: int, name: str, start: int = 0, last: str = GENESIS, *, of: int = 0) -> list[Sealed]:
    """Records of one chain."""
    made: list[Sealed] = []
    for seq in range(start + 1, start + number + 1):
        event = {"kind": "call.end", "conversation": name}
        made.append(seal(event, chain=of, seq=seq, prev=last, ts="2027-01-15T08:00:00.000000Z", record_id=f"{name}{seq}"))
        last = made[-1].hash
    return made


STATES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.sampled_from("ab")), max_size=12
)


def copied(database: sqlite3.Connection) -> list[tuple[int, int, str]]:
    """What a search that is asked for everything finds in the tail."""
    return database.execute("SELECT chain, seq, conversation FROM filed ORDER BY chain, seq").fetchall()


@given(STATES)
def test_a_search_gets_the_unfiled_records_of_its_own_state(states: list[tuple[int, int, int, int, str]]) -> None:
    """Of every chain all, once; also where other threads have seen later or earlier states, and after a backup was put back."""
    common = {of: chain(10, "c", of=of) for of in range(2)}
    rows = {(of, name): common[of] + chain(20, name, 10, common[of][-1].hash, of=of) for of in range(2) for name in ("a", "b")}
    kept = Tail()
    for filed_0, newest_0, filed_1, newest_1, name in states:
        stand = {0: (filed_0, newest_0), 1: (filed_1, newest_1)}

        def fetch(of: int, after: int, end: int, name: str = name) -> list[Sealed]:
            return rows[of, name][after:end]

        lying = [
            Lying(of, filed, newest, rows[of, name][newest - 1].hash) for of, (filed, newest) in stand.items() if newest > filed
        ]
        records = [one for of, (filed, newest) in stand.items() for one in rows[of, name][filed:newest]]
        wanted = [(one.chain, one.seq, json.loads(one.body)["conversation"]) for one in records]
        assert kept.ask(lying, fetch, copied) == wanted
        assert (kept.size, kept.missing(lying)) == (len(wanted), 0)


def test_what_is_known_is_forgotten_where_a_search_fails() -> None:
    """The next one reads everything anew, and nothing that a broken one left counts."""
    rows, kept = chain(30, "a"), Tail()
    lying = [Lying(0, 0, 30, rows[-1].hash)]

    def fetch(_: int, after: int, end: int) -> list[Sealed]:
        return rows[after:end]

    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError):
            kept.ask(lying, fetch, lambda database: database.execute("SELECT nothing FROM filed"))
        assert kept.missing(lying) == 30
        assert len(kept.ask(lying, fetch, copied)) == 30


def test_threads_that_ask_at_once_each_get_their_own_state() -> None:
    """One asks while the other's answer is read, of a state that is older."""
    rows, kept = chain(30, "a"), Tail()

    def fetch(_: int, after: int, end: int) -> list[Sealed]:
        return rows[after:end]

    def asked(number: int) -> list[int]:
        filed, newest = number % 5, 20 + number % 7
        found = kept.ask([Lying(0, filed, newest, rows[newest - 1].hash)], fetch, copied)
        assert [seq for _, seq, _ in found] == list(range(filed + 1, newest + 1))
        return [seq for _, seq, _ in found]

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(asked, range(80)))


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the records that are copied into a tail."""
    found: list[int] = []
    real = Tail._put

    def put(self: Tail, database: sqlite3.Connection, of: int, records: Sequence[Sealed]) -> None:
        found.extend(one.seq for one in records)
        real(self, database, of, records)

    monkeypatch.setattr(Tail, "_put", put)
    return found


def test_each_unfiled_record_is_read_once_for_all_searches(tmp_path: Path, count: list[int]) -> None:
    """A second search reads only what came meanwhile; what was filed is forgotten."""
    path = tmp_path / "guard.db"
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())
    unfile(path, 5)
    with closing(FileLog(path)) as only:
        for _ in range(3):
            assert len(only.search(Sought())) == len(log())
            assert only.tally(Sought(), ()) == (((), len(log())),)
        assert count == list(range(6, len(log()) + 1))
        with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
            store.record((), log())
            unfile(path, 5)
            assert len(only.search(Sought())) == 2 * len(log())
        assert len(only.search(Sought())) == 2 * len(log()), "whatever was filed meanwhile"
        assert sorted(set(count)) == list(range(6, 2 * len(log()) + 1))


def test_a_longer_tail_is_read_each_time_rather_than_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: list[int]
) -> None:
    """What is kept is bounded; what is found is not."""
    monkeypatch.setattr(tail, "MOST", 4)
    path = tmp_path / "guard.db"
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())
    unfile(path, 0)
    with closing(FileLog(path)) as only:
        for _ in range(2):
            assert len(only.search(Sought())) == len(log())
        assert len(count) == 2 * len(log())
    assert sql(path, "SELECT COUNT(*) FROM filed") == [(0,)]


def test_a_forked_child_reads_for_itself(tmp_path: Path) -> None:
    """Another thread of the parent may have been at the tail when the process was doubled."""
    path = tmp_path / "guard.db"
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())
        unfile(path, 0)
        assert len(store.search(Sought())) == len(log())
        reader, writer = os.pipe()
        child = os.fork()
        if not child:  # pragma: no cover - in the child
            os.write(writer, bytes([len(store.search(Sought()))]))
            os._exit(0)
        os.close(writer)
        assert os.read(reader, 1) == bytes([len(log())])
        os.close(reader)
        os.waitpid(child, 0)
