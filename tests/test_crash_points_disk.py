"""The crash points C10 to C14: what the disk, a backup, a torn transaction and a slow listener may do to a call."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from crash import places, scene
from crash.point import GO, chat_of, guard_on, reply
from crash_points_kit import Point, kinds, told_ends

from guard import Guard
from guard.errors import ApprovalError, StoreError
from guard.runner.doubts import restored as restored_by
from guard.stores import open_store, schema

pytestmark = pytest.mark.slow
wires = pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
stores = pytest.mark.parametrize("store", places.NAMES)
SURE = {"sqlite": [("synchronous", 2), ("journal_mode", "wal")], "postgresql": [("synchronous_commit", "on"), ("fsync", "on")]}
"""What each database says of itself when a commit waits for the disk."""
READ = {"sqlite": "PRAGMA {}", "postgresql": "SHOW {}"}


def approve(guard: Guard) -> None:
    [asked] = guard.approvals.list()
    guard.approvals.approve(asked, approver=scene.BOSS)


# -- C10


@stores
def test_c10_a_commit_waits_for_the_disk(tmp_path: Path, store: str) -> None:
    """A claim that a power loss could roll back would let a call run again: the open connection says that every commit is flushed."""
    made = open_store(places.url_of(store, tmp_path))
    found = made._tables.read(lambda tables: [(name, tables.one(READ[store].format(name))[0]) for name, _ in SURE[store]])
    assert found == SURE[store]
    made.close()


def test_c10_a_setting_that_does_not_hold_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was set is read back at the start: a database that does not keep to it is not used."""
    name, _, wanted = schema.PRAGMAS[0]
    monkeypatch.setattr(schema, "PRAGMAS", ((name, "NORMAL", wanted), *schema.PRAGMAS[1:]))
    with pytest.raises(StoreError, match="does not keep to synchronous"):
        open_store(f"sqlite:///{tmp_path}/guard.db")


# -- C11: the file system refuses every write from there on


@wires
@pytest.mark.parametrize("where", ["before the turn is opened", "turn opened", "decision recorded", "before the claim"])
def test_c11_the_disk_is_full_before_the_act(tmp_path: Path, wire: str, where: str) -> None:
    """The action is refused, since its record could not be written, and did not run; once there is room the same turn runs it."""
    point = Point(tmp_path, "sqlite", wire, "once")
    assert point.full(where) == [["refused", "store_unavailable"]]
    assert (point.effects(), point.invocations()) == (0, 0)
    with point.after() as guard:
        assert point.status(guard) == "none"
        turn = point.handle(guard)
        assert (point.told(turn.append), point.effects(), point.status(guard)) == ("done", 1, "done")


@wires
def test_c11_the_disk_is_full_behind_the_act(tmp_path: Path, wire: str) -> None:
    """The outcome cannot be recorded: the model is told that it is unknown, and nobody runs the call again."""
    point = Point(tmp_path, "sqlite", wire, "once")
    assert point.full("in the tool, after the effect") == [["unknown", "outcome_unknown"]]
    with point.after() as guard:
        assert point.status(guard) == "started"
        assert (point.resumed(guard), point.status(guard)) == ("outcome_unknown", "unknown")
        assert (point.told(point.handle(guard).append), point.effects()) == ("outcome_unknown", 1)


# -- C12: a backup is put back. How a file is copied is SQLite's affair; what the new epoch does is every store's.


def copied(url: str, to: Path) -> None:
    """A backup as `sqlite3 .backup` makes it."""
    source, target = sqlite3.connect(url.removeprefix("sqlite:///")), sqlite3.connect(to)
    source.backup(target)
    source.close()
    target.close()


def put_back(url: str, backup: Path) -> None:
    place = url.removeprefix("sqlite:///")
    for rest in ("-wal", "-shm"):
        Path(place + rest).unlink(missing_ok=True)
    shutil.copyfile(backup, place)


def restored(guard: Guard) -> int:
    return restored_by(guard.store, guard.redactor, "the backup of Monday", "ann")


