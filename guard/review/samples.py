"""Samples: what two policies say of calls whose arguments, session or records a rule reads, tried with values at, beside and between all that rules name.

Where every term is a plain comparison, the values show everything that the rules can tell apart, and the direction is certain; elsewhere only a call that
is found to be wider is. Asks the authorizers themselves. Comes after literals and cells; used by differ. Pure but for the authorizers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import TypeAlias

from guard.core.model import Session
from guard.core.ports import Authorizer
from guard.core.rules import Tool
from guard.core.values import Json, encode
from guard.policy import Loaded
from guard.policy.layers.authorizer import LayeredAuthorizer, judges_of
from guard.review.changes import Direction
from guard.review.literals import ABSENT, ANOTHER, Literals, Path

MOST = 4_000
"""Calls that are tried for one cell."""
BUDGET = 120_000
"""Calls that are tried for one comparison; beyond them nothing is certain."""
DEEP = 2
"""Steps of a path to an argument of the call."""
_FIXED = {("session", "principal"), ("session", "tenant"), ("session", "roles")}

Fits: TypeAlias = Callable[[Path, Json], bool]


@dataclass(frozen=True, slots=True)
class Sampled:
    """Which way a cell goes, with an example, and the rules of both sides."""

    direction: Direction
    note: str
    old: tuple[str, ...]
    new: tuple[str, ...]


class Samples:
    """Two policies, ready to be tried. `unsure` tells whether something could not be told; `active`, whether rules read more than names."""

    def __init__(self, pair: tuple[Loaded, Loaded]) -> None:
        self.active = any(one.policy.authorizer.scoped for one in pair)
        self.unsure = False
        self._left = BUDGET
        self._deciding = [one.policy.authorizer for one in pair]
        self._judges = [judges_of(one) for one in self._deciding]
        self.able = all(self._judges)
        self._same = _names(self._deciding[0]) == _names(self._deciding[1])
        self._by_names = all(judge.engine.index.covers_names(judge.engine.tree) for side in self._judges for judge in side)
        self._known: dict[object, tuple[Direction, str]] = {}

    def compare(self, session: Session, tool: str, act: str, fits: Fits) -> Sampled | None:
        """How the cell differs; None where the rules of both sides are the same."""
        if not self.active:
            return None
        if not self.able:
            self.unsure = True
            return Sampled(Direction.MAYBE, "its rules read more than names", (), ())
        rows = [tuple(judge.candidates(session, tool, act) for judge in side) for side in self._judges]
        if self._same and rows[0] == rows[1]:
            return None
        sides = zip(self._judges, rows, strict=True)
        literals = Literals.of([(judge.engine, found) for side, some in sides for judge, found in zip(side, some, strict=True)])
        alike = self._by_names and not _FIXED & literals.paths
        who = () if alike else (session.principal, session.tenant, session.roles)
        key = (*rows, tool, act, who)
        if key not in self._known:
            self._known[key] = self._tried(session, tool, act, fits, literals)
        direction, note = self._known[key]
        self.unsure = self.unsure or direction is Direction.MAYBE
        old, new = (tuple(", ".join(("p", *row)) for found in some for row in found) for some in rows)
        return Sampled(direction, note, old, new)

    def _tried(self, session: Session, tool: str, act: str, fits: Fits, literals: Literals) -> tuple[Direction, str]:
        wider = narrower = ""
        certain = literals.plain
        for one in islice(_worlds(literals, session, fits), min(MOST, max(0, self._left)) + 1):
            self._left -= 1
            before, after = (_allows(judge, one, session, tool, act) for judge in self._deciding)
            if after and not before:
                wider = wider or _example(one)
            elif before and not after:
                narrower = narrower or _example(one)
        if literals.size(session) > MOST or self._left <= 0:
            certain = False
        if wider:
            return Direction.WIDENS, f"for example {wider}{' (and narrower elsewhere)' if narrower else ''}"
        if not certain:
            return Direction.MAYBE, "its rules read more than can be tried"
        return (Direction.NARROWS, f"for example {narrower}") if narrower else (Direction.CHANGES, "no call tells them apart")


def _names(authorizer: Authorizer) -> object:
    """What an authorizer knows besides its rules: models, roles, and which layer must allow what."""
    layers = authorizer.layers if isinstance(authorizer, LayeredAuthorizer) else ()
    told = [
        ({name: one.links for name, one in judge.engine.closures.items()}, judge.engine.model.text())
        for judge in judges_of(authorizer)
    ]
    return told, [(layer.calls, layer.approves) for layer in layers]


def _worlds(literals: Literals, session: Session, fits: Fits) -> Iterator[Mapping[Path, Json]]:
    paths = sorted(literals.paths - _FIXED)
    values = [[value for value in literals.values(path, session) if fits(path, value)] for path in paths]
    yield from (dict(zip(paths, chosen, strict=True)) for chosen in product(*values))


def _allows(judge: Authorizer, world: Mapping[Path, Json], session: Session, tool: str, act: str) -> bool:
    scope: dict[str, Json] = {"arguments": {}, "resource": {}, "resolved": {}}
    own: dict[str, Json] = {"session": {}}
    for path, value in world.items():
        if value is not ABSENT:
            _put(own if path[0] == "session" else scope, path, value)
    person = replace(session, attributes={**session.attributes, **own["session"]})
    try:
        verdict = judge.decide(person, tool, act, scope)
    except Exception:  # noqa: BLE001 - a policy that fails refuses
        return False
    return bool(verdict.allowed) and not verdict.denied


def _put(target: dict[str, Json], path: Sequence[str], value: Json) -> None:
    here = target
    for step in path[:-1]:
        below = here.setdefault(step, {})
        if not isinstance(below, dict):
            return
        here = below
    here[path[-1]] = value


def fitting(tools: Sequence[Tool]) -> Fits:
    """Whether a call of the tool may hold a value there, under each of its schemas."""

    def fits(path: Path, value: Json) -> bool:
        if path[:1] != ("arguments",) or len(path) != DEEP:
            return True
        if value is ABSENT:
            return not any(path[1] in tool.schema.get("required", ()) for tool in tools)
        return all(_accepted(tool, path[1], value) for tool in tools)

    return fits


def _accepted(tool: Tool, name: str, value: Json) -> bool:
    try:
        issues = tool.validate({name: value})
    except Exception:  # noqa: BLE001 - a program's own check of the arguments may raise: nothing is known then
        return True
    return not any(one.path == name and one.rule != "required" for one in issues)


def _example(world: Mapping[Path, Json]) -> str:
    told = (f"{'.'.join(path)} {'left out' if value is ABSENT else f'= {_shown(value)}'}" for path, value in world.items())
    return ", ".join(told)


def _shown(value: Json) -> str:
    return "another text" if value == ANOTHER else encode(value)
