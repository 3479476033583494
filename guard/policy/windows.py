"""Windows: limits over the last hours or days, of one tool and of all together, compiled; and what a sum is taken of.

`per: 24h` makes a limit one over a window, `of:` says whose calls count together. Comes after grounds and before limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Literal, TypeAlias, cast

from guard.core.paths import Path
from guard.core.rules import Source, WindowLimit
from guard.core.values import is_number
from guard.policy import language
from guard.policy.grounds import Context, tool_source
from guard.policy.problems import Problems, nearest
from guard.policy.source import Item

Of: TypeAlias = Literal["principal", "tenant", "conversation"]
OF: tuple[Of, ...] = ("principal", "tenant", "conversation")
SHORTEST, LONGEST = 1.0, 366 * 86_400.0
"""Seconds: within what a window must be."""

MOST = 20
"""Windows of one tool, or over all tools: each costs a look at the store for every call."""

_CURE = "write for example per: 24h"


def window(fields: dict[str, Item], context: Context) -> float | None:
    """The seconds of `per:` where it is a duration; None where it names arguments, or is missing."""
    item = fields.get("per")
    if item is None:
        return None
    problems = context.problems
    if any(_is_duration(one) for one in item.items):
        others = ", ".join(str(one.value) for one in item.items if not _is_duration(one))
        problems.error(item, "per: a duration stands alone", f"write per: 24h, of: {others or 'principal'}")
        return 0.0
    known = isinstance(item.value, str) and item.value in context.schema.get("properties", {})
    if known or isinstance(item.value, list):
        return None
    if is_number(item.value):
        problems.error(item, f"per: {item.value} has no unit", f"write per: {item.value}h or per: {item.value}s")
        return 0.0
    if not _is_duration(item):
        begins = isinstance(item.value, str) and item.value[:1].isdigit()
        if begins:
            problems.error(item, f"per: {item.value} is neither a duration nor an argument", _CURE)
        return 0.0 if begins else None
    return _seconds(item, problems)


def _is_duration(item: Item) -> bool:
    return isinstance(item.value, str) and language.has_unit(item)


def _seconds(item: Item, problems: Problems) -> float:
    """A window's length; 0 where it is a mistake."""
    seconds = language.duration(item, problems, "per")
    if seconds is not None and not SHORTEST <= seconds <= LONGEST:
        shortest, longest = language.spelled(SHORTEST), language.spelled(LONGEST)
        problems.error(item, f"per: {item.value} is not between {shortest} and {longest}", _CURE)
        return 0.0
    return seconds or 0.0


def windows(item: Item, fields: dict[str, Item], seconds: float, context: Context) -> list[WindowLimit]:
    """What one entry counts over its window. `seconds` is 0 where the length is a mistake."""
    problems = context.problems
    of, per = _of(fields.get("of"), context)
    base = WindowLimit(counts="calls", at_most=Decimal(0), seconds=seconds, text="", of=of, per=per)
    found: list[WindowLimit] = []
    keys: tuple[Literal["calls", "equal"], ...] = ("calls", "equal")
    for key in keys:
        most = language.whole(fields.get(key), problems, key)
        if most is not None:
            found.append(replace(base, counts=key, at_most=Decimal(most)))
    summed = total(fields, context, per)
    if summed is not None:
        found.append(replace(base, counts="sum", argument=summed[0], at_most=summed[2]))
    if not {"calls", "equal", "sum"} & set(fields):
        problems.error(item, "limits: per without calls, equal or sum has no effect", "write {calls: 3, per: 24h}")
    shadow = language.shadow(fields, Problems())  # reported by the caller
    return [replace(one, text=_text(context.tool, one), shadow=shadow) for one in found if seconds]


def _text(tool: str, one: WindowLimit) -> str:
    what = one.counts if one.argument is None else f"sum {one.argument}"
    whose = "" if one.of == "principal" and not one.per else f" of {', '.join([one.of, *map(str, one.per)])}"
    return f"limit {tool}.{what} per {language.spelled(one.seconds)}{whose}"


