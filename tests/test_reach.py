"""A table of everybody asks the engine only where a rule may speak; what it leaves out, no rule speaks about. Over random models and rules."""

from __future__ import annotations

import random

import pytest
from engine_kit import HEAD

from guard.core.model import Session
from guard.policy.casbin_rules import CasbinAuthorizer
from guard.policy.engine.model import BOTH, read_model
from guard.policy.problems import Problems
from guard.policy.rule_files import Grant, Rule
from guard.policy.rule_shape import shape, shipped

MATCHERS = {
    "as shipped": "",
    "roles first": "g(r.sub, p.sub, r.dom) && r.obj == p.obj && r.act == p.act && r.dom == p.dom",
    "patterns": "keyMatch(r.obj, p.obj) && (p.dom == '*' || r.dom == p.dom) && (p.act == '*' || r.act == p.act) && g(r.sub, p.sub, r.dom)",
    "an or at the top": "r.obj == p.obj && r.act == p.act && g(r.sub, p.sub, r.dom) || r.sub == p.sub",
    "who and what in one term": "(r.sub == p.sub || r.obj == p.obj) && r.act == p.act",
    "nothing about who": "r.obj == p.obj && r.act == p.act",
    "another function": "keyMatch2(r.obj, p.obj) && r.act == p.act && g(r.sub, p.sub, r.dom)",
}
TOOLS = ("tool1", "tool2", "other")


def judge(matcher: str, chance: random.Random) -> CasbinAuthorizer:
    text = HEAD.format(r="sub, dom, obj, act", p="sub, dom, obj, act, eft", e=BOTH, m=matcher) if matcher else shipped()
    model = read_model(text, "model.conf", Problems())
    assert model is not None
    made = shape(model, Problems())
    assert made is not None
    subjects, doms = ["role1", "role2", "user:ann", "*"], ["acme", "*"]
    objs, acts = ["tool1", "tool2", "tool*", "*"], ["call", "approve", "*"] if "p.act == '*'" in matcher else ["call", "approve"]
    rules = [
        Rule(*(chance.choice(one) for one in (subjects, doms, objs, acts, ["allow", "allow", "deny"])))
        for _ in range(chance.randrange(1, 12))
    ]
    grants = [Grant(chance.choice(["ann", "role1"]), chance.choice(["role2", "role3"]), chance.choice(doms)) for _ in range(3)]
    return CasbinAuthorizer(made, list(dict.fromkeys(rules)), list(dict.fromkeys(grants)))


@pytest.mark.parametrize("matcher", MATCHERS.values(), ids=MATCHERS)
def test_whoever_is_left_out_no_rule_speaks_about(matcher: str) -> None:
    """For every person, tenant, tool and act: outside of the reach the verdict is neither allowed nor denied, by no rule."""
    sessions = [
        Session(principal=who, roles=roles, tenant=tenant)
        for who, roles in (("ann", ()), ("ann", ("role1",)), ("bob", ("role2",)), ("bob", ()))
        for tenant in ("acme", "other")
    ]
    left = 0
    for seed in range(60):
        made = judge(matcher, random.Random(seed))
        reach = made.reach(sessions)
        for tool in TOOLS:
            for act in ("call", "approve"):
                spoken = reach.spoken_of(tool, act)
                for number, session in enumerate(sessions):
                    verdict = made.decide(session, tool, act)
                    if number not in spoken:
                        left += 1
                        assert (verdict.allowed, verdict.denied, verdict.rules) == (False, False, ())
    assert left or "or " in matcher or "||" in matcher
