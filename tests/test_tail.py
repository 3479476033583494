"""The tail: what a search knows of records that are not filed is what stands in the database it sees, whatever was read before and by whom."""

from __future__ import annotations

import json
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


@given(STATES)
def test_a_search_gets_the_unfiled_records_of_its_own_state(states: list[tuple[int, int, int, int, str]]) -> None:
    """Of every chain all, once, in order; also where other threads have seen later or earlier states, and after a backup was put back."""
    common = {of: chain(10, "c", of=of) for of in range(2)}
    rows = {(of, name): common[of] + chain(20, name, 10, common[of][-1].hash, of=of) for of in range(2) for name in ("a", "b")}
    kept = Tail()
    for filed_0, newest_0, filed_1, newest_1, name in states:
        stand = {0: (filed_0, newest_0), 1: (filed_1, newest_1)}

        def fetch(of: int, after: int, end: int, name: str = name) -> list[Sealed]:
            return rows[of, name][after:end]

        lying = [Lying(of, filed, newest, rows[of, name][newest - 1].hash) for of, (filed, newest) in stand.items() if newest]
        wanted = [one for of, (filed, newest) in stand.items() for one in rows[of, name][filed:newest]]
        found = kept.of(lying, fetch)
        assert [one.record for one in found] == wanted
        assert all(
            one.copies is not None and one.copies["conversation"] == json.loads(one.record.body)["conversation"] for one in found
        )
        assert kept.size == len(wanted)


def test_each_unfiled_record_is_read_once_for_all_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second search reads only what came meanwhile; what was filed is forgotten."""
    path, count = tmp_path / "guard.db", []
    real = tail.read
    monkeypatch.setattr(tail, "read", lambda one: (count.append(one.seq), real(one))[1])
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


def test_a_longer_tail_is_read_each_time_rather_than_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is bounded; what is found is not."""
    monkeypatch.setattr(tail, "MOST", 4)
    path = tmp_path / "guard.db"
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())
    unfile(path, 0)
    with closing(FileLog(path)) as only:
        for _ in range(2):
            assert len(only.search(Sought())) == len(log())
        assert only._tables.tail is not None
        assert only._tables.tail.size == 0
    assert sql(path, "SELECT COUNT(*) FROM filed") == [(0,)]
