"""Tool changes: one tool under two policies, fact by fact, each with its direction and its places.

Who may call it is not asked here (see cells). Comes after schemas, evidence and judgements; used by differ. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from guard.core.paths import Path
from guard.core.rules import Binding, Source, SumLimit, Tool
from guard.core.targets import Target
from guard.core.values import Json
from guard.policy import Loaded
from guard.review.budget_changes import ceiling_facts, shadow_facts, window_facts
from guard.review.cells import place
from guard.review.changes import Change, Direction, Fact, fact, loosened, most, permits, tightened, words
from guard.review.endpoint_facts import endpoint_facts
from guard.review.evidence import (
    ECHO,
    after_facts,
    bound_direction,
    ground_facts,
    relied_on,
    resource_facts,
    source_words,
    together,
)
from guard.review.judgements import approval_facts, rule_facts
from guard.review.result_changes import result_facts
from guard.review.schemas import schema_facts

Pair = tuple[Loaded, Loaded]
_KEYS: Mapping[str, str] = {"who approves": "approve", "what a refusal says": "refuse", "schema of arguments": "schema"}
_MOST_STEPS = 8


def tool_changes(pair: Pair, name: str) -> Iterator[Change]:
    """Every difference of one tool that both policies have, besides who may call it."""
    old, new = (loaded.policy.tools[name] for loaded in pair)
    for one in _facts(pair, old, new):
        yield Change(
            direction=one.direction,
            subject=f"tool {name}",
            what=one.what,
            old=one.old,
            new=one.new,
            old_place=_place(pair[0], name, one.what),
            new_place=_place(pair[1], name, one.what),
            note=one.note,
        )


def _place(loaded: Loaded, name: str, what: str) -> str:
    """Where the tool says it, or where the tool stands."""
    entry = loaded.entries[name]
    what = _KEYS.get(what, what)
    steps: list[str | int] = [*what.replace(" ", ".").split(".")]
    keys = ["require", "refuse"] if what == "require and refuse" else [str(steps[0])]
    for word in keys:
        if word in entry.fields:
            return place(entry.at([word, *steps[1:_MOST_STEPS]]))
    return place(entry)


def _facts(pair: Pair, old: Tool, new: Tool) -> Iterator[Fact]:
    def fits(path: Path, value: Json) -> bool:
        return _fits(old, path, value) and _fits(new, path, value)

    fields = [loaded.entries[old.name].fields for loaded in pair]
    yield from chain(
        _kind(old, new),
        schema_facts(old, new, written=("schema" in fields[0], "schema" in fields[1])),
        fact(loosened("coerce" in fields[0], "coerce" in fields[1]), "coerce", "coerce" in fields[0], "coerce" in fields[1]),
        _bindings(old, new),
        fact(_checks(old, new), "checks", _enforced(old), _enforced(new)),
        shadow_facts(*([check.name for check in tool.checks if check.shadow] for tool in (old, new))),
        ground_facts(old, new),
        after_facts(old, new),
        resource_facts(old, new),
        rule_facts(old.rules, new.rules, fits),
        _limits(old, new),
        window_facts(old.limits.windows, new.limits.windows, "limits:"),
        ceiling_facts(old.ceilings, new.ceilings) if pair[0].policy.ceilings == pair[1].policy.ceilings else (),
        approval_facts(old.approval, new.approval, fits),
        result_facts(old, new),
        _running(old, new),
        endpoint_facts(old, new),
        _echoes(pair, old, new),
    )


def _fits(tool: Tool, path: Path, value: Json) -> bool:
    """Whether a call of the tool may hold this value in a top-level argument."""
    if path.root != "arguments" or len(path.steps) != 1:
        return True
    try:
        issues = tool.validate({path.steps[0]: value})
    except Exception:  # noqa: BLE001 - a program's own check of the arguments may raise: nothing is known then
        return True
    own = str(path)
    return not any(one.path == own and one.rule != "required" for one in issues)


def _kind(old: Tool, new: Tool) -> Iterator[Fact]:
    if old.kind != new.kind:
        direction = Direction.CHANGES if old.acts == new.acts else Direction.NARROWS if new.acts else Direction.WIDENS
        yield Fact(
            direction, "kind", old.kind, new.kind, "only actions run at most once" if direction is Direction.WIDENS else ""
        )
    if old.description != new.description:
        yield Fact(Direction.CHANGES, "description", old.description, new.description)


def _checks(old: Tool, new: Tool) -> Direction | None:
    return permits(_enforced(new), _enforced(old))


def _enforced(tool: Tool) -> list[str]:
    return [check.name for check in tool.checks if not check.shadow]


def _bindings(old: Tool, new: Tool) -> Iterator[Fact]:
    before = {binding.field: binding for binding in old.bindings}
    after = {binding.field: binding for binding in new.bindings}
    for name in sorted({*before, *after}):
        one, other = before.get(name), after.get(name)
        yield from fact(_binding(one, other), f"bind.{name}", _bound(one), _bound(other))


def _binding(old: Binding | None, new: Binding | None) -> Direction | None:
    if old is None or new is None:
        return Direction.NARROWS if old is None else Direction.WIDENS
    return Direction.MAYBE if old.source != new.source else tightened(old.strict, new.strict)


def _bound(binding: Binding | None) -> str:
    if binding is None:
        return "written by the model"
    return f"session.{binding.source}{' (strict)' if binding.strict else ''}"


def _echoes(pair: Pair, old: Tool, new: Tool) -> Iterator[Fact]:
    """More arguments that are owned let more results of this tool count as evidence for others."""
    owned = [{*(b.field for b in tool.bindings), *(str(g.argument) for g in tool.grounds)} for tool in (old, new)]
    if owned[1] - owned[0] and old.name in relied_on(list(pair[1].policy.tools.values())):
        yield Fact(Direction.MAYBE, "bind or ground", words(sorted(owned[0])), words(sorted(owned[1])), ECHO)


# -- limits ------------------------------------------------------------------------------------------------------------------


def _limits(old: Tool, new: Tool) -> Iterator[Fact]:
    for name in ("calls", "equal"):
        before, after = getattr(old.limits, name), getattr(new.limits, name)
        yield from fact(most(before, after), f"limits.{name}", before, after)
    for name in ("shadow_calls", "shadow_equal"):
        before, after = getattr(old.limits, name), getattr(new.limits, name)
        yield from fact(None if before == after else Direction.CHANGES, f"limits.{name}", before, after)
    sums = [{str(limit.argument): limit for limit in tool.limits.sums if not limit.shadow} for tool in (old, new)]
    for name in sorted({*sums[0], *sums[1]}):
        one, other = sums[0].get(name), sums[1].get(name)
        yield from fact(_sum(one, other), f"limits.sum of {name}", _total(one), _total(other))
    twice = any(
        sum(not one.shadow for one in tool.limits.sums) != len(found) for tool, found in zip((old, new), sums, strict=True)
    )
    if twice and old.limits.sums != new.limits.sums:
        before, after = [words(list(map(_total, tool.limits.sums))) for tool in (old, new)]
        yield Fact(Direction.MAYBE, "limits.sum", before, after, "one argument has several sums")


def _sum(old: SumLimit | None, new: SumLimit | None) -> Direction | None:
    if old is None or new is None:
        return None if old is new else Direction.NARROWS if old is None else Direction.WIDENS
    return together(permits(map(str, old.per), map(str, new.per)), bound_direction(old.at_most, new.at_most))


def _total(limit: SumLimit | None) -> str:
    if limit is None:
        return "-"
    bound = source_words(limit.at_most) if isinstance(limit.at_most, Source) else f"at most {limit.at_most}"
    return bound + (f" per {words(list(map(str, limit.per)))}" if limit.per else "")


# -- how it runs ----------------------------------------------------------------------------------------


_AGAIN = ("idempotent", "probe")


def _running(old: Tool, new: Tool) -> Iterator[Fact]:
    if old.untrusted != new.untrusted:
        before, after = ("untrusted" if tool.untrusted else "trusted" for tool in (old, new))
        yield from fact(tightened(old.untrusted, new.untrusted), "trust", before, after)
    yield from fact(most(old.timeout, new.timeout), "timeout", old.timeout, new.timeout)
    yield from fact(loosened(old.repeat, new.repeat), "repeat", old.repeat, new.repeat)
    yield from fact(loosened(old.unwrap, new.unwrap), "unwrap", old.unwrap, new.unwrap)
    if old.acts and new.acts:
        before, after = _effect(old), _effect(new)
        if before != after:
            yield Fact(_effects(old, new), "effect", before, after)
        yield from fact(_targets(old.target, new.target), "unknown", _kept(old.target), _kept(new.target))
        if old.lease != new.lease:
            yield Fact(Direction.MAYBE, "lease", words(old.lease), words(new.lease), "when a call counts as lost")


def _targets(old: Target | None, new: Target | None) -> Direction | None:
    """Whether an unresolved call keeps more from starting, or less."""
    if old is None or new is None:
        return None if old is new else Direction.NARROWS if old is None else Direction.WIDENS
    return permits(map(str, old.arguments), map(str, new.arguments))


def _kept(target: Target | None) -> str:
    names = " and ".join(map(str, target.arguments)) if target is not None else ""
    return "the same call" if target is None else f"calls with the same {names}" if names else "every call"


def _effect(tool: Tool) -> str:
    return " ".join(filter(None, (tool.effect, tool.compensation, "dedupes" if tool.dedupes else "")))


def _effects(old: Tool, new: Tool) -> Direction:
    """Whether more may be done about a call that was lost."""
    if new.effect == "once":
        return Direction.NARROWS
    if old.effect == "once" and new.effect in _AGAIN:
        return Direction.WIDENS
    if old.effect == new.effect == "probe":
        return loosened(old.dedupes, new.dedupes) or Direction.MAYBE
    return Direction.MAYBE
