"""Casbin: who may call or approve which tool, judged by a private pycasbin enforcer that is never changed after it is built.

Some rule must allow and none may deny. The enforcer is kept from its traps: it is never asked without rules, never disabled, never given
anything but texts, its role lookup is replaced by ours (no depth limit, no growth with unseen names), and its logging stays silent, since
it would write who asked for what. What it raises goes on up; the core refuses. Comes after rule_files and before load.
"""

from __future__ import annotations

import configparser
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any

from guard.core.model import Session
from guard.core.ports import Verdict
from guard.core.values import Json
from guard.policy.engine.explain import Explained
from guard.policy.problems import Problems
from guard.policy.rule_files import ACTS, ANY, PERSON, Grant, Graph, Rule
from guard.policy.source import File, Item, text_of

MAX_MEMO = 4096
"""Answers that are remembered; then all are forgotten."""

_NOBODY = "\x00nobody"
_NOWHERE = "\x00nowhere"
_SECTIONS = {
    "request_definition": ("r", "sub, dom, obj, act"),
    "policy_definition": ("p", "sub, dom, obj, act, eft"),
    "role_definition": ("g", "_, _, _"),
    "policy_effect": ("e", "some(where (p.eft == allow)) && !some(where (p.eft == deny))"),
}
_LOGGERS = ("casbin", "casbin.policy", "casbin.enforcer", "casbin.role")


def model_text(files: Sequence[File], problems: Problems) -> str:
    """The folder's own model.conf, or the shipped one. Definitions other than ours are mistakes: only the matcher is free."""
    file = next((one for one in files if one.name == "model.conf"), None)
    if file is None:
        return (resources.files("guard.policy") / "model.conf").read_text("utf-8")
    text = text_of(file, problems) or ""
    spot = Item(file.name, 1)
    reader = configparser.RawConfigParser(strict=True, delimiters=("=",), comment_prefixes=("#", ";"))
    reader.optionxform = str  # type: ignore[method-assign,assignment]  # Casbin tells R from r
    try:
        reader.read_string(text)
    except configparser.Error as failure:
        problems.error(spot, f"not a Casbin model: {str(failure).splitlines()[0]}")
        return text
    for section, (key, wanted) in _SECTIONS.items():
        found = dict(reader[section]) if reader.has_section(section) else {}
        if list(found) != [key] or _squeezed(found[key]) != _squeezed(wanted):
            problems.error(
                Item(file.name, _line(text, section)), f"[{section}] must be {key} = {wanted}", "only the matcher is free"
            )
    if not reader.has_section("matchers") or list(reader["matchers"]) != ["m"]:
        problems.error(Item(file.name, _line(text, "matchers")), "[matchers] must hold m and nothing else")
    return text


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _line(text: str, section: str) -> int:
    lines = [line.strip() for line in text.splitlines()]
    return lines.index(f"[{section}]") + 1 if f"[{section}]" in lines else 1


class CasbinAuthorizer:
    """Implements the core's `Authorizer` over one frozen set of rules."""

    def __init__(self, model: str, rules: Sequence[Rule], grants: Sequence[Grant], *, roles: Iterable[str]) -> None:
        names = frozenset(roles) | {grant.role for grant in grants} | {rule.sub for rule in rules}
        self._graph = Graph(_linked(grants, names))
        self._enforcer = _enforcer(model, rules, self._graph) if rules else None
        self._memo: dict[tuple[frozenset[str], str, str, str], Verdict] = {}
        self._lock = threading.Lock()

    @property
    def scoped(self) -> bool:
        """Whether some rule reads more than names."""
        return False

    def explain(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None = None) -> Explained:
        """The verdict with the rules about this tool and act, and the ways to the session's roles."""
        return Explained(verdict=self.decide(session, tool, act, scope))

    def decide(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None = None) -> Verdict:
        """Judge `act` on `tool`. A child's session is judged by its own roles, and whoever it is within must be permitted too."""
        own = self._judge(self._subjects(session), session.tenant, tool, act)
        if session.within is None:
            return own
        outer = self.decide(session.within, tool, act, scope)
        return Verdict(
            allowed=own.allowed and outer.allowed,
            denied=own.denied or outer.denied,
            rules=tuple(dict.fromkeys((*own.rules, *outer.rules))),
        )

    def roles(self, session: Session) -> frozenset[str]:
        """Every role that the session holds: its own and those that rules derive."""
        subjects = self._subjects(session)
        found = {role for name in subjects for role in self._graph.of(name, session.tenant)}
        return frozenset(role for role in found if not role.startswith(PERSON))

    def _subjects(self, session: Session) -> frozenset[str]:
        """The session's roles and the person, marked as one, so that neither is ever taken for the other."""
        names = frozenset(role for role in session.roles if not role.startswith(PERSON))
        return names if session.within is not None else names | {PERSON + session.principal}

    def _judge(self, subjects: frozenset[str], tenant: str, tool: str, act: str) -> Verdict:
        key = (subjects, tenant, tool, act)
        if any(type(text) is not str for text in (*subjects, tenant, tool, act)):
            raise TypeError("only texts can be judged")
        known = self._memo.get(key)
        if known is not None:
            return known
        verdict = _verdict([self._ask(subject, tenant, tool, act) for subject in sorted(subjects)])
        if len(self._memo) >= MAX_MEMO:
            self._memo.clear()
        self._memo[key] = verdict
        return verdict

    def _ask(self, subject: str, tenant: str, tool: str, act: str) -> tuple[bool, Sequence[str]]:
        if self._enforcer is None:  # without rules Casbin would judge an empty one
            return False, ()
        with self._lock:
            allowed, rule = self._enforcer.enforce_ex(subject, tenant, tool, act)
        return allowed is True, tuple(rule)


