"""Limits: `limits` of one tool and of the whole policy, and `prices`, compiled to exact numbers.

What counts over a window is in `windows`. Comes after it and before tools and load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal

from guard.core.rules import Limits, SumLimit, ToolLimits, WindowLimit
from guard.policy import language
from guard.policy.grounds import Context
from guard.policy.problems import Problems
from guard.policy.result_form import ROOM, room
from guard.policy.source import Item
from guard.policy.windows import check_of, check_windows, total, whole_windows, window, windows


def tool_limits(item: Item | None, context: Context) -> ToolLimits:
    """`limits:` of one tool: one mapping or a list of them."""
    if item is None:
        return ToolLimits()
    counts: dict[str, int] = {}
    sums: list[SumLimit] = []
    found: list[tuple[Item, WindowLimit]] = []
    for one in language.sequence(item, context.problems, "limits"):
        fields = language.mapping(one, "tool_limits", context.problems)
        shadow = language.shadow(fields, context.problems)
        seconds = window(fields, context)
        if seconds is not None:
            found += [(one, each) for each in windows(one, fields, seconds, context)]
            continue
        check_of(fields, context.problems)
        for key in ("calls", "equal"):
            most = language.whole(fields.get(key), context.problems, key)
            name = f"shadow_{key}" if shadow else key
            if most is not None:
                counts[name] = min(most, counts.get(name, most))
        total = _sum(fields, context)
        sums += [] if total is None else [replace(total, shadow=shadow)]
    check_windows(item, found, context.problems)
    return ToolLimits(**counts, sums=tuple(sums), windows=tuple(each for _, each in found))


def _sum(fields: dict[str, Item], context: Context) -> SumLimit | None:
    if fields.get("per") is not None and "sum" not in fields:
        cure = "add sum, or write how long: per: 24h"
        context.problems.error(fields["per"], "limits: per without sum has no effect", cure)
        return None
    summed = total(fields, context, context.arguments(fields.get("per"), "per"))
    return None if summed is None else SumLimit(argument=summed[0], per=summed[1], at_most=summed[2])


def limits(blocks: Iterable[Item], prices: Iterable[Item], spot: Item, problems: Problems) -> Limits:
    """The policy's own limits: `blocks` and `prices` are the top-level entries of all files."""
    tables: dict[str, Item] = {}
    for block in blocks:
        for key, item in language.mapping(block, "limits", problems).items():
            if key in tables:
                problems.error(item, f"limits.{key} is written twice", f"the first stands in {tables[key].file}; keep one")
            tables.setdefault(key, item)
    if "run" not in tables:
        problems.warn(spot, "no limits.run: a model may call tools without end", "write limits: {run: {steps: 8, calls: 20}}")
    known = _prices(prices, problems)
    for table in ("run", "conversation"):
        if table in tables and "cost" in tables[table].fields and not known:
            cost = tables[table].fields["cost"]
            problems.warn(cost, "a cost is known only where the provider states it", "write prices: {model: {in: 2.50, out: 10}}")
    turn = language.mapping(tables["turn"], "turn", problems) if "turn" in tables else {}
    counts = _numbers({"calls": turn["calls"]} if "calls" in turn else {}, "turn", problems)
    run = _numbers(_fields(tables, "run", problems), "run", problems)
    talk = _fields(tables, "conversation", problems)
    conversation = _numbers({key: item for key, item in talk.items() if key not in ROOM}, "conversation", problems)
    return Limits(
        turn_calls=int(counts[0]["calls"]) if "calls" in counts[0] else None,
        whole_turn=language.flag(turn.get("whole"), problems, "turn.whole"),
        run=run[0],
        conversation=conversation[0],
        prices=known,
        windows=whole_windows(tables["windows"], problems) if "windows" in tables else (),
        turn_room=room(turn, "turn", problems),
        conversation_room=room(talk, "conversation", problems),
        shadow=counts[1] | run[1] | conversation[1],
    )


def _fields(tables: Mapping[str, Item], table: str, problems: Problems) -> Mapping[str, Item]:
    return language.mapping(tables[table], table, problems) if table in tables else {}


def _numbers(fields: Mapping[str, Item], table: str, problems: Problems) -> tuple[Mapping[str, Decimal], frozenset[str]]:
    """The numbers of a table, and which of them are shadows: a number, or `{at_most: 20, enforce: shadow}`."""
    found: dict[str, Decimal] = {}
    shadows: set[str] = set()
    for key, below in fields.items():
        inner = language.mapping(below, "count", problems) if isinstance(below.value, dict) else {"at_most": below}
        if inner and "at_most" not in inner:
            problems.error(below, f"{table}.{key}: at_most is missing", f"write {key}: {{at_most: 20, enforce: shadow}}")
        read = language.number if key in {"seconds", "cost"} else language.whole
        value = read(inner.get("at_most"), problems, f"{table}.{key}")
        if value is not None:
            found[key] = Decimal(value)
        if language.shadow(inner, problems):
            shadows.add(f"{table}.{key}")
    return found, frozenset(shadows)


def _prices(blocks: Iterable[Item], problems: Problems) -> Mapping[str, tuple[Decimal, Decimal]]:
    found: dict[str, tuple[Decimal, Decimal]] = {}
    for block in blocks:
        for model, item in language.entries(block, "prices", problems).items():
            if model in found:
                problems.error(item, f"the price of {model} is written twice", "keep one")
            fields = language.mapping(item, "price", problems)
            both = [language.number(fields.get(key), problems, f"{model}.{key}") for key in ("in", "out")]
            if fields and len(fields) < 2:
                problems.error(item, f"the price of {model} needs in and out", "write {in: 2.50, out: 10} for a million tokens")
            if both[0] is not None and both[1] is not None:
                found[model] = (both[0], both[1])
    return found
