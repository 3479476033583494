"""Checks: what stock Casbin passes over in silence, found in a model and in its rules before anything is decided.

Comes after engine's parts; used by casbin_rules while a policy is loaded. Decides nothing.
"""

from __future__ import annotations

import ast
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from guard.policy.engine.functions import PATTERNS, key2, key3, key5
from guard.policy.engine.model import BOTH, NO_DENY, Model
from guard.policy.engine.syntax import MatcherError, Names, conjuncts, forbidden, parse, spelled, token
from guard.policy.problems import Problems, Spot, meant

REQUEST = ("sub", "dom", "obj", "act", "ctx")
"""What a folder's model may ask about."""
SCOPE = ("arguments", "session", "resource", "resolved")
"""What stands below r.ctx."""
ANY = "*"
_SHOWN = 80
"""Characters of a condition in a message."""


@dataclass(frozen=True, slots=True)
class Uses:
    """How a matcher reads each column of the rules: `equal`, `roles`, `eval`, `other` or the name of a function; and its open texts."""

    ways: Mapping[str, frozenset[str]]
    opens: Mapping[str, frozenset[str]]

    def of(self, column: str) -> frozenset[str]:
        """The ways in which a column is read."""
        return self.ways.get(column, frozenset())

    def free(self, column: str) -> bool:
        """Whether the column holds patterns or conditions, which need brackets and quotes."""
        return bool(self.of(column) & (PATTERNS | {"eval"}))

    def filled(self, column: str) -> str | None:
        """What a rule of a tool's `allow:` says in a column of the model's own; None where nothing fits."""
        if self.of(column) == {"eval"}:
            return "True"
        return ANY if ANY in self.opens.get(column, ()) or not self.of(column) else None


def uses(tree: ast.expr, model: Model) -> Uses:
    """How the matcher reads each column."""
    ways: dict[str, set[str]] = {}
    opens: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            fixed = [one.value for one in sides if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            for column in filter(None, (token(one, "p") for one in sides)):
                equal = len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)
                if equal and fixed:
                    opens.setdefault(column, set()).update(fixed)
                else:
                    ways.setdefault(column, set()).add("equal" if equal else "other")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = "roles" if node.func.id in model.roles else node.func.id
            for column in filter(None, (token(one, "p") for one in node.args)):
                ways.setdefault(column, set()).add(name)
    return Uses({key: frozenset(way) for key, way in ways.items()}, {key: frozenset(text) for key, text in opens.items()})


def check_model(model: Model, problems: Problems) -> ast.expr | None:
    """The matcher's tree, or None where the model cannot be used; `problems` says why."""
    before = len(problems.errors)
    odd = [name for name in model.request if name not in REQUEST]
    if odd:
        problems.error(model.at("r"), f"a request has no {odd[0]}", meant(odd[0], REQUEST))
    if model.effect == NO_DENY:
        problems.error(model.at("e"), f"the effect {model.effect} allows when nothing matches", f"write e = {BOTH}")
    if model.ranked:
        message = f"the effect {model.effect} ranks rules, and a session's roles are each asked by itself"
        problems.error(model.at("e"), message, f"write e = {BOTH}")
    tree = _tree(model, problems)
    if tree is not None:
        _warn(tree, model, problems)
        for literal, name in _literals(tree):
            _pattern(literal, name, model.at("m"), problems)
    return tree if len(problems.errors) == before else None


def _tree(model: Model, problems: Problems) -> ast.expr | None:
    spot = model.at("m")
    try:
        tree = parse(model.matcher)
    except MatcherError as failure:
        problems.error(spot, f"the matcher {failure}", "compare with the shipped model.conf")
        return None
    _forbidden(tree, model, "the matcher", spot, problems)
    return tree


