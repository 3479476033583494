"""Casbin: some rule must allow and none may deny; rule files are read loudly; nothing that Casbin lets slip gets through."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.core.model import Session
from guard.core.ports import Authorizer
from guard.errors import PolicyError
from guard.policy import load_policy
from guard.policy.casbin_rules import MAX_MEMO, CasbinAuthorizer, authorizer, model_text
from guard.policy.problems import Problems
from guard.policy.rule_files import Grant, Graph, Rule

TOOLS = """
tools:
  read_it: {kind: read, allow: [employee]}
  pay: {kind: action, allow: [employee], approve: {by: [supervisor]}}
  mcp__tts__say: {kind: read}
  mcp__tts_evil__say: {kind: read}
"""
MODEL = model_text([], Problems())


def loaded(tmp_path: Path, csv: str = "", model: str | None = None) -> Authorizer:
    """The authorizer of a small policy with these rules."""
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (tmp_path / "rules.csv").write_text(csv)
    if model is not None:
        (tmp_path / "model.conf").write_text(model)
    return load_policy(tmp_path).policy.authorizer


def who(principal: str = "E1", *roles: str, tenant: str = "acme", within: Session | None = None) -> Session:
    """A session."""
    return Session(principal=principal, roles=roles, tenant=tenant, within=within)


DECISIONS = {
    # name: (rules, session, tool, act, allowed, denied)
    "a role is allowed": ("", who("E1", "employee"), "read_it", "call", True, False),
    "without the role": ("", who("E1"), "read_it", "call", False, False),
    "an unknown tool": ("", who("E1", "employee"), "wipe", "call", False, False),
    "another act": ("", who("E1", "employee"), "pay", "approve", False, False),
    "an approver": ("", who("E2", "supervisor"), "pay", "approve", True, False),
    "an approver may not call": ("", who("E2", "supervisor"), "pay", "call", False, False),
    "a deny beats an allow": ("p, intern, *, pay, call, deny", who("E1", "employee", "intern"), "pay", "call", False, True),
    "a deny by person": ("p, E1, *, pay, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a deny of another person": ("p, E9, *, pay, call, deny", who("E1", "employee"), "pay", "call", True, False),
    "a deny of everybody": ("p, *, *, pay, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a deny in this tenant": ("p, *, acme, pay, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a deny in another tenant": ("p, *, other, pay, call, deny", who("E1", "employee"), "pay", "call", True, False),
    "a deny by prefix": ("p, *, *, p*, call, deny", who("E1", "employee"), "pay", "call", False, True),
    "a deny to approve": ("p, E2, *, pay, approve, deny", who("E2", "supervisor"), "pay", "approve", False, True),
    "an allow by person": ("p, E1, *, read_it, call, allow", who("E1"), "read_it", "call", True, False),
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
    "a person called *": ("", who("*"), "read_it", "call", False, False),
}


@pytest.mark.parametrize(("csv", "session", "tool", "act", "allowed", "denied"), DECISIONS.values(), ids=DECISIONS.keys())
def test_a_decision(tmp_path: Path, csv: str, session: Session, tool: str, act: str, allowed: bool, denied: bool) -> None:
    """Some rule must allow and none may deny, for the person or any role."""
    verdict = loaded(tmp_path, csv).decide(session, tool, act)

    assert (verdict.allowed, verdict.denied) == (allowed, denied)


def test_a_verdict_names_its_rules(tmp_path: Path) -> None:
    """The audit can say which rule allowed, and which one denied."""
    judge = loaded(tmp_path, "p, E1, *, pay, call, deny\n")

    assert judge.decide(who("E2", "employee"), "pay", "call").rules == ("p, employee, *, pay, call, allow",)
    assert judge.decide(who("E1", "employee"), "pay", "call").rules == ("p, E1, *, pay, call, deny",)
    assert judge.decide(who("E2"), "pay", "call").rules == ()


def test_a_child_is_never_wider_than_whom_it_is_within(tmp_path: Path) -> None:
    """A child needs its own role, does not inherit the person's, and falls with the parent's denies."""
    judge = loaded(tmp_path, "g, E1, employee, *\np, E9, *, pay, call, deny\n")
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


def test_a_long_role_chain_keeps_its_deny(tmp_path: Path) -> None:
    """Casbin's own role manager forgets roles beyond ten steps; a deny at the end of a long chain still counts."""
    chain = "".join(f"g, r{n}, r{n + 1}, *\n" for n in range(30))
    judge = loaded(tmp_path, chain + "p, r30, *, pay, call, deny\n")

    assert judge.decide(who("E1", "employee", "r0"), "pay", "call").denied


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


def test_a_policy_without_rules_allows_nothing(tmp_path: Path) -> None:
    """Casbin without rules judges an empty one; it is never asked."""
    judge = CasbinAuthorizer(MODEL, [], [], roles=())

    assert not judge.decide(who("E1", ""), "", "").allowed
    (tmp_path / "tools.yaml").write_text("tools: {a: {kind: read}}")
    assert not load_policy(tmp_path).policy.authorizer.decide(who("E1", "x"), "a", "call").allowed


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


