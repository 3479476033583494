"""Publish: an authorizer that is built, probed with a known allow and a known deny, and only then given out.

Comes after casbin_rules, before load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import metadata

from guard.core.model import Session
from guard.policy.casbin_rules import CasbinAuthorizer, row_of
from guard.policy.engine.syntax import attributes, parse
from guard.policy.problems import Problems, Spot
from guard.policy.rule_files import ACTS, ANY, PERSON, Rule, RuleBook
from guard.policy.rule_shape import Shape
from guard.policy.source import Item

REHEARSED = 10
"""As often as Python needs to know a piece of code as busy."""
FIRST_SAFE_SIMPLEEVAL = (1, 0, 8)
_NOBODY = "\x00nobody"
_NOWHERE = "\x00nowhere"
_NOTHING = "\x00nothing"
_COMPARE = "compare with the shipped model.conf"


def authorizer(shape: Shape | None, book: RuleBook, problems: Problems, spot: Spot | None = None) -> CasbinAuthorizer | None:
    """Build and probe. None when the policy cannot be used; `problems` says why. `spot` is a Casbin file, where there is one: it is there for rules.

    A folder of YAML alone may permit nothing yet, as a fresh draft does: each of its tools is warned about, and Casbin is never asked.
    """
    before = len(problems.errors)
    installation(problems)
    if spot is not None and not book.rules and not problems.errors:
        problems.error(spot, "no rule at all: nobody may do anything", "write allow: [role] at a tool")
    if shape is None or len(problems.errors) > before:
        return None
    rules, tried = _fitting(book.rules, shape, problems), _fitting(book.trial, shape, problems)
    try:
        built = CasbinAuthorizer(shape, rules, list(book.grants), roles=book.roles, groups=book.groups, trial=tried)
        _probe(built, rules, book, shape, problems)
        _rehearse(built, rules)
    except Exception as failure:  # noqa: BLE001 - a matcher of the user's may raise anything; each is a mistake of the policy
        problems.error(shape.model.at("m"), f"the matcher cannot be used: {type(failure).__name__}", _COMPARE)
        return None
    return built if len(problems.errors) == before else None


def _fitting(rules: Mapping[Rule, Item], shape: Shape, problems: Problems) -> list[Rule]:
    """The rules; what a model of the user's own cannot say is an error."""
    acts = "act" in shape.model.columns and "act" in shape.model.request
    for rule, spot in rules.items():
        if row_of(rule, shape) is None:
            named = ", ".join(name for name in shape.own if shape.uses.filled(name) is None)
            problems.error(spot, f"model.conf has the column {named}, which allow: cannot fill", "write the rule in a CSV file")
        if rule.act == "approve" and not acts:
            problems.error(spot, "model.conf has no act, so whoever may call could approve", "add act to r, p and the matcher")
    return list(rules)


def _probe(built: CasbinAuthorizer, rules: Sequence[Rule], book: RuleBook, shape: Shape, problems: Problems) -> None:
    """A known allow must be allowed; a stranger, and a tool that no rule names, must not be. As many rules as a moment affords."""
    spot = shape.model.at("m")
    budget = max(4, 2000 // max(1, len(rules)))
    engine = built.engine
    for act in ACTS:
        mine = [rule for rule in rules if rule.act == act]
        plain = [rule for rule in mine if rule.eft == "allow" and ANY not in rule.obj and rule.sub != ANY]
        for rule in plain[:budget]:
            others = [other for other in mine if book.covers(other, rule.obj)]
            known = _holder(rule)
            errors = [one for one in _asked(built, known, rule.obj, act) if one]
            if errors:
                texts = [f"({', '.join(engine.rows[place])})" for place in errors[0]]
                problems.error(spot, f"the matcher cannot be evaluated for the rule {texts[0]}", _COMPARE)
            elif (
                _knowable(rule, shape)
                and all(other.eft == "allow" for other in others)
                and not built.decide(known, rule.obj, act).allowed
            ):
                problems.error(spot, f"the matcher does not apply the rule {rule}", _COMPARE)
            nobody = Session(principal=_NOBODY, tenant=known.tenant)
            if all(other.sub != ANY for other in others) and built.decide(nobody, rule.obj, act).allowed:
                problems.error(spot, f"the matcher lets everybody {act} {rule.obj}", _COMPARE)
    _probe_deny(built, rules, shape, problems)


def _knowable(rule: Rule, shape: Shape) -> bool:
    """Whether the rule and its matcher ask nothing of the session's attributes, which a probe cannot know."""
    cells = zip(shape.model.columns, row_of(rule, shape) or (), strict=True)
    trees = [shape.tree, *(parse(cell) for name, cell in cells if "eval" in shape.uses.of(name))]
    return not any(path[:1] == ("session",) for tree in trees for path in attributes(tree))


def _rehearse(built: CasbinAuthorizer, rules: Sequence[Rule]) -> None:
    """A few decisions that nobody asked for, so that the first real one is no slower than those after it."""
    for rule in [*rules[:2], *rules[-2:]]:
        for request in built.requests(_holder(rule), rule.obj, rule.act, None):
            for _ in range(REHEARSED):
                built.engine.decide(request)


def _holder(rule: Rule) -> Session:
    """Somebody of whom the rule speaks."""
    person = rule.sub.startswith(PERSON)
    return Session(
        principal=rule.sub.removeprefix(PERSON) if person else _NOBODY,
        roles=() if person or rule.sub == ANY else (rule.sub,),
        tenant=_NOWHERE if ANY in rule.dom else rule.dom,
    )


def _asked(built: CasbinAuthorizer, session: Session, tool: str, act: str) -> list[tuple[int, ...]]:
    """The rules that raised, for each name of the session; without attributes, which a probe does not know."""
    if built.scoped or ("act" not in built.shape.model.request and act != "call"):
        return []
    return [built.engine.decide(request).errors for request in built.requests(session, tool, act, None)]


def _probe_deny(built: CasbinAuthorizer, rules: Sequence[Rule], shape: Shape, problems: Problems) -> None:
    """What must surely be refused: a stranger's call of a tool that nobody named, and what a deny rule forbids outright."""
    stranger = Session(principal=_NOBODY, tenant=_NOWHERE)
    named = all(rule.obj != ANY for rule in rules) and "obj" in shape.model.columns
    for act in ACTS if named else ():
        if built.decide(stranger, _NOTHING, act).allowed:
            problems.error(shape.model.at("m"), f"the matcher lets a stranger {act} any tool", _COMPARE)
    if built.scoped:
        return
    for rule in [one for one in rules if one.eft == "deny" and ANY not in one.obj][:4]:
        known = _holder(rule)
        if not built.decide(known, rule.obj, rule.act).denied:
            problems.error(shape.model.at("m"), f"the matcher does not apply the rule {rule}", _COMPARE)


# -- the installation --------------------------------------------------------------------------------------------------


def installation(problems: Problems) -> None:
    """What is installed beside the guard and would make its decisions somebody else's."""
    spot = Item("installed packages", None)
    if _installed("casbin") and _installed("pycasbin"):
        message = "casbin and pycasbin are both installed and write over each other's files"
        problems.error(spot, message, "pip uninstall casbin pycasbin, then pip install pycasbin")
    evaluator = _installed("simpleeval")
    if evaluator is not None and _numbers(evaluator) < FIRST_SAFE_SIMPLEEVAL:
        message = f"simpleeval {evaluator} lets an expression in a matcher reach Python modules"
        problems.error(spot, message, "pip install 'simpleeval>=1.0.8'")


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
