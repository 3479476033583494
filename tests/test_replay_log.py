"""A log alone is enough for a replay: the same answers as from its store, and what is hidden or missing in it is said."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run, in_process
from segments_kit import archive
from votes_kit import CHIEF

from guard import Guard, Session, ToolCall

POLICY = """
tools:
  find:
    kind: read
    allow: [clerk]
  pay:
    kind: action
    allow: [clerk]
    ground: {order: {returned_by: find.order}}
    approve: {by: [boss]}
"""
CLERK = Session(principal="E1", tenant="acme", roles=("clerk",))


def find(order: str) -> dict[str, Any]:
    orders = {"o1": {"order": "A-77", "mail": "kim@example.com"}, "o2": {"order": "B-12", "mail": "lee@example.com"}}
    return orders.get(order, {"order": "none", "text": "x" * 9_000})


def pay(order: str, to: str, amount: int) -> str:
    return "paid"


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Grounded payments, one to an address that is hidden, one whose ground was long, and one without a ground."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "tools.yaml").write_text(POLICY, "utf-8")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "tools.yaml").write_text(POLICY.replace("approve: {by: [boss]}", "approve: never"), "utf-8")
    calls = [
        ("find", {"order": "o1"}),
        ("pay", {"order": "A-77", "to": "kim", "amount": 5}),
        ("pay", {"order": "C-1", "to": "kim", "amount": 5}),
    ]
    hidden = [("find", {"order": "o2"}), ("pay", {"order": "B-12", "to": "lee@example.com", "amount": 7})]
    long = [("find", {"order": "o3"}), ("pay", {"order": "none", "to": "kim", "amount": 5})]
    with closing(Guard.load(tmp_path / "old", tools=[find, pay], store=f"sqlite:///{tmp_path / 'guard.db'}")) as made:
        for name, some in (("plain", calls), ("hidden", hidden), ("long", long)):
            for number, (tool, arguments) in enumerate(some):
                made.call(ToolCall(f"c{number}", tool, arguments), CLERK, conversation=name)
    return in_process(tmp_path, monkeypatch, capfd)


def test_a_log_gives_the_answers_of_its_store(logged: Run, tmp_path: Path) -> None:
    """Grounds are found in the copies of results that the records hold; what a copy does not hold is named, not guessed."""
    (tmp_path / "log").write_text(logged("audit", "--json").out, "utf-8")
    stored = logged("diff", "old", "new", "--replay", "sqlite:///guard.db", "--json").json
    alone = logged("diff", "old", "new", "--replay", "log", "--json").json
    assert {one["conversation"] for one in stored["differ"]} == {"plain", "hidden", "long"}
    assert {(one["conversation"], one["old"], one["new"]) for one in alone["differ"]} == {
        ("plain", "hold", "allow"),
        ("hidden", "hold", "allow"),
    }
    assert {one["conversation"]: one["hidden"] for one in alone["differ"]} == {"plain": [], "hidden": ["to"]}
    assert alone["with_hidden_values"] == 1
    assert {reason: number for reason, number in alone["not_replayed"].items() if "not in the log" in reason} != {}
    assert alone["same"] == stored["same"]


def test_what_rests_on_a_hidden_value_is_not_replayed(logged: Run, tmp_path: Path) -> None:
    """A value that is hidden in the log grounds nothing: the decision is left out, with the reason, and no other verdict is claimed."""
    old = POLICY.replace("find.order", "find.mail").replace("order: {returned", "to: {returned")
    (tmp_path / "old" / "tools.yaml").write_text(old, "utf-8")
    with closing(Guard.load(tmp_path / "old", tools=[find, pay], store=f"sqlite:///{tmp_path / 'guard.db'}")) as made:
        made.call(ToolCall("c8", "find", {"order": "o2"}), CLERK, conversation="mail")
        made.call(ToolCall("c9", "pay", {"order": "B-12", "to": "lee@example.com", "amount": 7}), CLERK, conversation="mail")
    (tmp_path / "log").write_text(logged("audit", "--json", "--conversation", "mail").out, "utf-8")
    ran = logged("diff", "old", "old", "--replay", "log", "--json").json
    assert ran["differ"] == []
    assert any("rested on values that are hidden" in reason for reason in ran["not_replayed"])
    told = logged("diff", "old", "old", "--replay", "log").out
    assert "not replayed: it rested on values that are hidden in the log" in told


def test_a_log_with_kills_whose_month_was_dropped_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Store and log say how many records left with which month; the month's export has them and begins with no unreadable line; kills are named, not judged."""
    run = in_process(tmp_path, monkeypatch, capfd)

    def again(log: str) -> Any:
        return run("diff", "policies", "policies", "--replay", log, "--json").json

    with archive("sqlite", tmp_path, run) as made:
        assert (again(made.url)["missing_records"], again(made.url)["dropped_months"]) == (0, [])
        made.desk.guard.kills.set(by=CHIEF, reason="wrong amounts", tool="pay")
        made.desk.propose(9, call="stopped")
        made.close()
        made.drop()
        (tmp_path / "log").write_text(run("audit", "--json", "--store", made.url).out, "utf-8")
        stored, alone, october = again(made.url), again("log"), again("oct.jsonl")
        told = run("diff", "policies", "policies", "--replay", made.url).out
    for found in (stored, alone):
        assert (found["missing_records"] > 0, found["dropped_months"]) == (True, ["2026-10"])
        assert found["not_replayed"] == {"killed: it rested on a kill, which is no part of a policy": 1}
    assert (october["missing_records"], october["unreadable_lines"], october["same"] > 0) == (0, 0, True)
    assert f"{stored['missing_records']} records of the log are missing here" in told
    assert "2026-10 left the store: replay the exports as well" in told


def test_a_part_of_a_log_says_that_it_is_one(logged: Run, tmp_path: Path) -> None:
    """However it was picked: the numbers of the records that are there say how many are not."""
    lines = logged("audit", "--json").out.splitlines()
    (tmp_path / "log").write_text("\n".join(lines[:2] + lines[5:]), "utf-8")
    assert logged("diff", "old", "old", "--replay", "log", "--json").json["missing_records"] == 3
    (tmp_path / "log").write_text("\n".join(lines), "utf-8")
    assert logged("diff", "old", "old", "--replay", "log", "--json").json["missing_records"] == 0
    assert "missing" not in logged("diff", "old", "old", "--replay", "log").out
