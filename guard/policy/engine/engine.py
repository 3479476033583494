"""Engine: one model with its rules, ready to decide: allowed or not, and the rule that decided, as pycasbin itself would say.

An error is no answer: in a rule that denies it counts as a match, in one that allows as none. Only a real True matches. Knows no session.
Comes after everything in this package; before casbin_rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guard.policy.engine.closure import ANYWHERE, Closure
from guard.policy.engine.compiled import Compiled, can_compile, exactly, late, truth
from guard.policy.engine.functions import CLOCK, table
from guard.policy.engine.index import Index, terms_of
from guard.policy.engine.model import ALLOW, NO_DENY, Model
from guard.policy.engine.stock import Stock
from guard.policy.engine.syntax import Names, attributes, parse, token
from guard.policy.engine.view import view_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision, the position of the rule that decided it, and positions of rules that could not be evaluated."""

    allowed: bool
    position: int | None = None
    errors: tuple[int, ...] = ()


class Engine:
    """Frozen. `rows` are the rules' fields in the model's order; `links` the lines of each role definition."""

    def __init__(self, model: Model, rows: Iterable[Sequence[str]], links: Mapping[str, Iterable[Sequence[str]]]) -> None:
        given = {name: [tuple(link) for link in links.get(name, ())] for name in model.roles}
        self.model = model
        self.names = Names(model.request, model.columns, model.roles)
        self.tree = parse(model.matcher)
        self.closures = {name: Closure(_link(link) for link in found) for name, found in given.items()}
        functions = table()
        self.functions = {**functions, **{name: closure.has_link for name, closure in self.closures.items()}}
        self._stock = Stock(model, functions, self.closures)
        self.rows = tuple(map(tuple, rows))
        if self.rows and (model.ranked or "priority" in model.columns):
            self.rows = tuple(self._stock.sort(self.rows, given.get("g", [])))
        self.conditions = conditions = self._conditions()
        trees = [self.tree, *map(parse, conditions)]
        self.paths = frozenset(path for tree in trees for path in attributes(tree))
        self.late = any(map(late, trees))
        self.steady = not self.paths and CLOCK not in model.matcher and not any(CLOCK in text for text in conditions)
        self.view = view_of(self.paths)
        self.index = Index(terms_of(self.tree, model.request, model.columns, model.roles), self.rows, self.closures)
        self.compiled: Compiled | None = None
        if can_compile(self.tree, self.names, conditions):
            self.compiled = Compiled(self.tree, self.names, self.functions, conditions)
        self._all = range(len(self.rows))

    def _conditions(self) -> frozenset[str]:
        """Every text that `eval` would be given."""
        import ast  # noqa: PLC0415 - only while building

        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "eval"]
        columns = {token(call.args[0], "p") for call in calls if len(call.args) == 1} & set(self.model.columns)
        return frozenset(row[self.model.columns.index(name)] for row in self.rows for name in columns)

    def decide(self, request: Sequence[Any], *, known: bool = True) -> Outcome:
        """Judge one request, its values in the model's order. `known` False: what only a call brings is not known yet."""
        if len(request) != len(self.model.request):
            raise ValueError(f"a request of {len(request)} values; the model has {len(self.model.request)}")
        values = exactly(request)
        if not self.rows:
            return Outcome(allowed=self._without_rules(values))
        found = self.index.find(values)
        candidates = self._all if found is None else found
        if not candidates:
            return Outcome(allowed=self.model.effect == NO_DENY)
        if self.compiled is None and (known or not self.late):
            return self._by_casbin(candidates, values)
        return self._walk(candidates, values, known=known)

    def effect(self, position: int) -> str:
        """`allow`, `deny` or whatever the rule says."""
        return "allow" if self.model.eft is None else self.rows[position][self.model.eft]

    def matches(self, position: int, values: Sequence[Any], *, known: bool = True) -> bool:
        """Whether one rule matches. Raises what the matcher raises, and TypeError where it gives no truth."""
        denies = self.effect(position) == "deny"
        if self.compiled is not None:
            test = self.compiled.exact if known else self.compiled.surely if denies else self.compiled.maybe
            return truth(test(*values, *self.rows[position]))
        if not known and self.late:
            return not denies
        return self._stock.ask([self.rows[position]], values)[1] is not None

    def _walk(self, candidates: Iterable[int], values: Sequence[Any], *, known: bool) -> Outcome:
        test = self._test(known=known)
        effect, eft, rows = self.model.effect, self.model.eft, self.rows
        last: int | None = None
        allowed = denied = False
        errors: list[int] = []
        for position in candidates:
            row = rows[position]
            says = "allow" if eft is None else row[eft]
            try:
                matched = test(position, row, says, values)
            except Exception:  # noqa: BLE001 - a matcher of the user's may raise anything
                errors.append(position)
                matched = says == "deny"
            if not matched:
                continue
            last = position
            allowed, denied = allowed or says == "allow", denied or says == "deny"
            if (denied and effect != ALLOW) or (allowed and (effect == ALLOW or self.model.ranked)):
                break
        return Outcome(_final(effect, allowed=allowed, denied=denied), last, tuple(errors))

    def _test(self, *, known: bool) -> Callable[[int, Sequence[str], str, Sequence[Any]], bool]:
        made = self.compiled
        if made is None:
            return lambda position, _, __, values: self.matches(position, values, known=known)
        if known or not self.late:
            return lambda _, row, __, values: truth(made.exact(*values, *row))
        return lambda _, row, says, values: truth((made.surely if says == "deny" else made.maybe)(*values, *row))

    def _by_casbin(self, candidates: Sequence[int], values: Sequence[Any]) -> Outcome:
        try:
            allowed, place = self._stock.ask([self.rows[position] for position in candidates], values)
        except Exception:  # noqa: BLE001 - then each rule is asked by itself, so that one that raises hides no other
            return self._walk(candidates, values, known=True)
        return Outcome(allowed, None if place is None else candidates[place])

    def _without_rules(self, values: Sequence[Any]) -> bool:
        """Without rules only a matcher that is true whatever a rule would say allows; Casbin itself judges a rule of empty texts."""
        if self.compiled is None or self.model.effect == NO_DENY:
            return False
        try:
            return self.compiled.without_rule(*values, *([""] * len(self.model.columns))) is True
        except Exception:  # noqa: BLE001 - an error allows nothing
            return False


def _link(link: Sequence[str]) -> tuple[str, str, str]:
    return (link[0], link[1], link[2] if len(link) > 2 else ANYWHERE)


def _final(effect: str, *, allowed: bool, denied: bool) -> bool:
    if effect == NO_DENY:
        return not denied
    return allowed if effect == ALLOW else allowed and not denied
