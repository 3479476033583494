"""Syntax: the text of a matcher or of a rule's condition as Python's tree, and what may stand in it.

Casbin's `&&`, `||` and `!` are turned into Python's words outside of quotes only. Casbin itself turns them everywhere, so a literal that
holds them is refused. Decides nothing. Comes after model, before index and compiled.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from guard.policy.engine.functions import NAMES

MAX_TEXT = 20_000
"""Characters of one matcher or condition."""
MAX_DEPTH = 60
"""Levels of one tree."""

_PIECES = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(&&|\|\||!(?!=))""")
_WORDS = {"&&": " and ", "||": " or ", "!": " not "}
_REWRITTEN = re.compile(r"&&|\|\||!|#|\b[rp]\d*\.")
_COMPILED = (
    ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.In, ast.NotIn, ast.Call, ast.Name, ast.Load, ast.Constant, ast.Attribute, ast.Tuple, ast.List,
)  # fmt: skip
_STOCK = (
    *_COMPILED, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.USub, ast.UAdd, ast.IfExp, ast.Subscript,
)  # fmt: skip


class MatcherError(ValueError):
    """What cannot stand in a matcher; the text says what and why."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a matcher may name: columns of the request and of the rules, and role definitions with their places."""

    request: tuple[str, ...]
    columns: tuple[str, ...]
    roles: Mapping[str, int]


def parse(text: str) -> ast.expr:
    """The tree of a matcher. Raises MatcherError."""
    if len(text) > MAX_TEXT:
        raise MatcherError(f"longer than {MAX_TEXT} characters")
    swapped = _PIECES.sub(lambda piece: piece[1] or _WORDS[piece[2]], text)
    try:
        tree = ast.parse(swapped.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as failure:
        raise MatcherError(f"does not parse: {getattr(failure, 'msg', type(failure).__name__)}") from None
    if _deep(tree):
        raise MatcherError(f"is nested more than {MAX_DEPTH} deep")
    return tree


def _deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [below for node in level for below in ast.iter_child_nodes(node)]
    return bool(level)


def forbidden(tree: ast.expr, names: Names) -> Iterator[str]:
    """Everything in the tree that may not stand in a matcher of a policy folder, in words."""
    for node in ast.walk(tree):
        if not isinstance(node, _STOCK):
            yield f"{type(node).__name__} has no place in a matcher"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = _REWRITTEN.search(node.value)
            if found:
                yield f"{found[0]} inside the text {node.value!r}: Casbin reads it as code"
        elif isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | float | str):
            yield f"{node.value!r} has no place in a matcher"
        elif isinstance(node, ast.Call):
            yield from _call(node, names)
        elif isinstance(node, ast.Attribute):
            yield from _attribute(node, names)
    yield from _bare(tree, names)


def _call(node: ast.Call, names: Names) -> Iterator[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if not name:
        yield f"{ast.unparse(node.func)} is a method; only functions of Casbin's own can be called"
    elif name not in {*NAMES, *names.roles, "eval"}:
        yield f"unknown function {name}"
    elif node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        yield f"{name} takes plain arguments only"
    elif name == "eval" and not (len(node.args) == 1 and token(node.args[0], "p")):
        yield "eval takes one column of the rules, as in eval(p.cond)"
    elif name in NAMES and len(node.args) != 2:
        yield f"{name} takes two arguments"
    elif name in names.roles and len(node.args) != names.roles[name]:
        yield f"{name} takes {names.roles[name]} arguments, as its role definition says"


def _attribute(node: ast.Attribute, names: Names) -> Iterator[str]:
    if node.attr.startswith("_"):
        yield f"{node.attr}: a name that begins with _"
    if not isinstance(node.value, ast.Name):
        if not isinstance(node.value, ast.Attribute):
            yield f"{ast.unparse(node)}: only r, p and r.ctx have parts"
        elif isinstance(node.value.value, ast.Name) and (node.value.value.id, node.value.attr) != ("r", "ctx"):
            yield f"{ast.unparse(node.value)} is a text and has no parts"
        return
    known = {"r": names.request, "p": names.columns}.get(node.value.id)
    if known is None:
        yield f"unknown name {node.value.id}"
    elif node.attr not in known:
        yield f"unknown name {node.value.id}.{node.attr}"


def _bare(tree: ast.expr, names: Names) -> Iterator[str]:
    """Names that stand alone: only functions, where they are called, and r and p, where a column follows."""
    used = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    used |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    flat = {f"r_{name}" for name in names.request} | {f"p_{name}" for name in names.columns}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in used and node.id not in flat:
            yield f"unknown name {node.id}"


def compilable(tree: ast.expr, names: Names) -> bool:
    """Whether the compiler understands all of it; what it does not, pycasbin evaluates."""
    known = all(isinstance(node, _COMPILED) for node in ast.walk(tree))
    return known and next(forbidden(tree, names), None) is None


def conjuncts(tree: ast.expr) -> list[ast.expr]:
    """The terms of the top-level AND, nested ones included."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return [term for value in tree.values for term in conjuncts(value)]
    return [tree]


def token(node: ast.expr, side: str) -> str:
    """The column that the node names on this side (`r` or `p`), or an empty text."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == side:
        return node.attr
    if isinstance(node, ast.Name) and node.id.startswith(f"{side}_"):
        return node.id[2:]
    return ""


def reads(tree: ast.expr, side: str) -> set[str]:
    """Every column of this side that the tree reads."""
    return {name for node in ast.walk(tree) if isinstance(node, ast.expr) and (name := token(node, side))}


def attributes(tree: ast.expr) -> set[tuple[str, ...]]:
    """Every path below `r.ctx` that the tree reads, the longest of each chain."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            path = tuple(ast.unparse(node).replace("r_ctx", "r.ctx").split("."))
            if path[:2] == ("r", "ctx"):
                found.add(path[2:])
    return found


def spelled(node: ast.expr) -> str:
    """A term as a person would write it in a model."""
    return re.sub(r"\b([rp])_(\w+)", r"\1.\2", ast.unparse(node))
