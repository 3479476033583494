"""`guard audit`: the table, the lines of JSON, the check of the chain, and stores that are not there."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import CLERK, Run, folder, look, pay, waiting

from guard import ApprovalError, Guard, ToolCall


def test_audit_shows_records_and_checks_the_chain(run: Run, asked: Guard) -> None:
    """A table of what happened, ending with the check."""
    ran = run("audit")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["seq", "time", "kind", "tool", "verdict", "code", "who"]
    assert any(line.split()[2:5] == ["call.decided", "pay", "hold"] for line in lines)
    assert lines[-1] == f"{len(asked.store.audit())} records, the chain holds"


def test_a_refusal_names_the_rule_that_decided(run: Run, asked: Guard, tmp_path: Path) -> None:
    """Behind the code stands what refused the call; an allowed call shows no rule."""
    where = tmp_path / "policies" / "tools.yaml"
    text = where.read_text("utf-8").replace("    kind: action", "    kind: action\n    refuse: [{when: {to: eve}}]", 1)
    where.write_text(text, "utf-8")
    with closing(Guard.load(where.parent, tools=[pay, look], store=f"sqlite:///{tmp_path / 'guard.db'}")) as made:
        made.call(ToolCall("c2", "pay", '{"to": "eve", "amount": 1}'), CLERK, conversation="conv-2")
    rows = [" ".join(line.split()) for line in run("audit").out.splitlines()]
    assert any("call.decided pay refuse rule_refused (pay.refuse[0])" in row for row in rows)
    assert [row for row in rows if "(p," in row] == []


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--tool", "look"), {"look"}),
        (("--kind", "approval.requested"), {"pay"}),
        (("--conversation", "conv-1"), {"pay", "look"}),
        (("--conversation", "conv-2"), set()),
        (("--limit", "1"), {"pay"}),
    ],
    ids=["tool", "kind", "conversation", "other-conversation", "limit"],
)
def test_audit_filters(words: tuple[str, ...], wanted: set[str], run: Run, asked: Guard) -> None:
    """Only the records asked for are shown; the check covers all of them all the same."""
    ran = run("audit", "--json", *words)
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert {one["tool"]["name"] for one in found} == wanted
    assert ran.err == f"{'' if wanted else 'no record matches' + chr(10)}{len(asked.store.audit())} records, the chain holds\n"


def test_audit_json_is_each_body_with_its_hash(run: Run, asked: Guard) -> None:
    """One line for each record: what its stored body says, with prev and hash behind it, and nothing that a terminal would obey."""
    lines = run("audit", "--json").out.splitlines()
    for line, sealed in zip(lines, asked.store.audit(), strict=True):
        assert json.loads(line) == {**json.loads(sealed.body), "prev": sealed.prev, "hash": sealed.hash}
        assert line.isprintable()
        assert line.startswith(sealed.body[:20])


def tamper(path: Path, *, body: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE audit SET body = ? WHERE seq = 2", (body,))
        connection.commit()


@pytest.mark.parametrize(
    "words", [(), ("--json",), ("--verify",), ("--verify", "--json"), ("--limit", "1")], ids=["table", "json", "verify", "both", "limit"]
)  # fmt: skip
@pytest.mark.parametrize("body", ['{"v":1,"chain":0,"seq":2,"kind":"x"}', "no JSON\n"], ids=["changed", "broken"])
def test_audit_of_a_changed_record_ends_with_one(
    words: tuple[str, ...], body: str, run: Run, asked: Guard, tmp_path: Path
) -> None:
    """Whoever changes a record is noticed, whatever is shown; the record is named."""
    asked.close()
    tamper(tmp_path / "guard.db", body=body)
    ran = run("audit", *words)
    assert ran.code == 1
    if words == ("--verify", "--json"):
        assert (ran.json["verified"], ran.json["first_bad_seq"]) == (False, 2)
    else:
        assert "THE CHAIN IS BROKEN at record 2" in ran.out + ran.err
    if words == ("--json",):
        assert [json.loads(line)["seq"] for line in ran.out.splitlines()][:3] == [1, 2, 3]


def test_audit_verify_says_only_that(run: Run, asked: Guard) -> None:
    """--verify shows no records."""
    assert run("audit", "--verify").out == f"{len(asked.store.audit())} records, the chain holds\n"
    assert run("audit", "--verify", "--json").json["verified"] is True


@pytest.mark.parametrize("command", [("audit",), ("approvals", "list")], ids=["audit", "approvals"])
@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("sqlite:///missing.db", "there is no such store"),
        ("sqlite:///policies", "there is no such store"),
        ("sqlite:///empty.db", "not a store of the guard"),
        ("sqlite:///text.db", "not a store of the guard"),
        ("sqlite:///other.db", "not a store of the guard"),
        ("memory://", "keeps nothing"),
        ("mysql://host/db", "no store of this kind"),
        ("guard.db", "write sqlite:///guard.db"),
    ],
    ids=["missing", "folder", "empty", "text", "other", "memory", "scheme", "no-url"],
)
def test_a_store_that_is_not_there_is_not_made(command: tuple[str, ...], store: str, told: str, run: Run, tmp_path: Path) -> None:
    """Looking into a store never creates or changes a file: exit code 2, and what to do."""
    folder(tmp_path / "policies")
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("hello " * 100, "utf-8")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    ran = run(*command, "--store", store)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


def test_votes_are_in_the_audit_with_the_person(run: Run, asked: Guard) -> None:
    """Who approved stands in the table; a vote that did not count is recorded as refused."""
    with pytest.raises(ApprovalError):
        asked.approvals.approve(waiting(asked), approver=CLERK)
    run("approvals", "approve", waiting(asked), "--yes")
    rows = [" ".join(line.split()[2:]) for line in run("audit").out.splitlines()]
    assert "approval.vote pay refused E1" in rows
    assert "approval.resolved pay approved E2 for E1" in rows