def _forbidden(tree: ast.expr, model: Model, what: str, spot: Spot, problems: Problems) -> None:
    names = Names(model.request, model.columns, model.roles)
    for found in forbidden(tree, names):
        problems.error(spot, f"{what}: {found}", "compare with the shipped model.conf")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and spelled(node.value) == "r.ctx" and node.attr not in SCOPE:
            problems.error(spot, f"{what}: r.ctx has no {node.attr}", meant(node.attr, SCOPE))
        elif isinstance(node, ast.BinOp | ast.IfExp | ast.Subscript):
            part = ast.unparse(node)
            if any(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in ast.walk(tree)):
                problems.error(spot, f"{what}: a number with a fraction beside {part} is not exact", "use whole numbers")


def _warn(tree: ast.expr, model: Model, problems: Problems) -> None:
    spot = model.at("m")
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or):
        problems.warn(spot, "the matcher is not indexable: every decision looks at every rule", "write it as terms joined by &&")
    first = conjuncts(tree)[0]
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id in model.roles and tree is not first:
        problems.warn(
            spot, f"{first.func.id} comes first: roles are looked up for every rule", "write the cheap comparisons first"
        )


def _literals(tree: ast.expr) -> Iterable[tuple[str, str]]:
    """Every pattern that stands in the matcher itself, with its function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            given = node.args[1]
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                yield given.value, node.func.id


_REGEX_BACK: Mapping[str, Callable[[str], str]] = {"keyMatch2": key2, "keyMatch3": key3, "keyMatch5": key5, "regexMatch": str}


def _pattern(text: str, name: str, spot: Spot, problems: Problems) -> None:
    """One pattern for one function."""
    if name == "ipMatch":
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            problems.error(spot, f"{text} is no address and no network", "write 10.0.0.0/8")
        return
    if name == "regexMatch" and not _anchored(text):
        problems.error(spot, f"the pattern {text} is not anchored: it matches beginnings", f"write ^({text})$")
    if name in {"keyMatch2", "keyMatch3", "keyMatch4", "keyMatch5"} and re.search(r"(?<!\\)\.", text):
        problems.error(spot, f"the dot in {text} stands for any character", "write \\. for a dot")
    if name in _REGEX_BACK:
        try:
            re.compile(_REGEX_BACK[name](text))
        except re.error as failure:
            problems.error(spot, f"the pattern {text} cannot be used: {failure}")


def _anchored(text: str) -> bool:
    """Whether `^` and `$` hold for all of it: an alternative outside of brackets escapes them."""
    depth = 0
    escaped = within = False
    for char in text:
        if escaped:
            escaped = False
            continue
        escaped = char == "\\"
        within = (char == "[" or within) and char != "]"
        depth += 0 if within else {"(": 1, ")": -1}.get(char, 0)
        if char == "|" and not depth and not within:
            return False
    return text.startswith("^") and text.endswith("$") and not text.endswith("\\$")


def check_rule(cells: Sequence[str], model: Model, known: Uses, spot: Spot, problems: Problems) -> None:
    """One rule's fields in the model's order."""
    for column, cell in zip(model.columns, cells, strict=True):
        ways = known.of(column)
        if "eval" in ways:
            _check_condition(cell, model, spot, problems)
        for name in ways & (PATTERNS | {"ipMatch"}):
            if cell not in known.opens.get(column, ()):
                _pattern(cell, name, spot, problems)
        told = column == "act" or (column in {"sub", "dom"} and cell != ANY)  # whoever reads the lines says more about these
        if not told and ways and ways <= {"equal", "roles"} and ANY in cell and cell not in known.opens.get(column, ()):
            problems.error(
                spot, f"the matcher compares {column} with ==, so {cell} stands for nothing but itself", "write the name"
            )
    if model.eft is not None and model.effect != BOTH and cells[model.eft] == "deny":
        problems.error(spot, "a deny has no effect in this model", f"write e = {BOTH} in model.conf")


def _check_condition(written: str, model: Model, spot: Spot, problems: Problems) -> None:
    text = written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."
    try:
        tree = parse(written)
    except MatcherError as failure:
        problems.error(spot, f"the condition {text} {failure}", "write it as in a matcher")
        return
    _forbidden(tree, model, f"the condition {text}", spot, problems)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "eval":
            problems.error(spot, f"the condition {text}: a condition cannot hold another", "write it out")
    for literal, name in _literals(tree):
        _pattern(literal, name, spot, problems)
