"""Sifting: where many records lie unfiled, only those are read that may be sought, and none is lost, whatever stands in it or is sought."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_kit import HOSTILE, log, record
from stores_kit import Clock, records
from test_filing_tail import sql, unfile
from test_search import SEARCHES, hostile

from guard.core.log import Sealed
from guard.core.searching import Sought
from guard.stores import filing, open_store, sifting, sql_search, tail
from guard.stores.log import FileLog

GLOBS = {
    "star": "a*b",
    "question": "who?",
    "set": "[abc]def",
    "open": "[abc",
    "not": "[^a]long",
    "escape": "\\u0041bc",
    "slash": "a/bcd\\def",
    "umlaut": "M\xfcllerin*",
    "emoji": "\U0001f600 smile",
    "two": "ab",
    "empty": "",
}
TEXTS = {**HOSTILE, **GLOBS}
FIELDS = ("conversation", "tool", "reason", "actor", "principal", "person", "approval", "call")


@pytest.fixture(scope="module")
def lying(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Sealed, ...]]:
    """A file of which half is filed: the small log, hostile records, both again, and what all of it is."""
    path, clock = tmp_path_factory.mktemp("lying") / "guard.db", Clock()
    events = [*log(), *(one for text in TEXTS.values() for one in hostile(text))]
    with closing(open_store(f"sqlite:///{path}", clock=clock)) as store:
        for event in (*events, *events):
            store.record((), [event])
            clock.now += 1
        every = records(store)
    unfile(path, len(events))
    return path, every


@pytest.fixture
def sifted(
    lying: tuple[Path, tuple[Sealed, ...]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[FileLog, tuple[Sealed, ...]]]:
    """The log, sifted however little lies unfiled."""
    monkeypatch.setattr(sifting, "LEAST", 0)
    path, every = lying
    with closing(FileLog(path)) as only:
        yield only, every


def same(only: FileLog, every: tuple[Sealed, ...], sought: Sought) -> int:
    """Ask for records, columns and counts; how many there are."""
    pairs = filing.scan(every, sought)
    assert only.search(sought) == tuple(one for _, one in pairs)
    assert only.filed(sought, ("seq", "tool")) == tuple((one.seq, made["tool"]) for made, one in pairs)
    if sought.limit is None:
        assert only.tally(sought, ("kind",)) == filing.count(every, sought, ("kind",))
    return len(pairs)


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_finds_the_same(sifted: tuple[FileLog, tuple[Sealed, ...]], name: str) -> None:
    """As reading every record does, in both orders."""
    for newest in (True, False):
        same(*sifted, replace(SEARCHES[name][0], newest=newest))


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_hides_a_record(sifted: tuple[FileLog, tuple[Sealed, ...]], name: str) -> None:
    """Whatever stands in a record, it is found by every field, filed and not filed; alone, beside another value, and as a keyed hash."""
    for field in FIELDS:
        asked: dict[str, Any] = {field: TEXTS[name]}
        assert same(*sifted, Sought(**asked)) >= 2, field
        if field in {"conversation", "approval", "actor", "principal", "person"}:
            asked = {field: (TEXTS[name], "boss")}
            same(*sifted, Sought(**asked))
    typed = filing.cut(TEXTS[name])
    assert same(*sifted, Sought(tags=(typed,))) >= 2
    assert same(*sifted, Sought(person="E2", tags=(typed,), tool=TEXTS[name])) >= 2


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records each sifted search reads, and -1 for each that reads all."""
    found: list[int] = []
    real = filing.read

    def read(one: Sealed) -> filing.Read:
        found.append(one.seq)
        return real(one)

    def all_of(self: tail.Tail, *asked: Any) -> Any:
        found.append(-1)
        return ask(self, *asked)

    ask = tail.Tail.ask
    monkeypatch.setattr(filing, "read", read)
    monkeypatch.setattr(tail.Tail, "ask", all_of)
    return found


