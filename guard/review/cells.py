"""Cells: who may do what, where, by a loaded policy: every role and person, tenant, tool and act, each judged by the policy itself.

Nothing here reads a rule: a cell is what the policy's own authorizer answers, so that it holds for any matcher. Roles and persons are kept
apart, a person as `user:` and the name. Comes after changes; used by differ and matrix. Pure but for the authorizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from guard.core.model import Session
from guard.core.ports import Verdict
from guard.core.values import Json
from guard.policy import Loaded
from guard.policy.layers.authorizer import judges_of
from guard.policy.rule_files import ACTS, ANY, PERSON, Grant, Rule
from guard.policy.source import Item

ELSEWHERE = "\x00any other"
"""The tenant that no rule names; no rule can name this one."""
_NOBODY = "\x00nobody"

Standing = Literal["allow", "none", "deny", "error"]
RANK: Mapping[Standing, int] = MappingProxyType({"deny": 0, "error": 0, "none": 1, "allow": 2})
"""How wide a cell is. A denial is less than nothing: it also takes away what another role of the same person allows."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Somebody whom a policy may speak about. `held` says which roles and attributes `people:` gives a person, by tenant."""

    kind: Literal["role", "person", "anybody"]
    name: str
    held: Mapping[str, tuple[tuple[str, ...], Mapping[str, Json]]] = field(default_factory=dict, compare=False)

    @property
    def label(self) -> str:
        """How it is written in a rule: a plain role, `user:` and a person, `*` for whoever holds nothing."""
        return {"role": self.name, "person": PERSON + self.name, "anybody": ANY}[self.kind]

    def session(self, tenant: str) -> Session:
        """Somebody who is this and nothing else."""
        if self.kind == "role":
            return Session(principal=_NOBODY, roles=(self.name,), tenant=tenant)
        roles, attributes = self.held.get(tenant, ((), {}))
        return Session(
            principal=self.name if self.kind == "person" else _NOBODY, roles=roles, attributes=attributes, tenant=tenant
        )


ANYBODY = Subject("anybody", ANY)
_KINDS = ("role", "person", "anybody")


@dataclass(frozen=True, slots=True)
class Axes:
    """Everybody and every place that a policy speaks about."""

    subjects: Mapping[str, Subject]
    tenants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """What the policy answers: `standing`, and the rules that decided."""

    standing: Standing
    rules: tuple[str, ...] = ()


NONE = Cell("none")
"""No rule allows it, and none forbids it."""


def axes(loaded: Loaded) -> Axes:
    """Who and where, in the order: roles, persons, whoever holds nothing; tenants by name, then any other."""
    book = loaded.book
    roles = set(book.roles) | {grant.role for grant in book.grants}
    roles |= {rule.sub for rule in book.rules if rule.sub != ANY and not rule.sub.startswith(PERSON)}
    roles |= {role for one in loaded.policy.people.values() for role in one.roles}
    lines: tuple[Rule | Grant, ...] = (*book.rules, *book.grants)
    named = {one.sub for one in lines if one.sub.startswith(PERSON)}
    persons = {name.removeprefix(PERSON) for name in named}
    persons |= {grant.sub for grant in book.grants if grant.sub not in roles and not grant.sub.startswith(PERSON)}
    held = _held(loaded.policy.people.values())
    persons |= held.keys()
    found = [Subject("role", name) for name in sorted(roles)]
    found += [Subject("person", name, held.get(name, {})) for name in sorted(persons)]
    tenants = {one.dom for one in lines} | {one.tenant for one in loaded.policy.people.values()}
    return Axes({one.label: one for one in (*found, ANYBODY)}, (*sorted(tenants - {ANY}), ELSEWHERE))


def _held(people: Iterable[Session]) -> dict[str, dict[str, tuple[tuple[str, ...], Mapping[str, Json]]]]:
    held: dict[str, dict[str, tuple[tuple[str, ...], Mapping[str, Json]]]] = {}
    for one in people:
        known = held.setdefault(one.principal, {})
        roles, attributes = known.get(one.tenant, ((), {}))
        known[one.tenant] = (tuple(dict.fromkeys((*roles, *one.roles))), {**attributes, **one.attributes})
    return held


def both(old: Axes, new: Axes) -> tuple[Axes, Axes]:
    """The axes of two policies over the names of both, each with its own people."""
    known = {**old.subjects, **new.subjects}
    labels = sorted(known, key=lambda label: (_KINDS.index(known[label].kind), label))
    tenants = (*sorted({*old.tenants, *new.tenants} - {ELSEWHERE}), ELSEWHERE)
    return _over(old, known, labels, tenants), _over(new, known, labels, tenants)


def _over(mine: Axes, known: Mapping[str, Subject], labels: Iterable[str], tenants: tuple[str, ...]) -> Axes:
    found = {label: mine.subjects.get(label) or Subject(known[label].kind, known[label].name) for label in labels}
    return Axes(found, tenants)


def tenant_label(tenant: str) -> str:
    """A tenant as it is shown."""
    return "any other" if tenant == ELSEWHERE else tenant


def cell(loaded: Loaded, session: Session, tool: str, act: str) -> Cell:
    """One answer. A policy that cannot be evaluated refuses, as it does in a call."""
    try:
        verdict = loaded.policy.authorizer.decide(session, tool, act)
    except Exception as error:  # noqa: BLE001 - a matcher may raise anything; a call would be refused
        return Cell("error", (type(error).__name__,))
    return Cell(_standing(verdict), verdict.rules)


def _standing(verdict: Verdict) -> Standing:
    return "deny" if verdict.denied else "allow" if verdict.allowed else "none"


class Grid:
    """Everybody in every place of one policy, ready to be asked tool by tool. A cell that stands nowhere is `NONE`: no rule speaks of it."""

    def __init__(self, loaded: Loaded, over: Axes) -> None:
        self._loaded = loaded
        self.places = tuple((label, tenant) for label in over.subjects for tenant in over.tenants)
        self.sessions = [over.subjects[label].session(tenant) for label, tenant in self.places]
        self._reach = [judge.reach(self.sessions) for judge in judges_of(loaded.policy.authorizer)]

    def cells(self, tool: str) -> dict[tuple[int, str], Cell]:
        """The cells of one tool that are not `NONE`, by their number in `places` and the act."""
        return {
            (number, act): one
            for act in ACTS
            for number in self._spoken_of(tool, act)
            if (one := self._cell(number, tool, act)) != NONE
        }

    def _spoken_of(self, tool: str, act: str) -> Iterable[int]:
        return {number for one in self._reach for number in one.spoken_of(tool, act)} if self._reach else range(len(self.places))

    def _cell(self, number: int, tool: str, act: str) -> Cell:
        return cell(self._loaded, self.sessions[number], tool, act)


def rule_places(loaded: Loaded) -> dict[str, str]:
    """Where each rule stands, by its text."""
    return {str(rule): place(spot) for rule, spot in loaded.book.rules.items()}


def place(item: Item | None) -> str:
    """`file:line` of something in the folder."""
    if item is None:
        return ""
    return item.file if item.line is None else f"{item.file}:{item.line}"
