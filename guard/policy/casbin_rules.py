"""Casbin: who may call or approve which tool, asked of one frozen engine for each of a session's names.

Some rule must allow and none may deny: each role, and the person marked as one, is a subject of its own. Neither an error nor a text that is
none ever allows. Comes after engine and rule_files, before load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from guard.core.model import Session
from guard.core.ports import Verdict
from guard.core.values import Json
from guard.policy.engine.closure import Closure
from guard.policy.engine.engine import Engine, Outcome
from guard.policy.engine.explain import Explained
from guard.policy.engine.reach import Reach
from guard.policy.explaining import explained
from guard.policy.on_trial import Trial
from guard.policy.problems import Problems
from guard.policy.rule_files import PERSON, Grant, Rule
from guard.policy.rule_shape import Shape, shape_of

View: TypeAlias = Callable[[Mapping[str, Json]], object]

_TEXT = frozenset({str})
MAX_MEMO = 4096
"""Answers that are remembered; then all are forgotten."""


class CasbinAuthorizer:
    """Implements the core's `Authorizer` over one frozen set of rules."""

    def __init__(
        self,
        shape: Shape,
        rules: Sequence[Rule],
        grants: Sequence[Grant],
        *,
        roles: Iterable[str] = (),
        groups: Mapping[str, Iterable[Grant]] | None = None,
        trial: Sequence[Rule] = (),
    ) -> None:
        """`trial` are denials that refuse nothing yet."""
        self.shape = shape
        rows = [row for rule in rules if (row := row_of(rule, shape)) is not None]
        names = frozenset(roles) | {grant.role for grant in grants} | {rule.sub for rule in rules}
        links = {"g": [(one.sub, one.role, one.dom) for one in _linked(grants, names)]}
        links |= {name: [(one.sub, one.role, one.dom) for one in found] for name, found in (groups or {}).items()}
        self.engine = Engine(shape.model, rows, links)
        tried = [row for rule in trial if (row := row_of(rule, shape)) is not None]
        self.trial = Trial(shape.model, tried, links) if tried else None
        self._graph = self.engine.closures.get("g") or Closure(())
        self._wants = shape.model.request
        self._memo: dict[tuple[frozenset[str], str, str, str], Verdict] = {}

    @property
    def scoped(self) -> bool:
        """Whether some rule reads more than names."""
        return bool(self.engine.paths) or (self.trial is not None and self.trial.scoped)

    def would_deny(self, session: Session, tool: str, scope: Mapping[str, Json] | None = None) -> tuple[str, ...]:
        """Denials on trial that would have refused the call; for a child's session those of whoever it is within as well."""
        if self.trial is None:
            return ()
        own = self.trial.would_refuse(self.requests(session, tool, "call", scope, self.trial.view), known=scope is not None)
        outer = () if session.within is None else self.would_deny(session.within, tool, scope)
        return tuple(dict.fromkeys((*own, *outer)))

    def decide(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None = None) -> Verdict:
        """Judge `act` on `tool`. A child's session is judged by its own roles, and whoever it is within must be permitted too."""
        own = self._judge(session, tool, act, scope)
        if session.within is None:
            return own
        outer = self.decide(session.within, tool, act, scope)
        return Verdict(
            allowed=own.allowed and outer.allowed,
            denied=own.denied or outer.denied,
            rules=tuple(dict.fromkeys((*own.rules, *outer.rules))),
        )

    def explain(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None = None) -> Explained:
        """The verdict with the rules about this tool and act, and the ways to the session's roles."""
        requests = {subject: self._request(subject, session, tool, act, scope) for subject in sorted(self.subjects(session))}
        candidates, paths = explained(self.engine, requests, session.tenant, known=scope is not None)
        outer = None if session.within is None else self.explain(session.within, tool, act, scope)
        return Explained(verdict=self.decide(session, tool, act, scope), candidates=candidates, paths=paths, outer=outer)

    def roles(self, session: Session) -> frozenset[str]:
        """Every role that the session holds: its own and those that rules derive."""
        found = {role for name in self.subjects(session) for role in self._graph.of(name, session.tenant)}
        return frozenset(role for role in found if not role.startswith(PERSON))

    @staticmethod
    def subjects(session: Session) -> frozenset[str]:
        """The session's roles and the person, marked as one, so that neither is ever taken for the other."""
        names = frozenset(role for role in session.roles if not role.startswith(PERSON))
        return names if session.within is not None else names | {PERSON + session.principal}

    def _judge(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None) -> Verdict:
        subjects = self.subjects(session)
        key = (subjects, session.tenant, tool, act)
        if not _TEXT.issuperset(map(type, (*subjects, session.tenant, tool, act))):
            raise TypeError("only texts can be judged")
        if act != "call" and "act" not in self._wants:
            return Verdict(allowed=False)  # such a model cannot tell who approves from who calls
        known = self._memo.get(key)
        if known is not None:
            return known
        asked = self.requests(session, tool, act, scope)
        verdict = self._verdict([self.engine.decide(request, known=scope is not None) for request in asked])
        if self.engine.steady:
            if len(self._memo) >= MAX_MEMO:
                self._memo.clear()
            self._memo[key] = verdict
        return verdict

    def requests(
        self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None, view: View | None = None
    ) -> list[tuple[Any, ...]]:
        """What the engine is asked, for each name of the session; `view` makes what another one sees of the call."""
        return [self._request(subject, session, tool, act, scope, view) for subject in sorted(self.subjects(session))]

    def candidates(self, session: Session, tool: str, act: str) -> tuple[tuple[str, ...], ...]:
        """The rules that may match, whatever the call holds: their fields in the model's order."""
        engine = self.engine
        found = (engine.index.find(request) for request in self.requests(session, tool, act, None))
        places = {place for some in found for place in (range(len(engine.rows)) if some is None else some)}
        return tuple(engine.rows[place] for place in sorted(places))

    def reach(self, sessions: Iterable[Session]) -> Reach:
        """Of which of these sessions, by their place, some rule may speak; for all others there is no rule. For tables of everybody."""
        return Reach(self.engine, (self.requests(session, "", "", None) for session in sessions))

    def _request(
        self,
        subject: str,
        session: Session,
        tool: str,
        act: str,
        scope: Mapping[str, Json] | None,
        view: View | None = None,
    ) -> tuple[Any, ...]:
        """What the engine is asked, in the model's order."""
        given: dict[str, Any] = {"sub": subject, "dom": session.tenant, "obj": tool, "act": act}
        if "ctx" in self._wants:
            given["ctx"] = (view or self.engine.view)({**(scope or {}), "session": session.facts()})
        return tuple(given[name] for name in self._wants)

    def _verdict(self, outcomes: Sequence[Outcome]) -> Verdict:
        engine = self.engine
        decided = [(one, one.position) for one in outcomes if one.position is not None]
        denies = [place for one, place in decided if not one.allowed and engine.effect(place) == "deny"]
        allows = [place for one, place in decided if one.allowed and engine.effect(place) == "allow"]
        texts = (", ".join(("p", *engine.rows[place])) for place in denies or allows)
        return Verdict(allowed=bool(allows) and not denies, denied=bool(denies), rules=tuple(dict.fromkeys(texts)))


def row_of(rule: Rule, shape: Shape) -> tuple[str, ...] | None:
    """The rule's fields in the model's order; None where the model has a column that it cannot fill."""
    if rule.written:
        return rule.written
    if shape.model.columns == ("sub", "dom", "obj", "act", "eft"):
        return rule.columns
    return shape.fields({"sub": rule.sub, "dom": rule.dom, "obj": rule.obj, "act": rule.act, "eft": rule.eft})


def _linked(grants: Iterable[Grant], roles: frozenset[str]) -> Iterator[Grant]:
    """The grants, and each to a plain name that is no role anywhere once more: to the person of that name."""
    for grant in grants:
        yield grant
        if grant.sub not in roles and not grant.sub.startswith(PERSON):
            yield Grant(PERSON + grant.sub, grant.role, grant.dom)


def shipped_shape() -> Shape:
    """The model that comes with the package."""
    found = shape_of([], Problems())
    if found is None:  # pragma: no cover - a test loads it
        raise RuntimeError("the shipped model cannot be used")
    return found
