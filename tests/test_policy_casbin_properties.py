"""Casbin under generated rules: a deny never widens, and the answers are those of the plain reading."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from policy_casbin_kit import judging

from guard.core.model import Session
from guard.policy.engine.closure import Closure
from guard.policy.rule_files import Grant, Rule, RuleBook

SUBJECTS = ["user:E1", "user:boss", "clerk", "boss", "*"]
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
    before = judging(rules, grants, roles=("clerk", "boss"))
    after = judging([*rules, deny], grants, roles=("clerk", "boss"))

    for tool in ("pay", "read", "none"):
        for act in ("call", "approve"):
            assert before.decide(session, tool, act).allowed or not after.decide(session, tool, act).allowed


@settings(max_examples=150, deadline=None)
@given(st.lists(RULES, max_size=8), GRANTS, SESSIONS)
def test_casbin_says_what_the_rules_say(rules: list[Rule], grants: list[Grant], session: Session) -> None:
    """The answer equals the plain reading: some rule allows one of the subjects, none denies one."""
    judge = judging(rules, grants, roles=("clerk", "boss"))
    own = {*session.roles, f"user:{session.principal}"}
    persons = [Grant("user:E1", grant.role, grant.dom) for grant in grants if grant.sub == "E1"]
    graph = Closure((one.sub, one.role, one.dom) for one in [*grants, *persons])
    subjects = {name for one in own for name in graph.of(one, session.tenant)} | ({"*"} if own else set())
    for tool in ("pay", "read", "none"):
        hits = {
            rule.eft
            for rule in rules
            if rule.act == "call" and RuleBook().covers(rule, tool) and rule.sub in subjects and rule.dom in {session.tenant, "*"}
        }
        verdict = judge.decide(session, tool, "call")

        assert (verdict.allowed, verdict.denied) == (hits == {"allow"}, "deny" in hits)
