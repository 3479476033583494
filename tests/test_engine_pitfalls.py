"""What stock Casbin gets wrong without a word, each beside what the engine does there; stock's own answer is asked and stated too."""

from __future__ import annotations

from typing import Any

import pytest
from engine_kit import HEAD, Case

from guard.policy.engine.model import ALLOW, BOTH

FIELDS = {"r": "sub, dom, obj, act", "p": "sub, dom, obj, act, eft"}
ROLES = "r.act == p.act && r.obj == p.obj && g(r.sub, p.sub, r.dom)"
PATTERNS = {
    # name: (function, pattern of a deny, value that slips past it in plain pycasbin)
    "keyMatch2 and a break within": ("keyMatch2", "/x/*", "/x/a\nb"),
    "keyMatch3 and a break within": ("keyMatch3", "/x/*", "/x/a\nb"),
    "keyMatch4 and a break within": ("keyMatch4", "/x/*", "/x/a\nb"),
    "regexMatch and a break within": ("regexMatch", "^/x/.*$", "/x/a\nb"),
    "globMatch and an empty part": ("globMatch", "/x/*", "/x/"),
}


@pytest.mark.parametrize(("function", "pattern", "value"), PATTERNS.values(), ids=PATTERNS.keys())
def test_a_value_does_not_slip_past_a_deny(function: str, pattern: str, value: str) -> None:
    """Plain pycasbin allows it; here the deny counts, since its pattern matches or cannot judge."""
    rows = [["a", "d", "*", "call", "allow"], ["a", "d", pattern, "call", "deny"]]
    case = Case(HEAD.format(**FIELDS, e=BOTH, m=f'r.sub == p.sub && (p.obj == "*" || {function}(r.obj, p.obj))'), rows)

    assert case.plain().enforce("a", "d", value, "call")
    assert not case.engine().decide(["a", "d", value, "call"]).allowed
    assert case.engine().decide(["a", "d", "/y", "call"]).allowed


@pytest.mark.parametrize("function", ["keyMatch2", "keyMatch3", "keyMatch4", "keyMatch5", "regexMatch"])
def test_a_trailing_line_break_matches_no_allow(function: str) -> None:
    """`$` stands before a last line break, so plain pycasbin allows another name than the rule's."""
    pattern = "^/x/y$" if function == "regexMatch" else "/x/y"
    case = Case(
        HEAD.format(**FIELDS, e=ALLOW, m=f"r.sub == p.sub && {function}(r.obj, p.obj)"), [["a", "d", pattern, "call", "allow"]]
    )

    assert case.plain().enforce("a", "d", "/x/y\n", "call")
    assert not case.engine().decide(["a", "d", "/x/y\n", "call"]).allowed
    assert case.engine().decide(["a", "d", "/x/y", "call"]).allowed


EMPTY: dict[str, tuple[str, list[Any], bool]] = {
    "empty texts": ("r.sub == p.sub && r.obj == p.obj", ["", "", "", ""], False),
    "an empty pattern": ("regexMatch(r.obj, p.obj)", ["a", "d", "t", "call"], False),
    "not equal": ("r.sub != p.sub", ["a", "d", "t", "call"], False),
    "whatever the rule": ('r.sub == "root" || r.sub == p.sub', ["root", "d", "t", "call"], True),
    "whatever the rule, somebody else": ('r.sub == "root" || r.sub == p.sub', ["a", "d", "t", "call"], False),
}


@pytest.mark.parametrize(("matcher", "request_", "allowed"), EMPTY.values(), ids=EMPTY.keys())
def test_without_rules_nothing_that_reads_a_rule_is_true(matcher: str, request_: list[Any], allowed: bool) -> None:
    """Casbin judges a rule of empty texts there."""
    case = Case(HEAD.format(**FIELDS, e=BOTH, m=matcher), [])

    assert case.engine().decide(request_).allowed is allowed


def test_one_bad_rule_breaks_no_other() -> None:
    """A rule that raises makes plain pycasbin raise for everybody; here a deny among them counts, an allow does not."""
    rows = [
        ["a", "d", "not an address", "call", "deny"],
        ["b", "d", "10.0.0.0/8", "call", "allow"],
        ["b", "d", "no", "call", "allow"],
    ]
    case = Case(HEAD.format(**FIELDS, e=BOTH, m="ipMatch(r.obj, p.obj) && r.sub == p.sub"), rows)

    assert case.engine().decide(["b", "d", "10.1.2.3", "call"]).allowed
    found = case.engine().decide(["a", "d", "10.1.2.3", "call"])
    assert (found.allowed, found.position, found.errors) == (False, 0, (0,))


def test_asking_for_unseen_names_grows_nothing() -> None:
    """Plain pycasbin keeps a manager for every domain that anybody named."""
    case = Case(HEAD.format(**FIELDS, e=BOTH, m=ROLES), [["a", "d", "t", "call", "allow"]], [["u", "a", "d"]])
    ours, plain = case.engine(), case.plain()
    for number in range(50):
        assert not ours.decide([f"u{number}", f"d{number}", "t", "call"]).allowed
        plain.enforce(f"u{number}", f"d{number}", "t", "call")

    assert len(plain.get_role_manager().rm_map) >= 50
    assert len(ours.closures["g"]._known) == 1


def test_only_texts_are_looked_up_by_the_index() -> None:
    """What is no plain text is compared with every rule, and equals none."""

    class Odd(str):
        __slots__ = ()

    case = Case(HEAD.format(**FIELDS, e=BOTH, m="r.obj == p.obj && r.sub == p.sub"), [["a", "d", "1", "call", "allow"]])
    assert not case.engine().decide(["a", "d", 1, "call"]).allowed
    assert not case.engine().decide(["a", "d", ["1"], "call"]).allowed
    assert case.engine().decide([Odd("a"), "d", "1", "call"]).allowed
