"""View: what the lints look at: a surveyed folder, and who may call what under the matcher that ships.

Answers here are for hints only; the authorizer decides. Nothing in it is quadratic in tools: rules are kept by subject. Pure, after reading.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from guard.core.model import Session
from guard.core.rules import Tool
from guard.errors import Problem
from guard.policy import Survey
from guard.policy.engine.closure import Closure
from guard.policy.problems import Problems, Spot
from guard.policy.rule_files import ANY, PERSON, Rule, RuleBook
from guard.policy.rule_shape import model_text
from guard.policy.source import Item

NOWHERE = "\x00nowhere"
"""A tenant that no rule names."""


def finding(spot: Spot, code: str, message: str, cure: str) -> Problem:
    """One finding of a lint."""
    return Problem(file=spot.file, line=spot.line, message=message, cure=cure, warning=True, code=code)


def known_roles(book: RuleBook, people: Iterable[Session]) -> frozenset[str]:
    """Every name that rules, grants or the policy's people use as a role, and `*`."""
    named = {rule.sub for rule in book.rules} | {grant.role for grant in book.grants} | book.roles
    return frozenset(name for name in named | {role for one in people for role in one.roles} if not name.startswith(PERSON))


class View:
    """A folder as the lints see it."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.tools: Mapping[str, Tool] = survey.tools
        self.entries: Mapping[str, Item] = survey.entries
        self.rules: Mapping[Rule, Item] = survey.book.rules
        self.graph = Closure((grant.sub, grant.role, grant.dom) for grant in survey.book.grants)
        self._names = sorted(survey.tools)
        self._may: dict[tuple[str, str], frozenset[str]] = {}

    @cached_property
    def own_model(self) -> bool:
        """Whether rules may mean something else than under the model that ships."""
        if self.survey.layers:
            return any(layer.own_model for layer in self.survey.layers)
        return _lines(model_text(self.survey.files, Problems())) != _lines(model_text((), Problems()))

    @cached_property
    def by_subject(self) -> Mapping[tuple[str, str], list[Rule]]:
        """Rules by subject and act."""
        found: dict[tuple[str, str], list[Rule]] = {}
        for rule in self.rules:
            found.setdefault((rule.sub, rule.act), []).append(rule)
        return found

    def subjects(self, name: str, dom: str) -> frozenset[str]:
        """Everything that counts as `name` in the tenant: itself, its roles, everybody."""
        plain = self.graph.of(name.removeprefix(PERSON), dom) - {name.removeprefix(PERSON)} if name.startswith(PERSON) else ()
        return frozenset({*self.graph.of(name, dom), *plain, ANY})

    def may(self, name: str, dom: str) -> frozenset[str]:
        """The tools that a session with this one role (or of this person) may call in the tenant."""
        key = (name, dom)
        if self.survey.layers and key not in self._may:
            self._may[key] = self._asked(name, dom)
        if key not in self._may:
            allowed: set[str] = set()
            denied: set[str] = set()
            for subject in self.subjects(name, dom):
                for rule in self.by_subject.get((subject, "call"), ()):
                    if rule.dom in {ANY, dom}:
                        (allowed if rule.eft == "allow" else denied).update(self.covered(rule.obj))
            self._may[key] = frozenset(allowed - denied)
        return self._may[key]

    def _asked(self, name: str, dom: str) -> frozenset[str]:
        """What the authorizer says: rules of several layers do not add up."""
        policy, person = self.survey.policy, name.startswith(PERSON)
        roles = () if person or name == ANY else (name,)
        session = Session(principal=name.removeprefix(PERSON) if person else NOWHERE, roles=roles, tenant=dom)
        judge = None if policy is None else policy.authorizer
        return frozenset(tool for tool in self._names if judge is not None and judge.decide(session, tool, "call").allowed)

    def covered(self, obj: str) -> Iterator[str]:
        """The tools that a rule's object names."""
        if not obj.endswith(ANY):
            yield from (obj,) if obj in self.tools else ()
            return
        start = obj[:-1]
        for index in range(bisect_left(self._names, start), len(self._names)):
            if not self._names[index].startswith(start):
                return
            yield self._names[index]

    @cached_property
    def roles(self) -> frozenset[str]:
        """Every name that is a role's, and `*`; the other names in `g` lines are persons'."""
        return known_roles(self.survey.book, self.survey.people.values())

    @cached_property
    def holders(self) -> Mapping[str, list[tuple[str, str]]]:
        """Who of the callers may call each tool."""
        found: dict[str, list[tuple[str, str]]] = {}
        for caller in self.callers:
            for name in self.may(*caller):
                found.setdefault(name, []).append(caller)
        return found

    @cached_property
    def callers(self) -> tuple[tuple[str, str], ...]:
        """Each role or person that a rule allows something, with the tenant; nobody is in a tenant that no rule names."""
        doms = {grant.dom for grant in self.survey.book.grants} | {rule.dom for rule in self.rules}
        named = {dom for dom in doms if dom != ANY} or {NOWHERE}
        found: set[tuple[str, str]] = set()
        for rule in self.rules:
            if (rule.act, rule.eft) == ("call", "allow"):
                found |= {(rule.sub, dom) for dom in ({NOWHERE} | _few(named) if rule.dom == ANY else {rule.dom})}
        found |= {(grant.sub, NOWHERE if grant.dom == ANY else grant.dom) for grant in self.survey.book.grants}
        return tuple(sorted(found))


def _few(names: set[str]) -> set[str]:
    """Not every one of thousands of tenants is tried for every role."""
    return set(sorted(names)[:20])


def _lines(text: str) -> list[str]:
    cleaned = ("".join(line.split()) for line in text.splitlines())
    return [line for line in cleaned if line and not line.startswith(("#", ";"))]
