"""What the log says of kills: each record in its form, the life of a killed call in words, and a stop that was taken out of the tables found by `verify`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run, in_process
from record_kit import validator
from stores_kit import records
from votes_kit import BOSS, CHIEF, LASTING, PAY, Office, office

from guard.cli.audit_verify import stored_report
from guard.proof.tables import Replay
from guard.sinks.cloudevents import cloudevent
from guard.sinks.entry import entry
from guard.sinks.formats import record
from guard.sinks.ocsf import ocsf
from guard.stores import open_store


@pytest.fixture
def killed(tmp_path: Path) -> tuple[str, str, str]:
    """A store in which a question and an unused yes ended by a kill, which stands; its URL, the kill, the question."""
    with office(tmp_path, "sqlite", ", expires: 1h") as desk:
        waiting, given = desk.ask(1), desk.ask(2)
        desk.approvals.approve(given, approver=BOSS)
        kill = desk.guard.kills.set(by=CHIEF, reason="wrong amounts", tool="pay")
        desk.propose(3, call="c3")
        desk.settle()
        return desk.url, kill.id, waiting.id


def test_every_record_has_its_form_and_is_exported(killed: tuple[str, str, str]) -> None:
    """The published schema takes them all, and so does each format of the sinks."""
    with closing(open_store(killed[0])) as store:
        found = records(store)
    wrong = [error.message for one in found for error in validator().iter_errors(json.loads(one.body))]
    assert wrong == []
    kinds = {json.loads(one.body)["kind"] for one in found}
    assert {"kill.set", "approval.cancelled", "approval.revoked", "call.decided", "result.delivered"} <= kinds
    [one] = [entry(one) for one in found if '"kind":"kill.set"' in one.body]
    told = ocsf(one)
    assert (told["metadata"]["event_code"], told["severity"], told["actor"]["user"]["uid"]) == ("kill.set", "Medium", "c1")
    assert record(one)["kill"]["id"] == cloudevent(one)["data"]["kill"]["id"] == killed[1]


@pytest.mark.parametrize("store", LASTING)
def test_the_reasons_are_kept_redacted(tmp_path: Path, store: str) -> None:
    """They belong to no call with whose raw values they could be erased: what somebody's data is in them stands nowhere in the store."""
    with office(tmp_path, store) as desk:
        kill = desk.guard.kills.set(by=CHIEF, reason="kim.doe@example.com was paid twice", tool="pay")
        assert kill.reason == desk.guard.kills.show(kill).reason == "[email] was paid twice"
        cleared = desk.guard.kills.clear(kill, by=CHIEF, reason="told kim.doe@example.com")
        assert cleared.cleared_why == desk.guard.kills.show(kill).cleared_why == "told [email]"
        assert [one["kill"]["reason"] for one in desk.events("kill.set", "kill.cleared")] == [kill.reason, cleared.cleared_why]
        assert "kim.doe" not in desk.told()
    assert not any(b"kim.doe" in one.read_bytes() for one in tmp_path.rglob("*.db*"))


