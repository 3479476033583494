"""Literals: which values the rules of two policies can tell apart at each path of `r.ctx`, read from their conditions.

Numbers at, beside and between all that stand beside a path, each text, and one value of every other kind. `plain` says whether that is everything: whether
each term compares a path with something written, or two paths for equality. Comes first of samples' parts; pure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import prod
from typing import Any, TypeAlias

from guard.core.model import Session
from guard.core.values import Json, is_number
from guard.policy.engine.syntax import attributes, parse, token

Path: TypeAlias = tuple[str, ...]
ABSENT: Any = object()
"""The path is not there."""
ANOTHER = "\x00another"
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_EQUAL = (ast.Eq, ast.NotEq)
_STEP = Decimal("0.01")
_OTHERS: tuple[Json, ...] = (ANOTHER, True, False, None, 0, 1, [], {})


@dataclass(frozen=True, slots=True)
class Literals:
    """The values beside each path. `alike` are paths that are compared with each other, whose values are therefore shared."""

    named: Mapping[Path, tuple[Json, ...]]
    alike: Mapping[Path, frozenset[Path]]
    plain: bool

    @property
    def paths(self) -> frozenset[Path]:
        """Every path that the rules read."""
        return frozenset(self.named)

    @classmethod
    def of(cls, sides: Iterable[tuple[Any, Sequence[Sequence[str]]]]) -> Literals:
        """What the matcher and the conditions of the rules of both engines name."""
        found = _Found()
        for engine, rows in sides:
            columns = engine.model.columns
            filled = {name: [row[place] for row in rows] for place, name in enumerate(columns)}
            trees = [engine.tree, *(parse(text) for row in rows for text in row if text in engine.conditions)]
            for tree in trees:
                found.read(tree, filled)
        return cls(
            {path: tuple(values) for path, values in found.named.items()}, found.joined(), found.plain and not found.nested()
        )

    def values(self, path: Path, session: Session) -> list[Json]:
        """Values of a path, with what the person is where that is compared with it."""
        group = self.alike.get(path, frozenset({path}))
        named = [value for one in sorted(group) for value in self.named.get(one, ())]
        named += [session.principal, session.tenant] if any(one[:1] == ("session",) for one in group) else []
        numbers = sorted({Decimal(str(value)) for value in named if is_number(value) and not isinstance(value, bool)})
        texts = [value for value in named if not is_number(value)]
        more = ["\x00one more"] if len(group) > 1 else []
        return [*_distinct([*texts, *_around(numbers), *_OTHERS, *more]), ABSENT]

    def size(self, session: Session) -> int:
        """How many combinations there are, or more."""
        return prod(len(self.values(path, session)) for path in self.paths)


def _around(numbers: Sequence[Decimal]) -> Iterator[Json]:
    for index, bound in enumerate(numbers):
        after = numbers[index + 1] if index + 1 < len(numbers) else bound + 2
        for value in (bound - 1, bound - _STEP, bound, min(bound + _STEP, (bound + after) / 2), (bound + after) / 2, bound + 1):
            yield int(value) if value == value.to_integral_value() else value


def _distinct(values: Iterable[Json]) -> list[Json]:
    return list({(type(value).__name__ if isinstance(value, bool) else "", repr(value)): value for value in values}.values())


class _Found:
    """What was read so far."""

    def __init__(self) -> None:
        self.named: dict[Path, list[Json]] = {}
        self.pairs: list[tuple[Path, Path]] = []
        self.plain = True

    def read(self, tree: ast.expr, filled: Mapping[str, Sequence[str]]) -> None:
        """One matcher or condition; `filled` are the texts in each column of the rules."""
        for path in attributes(tree):
            self.named.setdefault(path, [])
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                self._compare(node, filled)
        self.plain = self.plain and self._is_plain(tree)

    def _compare(self, node: ast.Compare, filled: Mapping[str, Sequence[str]]) -> None:
        sides = [node.left, *node.comparators]
        paths = [path for side in sides if (path := _path(side)) is not None]
        values = [value for side in sides for value in _values(side, filled)]
        for path in paths:
            self.named.setdefault(path, []).extend(values)
            if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops) and _path(node.left) != path:
                self.named[path] += [[value] for value in values] + [values]
        if len(paths) > 1:
            self.pairs += [(paths[0], other) for other in paths[1:]]

    def _is_plain(self, tree: ast.expr) -> bool:
        """Whether every path stands alone or in a comparison whose answers the values exhaust."""
        if isinstance(tree, ast.BoolOp):
            return all(map(self._is_plain, tree.values))
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
            return self._is_plain(tree.operand)
        if not attributes(tree):
            return True
        if _path(tree) is not None:
            return True
        if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
            return False
        sides = (tree.left, tree.comparators[0])
        if not all(_path(side) is not None or not attributes(side) for side in sides):
            return False
        both = all(_path(side) is not None for side in sides)
        op = tree.ops[0]
        if isinstance(op, ast.In | ast.NotIn):
            return _path(sides[0]) is not None and not both
        return isinstance(op, _EQUAL) or (not both and all(is_number(value) for side in sides for value in _values(side, {})))

    def nested(self) -> bool:
        """Whether one path goes on where another one ends."""
        return any(path[:length] in self.named for path in self.named for length in range(1, len(path)))

    def joined(self) -> dict[Path, frozenset[Path]]:
        """Paths that are compared with each other, directly or through others."""
        groups: dict[Path, frozenset[Path]] = {}
        for one, other in self.pairs:
            group = groups.get(one, frozenset({one})) | groups.get(other, frozenset({other}))
            groups |= dict.fromkeys(group, group)
        return groups


def _path(node: ast.expr) -> Path | None:
    """The path that the node is, and nothing besides."""
    found = attributes(node) if isinstance(node, ast.Attribute) else set()
    return next(iter(found), None)


def _values(node: ast.expr, filled: Mapping[str, Sequence[str]]) -> list[Json]:
    """What is written there: a constant, a list of them, or what the rules hold in a column."""
    column = token(node, "p")
    if column:
        return list(dict.fromkeys(filled.get(column, ())))
    try:
        value: Json = ast.literal_eval(node)
    except ValueError:
        return []
    found = list(value) if isinstance(value, tuple | list) else [value]
    return [Decimal(repr(one)) if isinstance(one, float) else one for one in found]
