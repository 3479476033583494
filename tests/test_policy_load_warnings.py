"""Warnings: what works but is probably not meant is said, and the policy is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from policy_load_kit import GOOD, LOOK, PAY, entry, folder

from guard.policy import Declared, load_policy

WARNINGS = {
    "no run limits": (GOOD, "no limits.run"),
    "nobody may call": ("    kind: action\n    approve: never", "nobody may call pay"),
    "everybody may call": (GOOD.replace("staff", "'*'"), "everybody may call pay"),
    "identity": (GOOD + "    schema: {properties: {userId: {}}}", "nobody owns the argument userId"),
    "misspelt keyword": (GOOD + "    schema: {properties: {a: {}}, requred: [a]}", "requred is not a keyword"),
    "a cost that nobody knows": (GOOD + "limits: {run: {cost: 5}}", "only where the provider states it"),
    "forbidden programs": (GOOD + "    refuse: [{when: {note: {command: {programs: [rm]}}}}]", "easily evaded"),
}


@pytest.mark.parametrize(("lines", "message"), WARNINGS.values(), ids=WARNINGS.keys())
def test_what_works_but_is_probably_not_meant_is_a_warning(tmp_path: Path, lines: str, message: str) -> None:
    """A policy that can be used is loaded; what looks wrong in it is said."""
    loaded = load_policy(folder(tmp_path, entry(lines)))

    assert any(message in warning.message and warning.warning for warning in loaded.warnings), loaded.warnings


def test_registered_tools_without_entry_are_named(tmp_path: Path) -> None:
    """A tool that nobody wrote a policy for is refused at run time, and said so at load."""
    loaded = load_policy(folder(tmp_path, entry(GOOD)), (PAY, LOOK, Declared(name="wipe", schema={})))

    assert loaded.policy.unlisted == {"wipe"}
    assert any("wipe has no entry" in warning.message for warning in loaded.warnings)
