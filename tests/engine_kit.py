"""What the tests of the engine share: reading model and rules as text, plain pycasbin beside it, and generated policies."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casbin
from casbin.persist import Adapter

from guard.policy.engine.engine import Engine
from guard.policy.engine.model import ALLOW, BOTH, NO_DENY, PRIORITY, read_model
from guard.policy.problems import Problems

HEAD = "[request_definition]\nr = {r}\n[policy_definition]\np = {p}\n[role_definition]\ng = _, _, _\n[policy_effect]\ne = {e}\n[matchers]\nm = {m}\n"
CELLS = {
    "sub": ["u0", "u1", "u2", "u3", "u4", "r0", "r1", "r2", "r3", "*"],
    "dom": ["d0", "d1", "*"],
    "obj": ["tool", "tool2", "other", "pay", "to*", "*", "tool*"],
    "act": ["call", "read", "*"],
}
ASKED = {
    "sub": [*(f"u{n}" for n in range(5)), "r1", "stranger", ""],
    "dom": ["d0", "d1", "d9", "*"],
    "obj": ["tool", "tool2", "other", "pay", "to", "none", ""],
    "act": ["call", "read", "write"],
}
MATCHERS = {
    "g first": "g(r.sub, p.sub, r.dom) && r.dom == p.dom && r.obj == p.obj && r.act == p.act",
    "tool first": "r.obj == p.obj && r.act == p.act && r.dom == p.dom && g(r.sub, p.sub, r.dom)",
    "key": "keyMatch(r.obj, p.obj) && r.act == p.act && p.dom == r.dom && g(r.sub, p.sub, r.dom)",
    "open": '(p.act == "*" || r.act == p.act) && keyMatch(r.obj, p.obj) && (p.dom == "*" || r.dom == p.dom) && (p.sub == "*" || g(r.sub, p.sub, r.dom))',
    "top-level or": 'r.sub == "u3" || g(r.sub, p.sub, r.dom) && r.dom == p.dom && keyMatch(r.obj, p.obj)',
    "not": '!(p.act == "read") && r.obj in (p.obj, "pay") && g(r.sub, p.sub, r.dom) && (r.dom != "d1" || p.dom == "d1")',
    "arithmetic": 'g(r.sub, p.sub, r.dom) && (p.act + "" == r.act || 1 + 1 == 3) && keyMatch(r.obj, p.obj)',
}
"""The last one is more than the compiler understands."""
EFFECTS = (ALLOW, BOTH, NO_DENY, PRIORITY)


@dataclass
class Case:
    """A model's text, its rules and its role lines."""

    model: str
    rows: list[list[str]]
    links: list[list[str]] = field(default_factory=list)

    def engine(self) -> Engine:
        """Ours."""
        problems = Problems()
        model = read_model(self.model, "model.conf", problems)
        assert model is not None, problems.errors
        return Engine(model, self.rows, {"g": self.links})

    def plain(self) -> Any:
        """Plain pycasbin, loaded as it loads."""
        return enforcer(self.model, self.rows, {"g": self.links})


class _Rows(Adapter):
    def __init__(self, rows: Sequence[Sequence[str]], links: dict[str, list[list[str]]]) -> None:
        self.rows, self.links = rows, links

    def load_policy(self, model: Any) -> None:
        model["p"]["p"].policy = [list(row) for row in self.rows]
        for name, found in self.links.items():
            if "g" in model.keys():  # noqa: SIM118
                model["g"][name].policy = [list(link) for link in found]


def enforcer(model: str, rows: Sequence[Sequence[str]], links: dict[str, list[list[str]]]) -> Any:
    """A plain enforcer over a model's text."""
    return casbin.Enforcer(casbin.Enforcer.new_model(text=model), _Rows(rows, links))


def random_case(dice: random.Random, name: str) -> Case:
    """A policy of 1 to 29 rules and 0 to 14 role links without circles."""
    columns = ("sub", "dom", "obj", "act", "eft")
    rows = [
        [*(dice.choice(CELLS[one]) for one in columns[:4]), dice.choice(["allow"] * 3 + ["deny"])]
        for _ in range(dice.randint(1, 29))
    ]
    order = [f"u{n}" for n in range(5)] + [f"r{n}" for n in range(4)]
    links = []
    for _ in range(dice.randint(0, 14)):
        low, high = sorted(dice.sample(range(len(order)), 2))
        if high >= 5:
            links.append([order[low], order[high], dice.choice(["d0", "d1"])])
    effect = dice.choice(EFFECTS)
    return Case(HEAD.format(r="sub, dom, obj, act", p=", ".join(columns), e=effect, m=MATCHERS[name]), rows, links)


def random_request(dice: random.Random) -> list[str]:
    """A request, often with names that no rule has."""
    return [dice.choice(ASKED[one]) for one in ("sub", "dom", "obj", "act")]


def read_rules_text(text: str) -> tuple[list[list[str]], dict[str, list[list[str]]]]:
    """Rules and role lines of a CSV text."""
    rows: list[list[str]] = []
    links: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if line.strip() and not line.startswith("#"):
            target = rows if cells[0] == "p" else links.setdefault(cells[0], [])
            target.append(cells[1:])
    return rows, links