@wires
@pytest.mark.parametrize("state", ["approved", "started"])
def test_c12_what_ran_behind_the_backup_does_not_run_again(tmp_path: Path, wire: str, state: str) -> None:
    """Approved or started in the backup, and run since: after it was put back the call is unknown, for a person, and told so."""
    point = Point(tmp_path, "sqlite", wire, "once_asked")
    with point.after() as guard:
        chat = chat_of(guard, wire)
        history: list[Any] = [chat.user("go")]
        history += chat.handle(reply(wire, "once_asked"), history=history).append
        approve(guard)
    if state == "approved":
        copied(point.url, tmp_path / "backup")
        point.die("before the messages are saved", "settle")
    else:
        point.die("in the tool, after the effect", "settle")
        copied(point.url, tmp_path / "backup")
    assert point.effects() == 1
    put_back(point.url, tmp_path / "backup")
    with point.after() as guard:
        assert restored(guard) == 1
        assert [call.tool for call in guard.unknown.list()] == ["once_asked"]
        resumed = chat_of(guard, wire).resume(history)
        assert told_ends(resumed[-1]["content"]) == ["unknown"]
        assert point.told(resumed) == "held_for_approval"
        again = chat_of(guard, wire).handle(reply(wire, "once_asked", call_id="c2"), history=resumed)
        assert [outcome.status for outcome in again.outcomes] == ["unknown"]
        assert (point.effects(), guard.approvals.list(status="approved")) == (1, ())


@stores
def test_c12_a_process_from_before_takes_nothing_more(tmp_path: Path, store: str) -> None:
    """A guard that was opened before the new epoch claims nothing: what it knows may be of another time. A new one goes on."""
    point = Point(tmp_path, store, "openai-chat", "once")
    old = guard_on(tmp_path, point.url)
    with point.after() as guard:
        assert restored(guard) == 0
        turn = point.handle(old)
        assert [(outcome.status, outcome.reason) for outcome in turn.outcomes] == [("refused", "store_restored")]
        assert point.effects() == 0
        old.close()
        fresh = chat_of(guard, "openai-chat").handle(reply("openai-chat", "once", call_id="c2"), history=[GO, *turn.append])
        assert ([outcome.status for outcome in fresh.outcomes], point.effects()) == (["done"], 1)


# -- C13


@stores
@wires
def test_c13_a_vote_is_spent_whole_or_not_at_all(tmp_path: Path, store: str, wire: str) -> None:
    """Killed when all is written and nothing committed: the vote stands, nothing was taken; afterwards it is spent once."""
    point = Point(tmp_path, store, wire, "once_asked")
    point.die("before the messages are saved")
    with point.after() as guard:
        approve(guard)
    point.die("before the commit of claim", "settle")
    with point.after() as guard:
        assert [asked.status for asked in guard.approvals.list(status=None)] == ["approved"]
        assert ("call.begin" in kinds(guard), point.status(guard), point.effects()) == (False, "held", 0)
        assert len(chat_of(guard, wire).settled()) == 1
        assert [asked.status for asked in guard.approvals.list(status=None)] == ["consumed"]
        assert (kinds(guard).count("call.begin"), point.effects()) == (1, 1)


@stores
@pytest.mark.parametrize("where", ["before the commit of take", "before the claim", "claimed"])
def test_c13_a_counter_counts_a_call_once(tmp_path: Path, store: str, where: str) -> None:
    """Killed before, between and behind the counter: the call draws on its budget once, however often it is handled."""
    point = Point(tmp_path, store, "openai-chat", "same")
    point.die(where)
    with point.after() as guard:
        for _ in range(3):
            assert point.told(point.handle(guard).append) == "done"
        drawn = guard.store._tables.read(
            lambda tables: [draw.amount for draw in tables.draws(("default", "c"), (1, 0), sums_only=False)]
        )
        assert (drawn, point.effects()) == ([1], 1)


# -- C14


@stores
def test_c14_whoever_waits_for_votes_holds_nobody_up(tmp_path: Path, store: str) -> None:
    """Votes and runs go on at once while others wait for votes, and while one that waits has hung.

    The outbox and its webhooks come with the console; until then the wake-up of a vote is all that is sent.
    """
    point = Point(tmp_path, store, "openai-chat", "once_asked")
    point.die("before the messages are saved")
    hung = guard_on(tmp_path, point.url)
    waiting = [threading.Thread(target=hung.store.wait, args=(20.0,), daemon=True) for _ in range(4)]
    for thread in waiting:
        thread.start()
    with point.after() as guard:
        began = time.monotonic()
        approve(guard)
        assert len(chat_of(guard, "openai-chat").settled()) == 1
        assert time.monotonic() - began < 5
        assert point.effects() == 1
        with pytest.raises(ApprovalError):
            guard.approvals.approve(guard.approvals.list(status=None)[0], approver=scene.BOSS)
