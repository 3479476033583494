"""What is asked of months whose records were closed and dropped: nobody is told that nothing happened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import Run, in_process
from search_kit import record
from segments_kit import Archive, archive

from guard.auditing import left, lists
from guard.auditing.timeline import candidates, life


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Archive]:
    run: Run = in_process(tmp_path, monkeypatch, capfd)
    with archive("sqlite", tmp_path, run) as found:
        yield found


@pytest.fixture
def gone(made: Archive) -> Archive:
    """October has left."""
    assert (made.close().code, made.drop().code) == (0, 0)
    return made


def said(gone: Archive) -> str:
    (one,) = gone.desk.guard.store.segments()
    text = left.told(one)
    at = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    assert re.fullmatch(
        f"2026-10 was closed on {at} and its records left on {at}; they are in a file with SHA-256 {one.digest}", text
    )
    return text


def test_the_report_of_a_month_that_left_says_so_instead_of_figures(gone: Archive) -> None:
    """On top, and there is no tile or list that would say that nothing happened; a month that stayed is as ever."""
    text = said(gone)
    page = gone.run("report", "--month", "2026-10").out
    assert page.index(text) < page.index("<h2")
    assert "<dt>" not in page
    assert "Nothing was refused" not in page
    assert page.count('href="#') == page.count("<h2") == 1
    assert [one["told"] for one in gone.run("report", "--month", "2026-10", "--json").json["left"]] == [text]
    before = gone.run("report", "--month", "2026-09", "--json").json["left"]
    assert [one["month"] for one in before] == ["2026-10"]  # its file holds whatever was before it
    assert gone.run("report", "--month", "2026-11", "--json").json["left"] == []
    assert "<dt>proposed</dt>" in gone.run("report", "--month", "2026-11").out


def test_a_month_that_was_closed_and_stayed_is_reported_as_ever(made: Archive) -> None:
    """Nothing is missing before it is dropped."""
    assert made.close().code == 0
    assert made.run("report", "--month", "2026-10", "--json").json["left"] == []
    assert "left on" not in made.run("--since", "2026-10").err


def test_a_list_says_which_months_are_not_there(gone: Archive) -> None:
    """On standard error, so that what a program reads is records alone; not where only later months were asked for."""
    text = f"guard: {said(gone)}\n"
    for form in ((), ("--json",), ("--csv",), ("--limit", "1")):
        assert text in gone.run("--since", "2026-10", *form).err
        assert text in gone.run("--until", "2026-10-20", "--refused", *form).err
        assert "left on" not in gone.run("--since", "2026-11", *form).err


def test_a_life_that_may_have_begun_before_says_so(gone: Archive) -> None:
    """Nothing is found of a call that left, and the answer says why that may be; of one that stayed whole nothing is said."""
    text = "records before 2026-11-01 left with closed months"
    ran = gone.run("show", "nothing")
    assert (ran.code, ran.err) == (1, f"guard: no record is about nothing; {text}\n")
    store = gone.desk.guard.store
    store.record((), [record("call.end", conversation="old", call_id="late", exec={"status": "ok"})])
    told = gone.run("show", "old/1/0")
    assert told.out.splitlines()[-1] == text
    assert gone.run("show", "late", "--json").json["left"] == text
    (late,), (whole,) = candidates(store, "late"), candidates(store, "approved")
    assert text in lists.told(life(store, late))
    assert life(store, whole).left == ""
