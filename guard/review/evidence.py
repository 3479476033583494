"""Evidence: which way it has changed what a call must rely on: `ground`, `after`, `resource`, and the records that limits are taken from.

Comes after regions; used by tool_changes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from guard.core.conditions import Condition
from guard.core.rules import After, Ground, ResourceRule, Source, Tool
from guard.review.changes import Direction, Fact, demands, fact, loosened, matched, most, tightened, words
from guard.review.regions import same, worlds

ECHO = "results of this tool are evidence elsewhere, and more of its arguments count there now"


def ground_facts(old: Tool, new: Tool) -> Iterator[Fact]:
    """How the grounds of a tool's arguments differ."""
    before = {str(ground.argument): ground for ground in old.grounds}
    after = {str(ground.argument): ground for ground in new.grounds}
    for name in sorted({*before, *after}):
        yield from _ground(f"ground.{name}", before.get(name), after.get(name))


def _ground(what: str, old: Ground | None, new: Ground | None) -> Iterator[Fact]:
    if old is None or new is None:
        direction = Direction.NARROWS if old is None else Direction.WIDENS
        if (old is not None and old.shadow) or (new is not None and new.shadow):  # what is only watched refuses nothing
            direction = Direction.CHANGES
        yield Fact(direction, what, _spelled(old), _spelled(new))
        return
    yield from fact(loosened(old.shadow, new.shadow), f"{what}.shadow", old.shadow, new.shadow)
    gone, come = matched(old.sources, new.sources, repr)
    if not gone and not come:
        return
    one = len(gone) == len(come) == 1
    yield from fact(source_direction(gone[0], come[0]) if one else _ways(gone, come), what, _spelled(old), _spelled(new))


def _ways(gone: Sequence[Source], come: Sequence[Source]) -> Direction:
    """Each source is one way in."""
    return Direction.NARROWS if not come else Direction.WIDENS if not gone else Direction.MAYBE


def bound_direction(old: Decimal | Source, new: Decimal | Source) -> Direction | None:
    """The direction of an upper bound that is a number, or one that an earlier result gives."""
    if old == new:
        return None
    if isinstance(old, Source) and isinstance(new, Source):
        return source_direction(old, new)
    return Direction.MAYBE if isinstance(old, Source) or isinstance(new, Source) else most(old, new)


def source_direction(old: Source, new: Source) -> Direction | None:
    """Which way one source has changed into another; unclear where it is another place."""
    if (old.origin, old.tool, old.path, old.relation) != (new.origin, new.tool, new.path, new.relation):
        return Direction.MAYBE
    return together(
        tightened(old.latest, new.latest),
        tightened(old.once, new.once),
        loosened(old.verified, new.verified),
        demands(map(str, old.same), map(str, new.same)),
    )


def together(*directions: Direction | None) -> Direction | None:
    """One direction for several parts of one thing: the gravest, and unclear where they go both ways."""
    found = {one for one in directions if one is not None}
    if {Direction.WIDENS, Direction.NARROWS} <= found:
        return Direction.MAYBE
    return next((one for one in Direction if one in found), None)


def _spelled(ground: Ground | None) -> str:
    if ground is None:
        return "from anywhere"
    return ("shadow: " if ground.shadow else "") + " or ".join(map(source_words, ground.sources))


def source_words(source: Source) -> str:
    """A source as the policy's author wrote it, as far as it says more than the default."""
    flags = [name for name in ("latest", "once", "verified") if getattr(source, name)]
    same_ = [f"same {words(list(map(str, source.same)))}"] if source.same else []
    return " ".join([source.text, *(f"({one})" for one in (*flags, *same_))])


# -- prerequisites -----------------------------------------------------------------------------------------------------------


def after_facts(old: Tool, new: Tool) -> Iterator[Fact]:
    """How the calls that must have come before differ."""
    gone, come = matched(old.after, new.after, _identity)
    for one in list(gone):
        twin = next((other for other in come if other.tool == one.tool), None)
        if twin is not None:
            gone.remove(one)
            come.remove(twin)
            direction = _after(one, twin)
            yield from fact(direction or Direction.CHANGES, f"after {one.tool}", _wanted(one), _wanted(twin))
    yield from (_alone(one, Direction.WIDENS, _wanted(one), "-") for one in gone)
    yield from (_alone(one, Direction.NARROWS, "-", _wanted(one)) for one in come)


def _alone(after: After, direction: Direction, old: str, new: str) -> Fact:
    return Fact(Direction.CHANGES if after.shadow else direction, f"after {after.tool}", old, new)


def _identity(after: After) -> object:
    return after.tool, same(after.where), after.same, after.latest, after.once, after.verified, after.shadow


def _after(old: After, new: After) -> Direction | None:
    return together(
        loosened(old.shadow, new.shadow),
        tightened(old.latest, new.latest),
        tightened(old.once, new.once),
        loosened(old.verified, new.verified),
        demands(map(str, old.same), map(str, new.same)),
        where_direction(old.where, new.where),
    )


def where_direction(old: Condition | None, new: Condition | None) -> Direction | None:
    """Which way a condition that must surely hold has changed."""
    if same(old) == same(new):
        return None
    found = worlds([one for one in (old, new) if one is not None], lambda _path, _value: True)
    if found is None:
        return Direction.MAYBE
    pairs = {(old is None or world.surely(old), new is None or world.surely(new)) for world in found}
    opened, closed = (False, True) in pairs, (True, False) in pairs
    return together(Direction.WIDENS if opened else None, Direction.NARROWS if closed else None)


def _wanted(after: After) -> str:
    flags = [name for name in ("latest", "once", "verified", "shadow") if getattr(after, name)]
    flags += [f"same {words(list(map(str, after.same)))}"] if after.same else []
    return " ".join([after.text, *(f"({one})" for one in flags)])


# -- records that a call touches ---------------------------------------------------------------------------------------------


def resource_facts(old: Tool, new: Tool) -> Iterator[Fact]:
    """How the records that a call touches, and whose they must be, differ."""
    gone, come = matched(old.resources, new.resources, repr)
    for one in list(gone):
        twin = next((other for other in come if (other.name, other.argument) == (one.name, one.argument)), None)
        if twin is not None:
            gone.remove(one)
            come.remove(twin)
            yield Fact(_owner(one, twin), f"resource {one.name}", _record(one), _record(twin))
    yield from (Fact(Direction.WIDENS, f"resource {one.name}", _record(one), "-") for one in gone)
    yield from (Fact(Direction.NARROWS, f"resource {one.name}", "-", _record(one)) for one in come)


def _owner(old: ResourceRule, new: ResourceRule) -> Direction:
    return Direction.WIDENS if new.owner is None else Direction.NARROWS if old.owner is None else Direction.MAYBE


def _record(rule: ResourceRule) -> str:
    return f"named by {rule.argument}" + (f", owner {rule.owner}" if rule.owner else "")


def relied_on(tools: Sequence[Tool]) -> frozenset[str]:
    """The tools whose results some other tool's policy takes as evidence."""
    sources = [source for tool in tools for ground in tool.grounds for source in ground.sources]
    sources += [limit.at_most for tool in tools for limit in tool.limits.sums if isinstance(limit.at_most, Source)]
    return frozenset({source.tool for source in sources} | {after.tool for tool in tools for after in tool.after})
