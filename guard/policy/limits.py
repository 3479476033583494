"""Limits: `limits` of one tool and of the whole policy, and `prices`, compiled to exact numbers.

Comes after grounds and before load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal

from guard.core.rules import Limits, SumLimit, ToolLimits
from guard.policy import language
from guard.policy.grounds import Context, tool_source
from guard.policy.problems import Problems
from guard.policy.source import Item


def tool_limits(item: Item, context: Context) -> ToolLimits:
    """`limits:` of one tool: one mapping or a list of them."""
    calls: int | None = None
    equal: int | None = None
    sums: list[SumLimit] = []
    for one in language.sequence(item, context.problems, "limits"):
        fields = language.mapping(one, "tool_limits", context.problems)
        calls = _tighter(calls, language.whole(fields.get("calls"), context.problems, "calls"))
        equal = _tighter(equal, language.whole(fields.get("equal"), context.problems, "equal"))
        total = _sum(fields, context)
        sums += [] if total is None else [total]
    return ToolLimits(calls=calls, equal=equal, sums=tuple(sums))


def _tighter(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _sum(fields: dict[str, Item], context: Context) -> SumLimit | None:
    problems = context.problems
    if "sum" not in fields or "at_most" not in fields:
        for key in ("sum", "per", "at_most", "same"):
            if key in fields:
                missing = "at_most" if key == "sum" else "sum"
                problems.error(fields[key], f"limits: {key} without {missing} has no effect", f"add {missing}")
        return None
    argument = context.argument(language.text(fields["sum"], problems, "sum"), fields["sum"])
    per = context.arguments(fields.get("per"), "per")
    limit = fields["at_most"]
    if isinstance(limit.value, str):
        bound = tool_source(fields, "at_most", f"at_most {limit.value}", context)
        if argument is None or bound is None:
            return None
        # the limit of one record is what was said about this record: `same` is `per` unless written
        return SumLimit(argument=argument, per=per, at_most=replace(bound, same=bound.same or per))
    if "same" in fields:
        problems.error(fields["same"], "limits: same has no effect beside a number", "leave it out")
    fixed = language.number(limit, problems, "at_most")
    return None if argument is None or fixed is None else SumLimit(argument=argument, per=per, at_most=fixed)


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
    return Limits(
        turn_calls=language.whole(turn.get("calls"), problems, "turn.calls"),
        whole_turn=language.flag(turn.get("whole"), problems, "turn.whole"),
        run=_numbers(tables.get("run"), "run", problems),
        conversation=_numbers(tables.get("conversation"), "conversation", problems),
        prices=known,
    )


def _numbers(item: Item | None, table: str, problems: Problems) -> Mapping[str, Decimal]:
    if item is None:
        return {}
    found: dict[str, Decimal] = {}
    for key, below in language.mapping(item, table, problems).items():
        read = language.number if key in {"seconds", "cost"} else language.whole
        value = read(below, problems, f"{table}.{key}")
        if value is not None:
            found[key] = Decimal(value)
    return found


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