def test_only_what_may_be_sought_is_read(
    lying: tuple[Path, tuple[Sealed, ...]], monkeypatch: pytest.MonkeyPatch, count: list[int]
) -> None:
    """Where more lies unfiled than is read for all, and few of it may be sought; what was read once is not asked for again."""
    rare, common = Sought(tool="look"), Sought(kinds=("call.decided",))
    with closing(FileLog(lying[0])) as only:
        only.search(rare)
        assert count == [-1], "few are read all"
    monkeypatch.setattr(sifting, "LEAST", 5)
    monkeypatch.setattr(sql_search, "_SELDOM", 3)
    with closing(FileLog(lying[0])) as only:
        count.clear()
        only.search(rare)
        assert 0 < len(count) < len(lying[1]) // 2 // 3
        assert -1 not in count
        count.clear()
        only.search(common)
        assert count == [-1], "of what holds it there is too much"
        only.search(rare)
        assert count == [-1, -1], "all are known"


def many(path: Path, number: int) -> None:
    """A file with so many records of which none is filed, every third of the tool `look`; another holds its name in a reason."""
    clock = Clock()
    with closing(open_store(f"sqlite:///{path}", clock=clock)) as store:
        for turn in range(number):
            name, why = ("look", "") if turn % 3 == 0 else ("pay", "look")
            tool = {"name": name, "definition": "d", "kind": "read"}
            store.record((), [record("call.end", tool=tool, turn=turn, reason=why)])
            clock.now += 1 if turn % 2 else -3  # a clock that is put back, and on
    unfile(path, 0)


def test_some_of_the_newest_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: list[int]) -> None:
    """Where only the newest are sought, as many texts are read as that takes, in the order of their times; too few of them, and all are read."""
    monkeypatch.setattr(sifting, "LEAST", 0)
    monkeypatch.setattr(sifting, "enough", lambda limit: 2 * limit + 2)
    many(path := tmp_path / "guard.db", 40)
    with closing(FileLog(path)) as only:
        every = only.audit()
    for sought, few in (
        (Sought(limit=3), True),
        (Sought(limit=3, tenant="acme", kinds=("call.*",)), True),
        (Sought(limit=1, tool="look"), True),
        (Sought(limit=6, tool="look"), False),
        (Sought(limit=3, newest=False), False),
        (Sought(limit=3, until=every[0].seq + 1_800_000_000.0 - 30), False),
        (Sought(limit=100), True),
        (Sought(limit=0), True),
    ):
        with closing(FileLog(path)) as only:
            count.clear()
            assert only.search(sought) == tuple(one for _, one in filing.scan(every, sought)), sought
            assert (-1 not in count) is few or not only.search(sought), sought


def test_a_text_that_begins_otherwise_makes_that_all_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: list[int]
) -> None:
    """Nothing is told from the order of texts where one of them hides its time, wherever that may lie."""
    monkeypatch.setattr(sifting, "LEAST", 0)
    monkeypatch.setattr(sifting, "enough", lambda limit: 2 * limit + 2)
    many(path := tmp_path / "guard.db", 40)
    changed = "UPDATE audit SET body = replace(body, '\"v\":1,', '\"v\": 1,') WHERE seq = 7"
    sql(path, "DROP TRIGGER audit_update", changed)
    with closing(FileLog(path)) as only:
        sought = Sought(limit=3)
        count.clear()
        assert only.search(sought) == tuple(one for _, one in filing.scan(only.audit(), sought))
        assert -1 in count


VALUE = st.text(st.sampled_from('ab"\\*?[]^-/u0\u00fc\u20ac\U0001f600\n\x00\ud800 '), max_size=8)


@given(VALUE, VALUE | st.none(), st.booleans(), st.booleans())
def test_a_condition_holds_for_every_record_that_is_sought(held: str, other: str | None, plain: bool, slashes: bool) -> None:
    """However the text is written: with escapes or without."""
    body = json.dumps({"kind": "call.end", "tool": {"name": held}}, ensure_ascii=not plain)
    body = body.replace("/", "\\/") if slashes else body
    body = body.encode("utf-8", "backslashreplace").decode()
    sought = Sought(tool=held if other is None else other, kinds=("call.*",))
    one = Sealed(chain=0, seq=1, prev="", hash="", body=body)
    condition, values = sifting.sift(sought)
    with closing(sqlite3.connect(":memory:")) as database:
        (passed,) = database.execute(f"SELECT {condition or 1} FROM (SELECT ? AS body)", (*values, body)).fetchone()  # noqa: S608 - our own text
    assert passed or not filing.scan([one], sought)