def _of(item: Item | None, context: Context) -> tuple[Of, tuple[Path, ...]]:
    """Whose calls count together, and which arguments must be equal. Arguments alone count over the whole tenant."""
    if item is None:
        return "principal", ()
    spots = language.sequence(item, context.problems, "of")
    words: list[Of] = [word for spot in spots for word in OF if spot.value == word]
    if len(words) > 1:
        context.problems.error(item, f"of: {' and '.join(words)} at once", "keep the wider one, or write two limits")
    names = [(language.text(spot, context.problems, "of"), spot) for spot in spots if spot.value not in OF]
    paths = [_argument(name, spot, context) for name, spot in names if name]
    return words[0] if words else "tenant", tuple(path for path in paths if path is not None)


def _argument(name: str, spot: Item, context: Context) -> Path | None:
    """An argument of `of:`; a misspelt word for whose calls count is told as one."""
    known = context.schema.get("properties", {})
    near = None if name in known else nearest(name, OF)
    if near is None:
        return context.argument(name, spot)
    context.problems.error(spot, f"of: {name} is no argument, and whose calls count is not written so", f"did you mean {near}?")
    return None


def check_of(fields: dict[str, Item], problems: Problems) -> None:
    """`of:` means something for windows only."""
    if "of" in fields:
        name = fields["of"].value
        told = f", or per: {name} for a sum without end" if isinstance(name, str) and name not in OF else ""
        problems.error(fields["of"], "limits: of without a window has no effect", f"write per: 24h beside it{told}")


def total(
    fields: dict[str, Item], context: Context, per: tuple[Path, ...]
) -> tuple[Path, tuple[Path, ...], Decimal | Source] | None:
    """What a sum is taken of, which arguments must be equal, and the limit: a number, or what an earlier result says."""
    problems = context.problems
    if "sum" not in fields or "at_most" not in fields:
        for key in ("sum", "at_most", "same"):
            if key in fields:
                missing = "at_most" if key == "sum" else "sum"
                problems.error(fields[key], f"limits: {key} without {missing} has no effect", f"add {missing}")
        return None
    argument = context.argument(language.text(fields["sum"], problems, "sum"), fields["sum"])
    limit = fields["at_most"]
    if isinstance(limit.value, str):
        bound = tool_source(fields, "at_most", f"at_most {limit.value}", context)
        if argument is None or bound is None:
            return None
        # the limit of one record is what was said about this record: `same` is `per` unless written
        return argument, per, replace(bound, same=bound.same or per)
    if "same" in fields:
        problems.error(fields["same"], "limits: same has no effect beside a number", "leave it out")
    fixed = language.number(limit, problems, "at_most")
    return None if argument is None or fixed is None else (argument, per, fixed)


def check_windows(item: Item, found: Sequence[tuple[Item, WindowLimit]], problems: Problems) -> None:
    """Report windows that are written twice, and more than anybody needs. Layers may each have one: the tighter counts."""
    seen: set[tuple[str, bool, str]] = set()
    for spot, one in found:
        mark = (one.text, one.shadow, spot.file.rpartition("/")[0])
        if mark in seen:
            problems.error(item, f"{one.text} is written twice", "keep the tighter one")
        seen.add(mark)
    if len(found) > MOST:
        problems.error(item, f"more than {MOST} limits over windows", "keep those that matter")


def whole_windows(item: Item, problems: Problems) -> tuple[WindowLimit, ...]:
    """`limits.windows`: calls of all tools together."""
    spots = language.sequence(item, problems, "windows")
    found = [(spot, one) for spot in spots if (one := _whole(spot, problems)) is not None]
    check_windows(item, found, problems)
    return tuple(one for _, one in found)


def _whole(item: Item, problems: Problems) -> WindowLimit | None:
    fields = language.mapping(item, "window", problems)
    for key in ("calls", "per"):
        if fields and key not in fields:
            problems.error(item, f"limits.windows: {key} is missing", "write {calls: 1000, per: 1h, of: tenant}")
    calls = language.whole(fields.get("calls"), problems, "calls")
    of = language.choice(fields.get("of"), problems, "of", OF, "principal")
    shadow = language.shadow(fields, problems)
    if calls is None or "per" not in fields:
        return None
    if not _is_duration(fields["per"]):
        problems.error(fields["per"], f"per: {fields['per'].value} is no duration with a unit", _CURE)
        return None
    seconds = _seconds(fields["per"], problems)
    whose = "" if of == "principal" else f" of {of}"
    text = f"limit windows.calls per {language.spelled(seconds)}{whose}"
    return WindowLimit(
        counts="calls", at_most=Decimal(calls), seconds=seconds, text=text, of=cast("Of", of), every=True, shadow=shadow
    )
