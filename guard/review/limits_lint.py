"""Limits lint: limits that refuse everything, and limits that another one always reaches first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guard.core.values import Json, is_number
from guard.errors import Problem
from guard.policy import language
from guard.policy.source import Item
from guard.review.spans import span
from guard.review.view import View, finding


def limits_lint(view: View) -> Iterator[Problem]:
    """Zero, below what one call takes, and never reached."""
    tables = {key: item for block in view.survey.limits for key, item in block.fields.items()}
    for table, item in tables.items():
        for one in item.items or [item]:
            yield from _zeros(one, f"limits.{table}")
    run, whole = (tables.get(table, Item("", None)).fields for table in ("run", "conversation"))
    for key in ("calls", "tokens", "cost"):
        if _above(run.get(key), whole.get(key)):
            message = f"limits.run.{key} is above limits.conversation.{key}, so it is never reached"
            yield finding(run[key], "limit-unreached", message, "exchange them, or leave one out")
    for name, entry in view.entries.items():
        own = entry.fields.get("limits")
        for one in [] if own is None else own.items or [own]:
            yield from _zeros(one, f"{name}: limits")
            yield from _sums(name, one, entry)
            if not over_a_window(one) and _above(one.fields.get("calls"), run.get("calls")):
                message = f"{name}: limits.calls is above limits.run.calls, so it is never reached"
                yield finding(one.fields["calls"], "limit-unreached", message, "write a smaller number, or leave it out")


def over_a_window(one: Item) -> bool:
    """Whether an entry limits what happens within hours or days; then it goes over many runs."""
    per = one.fields.get("per")
    return per is not None and isinstance(per.value, str) and language.has_unit(per)


def _zeros(item: Item, what: str) -> Iterator[Problem]:
    for key, below in item.fields.items():
        if key in {"calls", "equal", "steps", "seconds", "tokens", "cost", "at_most"} and _is_zero(below.value):
            message = f"{what}.{key} is 0, so every call is refused"
            yield finding(below, "limit-zero", message, "write a number above 0, or take the allow away")


def _is_zero(value: Json) -> bool:
    return is_number(value) and value == 0


def _above(one: Item | None, other: Item | None) -> bool:
    return one is not None and other is not None and is_number(one.value) and is_number(other.value) and one.value > other.value


def _sums(name: str, one: Item, entry: Item) -> Iterator[Problem]:
    """A sum whose limit is below the least that one call may say."""
    total, limit = one.fields.get("sum"), one.fields.get("at_most")
    schema = entry.fields["schema"].value if "schema" in entry.fields else {}
    if total is None or limit is None or not isinstance(schema, Mapping) or not isinstance(total.value, str):
        return
    properties = schema.get("properties")
    shape = properties.get(total.value) if isinstance(properties, Mapping) else None
    least = shape.get("minimum") if isinstance(shape, Mapping) and not span(shape).empty else None
    if is_number(least) and is_number(limit.value) and 0 < limit.value < least:
        message = f"{name}: limits.at_most is below the least {total.value} of one call, so every call is refused"
        yield finding(limit, "limit-zero", message, f"write at least {least}")
