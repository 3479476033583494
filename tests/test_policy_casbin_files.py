"""Casbin's files: what is wrong in a rule file or a model is found at load, with its place and cure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from policy_casbin_kit import MODEL, loaded, who

from guard.errors import PolicyError
from guard.policy.casbin_rules import authorizer
from guard.policy.problems import Problems
from guard.policy.rule_files import Rule

CSV_MISTAKES = {
    "unknown type": ("P, a, *, pay, call, deny", "unknown rule type P", "write p"),
    "p2": ("p2, a, *, pay, call, deny", "unknown rule type p2", "write p"),
    "too few columns": ("p, a, pay, call, deny", "5 columns instead of 6", "p, role, tenant, tool, call, deny"),
    "too many columns": ("g, a, b, c, d", "5 columns instead of 4", "g, person or role"),
    "empty column": ("p, a, , pay, call, deny", "an empty column", "*"),
    "Deny": ("p, a, *, pay, call, Deny", "unknown effect Deny", "did you mean deny?"),
    "dney": ("p, a, *, pay, call, dney", "unknown effect dney", "did you mean deny?"),
    "a comment behind a rule": ("p, a, *, pay, call, deny # note", "# inside a rule", "lines of their own"),
    "quotes": ('p, "a,b", *, pay, call, deny', '" inside a rule', "without quotes"),
    "brackets": ("p, a, *, f(pay), call, deny", "( inside a rule", "brackets"),
    "unknown act": ("p, a, *, pay, cal, deny", "unknown act cal", "did you mean call?"),
    "any act": ("p, a, *, pay, *, deny", "unknown act *", "call"),
    "an approver in the file": ("p, a, *, pay, approve, allow", "who may approve", "role there"),
    "unknown tool": ("p, a, *, pya, call, deny", "no tool of this policy is called pya", "did you mean pay?"),
    "a prefix of nothing": ("p, a, *, mcp__stt__*, call, deny", "no tool of this policy is called mcp__stt__*", ""),
    "a star in the middle": ("p, a, *, p*y, call, deny", "* may only stand at the end", "prefix"),
    "a star in a role": ("p, a*, *, pay, call, deny", "* stands alone", "everybody"),
    "a role of itself": ("g, a, a, *", "roles of each other", "remove"),
    "a character nobody sees": ("p, us\u200ber, *, pay, call, deny", "U+200B, which cannot be seen", "remove it"),
    "in a tenant": ("p, employee, ac\u00adme, pay, call, deny", "U+00AD", "remove it"),
    "in a grant": ("g, E1, employee\u00a0, *", "U+00A0", "remove it"),
    "a rule behind another line break": ("# note\u2028p, employee, *, pay, call, deny", "U+2028", "only a line feed"),
    "a lone carriage return": ("# note\rp, employee, *, pay, call, deny", "U+000D", "only a line feed"),
    "a rule that stands backwards": ("# \u202ep, employee, *, pay, call, deny", "U+202E", "remove it"),
    "a tab inside a name": ("p, emp\tloyee, *, pay, call, deny", "a tab inside a name", "without it"),
    "a person as a role": ("g, E1, user:E2, *", "cannot be a role", "g, person or role"),
    "a prefix in capitals": ("p, User:E1, *, pay, call, deny", "User:E1 is no name", "user:NAME"),
    "a prefix alone": ("p, role:, *, pay, call, deny", "role: is no name", "role:NAME"),
    "two prefixes": ("p, role:user:E1, *, pay, call, deny", "is no name", "user:NAME"),
    "a star as a person": ("p, user:*, *, pay, call, deny", "* stands alone", "everybody"),
    "a star as a role": ("g, a, *, *", "* cannot be", "name"),
}


@pytest.mark.parametrize(("line", "message", "cure"), CSV_MISTAKES.values(), ids=CSV_MISTAKES.keys())
def test_each_mistake_in_a_rule_file_is_loud(tmp_path: Path, line: str, message: str, cure: str) -> None:
    """What Casbin would drop or ignore stops the load, with file, line and cure."""
    with pytest.raises(PolicyError) as caught:
        loaded(tmp_path, f"# rules\n\n   \n{line}\n")

    found = caught.value.problems
    assert [(problem.file, problem.line) for problem in found] == [("rules.csv", 4)]
    assert message in found[0].message
    assert cure in found[0].cure


def test_a_circle_of_roles_is_an_error(tmp_path: Path) -> None:
    """Every line of the circle is named; the same names in two tenants make none."""
    with pytest.raises(PolicyError) as caught:
        loaded(tmp_path, "g, a, b, *\ng, b, c, acme\ng, c, a, acme\ng, x, a, *\n")

    assert [problem.line for problem in caught.value.problems] == [1, 2, 3]
    loaded(tmp_path, "g, a, b, one\ng, b, a, two\n")


MODELS: Mapping[str, tuple[tuple[str, str], str]] = {
    "another request": (("r = sub, dom, obj, act", "r = sub, obj, act"), "[request_definition] must be"),
    "another effect": ((" && !some(where (p.eft == deny))", ""), "[policy_effect] must be"),
    "another policy": (("act, eft", "act"), "[policy_definition] must be"),
    "no roles": (("g = _, _, _", "g = _, _"), "[role_definition] must be"),
    "everybody": (("r.act == p.act &&", "true ||"), "cannot be used"),
    "a superuser": (("r.act == p.act &&", "r.dom != 'x' ||"), "lets everybody call"),
    "nobody": (("r.act == p.act &&", "r.act == 'x' &&"), "does not apply the rule"),
    "syntax": (("r.act == p.act &&", ") &&"), "cannot be used"),
    "not a model": (("[request_definition]", "nonsense"), "not a Casbin model"),
}


@pytest.mark.parametrize(("change", "message"), MODELS.values(), ids=MODELS.keys())
def test_a_model_that_decides_wrongly_is_not_published(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    """A folder may bring its own matcher; one that lets an invented person in, or nobody, is found before it is used."""
    with pytest.raises(PolicyError) as caught:
        loaded(tmp_path, model=MODEL.replace(*change))

    assert all(problem.file == "model.conf" for problem in caught.value.problems)
    assert any(message in problem.message for problem in caught.value.problems), caught.value.problems


def test_a_folder_may_bring_its_own_matcher(tmp_path: Path) -> None:
    """A stricter matcher than the shipped one is used."""
    judge = loaded(tmp_path, model=MODEL.replace("r.act == p.act &&", 'r.act == p.act && r.dom != "closed" &&'))

    assert judge.decide(who("E1", "employee"), "pay", "call").allowed
    assert not judge.decide(who("E1", "employee", tenant="closed"), "pay", "call").allowed


def test_the_shipped_model_is_used_when_the_folder_has_none() -> None:
    """The package brings a model of its own."""
    problems = Problems()

    assert authorizer([], [Rule("a", "*", "t", "call", "allow")], [], {"a"}, problems) is not None
    assert problems.errors == []


def test_what_only_looks_unusual_is_read(tmp_path: Path) -> None:
    """Tabs around columns, Windows line ends, and any script in a comment change nothing."""
    judge = loaded(tmp_path, "# \u6ce8\u3000\U0001f468\u200d\U0001f469\r\np,\temployee\t, *, pay, call, deny\r\n")

    assert judge.decide(who("E1", "employee"), "pay", "call").denied
