"""Entries and registered tools: which function an entry means, and what happens when it means none, several or an untold one."""

from __future__ import annotations

from pathlib import Path

import pytest
from policy_load_kit import GOOD, entry, folder, problems

from guard.errors import PolicyError
from guard.policy import Declared, load_policy


def test_a_function_serves_the_entry_of_the_same_name_in_another_spelling(tmp_path: Path) -> None:
    """`query_expense` serves `queryExpense`; the exact name always comes first."""
    text = "tools:\n  queryExpense: {kind: read, allow: [a]}\n  lookUp: {kind: read, allow: [a]}\n"
    declared = [Declared(name=name, schema={}) for name in ("query_expense", "look_up", "lookUp")]

    loaded = load_policy(folder(tmp_path, text), declared)

    assert loaded.names == {"queryExpense": "query_expense", "lookUp": "lookUp"}
    assert loaded.policy.unlisted == {"look_up"}


NAMES = {
    "unknown": (["query_expenses"], "no registered tool is called queryExpense", "did you mean query_expenses?"),
    "ambiguous": (["query_expense", "query-expense"], "could be any of", "registered name"),
}


@pytest.mark.parametrize(("registered", "message", "cure"), NAMES.values(), ids=NAMES.keys())
def test_an_entry_that_matches_no_single_tool_is_an_error(tmp_path: Path, registered: list[str], message: str, cure: str) -> None:
    """A misspelt or ambiguous entry must not silently apply to nothing."""
    found = problems(
        tmp_path, "tools:\n  queryExpense: {kind: read, allow: [a]}\n", [Declared(name=name, schema={}) for name in registered]
    )

    assert [(problem.line, message in problem.message, cure in problem.cure) for problem in found] == [(2, True, True)]


def test_two_entries_for_one_function_are_an_error(tmp_path: Path) -> None:
    """One function under two entries would have two policies."""
    text = "tools:\n  queryExpense: {kind: read, allow: [a]}\n  query-expense: {kind: read, allow: [a]}\n"

    found = problems(tmp_path, text, [Declared(name="query_expense", schema={})])

    assert "both mean the registered tool query_expense" in found[0].message


def test_tools_may_be_spread_over_files_but_stand_once(tmp_path: Path) -> None:
    """The same tool in two files is an error that names both places."""
    found = problems(tmp_path, {"a.yaml": entry(GOOD), "b.yaml": "tools:\n  look: {kind: read, allow: [x]}\n"})

    assert [(problem.file, problem.line, problem.cure) for problem in found] == [
        ("b.yaml", 2, "the first stands at a.yaml:2; keep one")
    ]


def test_without_a_program_the_policy_alone_is_checked(tmp_path: Path) -> None:
    """`guard check` knows no functions: unregistered tools and checks are no errors, and nothing is known of arguments."""
    loaded = load_policy(folder(tmp_path, entry(GOOD + "    checks: [budget]")))
    tool = loaded.policy.tools["pay"]

    assert tool.schema == {}
    assert tool.validate({"anything": 1}) == ()
    assert tool.checks[0].run({}) is not None


def test_a_signature_that_cannot_be_told_needs_a_schema(tmp_path: Path) -> None:
    """A parameter of a type that JSON Schema cannot say is a mistake until the policy gives the schema; it is never waved through."""
    (tmp_path / "tools.yaml").write_text("tools:\n  look: {kind: read, allow: [a]}\nlimits: {run: {steps: 3}}\n", "utf-8")

    with pytest.raises(PolicyError, match=r"tools\.yaml:2: look: .*schema: below look"):
        load_policy(tmp_path, [Declared(name="look", trouble="look: the parameter x cannot be told")])
