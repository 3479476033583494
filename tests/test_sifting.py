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
from search_kit import HOSTILE, log
from stores_kit import Clock, records
from test_filing_tail import unfile
from test_search import SEARCHES, hostile

from guard.core.log import Sealed
from guard.core.searching import Sought
from guard.stores import filing, open_store, sifting, tail
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


def test_only_what_may_be_sought_is_read(lying: tuple[Path, tuple[Sealed, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more lies unfiled than is read for all; what was read once is not asked for again."""
    count: list[int] = []
    real = filing.read

    def read(one: Sealed) -> filing.Read:
        count.append(one.seq)
        return real(one)

    for module in (filing, tail):
        monkeypatch.setattr(module, "read", read)
    with closing(FileLog(lying[0])) as only:
        only.search(Sought(tool="look"))
        every = len(count)
        assert every == len(lying[1]) // 2, "few are read all"
    monkeypatch.setattr(sifting, "LEAST", 5)
    count.clear()
    with closing(FileLog(lying[0])) as only:
        only.search(Sought(tool="look"))
        assert 0 < len(count) < every
        only.search(Sought())
        count.clear()
        only.search(Sought(tool="look"))
        assert not count


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
