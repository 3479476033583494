"""The SQLite store: what the file promises, and where raw values are."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from stores_kit import (
    CHILD,
    REF,
    Clock,
    ask,
    charge,
    claim,
    edit,
    event,
    in_file,
    key,
    outcome,
    proposal,
    quota,
    refused,
    row,
    turn,
    vote,
)

from guard.core.model import ToolCall
from guard.core.ports import AskApproval, Store, Won
from guard.errors import StoreError
from guard.stores import open_store
from guard.stores.chain import verify


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "guard.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with in_file(file) as made:
        yield made


# -- the file


def test_pragmas_are_what_durability_needs(store: Store) -> None:
    """Write-ahead log, every commit flushed: without FULL a power loss could undo a claim that an effect followed."""
    names = ("journal_mode", "synchronous", "busy_timeout")
    found = store._tables.read(lambda tables: {name: tables.one(f"PRAGMA {name}")[0] for name in names})
    assert found == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 10_000}


@pytest.mark.skipif(os.name == "nt", reason="needs file modes")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777], ids=oct)
def test_only_its_owner_can_read_the_file(tmp_path: Path, mask: int) -> None:
    """The file and its log are made with mode 0600 whatever the umask is."""
    before = os.umask(mask)
    try:
        made = open_store(f"sqlite:///{tmp_path}/guard.db")
        made.record([], [event()])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        made.close()
    finally:
        os.umask(before)
    assert modes["guard.db"] == modes["guard.db-wal"] == 0o600


def test_everything_survives_closing(file: Path) -> None:
    """Opened again, the file holds rows, words, counters, budgets, approvals and the chain, and goes on."""
    for step in range(2):
        store = open_store(f"sqlite:///{file}", clock=Clock())
        if step == 0:
            store.say(REF, "hello", event("user.said"))
            store.open_turn(turn())
            store.take(quota((key(), (charge(7),))))
            ask(store, run=1)
            vote(store)
            assert isinstance(store.claim(claim(approval="a1")), Won)
        else:
            assert store.open_turn(turn("e")).turn == 2
            assert store.take(quota((key(2), (charge(4),)))) != (None,)
            assert store.approval("a1").status == "consumed"
            assert [found.status for found in store.rows(REF)] == ["started"]
            store.record([row()], [event("call.end")])
            assert verify(store.audit()) == verify(store.audit()[:5])
        store.close()


def test_two_stores_on_one_file_see_each_other(store: Store, file: Path) -> None:
    """What one has committed, the other reads and chains behind."""
    other = open_store(f"sqlite:///{file}")
    store.record([row()], [event("one")])
    other.record([row(at=key(2))], [event("two")])
    assert store.rows(REF) == other.rows(REF)
    assert verify(store.audit()).records == 2
    other.close()


def test_a_file_has_one_secret(store: Store, file: Path, tmp_path: Path) -> None:
    """32 bytes of its own, the same for everybody who opens the file now or later, and in no other table."""
    other = open_store(f"sqlite:///{file}")
    elsewhere = open_store(f"sqlite:///{tmp_path}/other.db")
    assert len(store.secret) == 32
    assert store.secret == other.secret != elsewhere.secret
    other.close()
    elsewhere.close()
    store.record([row()], [event()])
    with closing(sqlite3.connect(file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name for name in tables if store.secret.hex() in repr(connection.execute(f"SELECT * FROM {name}").fetchall())}  # noqa: S608 - names from the file itself
    assert found == {"keys"}


@pytest.mark.parametrize(
    "statement", ["DELETE FROM keys", "UPDATE keys SET body = 'ab'", "UPDATE keys SET body = 'x'", "DROP TABLE keys"]
)
def test_a_file_without_its_secret_is_not_opened(store: Store, file: Path, statement: str) -> None:
    """A new secret in its place would make every keyed digest of the past mean something else."""
    edit(file, statement)
    with pytest.raises(StoreError):
        open_store(f"sqlite:///{file}")


def test_a_vote_keeps_the_roles_that_it_was_cast_with(store: Store, file: Path) -> None:
    """They stand with the vote as well, which is never changed."""
    ask(store)
    vote(store, roles=("boss",))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT voter, roles FROM votes").fetchall() == [("B1", '["boss"]')]


# -- raw values

MARK = "PLANTED-SECRET"


def test_raw_values_stand_in_payloads_only(store: Store, file: Path) -> None:
    """Proposals, final arguments, results, the user's words and reasons of votes are in no table but one; the budget's scope is a digest."""
    marked = {"x": MARK}
    store.say(REF, f"my words {MARK}", event("user.said"))
    store.open_turn(replace(turn(), calls=(ToolCall(f"id-{MARK}", f"tool-{MARK}", f'{{"x": "{MARK}"}}'),)))
    store.take(quota((key(), (charge(scope=f"per {MARK}", name="sum:amount"),))))
    given = replace(proposal(now=store.now()), arguments=marked, call_id=MARK)
    store.ask(AskApproval(proposal=given, event=event(), run=1))
    vote(store, reason=MARK)
    full = replace(
        row(),
        call=ToolCall(MARK, "pay", marked),
        arguments=marked,
        value=[marked],
        outcome=outcome("shown", marked, call_id=MARK),
    )
    store.claim(replace(claim(approval="a1"), row=replace(full, status="started")))
    stranger = replace(
        row("refused", key(1, 1, CHILD)), call=ToolCall(MARK, MARK, MARK), outcome=replace(refused(), tool=MARK, arguments=marked)
    )
    store.record([full, stranger], [event()])
    with closing(sqlite3.connect(file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name for name in tables if MARK in repr(connection.execute(f"SELECT * FROM {name}").fetchall())}  # noqa: S608 - names from the file itself
        bodies = connection.execute("SELECT DISTINCT kind FROM payloads WHERE body LIKE ?", (f"%{MARK}%",)).fetchall()
    assert found == {"payloads"}
    assert {kind for (kind,) in bodies} == {"words", "approval", "vote", "call"}


# -- tampering

TAMPERED = {
    "changed": "UPDATE audit SET body = REPLACE(body, 'k3', 'k9') WHERE seq = 3",
    "deleted": "DELETE FROM audit WHERE seq = 3",
    "first-deleted": "DELETE FROM audit WHERE seq = 1",
    "inserted": "INSERT INTO audit SELECT chain, 7, hash, hash, body FROM audit WHERE seq = 6",
    "swapped": "UPDATE audit SET body = (SELECT body FROM audit b WHERE b.seq = 9 - audit.seq) WHERE seq IN (4, 5)",
    "renumbered": "UPDATE audit SET seq = -seq",
    "rehashed": "UPDATE audit SET hash = 'zz' WHERE seq = 2",
    "not-text": "UPDATE audit SET body = x'00ff' WHERE seq = 2",
    "gone": "UPDATE audit SET body = '' WHERE seq = 2",
}


@pytest.mark.parametrize("statement", TAMPERED.values(), ids=TAMPERED)
def test_tampering_with_the_file_is_found(store: Store, file: Path, statement: str) -> None:
    """Changed, deleted, inserted and reordered records are found in what the store gives back."""
    for number in range(1, 7):
        store.record([], [event(f"k{number}")])
    assert verify(store.audit()).ok
    if "INSERT" not in statement:
        with pytest.raises(sqlite3.IntegrityError):
            edit(file, statement)  # a trigger stops whoever does not know what they do
    edit(file, "DROP TRIGGER audit_update", "DROP TRIGGER audit_delete", statement)
    records = store.audit()
    assert not verify(records).ok or len(records) != 6
