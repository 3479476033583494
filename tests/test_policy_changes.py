"""Promise 6, last part: an approval is checked against today's policy right before the call runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from guard import Guard, Session, ToolCall

BASE = """tools:
  pay:
    kind: action
    allow: [clerk]
    schema: {type: object, properties: {n: {type: integer}}, required: [n]}
    approve: {by: [boss]}
limits: {run: {steps: 20}}
"""
CLERK, BOSS = Session(principal="E1", roles=("clerk",)), Session(principal="B1", roles=("boss",))
CHANGES = {
    "the same policy": (BASE, None, "done", None),
    "the tool is denied": (BASE, "p, clerk, *, pay, call, deny\n", "refused", "not_authorized"),
    "the role lost the tool": (BASE.replace("[clerk]", "[auditor]"), None, "refused", "not_authorized"),
    "only a comment changed": (BASE + "#\n", None, "done", None),
    "an argument rule is new": (
        BASE.replace("    approve", "    require: {n: {maximum: 5}}\n    approve"),
        None,
        "refused",
        "rule_refused",
    ),
    "another role must approve": (BASE.replace("[boss]", "[board]"), None, "refused", "approval_invalid"),
    "more roles may approve": (BASE.replace("[boss]", "[boss, board]"), None, "done", None),
    "nobody need approve": (BASE.replace("{by: [boss]}", "never"), None, "done", None),
    "the schema is another one": (
        BASE.replace("integer}}", "integer}, note: {type: string}}"),
        None,
        "held",
        "held_for_approval",
    ),
    "the tool is gone": (
        BASE.replace("  pay:", "  look: {kind: read, allow: [clerk]}\n  repay:"),
        None,
        "refused",
        "unknown_tool",
    ),
}


@pytest.fixture
def ran() -> list[int]:
    return []


@pytest.fixture
def load(tmp_path: Path, ran: list[int]) -> Iterator[object]:
    opened: list[Guard] = []

    def make(text: str, rules: str | None = None) -> Guard:
        folder = tmp_path / f"policies{len(opened)}"
        folder.mkdir()
        (folder / "tools.yaml").write_text(text, "utf-8")
        if rules:
            (folder / "rules.csv").write_text(rules, "utf-8")
        names = [name for name in ("pay", "look", "repay") if f"  {name}:" in text]
        tools = {name: (lambda **arguments: ran.append(arguments.get("n", 0)) or {"ok": True}) for name in names}
        guard = Guard.load(folder, tools=tools, store=f"sqlite:///{tmp_path / 'guard.db'}")
        opened.append(guard)
        return guard

    yield make
    for guard in opened:
        guard.close()


@pytest.mark.parametrize(("text", "rules", "status", "reason"), CHANGES.values(), ids=CHANGES.keys())
def test_a_yes_counts_only_under_the_policy_of_the_day(load, ran, text, rules, status, reason) -> None:
    """Between the yes and the run the policy changed: what today's policy refuses or asks anew does not run on yesterday's yes."""
    first = load(BASE)
    held = first.call(ToolCall("1", "pay", {"n": 9}), CLERK, conversation="c")
    first.approvals.approve(held.approval, approver=BOSS)

    outcome = load(text, rules).call(ToolCall("2", "pay", {"n": 9}), CLERK, conversation="c")

    assert (outcome.status, outcome.reason) == (status, reason)
    assert ran == ([9] if status == "done" else [])


def test_a_vote_counts_only_under_the_policy_of_the_day(load) -> None:
    """Who may say yes is judged by the policy in force when they say it."""
    held = load(BASE).call(ToolCall("1", "pay", {"n": 9}), CLERK, conversation="c")
    today = load(BASE, "p, boss, *, pay, approve, deny\n")

    with pytest.raises(Exception, match="no approval"):
        today.approvals.approve(held.approval, approver=BOSS)

    assert [one.status for one in today.approvals.list()] == ["pending"]