def _linked(grants: Iterable[Grant], roles: frozenset[str]) -> Iterator[Grant]:
    """The grants, and each to a plain name that is no role anywhere once more: to the person of that name."""
    for grant in grants:
        yield grant
        if grant.sub not in roles and not grant.sub.startswith(PERSON):
            yield Grant(PERSON + grant.sub, grant.role, grant.dom)


def _verdict(answers: Sequence[tuple[bool, Sequence[str]]]) -> Verdict:
    denies = [rule for allowed, rule in answers if not allowed and rule and rule[-1] == "deny"]
    allows = [rule for allowed, rule in answers if allowed and rule and rule[-1] == "allow"]
    deciding = denies or allows
    return Verdict(
        allowed=bool(allows) and not denies,
        denied=bool(denies),
        rules=tuple(dict.fromkeys(", ".join(("p", *rule)) for rule in deciding)),
    )


def _enforcer(model: str, rules: Sequence[Rule], graph: Graph) -> Any:
    import casbin  # noqa: PLC0415 - loaded with the first policy, so that importing guard stays cheap

    with _quiet():
        compiled = casbin.Enforcer.new_model(text=model)
        compiled.model["p"]["p"].policy = [list(rule.columns) for rule in rules]
        enforcer = casbin.Enforcer(compiled)
        enforcer.model["g"]["g"].rm = graph
    silent = logging.Logger("silent")  # noqa: LOG001 - outside of the tree no configuration of the host's can switch it on
    silent.disabled = True
    enforcer.logger = silent
    return enforcer


@contextmanager
def _quiet() -> Iterator[None]:
    """Casbin switches its loggers off for the whole process: leave them as they were."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def authorizer(
    files: Sequence[File], rules: Sequence[Rule], grants: Sequence[Grant], roles: Iterable[str], problems: Problems
) -> CasbinAuthorizer | None:
    """Build and probe. None when the model cannot be used; `problems` says why."""
    before = len(problems.errors)
    model = model_text(files, problems)
    if len(problems.errors) > before:
        return None
    spot = Item("model.conf", _line(model, "matchers"))
    try:
        built = CasbinAuthorizer(model, rules, grants, roles=roles)
        _probe(built, rules, spot, problems)
    except Exception as failure:  # noqa: BLE001 - a matcher of the user's may raise anything; each is a mistake of the policy
        problems.error(spot, f"the matcher cannot be used: {type(failure).__name__}", "compare with the shipped model.conf")
        return None
    return built if len(problems.errors) == before else None


def _probe(built: CasbinAuthorizer, rules: Sequence[Rule], spot: Item, problems: Problems) -> None:
    """A known allow must be allowed, and nobody must not be. As many tools as a second affords, one at least for each act."""
    budget = max(4, 2000 // max(1, len(rules)))
    for act in ACTS:
        mine = [rule for rule in rules if rule.act == act]
        plain = [rule for rule in mine if rule.eft == "allow" and not rule.obj.endswith(ANY) and rule.sub != ANY]
        for rule in plain[:budget]:
            others = [other for other in mine if other.covers(rule.obj)]
            tenant = _NOWHERE if rule.dom == ANY else rule.dom
            person = rule.sub.startswith(PERSON)
            known = Session(
                principal=rule.sub.removeprefix(PERSON) if person else _NOBODY,
                roles=() if person else (rule.sub,),
                tenant=tenant,
            )
            if all(other.eft == "allow" for other in others) and not built.decide(known, rule.obj, act).allowed:
                problems.error(spot, f"the matcher does not apply the rule {rule}", "compare with the shipped model.conf")
            nobody = Session(principal=_NOBODY, tenant=tenant)
            if all(other.sub != ANY for other in others) and built.decide(nobody, rule.obj, act).allowed:
                problems.error(spot, f"the matcher lets everybody {act} {rule.obj}", "compare with the shipped model.conf")
