"""Casbin's decisions: some rule must allow and none may deny, for the person or any of their roles."""

from __future__ import annotations

from pathlib import Path

import pytest
from policy_casbin_kit import MODEL, judging, loaded, who

from guard.core.model import Session
from guard.errors import PolicyError
from guard.policy import load_policy
from guard.policy.engine.closure import MAX_CHAIN

DECISIONS = {
    # name: (rules, session, tool, act, allowed, denied)
    "a role is allowed": ("", who("E1", "employee"), "read_it", "call", True, False),
    "without the role": ("", who("E1"), "read_it", "call", False, False),
    "an unknown tool": ("", who("E1", "employee"), "wipe", "call", False, False),
    "another act": ("", who("E1", "employee"), "pay", "approve", False, False),
    "an approver": ("", who("E2", "supervisor"), "pay", "approve", True, False),
    "an approver may not call": ("", who("E2", "supervisor"), "pay", "call", False, False),
    "a deny beats an allow": ("p, intern, *, pay, call, deny", who("E1", "employee", "intern"), "pay", "call", False, True),
    "a deny by person": ("p, user:E1, *, pay, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a deny of another person": ("p, user:E9, *, pay, call, deny", who("E1", "employee"), "pay", "call", True, False),
    "a deny of everybody": ("p, *, *, pay, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a deny in this tenant": ("p, *, acme, pay, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a deny in another tenant": ("p, *, other, pay, call, deny", who("E1", "employee"), "pay", "call", True, False),
    "a deny by prefix": ("p, *, *, p*, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a deny to approve": ("p, user:E2, *, pay, approve, deny", who("E2", "supervisor"), "pay", "approve", False, True),
    "an allow by person": ("p, user:E1, *, read_it, call, allow", who("E1"), "read_it", "call", True, False),
    "a prefix covers its server": ("p, a, *, mcp__tts__*, call, allow", who("E1", "a"), "mcp__tts__say", "call", True, False),
    "a prefix covers no look-alike": (
        "p, a, *, mcp__tts__*, call, allow",
        who("E1", "a"),
        "mcp__tts_evil__say",
        "call",
        False,
        False,
    ),
    "a role by rule": ("g, E1, employee, acme", who("E1"), "read_it", "call", True, False),
    "a role in another tenant": ("g, E1, employee, other", who("E1"), "read_it", "call", False, False),
    "a role everywhere": ("g, E1, employee, *", who("E1"), "read_it", "call", True, False),
    "a role of a role": ("g, clerk, employee, *", who("E1", "clerk"), "read_it", "call", True, False),
    "a person called like a role": ("", who("supervisor", "employee"), "pay", "approve", False, False),
    "a person called like a role of a rule": ("p, auditor, *, pay, call, allow", who("auditor"), "pay", "call", False, False),
    "a person who has that role": ("p, auditor, *, pay, call, allow", who("E1", "auditor"), "pay", "call", True, False),
    "a role called like a person of a rule": ("p, user:E1, *, pay, call, allow", who("x", "E1"), "pay", "call", False, False),
    "a role spelled like a person": ("p, user:E1, *, pay, call, allow", who("x", "user:E1"), "pay", "call", False, False),
    "a person whose name is a role": (
        "p, user:employee, *, pay, call, deny",
        who("employee", "employee"),
        "pay",
        "call",
        False,
        True,
    ),
    "a deny by role, spelled out": ("p, role:employee, *, pay, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a role by rule for a person": ("g, user:E1, employee, *", who("E1"), "read_it", "call", True, False),
    "that is no role of a role": ("g, user:E1, employee, *", who("x", "E1"), "read_it", "call", False, False),
    "a role by rule for a role": ("g, role:E1, employee, *", who("E1"), "read_it", "call", False, False),
    "a role that a rule names is no person": (
        "g, clerk, employee, *\np, clerk, *, pay, call, deny",
        who("clerk"),
        "read_it",
        "call",
        False,
        False,
    ),
    "a person called *": ("", who("*"), "read_it", "call", False, False),
}


@pytest.mark.parametrize(("csv", "session", "tool", "act", "allowed", "denied"), DECISIONS.values(), ids=DECISIONS.keys())
def test_a_decision(tmp_path: Path, csv: str, session: Session, tool: str, act: str, allowed: bool, denied: bool) -> None:
    """Some rule must allow and none may deny, for the person or any role."""
    verdict = loaded(tmp_path, csv).decide(session, tool, act)

    assert (verdict.allowed, verdict.denied) == (allowed, denied)


def test_a_verdict_names_its_rules(tmp_path: Path) -> None:
    """The audit can say which rule allowed, and which one denied."""
    judge = loaded(tmp_path, "p, user:E1, *, pay, call, deny\n")

    assert judge.decide(who("E2", "employee"), "pay", "call").rules == ("p, employee, *, pay, call, allow",)
    assert judge.decide(who("E1", "employee"), "pay", "call").rules == ("p, user:E1, *, pay, call, deny",)
    assert judge.decide(who("E2"), "pay", "call").rules == ()


def test_a_child_is_never_wider_than_whom_it_is_within(tmp_path: Path) -> None:
    """A child needs its own role, does not inherit the person's, and falls with the parent's denies."""
    judge = loaded(tmp_path, "g, E1, employee, *\np, user:E9, *, pay, call, deny\n")
    parent = who("E1", "employee")

    assert judge.decide(who("E1", "employee", within=parent), "pay", "call").allowed
    assert not judge.decide(who("E1", within=parent), "pay", "call").allowed
    assert not judge.decide(who("E1", "employee", within=who("E8")), "pay", "call").allowed
    assert judge.decide(who("E9", "employee", within=who("E9", "employee")), "pay", "call").denied
    assert judge.roles(who("E1", within=parent)) == frozenset()


def test_roles_include_derived_ones(tmp_path: Path) -> None:
    """Roles follow through roles, in the session's tenant; the person's own id is none of them."""
    judge = loaded(tmp_path, "g, E1, clerk, acme\ng, clerk, employee, *\ng, E1, supervisor, other\n")

    assert judge.roles(who("E1", "guest")) == {"guest", "clerk", "employee"}
    assert judge.roles(who("E1", tenant="other")) == {"supervisor"}


def test_a_role_chain_up_to_the_limit_keeps_its_deny(tmp_path: Path) -> None:
    """A deny at the end of the longest chain that Casbin follows counts, through a person's own grant too, whatever the tenant."""
    for where in ("*", "acme"):
        chain = "".join(f"g, r{n}, r{n + 1}, {'*' if n % 2 else where}\n" for n in range(MAX_CHAIN - 1)) + f"g, E7, r0, {where}\n"
        judge = loaded(tmp_path, chain + f"p, r{MAX_CHAIN - 1}, *, pay, call, deny\n")

        assert judge.decide(who("E1", "employee", "r0"), "pay", "call").denied
        assert judge.decide(who("E7", "employee"), "pay", "call").denied


@pytest.mark.parametrize("length", [MAX_CHAIN + 1, MAX_CHAIN + 2, 30])
def test_a_longer_chain_stops_the_load(tmp_path: Path, length: int) -> None:
    """Casbin forgets roles beyond its limit, and a deny there with them; here the line that goes too far is named, in any tenant."""
    for where in ("*", "acme"):
        chain = "".join(f"g, r{n}, r{n + 1}, {'*' if n % 2 else where}\n" for n in range(length))
        with pytest.raises(PolicyError) as caught:
            loaded(tmp_path, chain + f"p, r{length}, *, pay, call, deny\n")
        (problem,) = [one for one in caught.value.problems if "steps away" in one.message][:1]
        assert (problem.file, problem.line, bool(problem.cure)) == ("rules.csv", MAX_CHAIN + 1, True)


def test_a_policy_without_rules_allows_nothing(tmp_path: Path) -> None:
    """Casbin without rules judges an empty one; it is never asked."""
    assert not judging([]).decide(who("E1", ""), "", "").allowed
    (tmp_path / "tools.yaml").write_text("tools: {a: {kind: read}}")
    assert not load_policy(tmp_path).policy.authorizer.decide(who("E1", "x"), "a", "call").allowed


@pytest.mark.parametrize(("name", "text"), [("rules.csv", ""), ("rules.csv", "# none\ng, E1, x, *\n"), ("model.conf", MODEL)])
def test_casbin_files_without_a_rule_stop_the_load(tmp_path: Path, name: str, text: str) -> None:
    """Whoever writes them means rules; where none is left, something was lost."""
    (tmp_path / "tools.yaml").write_text("tools: {a: {kind: read}}")
    (tmp_path / name).write_text(text)
    with pytest.raises(PolicyError, match=f"{name}:1: no rule at all"):
        load_policy(tmp_path)