def test_what_casbin_raises_is_not_swallowed_and_not_remembered() -> None:
    """An error is no answer: it goes up every time, and the core refuses."""
    rules = [Rule("a", "*", "t", "call", "allow")]
    judge = CasbinAuthorizer(MODEL.replace("r.act == p.act &&", "nosuch(r.act) &&"), rules, [], roles=("a",))

    for _ in range(2):
        with pytest.raises(Exception, match="nosuch"):
            judge.decide(who("E1", "a"), "t", "call")
    assert judge._memo == {}


def test_only_texts_are_judged() -> None:
    """`1 == True` must never meet in a memo."""
    judge = CasbinAuthorizer(MODEL, [Rule("a", "*", "t", "call", "allow")], [], roles=("a",))

    with pytest.raises(TypeError):
        judge.decide(who("E1", 1), "t", "call")  # type: ignore[arg-type]


def test_the_memo_is_bounded() -> None:
    """Names from outside cannot make the policy grow without end."""
    judge = CasbinAuthorizer(MODEL, [Rule("a", "*", "t", "call", "allow")], [Grant("x", "a", "*")], roles=("a",))
    for number in range(MAX_MEMO + 10):
        judge._memo[(frozenset(), str(number), "", "")] = judge.decide(who("E1"), "t", "call")
    for number in range(20):
        judge.decide(who(f"E{number}"), "t", "call")

    assert len(judge._memo) <= MAX_MEMO + 11
    assert len(judge._graph._known) <= 1


def test_logging_of_the_host_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Building a policy changes no logger, and no decision is ever logged: it would say who asked for what."""
    logger = logging.getLogger("casbin.enforcer")
    before = logger.disabled
    with caplog.at_level(logging.DEBUG):
        loaded(tmp_path).decide(who("E-private", "stranger"), "pay", "call")

    assert logger.disabled == before
    assert "E-private" not in caplog.text


def test_threads_get_the_answers_that_one_gets() -> None:
    """Many threads with unseen people at once: no error, no wrong answer."""
    rules = [Rule("employee", "*", "t", "call", "allow"), Rule("bad", "*", "t", "call", "deny")]
    judge = CasbinAuthorizer(MODEL, rules, [Grant("intern", "bad", "*")], roles=("employee",))
    wrong: list[object] = []

    def ask(thread: int) -> None:
        for number in range(50):
            session = who(f"{thread}-{number}", "employee", *(["intern"] if number % 2 else []))
            verdict = judge.decide(session, "t", "call")
            if verdict.allowed == bool(number % 2):
                wrong.append(session)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


# -- properties ------------------------------------------------------------------------------------------------------

SUBJECTS = ["E1", "E2", "clerk", "boss", "*"]
RULES = st.builds(
    Rule,
    st.sampled_from(SUBJECTS),
    st.sampled_from(["acme", "other", "*"]),
    st.sampled_from(["pay", "p*", "read"]),
    st.sampled_from(["call", "approve"]),
    st.sampled_from(["allow", "deny"]),
)
GRANTS = st.lists(
    st.sampled_from([Grant(sub, role, dom) for sub, role in (("E1", "clerk"), ("clerk", "boss")) for dom in ("acme", "*")]),
    max_size=3,
    unique=True,
)
SESSIONS = st.builds(
    lambda principal, roles, tenant: Session(principal=principal, roles=tuple(roles), tenant=tenant),
    st.sampled_from(["E1", "E2", "E3", "boss"]),
    st.lists(st.sampled_from(["clerk", "boss", "guest"]), max_size=2, unique=True),
    st.sampled_from(["acme", "other", "third"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(RULES, max_size=6), RULES, GRANTS, SESSIONS)
def test_adding_a_deny_never_allows(rules: list[Rule], extra: Rule, grants: list[Grant], session: Session) -> None:
    """Whatever the policy: with one more deny rule nothing that was refused becomes allowed."""
    deny = Rule(extra.sub, extra.dom, extra.obj, extra.act, "deny")
    before = CasbinAuthorizer(MODEL, rules, grants, roles=("clerk", "boss"))
    after = CasbinAuthorizer(MODEL, [*rules, deny], grants, roles=("clerk", "boss"))

    for tool in ("pay", "read", "none"):
        for act in ("call", "approve"):
            assert before.decide(session, tool, act).allowed or not after.decide(session, tool, act).allowed


@settings(max_examples=150, deadline=None)
@given(st.lists(RULES, max_size=8), GRANTS, SESSIONS)
def test_casbin_says_what_the_rules_say(rules: list[Rule], grants: list[Grant], session: Session) -> None:
    """The answer equals the plain reading: some rule allows one of the subjects, none denies one."""
    judge = CasbinAuthorizer(MODEL, rules, grants, roles=("clerk", "boss"))
    own = set(session.roles) | ({session.principal} - {"clerk", "boss"})
    graph = Graph(grants)
    subjects = {name for one in own for name in graph.of(one, session.tenant)} | ({"*"} if own else set())
    for tool in ("pay", "read", "none"):
        hits = {
            rule.eft
            for rule in rules
            if rule.act == "call" and rule.covers(tool) and rule.sub in subjects and rule.dom in {session.tenant, "*"}
        }
        verdict = judge.decide(session, tool, "call")

        assert (verdict.allowed, verdict.denied) == (hits == {"allow"}, "deny" in hits)


def test_the_shipped_model_is_used_when_the_folder_has_none() -> None:
    """The package brings a model of its own."""
    problems = Problems()

    assert authorizer([], [Rule("a", "*", "t", "call", "allow")], [], {"a"}, problems) is not None
    assert problems.errors == []
