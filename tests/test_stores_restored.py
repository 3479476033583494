"""A backup that was put back: noticed by programs that run and by those that begin later, and settled by a person's word only."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, Clock, a_store, ask, claim, event, key, kinds, row, vote
from wire_helpers import message

from guard import Guard, Session
from guard.cli.audit_verify import stored_report
from guard.core.ports import InDoubt, Won
from guard.errors import StoreError
from guard.redactors import REDACTOR
from guard.runner.doubts import restored
from guard.stores import open_store


def put_back(backup: Path, file: Path) -> None:
    """What `sqlite3 guard.db ".restore backup"` does: the file stays, its content is the old one."""
    with closing(sqlite3.connect(backup)) as source, closing(sqlite3.connect(file)) as target:
        source.backup(target)


def backed_up(tmp_path: Path) -> tuple[Path, Path]:
    """A file in which one call was started and one approved when the backup was made, and to which more was written since."""
    file, backup = tmp_path / "guard.db", tmp_path / "backup.db"
    store = open_store(f"sqlite:///{file}")
    assert isinstance(store.claim(claim(key(1), mark="m1")), Won)
    ask(store, at=key(2))
    store.record([row("held", key(2), mark="m2", approval="a1")], [event()])
    vote(store)
    store.close()
    shutil.copy(file, backup)
    store = open_store(f"sqlite:///{file}")
    store.record([row("done", key(1), mark="m1")], [event("call.end")])
    store.close()
    return file, backup


def refused_as_restored(store: object) -> bool:
    with pytest.raises(StoreError) as caught:
        store.claim(claim(key(9), mark="m9"))
    return caught.value.code == "restored"


def test_a_program_that_begins_later_refuses_until_a_person_has_said_so(tmp_path: Path) -> None:
    """The note beside the file knows a record that the file lacks; reading goes on, and no action starts."""
    file, backup = backed_up(tmp_path)
    shutil.copy(backup, file)
    store = open_store(f"sqlite:///{file}")

    assert refused_as_restored(store)
    assert refused_as_restored(open_store(f"sqlite:///{file}"))
    assert [found.status for found in store.rows(key().ref)] == ["started", "held"]
    store.close()


def test_a_running_program_notices_what_it_wrote_itself(tmp_path: Path) -> None:
    """The chain ends before a record that this process saw committed: every write is refused."""
    file, backup = backed_up(tmp_path)
    store = open_store(f"sqlite:///{file}")
    store.record([], [event("seen")])
    put_back(backup, file)

    assert refused_as_restored(store)
    with pytest.raises(StoreError):
        store.record([], [event()])
    store.close()


def test_a_persons_word_puts_what_was_open_in_doubt_and_lets_new_actions_start(tmp_path: Path) -> None:
    """Approved and started calls are unknown and on record; who had the store open goes on refusing until it opens it again."""
    file, backup = backed_up(tmp_path)
    shutil.copy(backup, file)
    early, store = open_store(f"sqlite:///{file}"), open_store(f"sqlite:///{file}")
    assert restored(store, REDACTOR, "the disk broke, backup of last night", "ann") == 2

    assert [found.status for found in store.doubtful()] == ["unknown", "unknown"]
    assert store.approval("a1").status == "cancelled"
    assert kinds(store)[-4:] == ["store.restored", "approval.cancelled", "call.unknown", "call.unknown"]
    assert isinstance(store.claim(claim(key(2), "a1", mark="m2")), InDoubt)
    assert isinstance(store.claim(claim(key(9), mark="m9")), Won)
    assert refused_as_restored(early)
    again = open_store(f"sqlite:///{file}")
    assert isinstance(again.claim(claim(key(10), mark="m10")), Won)
    for one in (early, store, again):
        one.close()


def test_it_stays_noticed_until_a_person_has_said_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever opens the file, writes what is no action and closes it: the next one refuses as well, and the log says what to do."""
    file, backup = backed_up(tmp_path)
    shutil.copy(backup, file)
    for _ in range(3):
        store = open_store(f"sqlite:///{file}")
        assert refused_as_restored(store)
        store.record([], [event("said")])
        store.close()
    assert caplog.text.count("guard serve restored") == 3
    store = open_store(f"sqlite:///{file}")
    restored(store, REDACTOR, "why", "ann")
    store.close()
    again = open_store(f"sqlite:///{file}")
    assert isinstance(again.claim(claim(key(9), mark="m9")), Won)
    again.close()


