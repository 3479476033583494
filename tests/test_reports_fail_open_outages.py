"""Neighbours of the reported failures in which a broken guard lets calls through: what it rests on is missing, locked or half there."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from reports import BOTH, codes, start, states, write
from wire_helpers import answers

from guard import Guard, PolicyError

POLICY = """
    tools:
      pay: {kind: action, allow: [staff], approve: never}
      look: {kind: read, allow: [staff]}
    limits: {run: {calls: 9}}
"""
TOOLS = {"pay": lambda amount: "paid", "look": lambda: "seen"}


@BOTH
@pytest.mark.parametrize("table", ["audit", "calls", "turns", "conversations", "payloads", "budgets", "draws", "approvals"])
def test_a_store_without_one_of_its_tables(tmp_path: Path, wire: str, table: str) -> None:
    """When what must be written or asked before an act cannot be, nothing runs, and every call is answered with that reason."""
    desk = start(tmp_path, wire, POLICY, TOOLS, store="sqlite")
    with sqlite3.connect(tmp_path / "guard.db") as connection:
        connection.execute(f"DROP TABLE {table}")
    connection.close()
    turn = desk.propose(("c1", "pay", {"amount": 1}), ("c2", "look", {}))
    assert codes(turn) == ["store_unavailable", "store_unavailable"]
    assert len(answers(wire, turn.messages)) == 2
    assert not desk.ran
    desk.guard.close()


@BOTH
def test_a_claim_that_cannot_be_written(tmp_path: Path, wire: str) -> None:
    """An action whose start cannot be made durable does not start; a look-up beside it, which needs no claim, may answer."""
    desk = start(tmp_path, wire, POLICY, TOOLS, store="sqlite")
    with sqlite3.connect(tmp_path / "guard.db") as connection:
        connection.execute("DROP TABLE claims")
    connection.close()
    turn = desk.propose(("c1", "pay", {"amount": 1}), ("c2", "look", {}))
    assert codes(turn) == ["store_unavailable", None]
    assert desk.ran == [("look", {})]
    desk.closed()


@BOTH
def test_a_damaged_approval_is_no_approval(tmp_path: Path, wire: str) -> None:
    """What cannot be read where a person's yes should stand is not a yes."""
    policy = POLICY.replace("approve: never", "approve: {by: [boss]}")
    desk = start(tmp_path, wire, policy, TOOLS, store="sqlite", held="suspend")
    turn = desk.propose(("c1", "pay", {"amount": 1}))
    desk.approve(turn, "c1")
    with sqlite3.connect(tmp_path / "guard.db") as connection:
        connection.execute("UPDATE payloads SET body = substr(body, 1, 10) WHERE kind = 'approval'")
    connection.close()
    again = desk.propose(("c1", "pay", {"amount": 1}))
    assert states(again) == ["refused"]
    assert not desk.ran
    desk.guard.close()


FOLDERS = {
    "missing": None,
    "empty": {},
    "no-yaml": {"rules.csv": "p, staff, *, pay, call, allow\n"},
    "broken-yaml": {"tools.yaml": "tools: {pay: [}"},
    "a-list": {"tools.yaml": "- pay"},
    "no-tools": {"tools.yaml": "tools: {}"},
    "two-documents": {"tools.yaml": "tools: {pay: {kind: read}}\n---\ntools: {}\n"},
    "a-python-tag": {"tools.yaml": "tools: !!python/object/apply:os.getcwd []\n"},
    "one-good-one-broken": {"tools.yaml": "tools: {pay: {kind: read, allow: [staff]}}", "more.yaml": "tools: {pay: {"},
    "a-skipped-line": {"tools.yaml": "tools: {pay: {kind: read, allow: [staff]}}", "r.csv": "p, staff, *, pay, call\n"},
    "a-misspelt-deny": {"tools.yaml": "tools: {pay: {kind: read, allow: [staff]}}", "r.csv": "p, u1, *, pay, call, Deny\n"},
}


@pytest.mark.parametrize("files", FOLDERS.values(), ids=FOLDERS.keys())
def test_half_a_policy_is_no_policy(tmp_path: Path, files: dict[str, str] | None) -> None:
    """A folder that is missing, empty or readable only in part gives no guard at all."""
    folder = tmp_path / "nowhere"
    if files is not None:
        folder = write(tmp_path, "", files)
        if "tools.yaml" not in files:
            (folder / "tools.yaml").unlink()
    with pytest.raises(PolicyError):
        Guard.load(folder, tools={"pay": lambda amount: "paid"}, store="memory://")


@BOTH
def test_a_tool_that_the_policy_does_not_name(tmp_path: Path, wire: str) -> None:
    """A registered tool without an entry, and an entry that permits nobody, are refused and not shown."""
    policy = "tools: {look: {kind: read}, other: {kind: read, allow: [boss]}}"
    desk = start(tmp_path, wire, policy, {**TOOLS, "other": lambda: "x"})
    turn = desk.propose(("c1", "pay", {"amount": 1}), ("c2", "look", {}))
    assert codes(turn) == ["no_policy", "not_authorized"]
    assert not desk.chat.tools
    assert not desk.ran
    desk.closed()
