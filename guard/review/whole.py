"""Whole: what two policies say about everything at once: limits, prices, people, and the matcher.

Comes after changes; used by differ. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guard.core.model import Session
from guard.core.redaction import Redaction
from guard.core.rules import Limits
from guard.policy import Loaded
from guard.review.budget_changes import ceiling_facts, in_force, shadow_facts, window_facts
from guard.review.changes import Change, Direction, Fact, fact, most, permits, tightened, words

Pair = tuple[Loaded, Loaded]


def whole_changes(pair: Pair) -> Iterator[Change]:
    """Every difference that is about no single tool."""
    old, new = pair[0].policy, pair[1].policy
    for one in _limits(old.limits, new.limits):
        yield _change("limits", one)
    for one in ceiling_facts(old.ceilings, new.ceilings):
        yield _change("ceilings", one)
    for one in _redaction(old.redaction, new.redaction):
        yield _change("redact", one)
    for one in shadow_facts(*([str(rule) for rule in side.book.trial] for side in pair)):
        yield _change("rules", one)
    for one in _people(old.people, new.people):
        yield _change("people", one)


def _change(subject: str, one: Fact) -> Change:
    return Change(direction=one.direction, subject=subject, what=one.what, old=one.old, new=one.new, note=one.note)


def _limits(old: Limits, new: Limits) -> Iterator[Fact]:
    turns = [None if "turn.calls" in side.shadow else side.turn_calls for side in (old, new)]
    yield from fact(most(turns[0], turns[1]), "turn.calls", turns[0], turns[1])
    yield from fact(tightened(old.whole_turn, new.whole_turn), "turn.whole", old.whole_turn, new.whole_turn)
    for table in ("run", "conversation"):
        before, after = in_force(old, table), in_force(new, table)
        for name in sorted({*before, *after}):
            one, other = before.get(name), after.get(name)
            yield from fact(most(one, other), f"{table}.{name}", one, other)
    for table in ("turn", "conversation"):
        for unit in ("bytes", "tokens"):
            one, other = (getattr(getattr(side, f"{table}_room"), unit) for side in (old, new))
            yield from fact(most(one, other), f"{table}.result_{unit}", one, other)
    yield from window_facts(old.windows, new.windows, "windows:")
    yield from shadow_facts([*old.shadow], [*new.shadow])
    costs = any("cost" in table for side in (old, new) for table in (side.run, side.conversation))
    for model in sorted({*old.prices, *new.prices}):
        one, other = old.prices.get(model), new.prices.get(model)
        if one != other:
            yield Fact(_price(one, other) if costs else Direction.CHANGES, f"price of {model}", words(one), words(other))


def _price(old: tuple[object, ...] | None, new: tuple[object, ...] | None) -> Direction:
    """Where a cost is limited, a lower price lets more through, and an unknown one nothing."""
    if old is None or new is None:
        return Direction.WIDENS if old is None else Direction.NARROWS
    lower = [after < before for before, after in zip(old, new, strict=True) if after != before]  # type: ignore[operator]
    return Direction.WIDENS if all(lower) else Direction.MAYBE if any(lower) else Direction.NARROWS


def _redaction(old: Redaction, new: Redaction) -> Iterator[Fact]:
    """What is hidden besides: whatever is looked for no more may be seen."""
    yield from fact(permits(new.regions, old.regions), "region", old.regions, new.regions)
    yield from fact(permits(new.names, old.names), "names", old.names, new.names)
    if old.seconds != new.seconds:
        yield Fact(
            Direction.WIDENS if new.seconds > old.seconds else Direction.NARROWS,
            "seconds",
            f"{old.seconds:g}",
            f"{new.seconds:g}",
        )
    before, after = ({one.name: one for one in side.own} for side in (old, new))
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            yield Fact(Direction.WIDENS if name in before else Direction.NARROWS, f"detector {name}")
        elif before[name] != after[name]:
            yield Fact(Direction.MAYBE, f"detector {name}", note="it finds or shows something else")


def _people(old: Mapping[str, Session], new: Mapping[str, Session]) -> Iterator[Fact]:
    for user in sorted({*old, *new}):
        one, other = old.get(user), new.get(user)
        if one is None or other is None:
            yield Fact(Direction.WIDENS if one is None else Direction.NARROWS, user, _who(one), _who(other))
        elif (one.principal, one.tenant) != (other.principal, other.tenant) or one.attributes != other.attributes:
            yield Fact(Direction.MAYBE, user, _who(one), _who(other), "somebody else, or other facts")
        else:
            yield from fact(permits(one.roles, other.roles), f"roles of {user}", one.roles, other.roles)


def _who(one: Session | None) -> str:
    return "-" if one is None else f"{one.principal} in {one.tenant}: {words(one.roles)}"
