"""Result changes: what goes back of a tool's results under two policies, and where hidden values are put back, fact by fact.

A rule that hides less, a role that sees more, an argument that gets values behind handles: each widens. Comes after changes; used by
tool_changes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from guard.core.keytree import FieldRule
from guard.core.paths import Path
from guard.core.rules import ResultRule, Tool
from guard.core.values import canonical, digest
from guard.core.views import Blocks, Rules
from guard.review.changes import Direction, Fact, fact, loosened, most, permits, words

_HIDES = {"drop": 4, "mask": 3, "hash": 2, "handle": 1}
_FIXED = 3.5  # a mask that shows nothing


def result_facts(old: Tool, new: Tool) -> Iterator[Fact]:
    """Every difference in what goes back, and in what is put back."""
    yield from _result(old.result, new.result)
    yield from _reveals(old, new)
    before, after = ([str(path) for path in tool.masks] for tool in (old, new))
    yield from fact(permits(before, after), "masks", before, after)


def _result(old: ResultRule, new: ResultRule) -> Iterator[Fact]:
    yield from _rules(old.rules, new.rules, "result")
    for name in sorted({*old.roles, *new.roles}):
        yield from _role(name, (old, new))
    yield from fact(most(old.max_bytes, new.max_bytes), "result.max_bytes", old.max_bytes, new.max_bytes)
    yield from fact(most(old.max_tokens, new.max_tokens), "result.max_tokens", old.max_tokens, new.max_tokens)
    if old.shape != new.shape:
        yield Fact(_shape(old, new), "result.schema", _form(old), _form(new), "what counts as a result")
    if old.units != new.units:
        yield Fact(Direction.CHANGES, "result.units", _units(old), _units(new))
    if old.empty != new.empty:
        yield Fact(Direction.CHANGES, "result.empty", words(old.empty), words(new.empty))


def _shape(old: ResultRule, new: ResultRule) -> Direction:
    """A form that is asked for refuses what has another one."""
    return Direction.NARROWS if old.shape is None else Direction.WIDENS if new.shape is None else Direction.MAYBE


def _form(rule: ResultRule) -> str:
    return "any" if rule.shape is None else digest(canonical(rule.shape))[:12]


def _units(rule: ResultRule) -> str:
    return words([f"{path} in {unit}" for path, unit in rule.units])


def _role(name: str, pair: tuple[ResultRule, ResultRule]) -> Iterator[Fact]:
    """A role without an entry sees what everybody sees."""
    what = f"result.roles.{name}"
    old, new = (rule.roles.get(name, Rules()) for rule in pair)
    before, after = (
        Rules(keep=rule.keep if own.keep is None else own.keep, hide=own.hide, show=own.show, blocks=own.blocks)
        for own, rule in ((old, pair[0]), (new, pair[1]))
    )
    if old.keep != new.keep:
        yield from _keeps(before, after, what)
    yield from _hides(before, after, what)
    yield from _shown(old.blocks, new.blocks, what)
    lifted, lifts = ([str(path) for path in rules.show] for rules in (old, new))
    yield from fact(permits(lifted, lifts), f"{what}.show", lifted, lifts)


def _rules(old: Rules, new: Rules, what: str) -> Iterator[Fact]:
    return chain(_keeps(old, new, what), _hides(old, new, what), _shown(old.blocks, new.blocks, what))


def _keeps(old: Rules, new: Rules, what: str) -> Iterator[Fact]:
    if old.keep != new.keep:
        yield Fact(_keep(old, new), f"{what}.keep", _kept(old), _kept(new))


def _keep(old: Rules, new: Rules) -> Direction:
    """A kept field brings everything below it."""
    if old.keep is None or new.keep is None:
        return Direction.NARROWS if old.keep is None else Direction.WIDENS
    if not _covered(new.keep, old.keep):
        return Direction.WIDENS
    return Direction.CHANGES if _covered(old.keep, new.keep) else Direction.NARROWS


def _covered(paths: Iterable[Path], by: Iterable[Path]) -> bool:
    known = [path.steps for path in by]
    return all(any(path.steps[: len(steps)] == steps for steps in known) for path in paths)


def _kept(rules: Rules) -> str:
    return "everything" if rules.keep is None else words(list(map(str, rules.keep)))


def _hides(old: Rules, new: Rules, what: str) -> Iterator[Fact]:
    before, after = ({str(rule.path): rule for rule in rules.hide} for rules in (old, new))
    for path in sorted({*before, *after}):
        one, other = before.get(path), after.get(path)
        if one != other:
            key = (other or one or FieldRule("drop", Path("result", (path,)))).does
            yield Fact(_hiding(one, other), f"{what}.{key} {path}", _named(one), _named(other))


def _hiding(old: FieldRule | None, new: FieldRule | None) -> Direction:
    before, after = _strength(old), _strength(new)
    apart = {rule.does for rule, strength in ((old, before), (new, after)) if rule is not None and strength < _FIXED}
    unlike = before == after or (len(apart) == 2 and "mask" in apart)  # each shows what the other does not
    return Direction.MAYBE if unlike else Direction.NARROWS if after > before else Direction.WIDENS


def _strength(rule: FieldRule | None) -> float:
    if rule is None:
        return 0
    return _FIXED if rule.kind == "fixed" and rule.does == "mask" else _HIDES[rule.does]


def _named(rule: FieldRule | None) -> str:
    return "shown" if rule is None else f"{rule.does} {rule.kind}".rstrip()


def _shown(old: Blocks, new: Blocks, what: str) -> Iterator[Fact]:
    for name in ("text", "structured", "resources"):
        before, after = getattr(old, name), getattr(new, name)
        yield from fact(loosened(before, after), f"{what}.blocks.{name}", _side(before), _side(after))
    if old.images != new.images:
        direction = (
            Direction.WIDENS
            if new.images is None or (old.images is not None and not new.images <= old.images)
            else Direction.NARROWS
        )
        yield Fact(direction, f"{what}.blocks.images", _types(old), _types(new))


def _side(shown: bool) -> str:  # noqa: FBT001 - as it is written
    return "keep" if shown else "drop"


def _types(blocks: Blocks) -> str:
    return "keep" if blocks.images is None else words(sorted(blocks.images)) if blocks.images else "drop"


def _reveals(old: Tool, new: Tool) -> Iterator[Fact]:
    """An argument that gets more types of hidden values."""
    before, after = ({str(one.argument): one.types for one in tool.reveals} for tool in (old, new))
    for name in sorted({*before, *after}):
        one, other = sorted(before.get(name, ())), sorted(after.get(name, ()))
        yield from fact(permits(one, other), f"handles.{name}", one, other)
