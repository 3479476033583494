"""Filing behind the decisions: nothing is filed in the transaction of a record, and searches are exact whatever is filed so far, whoever died or files too."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from search_kit import log, record
from stores_kit import Clock, records
from test_search import SEARCHES

from guard.cli import audit_verify
from guard.core.ports import Store
from guard.core.searching import GROUPS, Sought
from guard.stores import filing, open_store, refiling
from guard.stores.log import FileLog

NAMES = ("kind", "at", "state", "turn", "chain", "seq")


def sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as file:
        found = [file.execute(one).fetchall() for one in statements]
        file.commit()
    return found[-1]


def unfile(path: Path, behind: int) -> None:
    """As a crash leaves a file: the records stand, and nothing is filed about the last of them."""
    sql(path, f"DELETE FROM filed WHERE seq > {behind}", f"DELETE FROM tags WHERE seq > {behind}")  # noqa: S608 - a number


def whole(store: Store) -> bool:
    """Whether everything is filed about every record, and nothing else."""
    every, copies = records(store), store.copies(limit=100_000)
    return len(every) == len(copies) and not any(filing.differing(*pair) for pair in zip(every, copies, strict=True))


@pytest.fixture(scope="module", params=[0, 1, 8, 14, 15])
def cut(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file with the small log, of which so many records are filed."""
    path, clock = tmp_path_factory.mktemp("cut") / "guard.db", Clock()
    with closing(open_store(f"sqlite:///{path}", clock=clock)) as store:
        for event in log():
            store.record((), [event])
            clock.now += 1
    unfile(path, request.param)
    yield path
    assert len(sql(path, "SELECT seq FROM filed")) == request.param, "whoever searches files nothing"


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_exact_whatever_is_filed(cut: Path, name: str) -> None:
    """Records, counts and columns are those of reading every record, through a store and through a log that only reads, in both orders and in pages."""
    with closing(open_store(f"sqlite:///{cut}", clock=Clock())) as store, closing(FileLog(cut)) as only:
        every = records(store)
        for log_ in (store, only):
            for sought in (SEARCHES[name][0], replace(SEARCHES[name][0], newest=False)):
                pairs = filing.scan(every, sought)
                assert log_.search(sought) == tuple(sealed for _, sealed in pairs)
                expected = tuple((*(made[each] for each in NAMES[:4]), one.chain, one.seq) for made, one in pairs)
                assert log_.filed(sought, NAMES) == expected
                if sought.limit is None:
                    for by in (("day", "verdict"), *((group,) for group in GROUPS)):
                        assert log_.tally(sought, by) == filing.count(every, sought, by)
                    assert sum(number for _, number in log_.tally(sought, ())) == len(pairs)
                for seen in range(0 if sought.limit is None else len(pairs), len(pairs)):
                    behind = (pairs[seen][0]["at"], pairs[seen][1].chain, pairs[seen][1].seq)
                    page = log_.search(replace(sought, behind=behind, limit=2))
                    assert page == tuple(one for _, one in pairs[seen + 1 : seen + 3])


def test_nothing_is_filed_in_the_transaction_of_a_record(tmp_path: Path) -> None:
    """A decision pays for its record alone; and it is found at once."""
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock())) as store:
        filed = store._tables.write(
            lambda tables: (tables.append(log()[2]), tables.flush(), refiling.unfiled(tables.connection))[2]
        )
        assert filed == (0, 1)
        assert len(store.search(Sought(tags=("tag-ann",)))) == 1


def test_records_are_filed_when_nothing_else_is_to_be_done(tmp_path: Path) -> None:
    """A moment after the last record, without anybody asking, and the writer then sleeps."""
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock())) as store:
        store.record((), log())
        until = time.monotonic() + 20
        while not whole(store):
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.parametrize(("rush", "most"), [(0, 6_000), (10**12, 2_000)], ids=["rush", "calm"])
def test_a_bounded_number_of_records_lies_unfiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rush: int, most: int) -> None:
    """Where records come without a pause, portions come between them: later in a rush, and a portion is as long as what was written at most."""
    path = tmp_path / "guard.db"
    for name, value in {"RUSH": rush, "CALM": 2_000, "MOST": 6_000, "_WINDOW": 0.0, "_ROWS": 1_000}.items():
        monkeypatch.setattr(refiling, name, value)
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        batch, seen = [record("call.end")] * 250, []
        for _ in range(40):
            store.record((), batch)
            ((left,),) = sql(path, "SELECT MAX(a.seq) - COALESCE((SELECT MAX(seq) FROM filed), 0) FROM audit a")
            seen.append(left)
    assert max(seen) <= most + 1_000
    ((left,),) = sql(path, "SELECT MAX(a.seq) - (SELECT MAX(seq) FROM filed) FROM audit a")
    assert left == 0, "at close everything is filed"


