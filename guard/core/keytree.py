"""The key tree: every rule about the fields of a result, compiled into one tree of paths.

A rule names a path and what becomes of what stands there: keep, drop, mask, hash, handle. Rules only ever hide: whatever several of them say
about one place, the strictest of it happens. Paths that lead to the same place are walked together, so that a value is looked at once,
however many rules there are. Comes after paths and before fields, which walks it; pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from guard.core.paths import ANY, DEEP, Path
from guard.core.values import Json

Does: TypeAlias = Literal["keep", "drop", "mask", "hash", "handle"]
FIXED = "fixed"
_STRENGTH: Final = {"drop": 4, "mask": 3, "hash": 2, "handle": 1}


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What becomes of the values at a path. `kind` is the kind of a mask, or the type of value that a handle stands for."""

    does: Does
    path: Path
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.does} {self.path}"


class _Node:
    """One place in the tree of all paths. `carrier` goes along to every depth below."""

    __slots__ = ("any", "below", "carrier", "ends", "index", "names", "sticks")

    def __init__(self, *, sticks: bool = False) -> None:
        self.names: dict[str, _Node] = {}
        self.index: dict[int, _Node] = {}
        self.any: _Node | None = None
        self.carrier: _Node | None = None
        self.sticks = sticks
        self.ends: list[int] = []  # rules whose path ends here
        self.below: set[int] = set()  # rules whose path goes on

    def add(self, number: int, steps: tuple[str, ...]) -> None:
        """Add a rule's path below this node."""
        node = self
        for step in steps:
            node.below.add(number)
            node = node._step(step, number)
        node.ends.append(number)

    def _step(self, step: str, number: int) -> _Node:
        if step.startswith(DEEP):
            self.carrier = self.carrier or _Node(sticks=True)
            self.carrier.below.add(number)
            return self.carrier.names.setdefault(step.removeprefix(DEEP), _Node())
        if step == ANY:
            self.any = self.any or _Node()
            return self.any
        if step.startswith("["):
            return self.index.setdefault(int(step[1:-1]), _Node())
        return self.names.setdefault(step, _Node())


class State:
    """Where in the tree a value stands: every path that leads here at once.

    `rule` is what happens to the value, `kept` whether it is shown at all, `live` whether something may happen inside of it, `bare` whether nothing happens
    to a value that has no inside, `listed` whether items of a list are meant, `near` the rules that expect something right inside, `husk` whether it goes with
    the last thing in it.
    """

    __slots__ = (
        "_nodes",
        "_tree",
        "bare",
        "below",
        "hit",
        "husk",
        "index",
        "item",
        "kept",
        "listed",
        "live",
        "names",
        "near",
        "other",
        "ready",
        "rule",
    )

    def __init__(self, tree: Tree, nodes: frozenset[_Node], *, kept: bool) -> None:
        self._tree, self._nodes, self.ready = tree, nodes, False
        rules = tree.rules
        ends = {number for node in nodes for number in node.ends}
        below = {number for node in nodes for number in node.below}
        self.kept = kept or any(rules[number].does == "keep" for number in ends)
        if self.kept:  # whatever is kept deeper is kept with it
            ends |= {number for number in below if rules[number].does == "keep"}
        self.hit = tuple(ends)
        self.below = tuple(below)
        self.rule = strictest([rules[number] for number in ends if rules[number].does != "keep"])
        self.live = any(self.kept is not (rules[number].does == "keep") for number in below)
        self.near = tuple({number for node in nodes if not node.sticks for number in node.below})
        self.listed = any(node.any is not None or node.index for node in nodes)
        self.bare = self.kept and not ends and not self.near
        self.husk = not self.kept and all(node.sticks for node in nodes)
        self.names: dict[str, State] = {}
        self.index: dict[int, State] = {}
        self.item = self.other = self

    def open(self) -> State:
        """This state with its next steps worked out, which is done once."""
        if not self.ready:
            stay = [node for node in self._nodes if node.sticks]
            self.other = self._next(stay)
            for name in {name for node in self._nodes for name in node.names}:
                self.names[name] = self._next([*stay, *(node.names[name] for node in self._nodes if name in node.names)])
            items = [*stay, *(node.any for node in self._nodes if node.any is not None)]
            self.item = self._next(items)
            for number in {number for node in self._nodes for number in node.index}:
                own = [node.index[number] for node in self._nodes if number in node.index]
                self.index[number] = self._next([*items, *own])
            self.ready = True
        return self

    def _next(self, nodes: Iterable[_Node]) -> State:
        return self._tree.state(nodes, kept=self.kept)


def strictest(rules: Sequence[FieldRule]) -> FieldRule | None:
    """What happens where several rules meet: the one that shows least; two that show different parts show nothing."""
    if len(rules) < 2:
        return rules[0] if rules else None
    best = max(rules, key=lambda rule: _STRENGTH[rule.does])
    if best.does == "drop" or len({(rule.does, rule.kind) for rule in rules}) == 1:
        return best
    if best.does == "hash":
        return best
    return FieldRule("mask", best.path, FIXED)


class Tree:
    """All rules of a tool for somebody, compiled. Grows while it is used, by what the paths can lead to and no further."""

    __slots__ = ("_records", "_root", "_states", "keeps", "rules")

    def __init__(self, rules: Sequence[FieldRule]) -> None:
        self.rules = tuple(rules)
        self.keeps = any(rule.does == "keep" for rule in rules)
        self._states: dict[tuple[bool, frozenset[_Node]], State] = {}
        root, records = _Node(), _Node()
        for number, rule in enumerate(self.rules):
            root.add(number, rule.path.steps)
            named = not rule.path.steps[0].startswith(("[", DEEP))
            records.add(number, (ANY, *rule.path.steps) if named else rule.path.steps)
        self._root = self.state([root], kept=not self.keeps)
        self._records = self.state([records], kept=not self.keeps)

    def start(self, value: Json) -> State:
        """Where the walk of a result begins: a list of records has the fields of each record."""
        return self._records if type(value) is list else self._root

    def state(self, nodes: Iterable[_Node], *, kept: bool) -> State:
        """The state of being at all of these nodes."""
        found = set(nodes)
        found |= {node.carrier for node in found if node.carrier is not None}
        key = (kept, frozenset(found))
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = State(self, key[1], kept=kept)
        return state
