"""Index: finds the rules that a request can match, without looking at the others.

Built from those terms of the matcher's top-level AND whose meaning is certain. Each of them must be true for a rule to match, so a rule that
is left out cannot have matched, and the order is kept. Comes after syntax and closure, before engine.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from guard.policy.engine.closure import Closure
from guard.policy.engine.syntax import attributes, conjuncts, token

EXACT, PREFIX, WILD = 0, 1, 2
"""How one rule's field is looked for: the whole text, what stands before its `*`, or not at all."""

_Key = tuple[str, ...]
_Signature = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """One usable term: the rule's column `theirs` must be among what the request gives.

    `kind` is `equal`, `roles` or `prefix`; `ours` are the request's columns that it reads (name, then domain). A rule whose field is one of
    `open` matches in any case.
    """

    kind: str
    theirs: int
    ours: tuple[int, ...]
    definition: str = ""
    open: frozenset[str] = frozenset()

    def mode(self, field: str) -> tuple[int, str]:
        """How this rule's field is looked for, and under which text."""
        if field in self.open:
            return WILD, ""
        if self.kind == "prefix" and "*" in field:
            return PREFIX, field[: field.index("*")]
        return EXACT, field


def terms_of(tree: ast.expr, request: Sequence[str], columns: Sequence[str], roles: Mapping[str, int]) -> list[Term]:
    """The usable terms of a matcher."""
    found = (_term(node, tuple(request), tuple(columns), roles) for node in conjuncts(tree))
    return [term for term in found if term is not None]


def _term(node: ast.expr, request: _Key, columns: _Key, roles: Mapping[str, int]) -> Term | None:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        constants = [_constant(value, columns) for value in node.values]
        inner = [
            _term(value, request, columns, roles) for value, fixed in zip(node.values, constants, strict=True) if fixed is None
        ]
        if len(inner) != 1 or inner[0] is None:
            return None
        fixed = [one for one in constants if one is not None]
        if any(column != inner[0].theirs for column, _ in fixed):
            return None
        only = inner[0]
        return Term(only.kind, only.theirs, only.ours, only.definition, only.open | {text for _, text in fixed})
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        return _paired("equal", node.left, node.comparators[0], request, columns) or _paired(
            "equal", node.comparators[0], node.left, request, columns
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _called(node.func.id, node.args, request, columns, roles)
    return None


def _constant(node: ast.expr, columns: _Key) -> tuple[int, str] | None:
    """`p.x == "text"`: the column and the text."""
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)):
        return None
    for left, right in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        if token(left, "p") in columns and isinstance(right, ast.Constant) and type(right.value) is str:
            return columns.index(token(left, "p")), right.value
    return None


def _paired(kind: str, ours: ast.expr, theirs: ast.expr, request: _Key, columns: _Key) -> Term | None:
    if token(ours, "r") in request and token(theirs, "p") in columns:
        return Term(kind, columns.index(token(theirs, "p")), (request.index(token(ours, "r")),))
    return None


def _called(name: str, given: Sequence[ast.expr], request: _Key, columns: _Key, roles: Mapping[str, int]) -> Term | None:
    if name == "keyMatch" and len(given) == 2:
        return _paired("prefix", given[0], given[1], request, columns)
    if roles.get(name) != len(given):
        return None
    base = _paired("roles", given[0], given[1], request, columns)
    where = [token(one, "r") for one in given[2:]]
    if base is None or any(one not in request for one in where):
        return None
    return Term("roles", base.theirs, (*base.ours, *map(request.index, where)), name)


class Index:
    """Positions of rules by what a request must bring to match them. Never changes."""

    def __init__(self, terms: Sequence[Term], rows: Iterable[Sequence[str]], closures: Mapping[str, Closure]) -> None:
        self.terms = tuple(terms)
        self._closures = closures
        self._tables: dict[_Signature, dict[_Key, list[int]]] = {}
        lengths: list[set[int]] = [set() for _ in terms]
        for position, row in enumerate(rows):
            modes = [term.mode(row[term.theirs]) for term in self.terms]
            for place, (mode, text) in enumerate(modes):
                if mode == PREFIX:
                    lengths[place].add(len(text))
            table = self._tables.setdefault(tuple(mode for mode, _ in modes), {})
            table.setdefault(tuple(text for mode, text in modes if mode != WILD), []).append(position)
        self._lengths = [sorted(one) for one in lengths]

    def find(self, request: Sequence[object]) -> Sequence[int] | None:
        """Positions of the rules that can match, ascending. None: the request is not of plain texts, so every rule can."""
        if any(type(request[place]) is not str for term in self.terms for place in term.ours):
            return None
        values = [self._values(place, term, request) for place, term in enumerate(self.terms)]
        parts = [found for signature, table in self._tables.items() if (found := _search(signature, table, values))]
        if len(parts) == 1 and len(parts[0]) == 1:
            return parts[0][0]
        return sorted(itertools.chain.from_iterable(itertools.chain.from_iterable(parts)))

    def covers_names(self, tree: ast.expr) -> bool:
        """Whether each term of the matcher that reads no attribute of the call is one of the index."""
        plain = [node for node in conjuncts(tree) if not attributes(node) and not _evaluates(node)]
        return len(plain) == len(self.terms)

    def _values(self, place: int, term: Term, request: Sequence[object]) -> tuple[Iterable[str], Iterable[str]]:
        """What the request gives for one term: whole texts, and beginnings."""
        given = [str(request[one]) for one in term.ours]
        if term.kind == "roles":
            return self._closures[term.definition].of(*given), ()
        text = given[0]
        return (text,), [text[:length] for length in self._lengths[place] if length <= len(text)]


def _evaluates(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "eval" for one in ast.walk(node))


def _search(
    signature: _Signature, table: Mapping[_Key, list[int]], values: Sequence[tuple[Iterable[str], Iterable[str]]]
) -> list[list[int]]:
    """Probe each combination, or walk the keys where those are fewer."""
    choices = [values[place][mode] for place, mode in enumerate(signature) if mode != WILD]
    combinations = 1
    for choice in choices:
        combinations *= len(choice)  # type: ignore[arg-type]  # a tuple, list or frozenset
    if combinations <= len(table):
        return [found for key in itertools.product(*choices) if (found := table.get(key))]
    sets = [frozenset(choice) for choice in choices]
    return [found for key, found in table.items() if all(text in one for text, one in zip(key, sets, strict=True))]
