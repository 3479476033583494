"""Kills over closed months: one that stands keeps standing when its record leaves, and no later one stops another month from being closed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import segments_kit
from cli_kit import in_process
from segments_kit import Archive, archive
from votes_kit import BOSS

from guard.core.log import Tabled
from guard.proof.killed import Killed, stop_digest


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Archive]:
    """A store with two kills of October, one of which was cleared, and records of November."""
    talk = segments_kit.talk

    def stopping(desk: Any, *, grant: bool = True) -> None:
        if grant:
            desk.guard.kills.set(by=BOSS, tool="pay", conversation="elsewhere", reason="fraud")
            over = desk.guard.kills.set(by=BOSS, tool="pay", conversation="nowhere", reason="a doubt")
            desk.guard.kills.clear(over, by=BOSS, reason="no doubt")
        talk(desk, grant=grant)

    monkeypatch.setattr(segments_kit, "talk", stopping)
    with archive("sqlite", tmp_path, in_process(tmp_path, monkeypatch, capfd)) as made:
        yield made


def test_kills_after_a_month_was_dropped_are_no_damage(store: Archive) -> None:
    """Set, cleared, or cleared though set before: the log is whole, with the export and without."""
    assert (store.close().code, store.drop().code) == (0, 0)
    kills = store.desk.guard.kills
    [old] = kills.list()
    new = kills.set(by=BOSS, tool="pay", conversation="later", reason="again")
    assert store.verify()["problems"] == []
    kills.clear(old, by=BOSS, reason="over")
    kills.clear(new, by=BOSS, reason="over")
    assert store.verify()["problems"] == []
    assert store.verify("--closed", "oct.jsonl")["problems"] == []


DAMAGE = {
    "removed": ("DELETE FROM kills WHERE cleared IS NULL", "is not among the kills of the store"),
    "cleared": ("UPDATE kills SET cleared = 1.0", "is cleared in the store, and no record says so"),
    "narrowed": ("UPDATE kills SET tool = 'other'", "covers something else in the store"),
    "set-again": ("UPDATE kills SET cleared = NULL", "stands in the store, and no record is about it"),
}


@pytest.mark.parametrize(("statement", "said"), DAMAGE.values(), ids=list(DAMAGE))
def test_a_kill_whose_record_left_is_not_changed_unseen(store: Archive, statement: str, said: str) -> None:
    """The record of the closed month holds what stood, so that nobody takes a stop out of the tables behind it."""
    assert (store.close().code, store.drop().code) == (0, 0)
    with closing(sqlite3.connect(store.url.removeprefix("sqlite:///"))) as file:
        file.execute(statement)
        file.commit()
    told = store.verify()["problems"]
    assert any(said in one["what"] for one in told), told


def test_a_month_closed_by_an_older_version_says_nothing_of_kills() -> None:
    """What stood then is not known: neither a kill that is there nor one that is not is damage."""
    one = Tabled(status="set", voters=("b",), says={"tenant": None, "conversation": None, "tool": "pay"})
    rows = {"ki_1": one}
    assert list(Killed().against(rows, rows, None, cut=True)) == []
    assert list(Killed().against({}, {}, None, cut=True)) == []
    assert list(Killed().against(rows, rows, {"ki_1": stop_digest(one)}, cut=True)) == []
    assert len(list(Killed().against(rows, rows, {}, cut=True))) == 1
