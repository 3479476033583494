"""Ceilings lint: ceilings that no call can stay under, that another one always reaches first, or that say what counts anyway.

What the least call of a tool needs is counted from its schema, as the room that parses counts it when the arguments come as an object: the bytes of names
and texts, levels, values inside. Fields that the session owns are not written by the model. Never more than that, so that nothing is called
impossible that is not. Comes after ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from guard.core.ceilings import CEILINGS
from guard.core.rules import Tool
from guard.core.values import Json, is_number
from guard.errors import Problem
from guard.policy.source import Item
from guard.review.view import View, finding

_DEEP = 20
"""Levels of a schema that are counted."""


@dataclass(frozen=True, slots=True)
class Least:
    """What the smallest value needs: bytes of names and texts, levels below it (-1: it is no collection), values inside."""

    bytes: int = 0
    depth: int = -1
    items: int = 0


def ceilings_lint(view: View) -> Iterator[Problem]:
    """The policy's own ceilings, then those of each tool with what its calls need."""
    whole = {key: item for block in view.survey.ceilings for key, item in block.fields.items()}
    turn = next((block.fields["turn"].fields.get("calls") for block in view.survey.limits if "turn" in block.fields), None)
    calls = whole.get("message_calls")
    if calls is not None and turn is not None and _number(turn) < _number(calls) and "enforce" not in turn.fields:
        message = f"ceilings.message_calls is above limits.turn.calls ({turn.value}), so it is never reached"
        yield finding(calls, "ceiling-unreached", message, "write a smaller number, or leave it out")
    for name, tool in view.tools.items():
        entry = view.entries[name].fields.get("ceilings")
        own = {} if entry is None else entry.fields
        for key, item in own.items():
            counts = whole[key].value if key in whole else getattr(CEILINGS, key, None)
            if counts is not None and item.value == counts:
                message = f"{name}: ceilings.{key} says what counts anyway"
                yield finding(item, "ceiling-idle", message, "leave it out, or write the number that is meant")
        yield from _too_low(tool, {**whole, **own})


def _number(item: Item) -> float:
    return float(item.value) if is_number(item.value) else float("inf")


def _too_low(tool: Tool, written: Mapping[str, Item]) -> Iterator[Problem]:
    least = least_of(tool.schema, frozenset(binding.field for binding in tool.bindings))
    for key, needs in (("arguments_bytes", least.bytes), ("arguments_depth", least.depth), ("arguments_items", least.items)):
        item = written.get(key)
        if item is not None and _number(item) < needs:
            message = f"ceilings.{key} {item.value} is below what the least call of {tool.name} needs, so every call is refused"
            yield finding(item, "ceiling-zero", message, f"write at least {needs}, or leave it out")


def least_of(schema: Json, owned: frozenset[str] = frozenset(), level: int = 0) -> Least:
    """What the smallest value of a schema needs, or less. `owned` are fields that the model does not write."""
    if not isinstance(schema, Mapping) or level > _DEEP:
        return Least()
    kind = schema.get("type")
    if kind == "object" or (level == 0 and kind is None):
        return _object(schema, owned, level)
    if kind == "array":
        count, inner = _count(schema.get("minItems")), least_of(schema.get("items"), level=level + 1)
        return Least(count * inner.bytes, 1 + inner.depth if count else 0, count * (1 + inner.items))
    return Least(_count(schema.get("minLength"))) if kind == "string" else Least()


def _object(schema: Mapping[str, Json], owned: frozenset[str], level: int) -> Least:
    fields, required = schema.get("properties"), schema.get("required")
    shapes = fields if isinstance(fields, Mapping) else {}
    names = [name for name in required if isinstance(name, str) and name not in owned] if isinstance(required, list) else []
    inner = {name: least_of(shapes.get(name), level=level + 1) for name in names}
    size = sum(len(name.encode()) + one.bytes for name, one in inner.items())
    depth = max((1 + one.depth for one in inner.values()), default=0)
    return Least(size, depth, sum(1 + one.items for one in inner.values()))


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