def test_whoever_opens_a_file_files_what_others_left(tmp_path: Path) -> None:
    """Where it is much; a little is read by the searches until somebody writes."""
    path = tmp_path / "guard.db"
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), [record("call.end")] * (refiling.MANY + 1))
    for behind, filed in ((2, 2), (0, refiling.MANY + 1)):
        unfile(path, behind)
        with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
            assert len(store.copies(limit=100_000)) == filed if behind == 0 else True
            assert len(store.search(Sought())) == refiling.MANY + 1


DIES = """
import os, signal, sqlite3, sys
from search_kit import log
from guard.stores import filing_sql, open_store
path, how = sys.argv[1:]
store = open_store("sqlite:///" + path)
store.record((), log())
if how == "within":
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(filing_sql.FILL, (0, 0, 9))
os.kill(os.getpid(), signal.SIGKILL)
"""


def run(text: str, *arguments: str) -> subprocess.Popen[str]:
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parent)])
    command = [sys.executable, "-c", text, *arguments]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", ["before", "within"])
def test_a_process_that_is_killed_leaves_nothing_half_filed(how: str, tmp_path: Path) -> None:
    """Between record and filing, and between the copies and the keyed hashes of a portion: everything is found, and is filed by the next one."""
    path = tmp_path / "guard.db"
    dead = run(DIES, str(path), how)
    dead.communicate(timeout=60)
    assert dead.returncode == -signal.SIGKILL

    with closing(FileLog(path)) as only:
        assert len(only.search(Sought())) == len(log())
        assert len(only.search(Sought(tags=("tag-ann",)))) == 2
    assert sql(path, "SELECT (SELECT COUNT(*) FROM filed), (SELECT COUNT(*) FROM tags)") == [(0, 0)]
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.catch_up()
        assert whole(store)
        store.catch_up()
        assert whole(store)


WRITES = """
import sys
from search_kit import log
from guard.stores import open_store
from guard.core.searching import Sought
store = open_store("sqlite:///" + sys.argv[1])
for number in range(40):
    store.record((), log())
    if number % 4 == 0:
        store.catch_up()
    assert len(store.search(Sought())) >= (number + 1) * len(log())
store.close()
"""


def test_processes_on_one_file_file_without_getting_in_each_others_way(tmp_path: Path) -> None:
    """No error, no record filed twice or left out; a log that only reads finds each record once all the while."""
    path = tmp_path / "guard.db"
    open_store(f"sqlite:///{path}").close()
    both = [run(WRITES, str(path)) for _ in range(2)]
    with closing(FileLog(path)) as only:
        while any(one.poll() is None for one in both):
            found = [(one.chain, one.seq) for one in only.search(Sought(newest=False))]
            assert sorted(seq for _, seq in found) == list(range(1, len(found) + 1))
    assert [(one.communicate(timeout=60)[1].count("Error"), one.returncode) for one in both] == [(0, 0)] * 2
    with closing(open_store(f"sqlite:///{path}")) as store:
        assert len(records(store)) == 2 * 40 * len(log())
        assert whole(store)


@pytest.mark.parametrize("page", [4, 5, 7, 5000])
def test_who_verifies_knows_what_is_not_filed_yet(page: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the last record that is filed nothing is missing; before it a missing row is somebody's doing, however the pages fall."""
    monkeypatch.setattr(audit_verify, "_PAGE", page)
    path = tmp_path / "guard.db"
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())

    def bad() -> list[int]:
        with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
            return [each.seq for each in audit_verify.stored_report(store, [], None).problems if "filed" in each.what]

    for filed in (15, 10, 8, 0):
        unfile(path, filed)
        assert bad() == []
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.catch_up()
    sql(path, "DELETE FROM filed WHERE seq IN (5, 8)")
    assert bad()[:1] == [5]
    unfile(path, 8)
    assert bad()[:1] == [5]


def test_a_portion_that_fails_costs_no_record(tmp_path: Path) -> None:
    """Records go on being written and found where nothing can be filed; once it can, they are filed."""
    path = tmp_path / "guard.db"
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())
    unfile(path, 0)
    sql(path, "CREATE TRIGGER broken BEFORE INSERT ON filed BEGIN SELECT RAISE(ABORT, 'no'); END")
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())
        time.sleep(0.5)
        store.record((), log())
        assert len(store.search(Sought())) == 3 * len(log())
    sql(path, "DROP TRIGGER broken")
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        assert whole(store)