def test_the_life_of_a_killed_call_is_told(
    killed: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`guard audit show` says that it was asked about, ended by which kill, and refused; `guard audit --kind` finds who set it and why."""
    run: Run = in_process(tmp_path, monkeypatch, capfd)
    _, kill, waiting = killed
    told = run("audit", "show", waiting).out
    assert "the question was withdrawn by a kill" in told
    assert "refused: killed" in told
    assert kill in told
    listed = run("audit", "--kind", "kill.set", "--json").out
    [record] = [json.loads(line) for line in listed.splitlines() if "kill.set" in line]
    assert (record["kill"]["id"], record["kill"]["reason"], record["actor"]["ref"]) == (kill, "wrong amounts", "c1")


DAMAGE: dict[str, tuple[str, str]] = {
    "removed": ("DELETE FROM kills", "is not among the kills of the store"),
    "cleared": ("UPDATE kills SET cleared = 1.0", "is cleared in the store, and set by the records"),
    "narrowed": ("UPDATE kills SET tool = 'other'", "covers another tool in the store (other) than by the records (pay)"),
    "elsewhere": ("UPDATE kills SET tenant = 'away'", "covers another tenant in the store (away) than by the records (any)"),
    "somebody-else": (
        "UPDATE kills SET detail = replace(detail, '\"c1\"', '\"b0\"')",
        "was set by b0 in the store, and by c1 by the records",
    ),
    "added": (
        "INSERT INTO kills SELECT 'ki_' || '0', tenant, conversation, tool, at, cleared, detail, payload FROM kills",
        "kill ki_0 stands in the store, and no record is about it",
    ),
}


@pytest.mark.parametrize(("statement", "said"), DAMAGE.values(), ids=list(DAMAGE))
def test_verify_finds_what_was_changed(killed: tuple[str, str, str], statement: str, said: str) -> None:
    """A stop that somebody took out, narrowed or made up in the tables contradicts the records."""
    with closing(sqlite3.connect(killed[0].removeprefix("sqlite:///"))) as connection:
        connection.execute(statement)
        connection.commit()
    with closing(open_store(killed[0])) as store:
        problems = [str(one) for one in stored_report(store, [], None).problems]
    assert any(said in one for one in problems), problems


def test_what_cannot_be_read_of_a_kill_stops_more_not_less(killed: tuple[str, str, str]) -> None:
    """A damaged row is in force all the same, whatever its reason was."""
    with closing(sqlite3.connect(killed[0].removeprefix("sqlite:///"))) as connection:
        connection.execute("UPDATE kills SET tool = x'00', detail = '{', tenant = NULL")
        connection.commit()
    with closing(open_store(killed[0])) as store:
        [one] = store.kills()
    assert (one.status, one.by, one.stop.tool) == ("set", "?", None)
    assert one.stop.covers(("any", "where"), "whatever")


def test_records_that_say_nothing_of_a_kill_do_no_harm() -> None:
    """Foreign forms are passed over."""
    made: Any = Replay()
    for body in (
        '{"kind":"kill.set"}',
        '{"kind":"kill.set","kill":[]}',
        '{"kind":"kill.cleared","kill":{"id":1}}',
        '{"kind":"kill.',
    ):
        made.add(0, 1, body)
    assert list(made.against({}, {})) == []


def test_a_call_that_ran_while_its_kill_was_taken_out_is_found(tmp_path: Path) -> None:
    """The row was cleared, a call ran, and the row was put back: the records say that the kill was in force."""
    desk = Office(tmp_path, f"sqlite:///{tmp_path}/g.db", PAY.format(more=", expires: 1h"))
    desk.say("Please pay.")
    kill = desk.guard.kills.set(by=CHIEF, reason="wrong amounts", tool="pay")
    _changed(desk.url, "UPDATE kills SET cleared = 1.0")
    desk.approvals.approve(desk.ask(1), approver=BOSS)
    desk.settle()
    _changed(desk.url, "UPDATE kills SET cleared = NULL")
    [told] = stored_report(desk.guard.store, [], None).problems
    desk.guard.close()
    assert told.what == f"kill {kill.id} was in force by the records when a call began that it covers"


def _changed(url: str, statement: str) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute(statement)
        connection.commit()


def test_only_one_chain_says_what_came_first() -> None:
    """Before the kill, behind its end, outside of what it covers, and in another chain a call may begin."""
    kill = '{"kind":"kill.%s","tenant":"t","tool":{"name":"pay"},"kill":{"id":"ki_1"}}'
    begin = '{"kind":"call.begin","tenant":"%s","conversation":"c","tool":{"name":"%s"}}'
    made: Any = Replay()
    bodies = (
        begin % ("t", "pay"),
        kill % "set",
        begin % ("u", "pay"),
        begin % ("t", "look"),
        kill % "cleared",
        begin % ("t", "pay"),
    )
    for seq, body in enumerate(bodies, 1):
        made.add(0, seq, body)
    made.add(1, 1, begin % ("t", "pay"))
    assert made.kills.wrong == []
    made.add(0, 7, kill % "set")
    made.add(0, 8, begin % ("t", "pay"))
    assert [one.seq for one in made.kills.wrong] == [8]
