"""Names in rule files: a rule about a name that probably nobody has is told at load, with its place and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from policy_load_kit import folder, problems

from guard.errors import Problem
from guard.policy import load_policy

TOOLS = """
tools:
  pay: {kind: action, allow: ["role:employee"], approve: {by: [boss]}}
people:
  ann: {principal: E20417, tenant: acme, roles: [auditor]}
limits: {run: {steps: 3}}
"""


def said(tmp_path: Path, csv: str) -> list[Problem]:
    """The warnings about these rules."""
    return list(load_policy(folder(tmp_path, {"tools.yaml": TOOLS, "rules.csv": csv})).warnings)


ODD = {
    "an unknown role": ("p, E10238, *, pay, call, deny", "E10238 counts as a role", "write user:E10238 for a person"),
    "of an allow": ("p, intern, *, pay, call, allow", "intern counts as a role", "role:intern for a role"),
    "case of a role": ("p, Employee, *, pay, call, deny", "Employee differs from the role or person employee", "write employee"),
    "case of a role spelled out": ("p, role:Boss, *, pay, approve, deny", "Boss differs from the role or person boss", "boss"),
    "case of a person's role": ("p, AUDITOR, *, pay, call, deny", "AUDITOR differs from the role or person auditor", "auditor"),
    "case of a person": ("p, user:e20417, *, pay, call, deny", "user:e20417 differs from the role or person E20417", "E20417"),
    "case in a grant": ("g, e20417, boss, *", "e20417 differs from the role or person E20417", "E20417"),
    "case between rules": ("p, role:x, *, pay, call, deny\np, X, *, pay, call, deny", "X differs from the role or person x", ""),
    "case of a tenant": ("p, employee, Acme, pay, call, deny", "Acme differs from the tenant acme only in case", "write acme"),
    "case of the first tenant": ("p, employee, Default, pay, call, deny", "Default differs from the tenant default", "default"),
    "case between tenants": (
        "g, E1, boss, north\np, employee, North, pay, call, deny",
        "differs from the tenant",
        "write ",
    ),
}


@pytest.mark.parametrize(("csv", "message", "cure"), ODD.values(), ids=ODD.keys())
def test_a_name_that_nobody_may_have_is_told(tmp_path: Path, csv: str, message: str, cure: str) -> None:
    """One warning, at a line of the rule file."""
    found = said(tmp_path, csv)

    assert [(one.file, message in one.message, cure in one.cure) for one in found] == [("rules.csv", True, True)], found


PLAIN = {
    "a role of allow": "p, employee, *, pay, call, deny",
    "a role of approve.by": "p, boss, *, pay, approve, deny",
    "a person's role": "p, auditor, *, pay, call, allow",
    "a role of a grant": "g, E1, clerk, *\np, clerk, *, pay, call, allow",
    "a role spelled out": "p, role:intern, *, pay, call, deny",
    "a person": "p, user:E10238, *, pay, call, deny",
    "everybody": "p, *, acme, pay, call, deny",
    "another tenant": "p, employee, north, pay, call, deny",
    "a grant to a person": "g, E20417, boss, default",
}


@pytest.mark.parametrize("csv", PLAIN.values(), ids=PLAIN.keys())
def test_a_name_that_is_plainly_meant_is_no_warning(tmp_path: Path, csv: str) -> None:
    """What the policy names elsewhere, or what the line itself says to be a role or a person, loads in silence."""
    assert said(tmp_path, csv) == []


ROLES = {
    "a person in allow": ("user:E1", "cannot be a role"),
    "a prefix in capitals": ("Role:clerk", "cannot be a role"),
    "a character nobody sees": ('"cle\\u200brk"', "cannot be seen"),
}


@pytest.mark.parametrize(("name", "message"), ROLES.values(), ids=ROLES.keys())
@pytest.mark.parametrize("key", ["allow: [{}], approve: never", "allow: [x], approve: {{by: [{}]}}"], ids=["allow", "by"])
def test_yaml_names_roles_only(tmp_path: Path, key: str, name: str, message: str) -> None:
    """No name in a tool's entry can be taken for a person or be another one than it looks like."""
    found = problems(tmp_path, f"tools:\n  pay: {{kind: action, {key.format(name)}}}\n", None)

    assert any(message in problem.message for problem in found), found
