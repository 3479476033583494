"""Compiled: a matcher as one Python function, made from its checked tree, with nothing in reach but the functions of the table.

Besides the exact function there are two for a call that is not known yet: one that is true wherever the matcher may be, one that is true only
where it surely is. Comes after syntax, before engine.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from guard.policy.engine.syntax import Names, attributes, compilable, parse, token

Test = Callable[..., Any]
EXACT, MAYBE, SURELY = "exact", "maybe", "surely"
_WAYS = (EXACT, MAYBE, SURELY)


def _ordered(compare: Test) -> Test:
    def judge(left: Any, right: Any) -> Any:
        if isinstance(left, bool) or isinstance(right, bool):
            raise TypeError("true and false have no order")
        return compare(left, right)

    return judge


def _same(left: Any, right: Any) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _among(value: Any, held: Any) -> bool:
    return any(_same(value, one) for one in held) if isinstance(held, tuple) else value in held


def truth(value: object) -> bool:
    """The value itself, where it is true or false. Raises TypeError for everything else."""
    if value is True or value is False:
        return value
    raise TypeError("a matcher gives true or false")


_COMPARED: Mapping[str, Test] = {
    "_truth": truth,
    "_Eq": _same,
    "_NotEq": lambda left, right: not _same(left, right),
    "_In": _among,
    "_NotIn": lambda value, held: not _among(value, held),
    "_Lt": _ordered(operator.lt),
    "_LtE": _ordered(operator.le),
    "_Gt": _ordered(operator.gt),
    "_GtE": _ordered(operator.ge),
}


class Compiled:
    """The three functions of a matcher. Each takes the request's values, then the rule's fields."""

    def __init__(self, tree: ast.expr, names: Names, functions: Mapping[str, Test], conditions: Collection[str] = ()) -> None:
        self._names = names
        self._globals: dict[str, Any] = {"__builtins__": {}, **functions, **_COMPARED}
        for way in _WAYS:
            parsed = {text: parse(text) for text in conditions}
            made = {text: self._function(one, way) for text, one in parsed.items()}
            self._globals[f"_eval_{way}"] = _chooser(made)
        self.exact = self._function(tree, EXACT)
        self.maybe = self._function(tree, MAYBE)
        self.surely = self._function(tree, SURELY)
        self.without_rule = self._function(tree, SURELY, blind=True)

    def _function(self, tree: ast.expr, way: str, *, blind: bool = False) -> Test:
        body = _Builder(self._names, self._globals, blind=blind).build(tree, way)
        parameters = [f"r_{name}" for name in self._names.request] + [f"p_{name}" for name in self._names.columns]
        arguments = ast.arguments(
            posonlyargs=[], args=[ast.arg(arg=name) for name in parameters], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        whole = ast.fix_missing_locations(ast.Expression(ast.Lambda(args=arguments, body=body)))
        made: Test = eval(compile(whole, "<matcher>", "eval"), self._globals)  # noqa: S307 - a checked tree, nothing else in reach
        return made


def _chooser(made: Mapping[str, Test]) -> Test:
    return lambda text, *values: made[text](*values)


def can_compile(tree: ast.expr, names: Names, conditions: Iterable[str]) -> bool:
    """Whether matcher and conditions are all within what the compiler understands."""
    return compilable(tree, names) and all(compilable(parse(text), names) for text in conditions)


def late(tree: ast.expr) -> bool:
    """Whether the tree reads what only a call brings: anything below `r.ctx` but the session."""
    return any(path[:1] != ("session",) for path in attributes(tree))


class _Builder:
    """Rewrites a matcher's tree into plain names. `blind`: what reads the rule is not known either."""

    def __init__(self, names: Names, table: dict[str, Any], *, blind: bool) -> None:
        self._every = [f"r_{name}" for name in names.request] + [f"p_{name}" for name in names.columns]
        self._table = table
        self._blind = blind

    def build(self, node: ast.expr, way: str) -> ast.expr:
        """One node. Where the way is not exact, a term that is not known becomes what keeps the promise of the way."""
        if isinstance(node, ast.BoolOp):
            return ast.BoolOp(op=node.op, values=[self.build(value, way) for value in node.values])
        if isinstance(node, ast.UnaryOp):
            other = {MAYBE: SURELY, SURELY: MAYBE}.get(way, way)
            return ast.UnaryOp(op=node.op, operand=self.build(node.operand, other))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "eval":
            return ast.Constant(way == MAYBE) if self._blind else self._condition(node, way)
        if way != EXACT and (late(node) or (self._blind and _reads_rule(node))):
            return ast.Constant(way == MAYBE)
        made = self._plain(node, way)
        if isinstance(node, ast.Compare | ast.Call) or (isinstance(node, ast.Constant) and isinstance(node.value, bool)):
            return made
        return ast.Call(func=_name("_truth"), args=[made], keywords=[])  # a number or a text is no truth

    def _condition(self, node: ast.Call, way: str) -> ast.expr:
        names = [f"p_{token(node.args[0], 'p')}", *self._every]
        return ast.Call(func=_name(f"_eval_{way}"), args=[_name(name) for name in names], keywords=[])

    def _plain(self, node: ast.expr, way: str) -> ast.expr:
        if isinstance(node, ast.Constant):
            return self._number(node)
        for side in "rp":
            if token(node, side):
                return _name(f"{side}_{token(node, side)}")
        if isinstance(node, ast.Attribute):
            return ast.Attribute(value=self._plain(node.value, way), attr=node.attr, ctx=ast.Load())
        if isinstance(node, ast.Compare):
            left, others = self._plain(node.left, way), [self._plain(one, way) for one in node.comparators]
            return (
                self._exact(node, [left, *others])
                if attributes(node)
                else ast.Compare(left=left, ops=node.ops, comparators=others)
            )
        if isinstance(node, ast.Call):
            return ast.Call(func=node.func, args=[self._plain(one, way) for one in node.args], keywords=[])
        if isinstance(node, ast.Tuple | ast.List):
            return ast.Tuple(elts=[self._plain(one, way) for one in node.elts], ctx=ast.Load())
        return self.build(node, way)

    def _exact(self, node: ast.Compare, sides: list[ast.expr]) -> ast.expr:
        """Comparisons of what a call brings, pair by pair: true is not 1 there, and has no order."""
        pairs = zip(node.ops, sides, sides[1:], strict=False)
        found: list[ast.expr] = [
            ast.Call(func=_name(f"_{type(op).__name__}"), args=[left, right], keywords=[]) for op, left, right in pairs
        ]
        return found[0] if len(found) == 1 else ast.BoolOp(op=ast.And(), values=found)

    def _number(self, node: ast.Constant) -> ast.expr:
        """A number with a fraction by its digits: 0.1 is the text's 0.1 and not the nearest float."""
        if not isinstance(node.value, float):
            return ast.Constant(node.value)
        name = f"_n{len(self._table)}"
        self._table[name] = Decimal(repr(node.value))
        return _name(name)


def _reads_rule(node: ast.expr) -> bool:
    return any(isinstance(one, ast.expr) and token(one, "p") for one in ast.walk(node))


def _name(text: str) -> ast.expr:
    return ast.Name(id=text, ctx=ast.Load())


def exactly(values: Sequence[Any]) -> tuple[Any, ...]:
    """The values, floats by their shortest digits, so that they meet the matcher's numbers."""
    return tuple(Decimal(repr(value)) if type(value) is float else value for value in values)