def test_a_file_is_the_same_by_every_name(tmp_path: Path) -> None:
    """Written through a link, put back and opened by its own name: the note lies beside the file itself."""
    (tmp_path / "real").mkdir()
    file, link, backup = tmp_path / "real" / "guard.db", tmp_path / "link.db", tmp_path / "backup.db"
    open_store(f"sqlite:///{file}").close()
    link.symlink_to(file)
    shutil.copy(file, backup)
    store = open_store(f"sqlite:///{link}")
    assert isinstance(store.claim(claim(key(1), mark="m1")), Won)
    store.close()
    put_back(backup, file)
    store = open_store(f"sqlite:///{file}")
    assert refused_as_restored(store)
    store.close()


def test_a_call_that_was_refused_for_it_is_in_doubt_all_the_same(tmp_path: Path) -> None:
    """An approved call that a program tried to run before anybody had said so: it stays approved, and is unknown once it is said."""
    file, backup = tmp_path / "guard.db", tmp_path / "backup.db"
    (tmp_path / "tools.yaml").write_text(
        "tools: {gift: {kind: action, allow: [staff], approve: {by: [boss]}}}\nlimits: {run: {calls: 9}}\n"
    )
    ran: list[int] = []

    def gift(n: int) -> int:
        ran.append(n)
        return n

    def program() -> tuple[Guard, Any]:
        guard = Guard.load(tmp_path, tools=[gift], store=f"sqlite:///{file}")
        return guard, guard.open(Session(principal="u1", roles=("staff",)), wire="openai-chat", conversation="c")

    guard, chat = program()
    turn = chat.handle(message("openai-chat", ("c1", "gift", '{"n": 1}')), history=[chat.user("go")])
    guard.approvals.approve(turn.pending[0], approver=Session(principal="b1", roles=("boss",)))
    guard.close()
    shutil.copy(file, backup)
    guard, chat = program()
    assert "done" in str(chat.settled())
    guard.close()
    put_back(backup, file)
    guard, chat = program()
    assert "store_restored" in str(chat.settled())
    assert restored(guard.store, guard.redactor, "why", "ann") == 1
    assert [doubt.tool for doubt in guard.unknown.list()] == ["gift"]
    assert "outcome_unknown" in str(chat.settled())
    assert ran == [1]
    assert stored_report(guard.store, [], None).problems == []  # that the approval ended is on record
    guard.close()


def test_another_store_at_the_same_place_is_no_backup(tmp_path: Path) -> None:
    """The note of a file that was removed says nothing about the one that was made anew."""
    file, _ = backed_up(tmp_path)
    file.unlink()
    store = open_store(f"sqlite:///{file}")

    assert isinstance(store.claim(claim(key(1))), Won)
    store.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"store": 1}', '{"store": "x", "seq": "y", "hash": 0}', "\x00\xff"])
def test_a_note_that_cannot_be_read_says_nothing(tmp_path: Path, text: str) -> None:
    """A torn note is no alarm, and is written anew."""
    file, _ = backed_up(tmp_path)
    note = Path(f"{file}-mark")
    note.write_bytes(text.encode("latin-1"))
    store = open_store(f"sqlite:///{file}")
    assert isinstance(store.claim(claim(key(9), mark="m9")), Won)
    store.close()

    assert json.loads(note.read_text())["seq"] == len(open_store(f"sqlite:///{file}").audit())
    assert stat.S_IMODE(note.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", STORES)
def test_an_epoch_that_others_began_stops_this_one(kind: str, tmp_path: Path) -> None:
    """Whoever had the store open when the word was given refuses; the one that gave it goes on."""
    for store in a_store(kind, tmp_path, Clock()):
        assert isinstance(store.claim(claim(key(1), mark="m1")), Won)
        assert restored(store, REDACTOR, "why", "ann") == 1
        assert isinstance(store.claim(claim(key(2), mark="m2")), Won)
        store._epoch -= 1
        assert refused_as_restored(store)
