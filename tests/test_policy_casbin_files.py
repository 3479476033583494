"""Casbin's files: what is wrong in a rule file or a model is found at load, with its place and cure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from policy_casbin_kit import MODEL, loaded, who

from guard.errors import PolicyError
from guard.policy.problems import Problems
from guard.policy.publish import authorizer
from guard.policy.rule_files import Rule, RuleBook
from guard.policy.rule_shape import shape_of
from guard.policy.source import Item

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


MATCHER = MODEL[MODEL.index("m = ") :]
MODELS: Mapping[str, tuple[tuple[str, str], str]] = {
    "another request": (("r = sub, dom, obj, act", "r = sub, dom, obj, act, age"), "a request has no age"),
    "a request without what the matcher reads": (("r = sub, dom, obj, act", "r = sub, obj, act"), "unknown name r.dom"),
    "an effect that allows by itself": (("some(where (p.eft == allow)) && !", "!"), "allows when nothing matches"),
    "priorities": (("some(where (p.eft == allow)) && !some(where (p.eft == deny))", "priority(p.eft) || deny"), "ranks rules"),
    "an effect of another name": (("some(where (p.eft == allow)) &&", "any(where (p.eft == allow)) &&"), "unknown effect"),
    "another policy": (("p = sub, dom, obj, act, eft", "p = sub, dom, obj, eft"), "unknown name p.act"),
    "conditional roles": (("g = _, _, _", "g = _, _, _, (_, _)"), "must be g = _, _"),
    "a role definition of another size": (("g = _, _, _", "g = _, _"), "g takes 2 arguments"),
    "everybody": (("r.act == p.act &&", "true ||"), "unknown name true"),
    "a superuser": (("r.act == p.act &&", "r.dom != 'x' ||"), "lets everybody call"),
    "nobody": (("r.act == p.act &&", "r.act == 'x' &&"), "does not apply the rule"),
    "syntax": (("r.act == p.act &&", ") &&"), "does not parse"),
    "not a model": (("[request_definition]", "nonsense"), "not a Casbin model"),
    "an unknown section": (("[matchers]", "[matcher]"), "unknown section [matcher]"),
    "a second matcher": (("[matchers]", "[matchers]\nm2 = r.sub == p.sub"), "must hold m and nothing else"),
    "the matcher twice": (("[matchers]", "[matchers]\nm = r.sub == p.sub"), "written twice"),
    "an unknown function": (("keyMatch(", "keymatch("), "unknown function keymatch"),
    "a method": (("r.act == p.act", "r.act.startswith(p.act)"), "is a method"),
    "a hidden name": (("r.act == p.act", "r.act.__class__ == p.act"), "begins with _"),
    "a text read as code": (("r.act == p.act", "r.act == p.act && r.sub != 'a.p.p.l.e'"), "Casbin reads it as code"),
    "an && in a text": (("r.act == p.act", "r.act == p.act && r.sub != 'a&&b'"), "Casbin reads it as code"),
    "a ! in a text": (("r.act == p.act", "r.act == p.act && r.sub != 'hello!'"), "Casbin reads it as code"),
    "a # in a text": (("r.act == p.act", "r.act == p.act && r.sub != '#1'"), "Casbin reads it as code"),
    "a pattern without an anchor": (("r.act == p.act", "r.act == p.act && regexMatch(r.sub, 'pay')"), "not anchored"),
    "half an anchor": (("r.act == p.act", "r.act == p.act && regexMatch(r.sub, '^pay')"), "not anchored"),
    "an alternative beside the anchors": (("r.act == p.act", "r.act == p.act && regexMatch(r.sub, '^a|b$')"), "not anchored"),
    "a dot in keyMatch2": (("r.act == p.act", "r.act == p.act && keyMatch2(r.sub, 'hr.pay')"), "stands for any character"),
    "a comprehension": (("r.act == p.act", "[x for x in 'a'] == p.act"), "has no place"),
    "a lambda": (("r.act == p.act", "(lambda: 1)() == p.act"), "has no place"),
    "two arguments for one": (("r.act == p.act", "keyMatch(r.act == p.act)"), "takes two arguments"),
    "an attribute of nothing": (("r.act == p.act", "r.act.name == p.act"), "is a text and has no parts"),
    "a number": ((MATCHER, "m = 25"), "cannot be evaluated"),
    "a text as truth": ((MATCHER, "m = r.act == p.act && r.obj"), "cannot be evaluated"),
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
    book = RuleBook({Rule("a", "*", "t", "call", "allow"): Item("x", 1)}, {}, {"a"})

    assert authorizer(shape_of([], problems), book, problems) is not None
    assert (problems.errors, problems.warnings) == ([], [])


def test_what_only_looks_unusual_is_read(tmp_path: Path) -> None:
    """Tabs around columns, Windows line ends, and any script in a comment change nothing."""
    judge = loaded(tmp_path, "# \u6ce8\u3000\U0001f468\u200d\U0001f469\r\np,\temployee\t, *, pay, call, deny\r\n")

    assert judge.decide(who("E1", "employee"), "pay", "call").denied
