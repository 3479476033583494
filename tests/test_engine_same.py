"""The engine beside plain pycasbin: the same decision and the same deciding rule, in more than 16,000 generated requests."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from engine_kit import EFFECTS, HEAD, MATCHERS, Case, enforcer, random_case, random_request

POLICIES, REQUESTS = 60, 40


@pytest.mark.parametrize("way", ["compiled", "stock"])
@pytest.mark.parametrize("name", MATCHERS)
def test_decision_and_rule_are_those_of_plain_casbin(name: str, way: str) -> None:
    """60 policies, 40 requests each, for 7 matchers, once compiled and once by pycasbin over the candidates: 33,600 comparisons."""
    dice = random.Random(f"{name} {way}")
    for number in range(POLICIES):
        case = random_case(dice, name)
        ours, plain = case.engine(), case.plain()
        if name == "arithmetic":
            assert ours.compiled is None
        if way == "stock":
            ours.compiled = None
        for _ in range(REQUESTS):
            request = random_request(dice)
            wanted, rule = plain.enforce_ex(*request)
            found = ours.decide(request)
            told = [] if found.position is None else list(ours.rows[found.position])
            assert (found.allowed, told) == (wanted, rule), (number, request, case)


@dataclass
class Ctx:
    session: Any
    arguments: Any


@dataclass
class Facts:
    """What a request brings; an attribute may be missing."""

    values: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        if name not in values:
            raise AttributeError(name)
        return values[name]


CONDITIONS = [
    "True",
    "r.ctx.session.level > 2",
    "r.ctx.arguments.amount <= 100",
    "r.ctx.arguments.amount <= 100 || r.ctx.session.level == 9",
    "!(r.ctx.arguments.kind == p.obj)",
    "r.act in ('call', 'read') && r.ctx.session.level >= 1",
    "p.sub == r.sub",
]


@pytest.mark.parametrize("effect", EFFECTS[:2], ids=["allow", "allow-and-deny"])
@pytest.mark.parametrize("way", ["compiled", "stock"])
def test_conditions_and_errors_are_those_of_each_rule_by_itself(effect: str, way: str) -> None:
    """With attributes, `eval` and missing facts: as pycasbin judges each rule alone, an error in a deny a match, in an allow none."""
    dice = random.Random(f"{effect} {way}")
    model = HEAD.format(
        r="sub, dom, obj, act, ctx",
        p="sub, dom, obj, act, cond, eft",
        e=effect,
        m="r.obj == p.obj && g(r.sub, p.sub, r.dom) && r.act == p.act && eval(p.cond)",
    )
    for _ in range(25):
        base = random_case(dice, "key")
        rows = [[*row[:4], dice.choice(CONDITIONS), row[4]] for row in base.rows]
        case = Case(model, [[*row[:2], "tool", "call", *row[4:]] for row in rows], base.links)
        ours = case.engine()
        alone = [enforcer(model, [row], {"g": base.links}) for row in ours.rows]
        if way == "stock":
            ours.compiled = None
        for _ in range(12):
            facts = {
                "session": {"level": dice.randint(0, 4)} if dice.random() < 0.7 else {},
                "arguments": {"amount": dice.choice([50, 100, 101]), "kind": "tool"} if dice.random() < 0.7 else {},
            }
            names = random_request(dice)[:2]
            request = [*names, "tool", "call"]
            context = Ctx(Facts(facts["session"]), Facts(facts["arguments"]))
            hits = {row[5] for row, one in zip(ours.rows, alone, strict=True) if _hit(one, [*request, context], row[5])}
            wanted = "allow" in hits and (effect == EFFECTS[0] or "deny" not in hits)
            assert ours.decide([*request, ours.view(facts)]).allowed == wanted, (request, facts, case.rows)


def _hit(one: Any, request: list[Any], effect: str) -> bool:
    try:
        return bool(one.enforce_ex(*request)[1])
    except Exception:
        return effect == "deny"


def test_a_role_everywhere_is_casbins_matching_domain() -> None:
    """`*` as a tenant of a g line: as plain pycasbin says with a domain function for which `*` is any."""
    dice = random.Random(5)
    for _ in range(40):
        case = random_case(dice, "open")
        case.links = [[sub, role, dice.choice(["d0", "*"])] for sub, role, _ in case.links]
        ours, plain = case.engine(), case.plain()
        plain.add_named_domain_matching_func("g", lambda one, pattern: pattern in ("*", one))
        plain.build_role_links()
        for _ in range(20):
            request = random_request(dice)
            assert ours.decide(request).allowed == plain.enforce(*request), (request, case)
