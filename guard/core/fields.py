"""Fields: the rules about the fields of a result, applied to a value in one walk.

Goes level by level, never by recursion, copies what it changes and nothing else, and gives the same object where nothing was changed. Text that
is JSON is looked into; where it cannot be read exactly it is hidden whole. What a mask or handle looks like is decided elsewhere. Comes after keytree and before views; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from guard.core.keytree import FieldRule, State, Tree
from guard.core.opening import Again, Several, Shut, holds, opened, shut, torn
from guard.core.values import Json, encode

HIDDEN = "[hidden]"
GONE: Any = object()
"""In the place of a value of which nothing is left."""
_INNER = 3  # how often text inside text is looked into
Change: TypeAlias = "Callable[[FieldRule, Json], Json]"
"""Makes what stands in the place of a text or number that a rule hides."""


def hidden_whole(rule: FieldRule, value: Json) -> Json:  # noqa: ARG001 - it tells nothing of either
    """Hides whatever it is given: for where no conversation is at hand that a handle could belong to."""
    return HIDDEN


class Trimmed(NamedTuple):
    """A value with its rules applied, the rules (by number) that met nothing although there was something, and whether text was shut."""

    value: Json
    idle: tuple[int, ...] = ()
    shut: bool = False


def apply(tree: Tree, value: Json, change: Change, *, read: bool = False) -> Trimmed:
    """The value with every rule applied; `change` gives what stands in the place of a text or number. Nothing left is GONE.

    `read`: the value was read from a text, so an object in it may repeat a name.
    """
    if not tree.rules:
        return Trimmed(value)
    text = type(value) is str
    inner = opened(value) if text else value
    start = inner if text and isinstance(inner, dict | list) else value
    walk = _Walk(tree, change, read=read or text)
    new = walk.run(start, tree.start(start))
    if text and not walk.changed:
        new = value
    if tree.keeps and walk.changed and type(new) is list:
        new = [item for item in new if item != {}]  # records of which nothing is kept
    empty = value is None or value in ("", [], {})
    return Trimmed(new, () if empty else tuple(n for n in range(len(tree.rules)) if n not in walk.seen), walk.shut)


class _Work:
    """One container to be looked at: what it was, what it becomes, and where it belongs."""

    __slots__ = ("between", "depth", "gaps", "key", "out", "parent", "source", "state", "text")

    def __init__(self, source: Any, state: State, parent: _Work | None, key: Any, *, depth: int, text: bool) -> None:
        self.between = source.gaps if type(source) is Several else None
        self.source: Any = source.values if type(source) is Several else source
        self.state, self.parent, self.key, self.depth, self.text = state, parent, key, depth, text
        self.out: Any = None
        self.gaps = False

    def put(self, key: Any, value: Json) -> None:
        """Change one item, in a copy."""
        if self.out is None:
            self.out = self.source.copy()
        if value is GONE and type(self.out) is dict:
            del self.out[key]
            return
        self.gaps = self.gaps or value is GONE
        self.out[key] = value

    def made(self) -> Json:
        """What became of it; GONE where only a name at any depth could have been in it, and none was."""
        if self.between is not None:
            return self._joined(self.between)
        out = [item for item in self.out if item is not GONE] if self.gaps else self.out
        if not out and self.state.husk:
            return GONE
        return encode(out) if self.text else out

    def _joined(self, between: Sequence[str]) -> Json:
        """Several values of one text, those that are left."""
        if all(item is GONE for item in self.out):
            return GONE
        told = ("" if item is GONE else encode(item) for item in self.out)
        return "".join(gap + text for gap, text in zip(between, (*told, ""), strict=True))


class _Walk:
    """One walk over one value: which rules met something, and what is still to be looked at."""

    def __init__(self, tree: Tree, change: Change, *, read: bool) -> None:
        self._tree, self._change, self._read = tree, change, read
        self.seen: set[int] = set()
        self.changed = False
        self.shut = False  # some text could not be read exactly, and was hidden
        self._queue: list[_Work] = []

    def run(self, value: Json, state: State) -> Json:
        """The new value: parents are looked at before their children, and put together after them."""
        first = self._judged(state, value, None, None)
        root = self._queue[0] if self._queue else None
        for work in self._queue:  # grows as it goes
            self._look(work)
        for work in reversed(self._queue):
            if work.out is not None and work.parent is not None:
                work.parent.put(work.key, work.made())
        self.changed = first is not value or (root is not None and root.out is not None)
        return root.made() if root is not None and root.out is not None else first

    def _look(self, work: _Work) -> None:
        if work.between is not None:  # each stands where the text stood
            for number, item in enumerate(work.source):
                child = self._tree.start(item) if work.parent is None else work.state
                self._keep(work, number, item, self._judged(child, item, work, number))
            return
        state = work.state.open()
        if type(work.source) is dict:
            self._look_into(work, state.names, state.other)
            return
        index, every = state.index, state.item
        bare = not index and every.bare
        for number, item in enumerate(work.source):
            if not (bare and _is_leaf(item)):
                child = index.get(number, every) if index else every
                self._keep(work, number, item, self._judged(child, item, work, number))

    def _look_into(self, work: _Work, names: Mapping[str, State], other: State) -> None:
        """The fields of an object: only those that are named, where no other field matters."""
        source = work.source
        if self._read and (again := [key for key in source if type(key) is Again]):
            names = {**names, **{key: names.get(str(key), other) for key in again}}
        if other.live:
            for key, item in source.items():
                child = names.get(key, other)
                if not (child.bare and _is_leaf(item)):
                    self._keep(work, key, item, self._judged(child, item, work, key))
            return
        if not other.kept:
            named = {key: item for key, item in source.items() if key in names}
            work.out = None if len(named) == len(source) else named
        for key, child in names.items():
            if key in source:
                self._keep(work, key, source[key], self._judged(child, source[key], work, key))

    @staticmethod
    def _keep(work: _Work, key: Any, old: Json, new: Json) -> None:
        if new is not old:
            work.put(key, new)

    def _judged(self, state: State, value: Json, work: _Work | None, key: Any) -> Json:
        """What becomes of one value: itself, GONE or another; a container with rules inside is looked at later."""
        if state.hit:
            self.seen.update(state.hit)
        if state.rule is not None:
            self.seen.update(state.below)  # whatever it holds is hidden with it
            return self._replaced(state.rule, value) if state.kept and state.rule.does != "drop" else GONE
        if not state.live:
            return value if state.kept else GONE
        depth = 0 if work is None else work.depth
        inner = self._inside(value, depth)
        if inner is Shut.FIELDS or (inner is Shut.ITEMS and state.listed):
            return self._closed(state, work)
        if value is None or inner in ({}, []):
            self.seen.update(state.near)  # there is nothing that the rules could have met
            return value
        if inner is None or inner is Shut.ITEMS:
            return value if state.kept else GONE
        text = type(value) is str
        self._read = self._read or text
        self._queue.append(_Work(inner, state, work, key, depth=depth + text, text=text))
        return value

    @staticmethod
    def _inside(value: Json, depth: int) -> Json:
        """What rules can go on into; a text so deep that it is not looked into is shut, if anything may be in it."""
        kind = type(value)
        if kind is str:
            return opened(value) if depth < _INNER else shut(value)
        return value if kind is dict or kind is list else None

    def _closed(self, state: State, work: _Work | None) -> Json:
        """What becomes of a text in which a rule may mean something, and that cannot be read."""
        self.shut = True
        self.seen.update(state.below)
        return HIDDEN if state.kept and work is not None else GONE

    def _replaced(self, rule: FieldRule, value: Json) -> Json:
        """What stands in the place of a value; of a list, in the place of each item."""
        if value is None or value == "":
            return value
        if type(value) is list:
            return [self._replaced(rule, item) for item in value] if _depth(value) < _INNER else self._change(rule, {})
        return self._change(rule, value)


def _depth(value: Json) -> int:
    """How deep lists are nested, as far as it matters."""
    level, deep = [value], 0
    while level and deep <= _INNER:
        level = [item for one in level for item in one if type(item) is list]
        deep += 1
    return deep - 1


_ATOMS = frozenset({int, float, bool, type(None), Decimal})


def _is_leaf(value: Json) -> bool:
    """Whether there is surely nothing inside a value."""
    kind = type(value)
    return kind in _ATOMS or (kind is str and not holds(value))


class Fields:
    """The rules of one view, applied to the parts of one result; remembers which of them met nothing in any part."""

    def __init__(self, trees: Sequence[Tree], change: Change) -> None:
        self._trees, self._change = trees, change
        self._idle: dict[str, None] | None = None
        self.shut = False  # some text could not be read exactly, and was hidden
        self.keeps = any(tree.keeps for tree in trees)

    def of(self, value: Json) -> Json:
        """One part with the rules applied; None where nothing of it is left."""
        idle: dict[str, None] = {}
        whole = value = str(value) if isinstance(value, str) else value  # a block of a resource is a text of its own kind
        if self._trees and type(value) is list and all(type(item) is str for item in value) and torn(value):
            self.shut = True  # a text in pieces
            return None
        for tree in self._trees:
            done = apply(tree, value, self._change, read=isinstance(whole, str))
            self.shut = self.shut or done.shut
            idle |= {str(tree.rules[number]): None for number in done.idle}
            value = None if done.value is GONE else done.value
        if whole not in (None, "", [], {}):
            self._idle = idle if self._idle is None else {name: None for name in self._idle if name in idle}
        return value

    def torn(self, texts: list[str]) -> bool:
        """Whether texts that stand beside each other may be pieces of one that a rule means and nobody can read."""
        self.shut = self.shut or (bool(self._trees) and torn(texts))
        return self.shut

    def idle(self) -> tuple[str, ...]:
        """Rules that met nothing, although there was something."""
        return tuple(self._idle or ())
