"""Explaining: the rules about one tool and act with the first term that failed, and the ways from a session's names to their roles.

Decides nothing. Comes after engine, before casbin_rules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guard.policy.engine.compiled import Compiled, late
from guard.policy.engine.engine import Engine
from guard.policy.engine.explain import Candidate, RolePath
from guard.policy.engine.syntax import conjuncts, reads, spelled

_ABOUT = {"obj", "act"}


@dataclass(frozen=True, slots=True)
class _Term:
    """One term of the AND by itself."""

    text: str
    test: Compiled | None
    about: bool
    late: bool


def _terms(engine: Engine) -> list[_Term]:
    functions = engine.functions
    return [
        _Term(spelled(node), _compiled(node, engine, functions), _is_about(node), late(node)) for node in conjuncts(engine.tree)
    ]


def _is_about(node: ast.expr) -> bool:
    return bool(reads(node, "r")) and reads(node, "r") <= _ABOUT


def _compiled(node: ast.expr, engine: Engine, functions: Mapping[str, Any]) -> Compiled | None:
    return None if engine.compiled is None else Compiled(node, engine.names, functions, engine.conditions)


def explained(
    engine: Engine, requests: Mapping[str, Sequence[Any]], tenant: str, *, known: bool
) -> tuple[tuple[Candidate, ...], tuple[RolePath, ...]]:
    """Every rule about the tool and act, each with the subject that came furthest, and the ways to roles."""
    terms = _terms(engine)
    found = (_candidate(engine, position, terms, requests, known=known) for position in range(len(engine.rows)))
    return tuple(one for one in found if one is not None), tuple(_paths(engine, list(requests), tenant))


def _candidate(
    engine: Engine, position: int, terms: list[_Term], requests: Mapping[str, Sequence[Any]], *, known: bool
) -> Candidate | None:
    best: tuple[int, Candidate] | None = None
    for subject, request in requests.items():
        place, one = _tried(engine, position, terms, subject, request, known=known)
        if place < len(terms) and terms[place].about and one.failed is not None:
            return None  # the rule is about another tool or act
        if any(term.about and _answer(engine, position, term, request, known=True) is False for term in terms):
            return None
        if best is None or place > best[0]:
            best = (place, one)
    return None if best is None else best[1]


def _tried(
    engine: Engine, position: int, terms: list[_Term], subject: str, request: Sequence[Any], *, known: bool
) -> tuple[int, Candidate]:
    """How many terms were passed, and the rule with the first that was not."""
    text, effect = ", ".join(("p", *engine.rows[position])), engine.effect(position)
    waits: str | None = None
    for place, term in enumerate(terms):
        answer = _answer(engine, position, term, request, known=known)
        if answer is None:
            waits = waits or term.text
        elif answer is not True:
            error = answer if isinstance(answer, str) else None
            return place, Candidate(rule=text, effect=effect, subject=subject, failed=term.text, open=waits, error=error)
    return len(terms), Candidate(rule=text, effect=effect, subject=subject, open=waits)


def _answer(engine: Engine, position: int, term: _Term, request: Sequence[Any], *, known: bool) -> bool | str | None:
    """True, False, None where only a call can tell, or the text of what it raised."""
    values = (*request, *engine.rows[position])
    try:
        if term.test is None:
            return engine.matches(position, request, known=known)
        if known:
            return term.test.exact(*values) is True
        surely, maybe = term.test.surely(*values), term.test.maybe(*values)
        return True if surely is True else None if maybe is True else False
    except Exception as failure:  # noqa: BLE001 - a matcher of the user's may raise anything; it is told, not hidden
        return f"{type(failure).__name__}: {failure}"


def _paths(engine: Engine, subjects: Sequence[str], tenant: str) -> Iterator[RolePath]:
    closure = engine.closures.get("g")
    for subject in subjects if closure else ():
        for role in sorted(closure.of(subject, tenant) - {subject}) if closure else ():
            way = closure.path(subject, role, tenant) if closure else ()
            lines = tuple(", ".join(("g", *(link if engine.model.roles["g"] == 3 else link[:2]))) for link in way)
            yield RolePath(names=(subject, *(link[1] for link in way)), grants=lines)
