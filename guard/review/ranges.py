"""Ranges: conditions and schemas that no value can meet, or that every value meets, as far as that is certain.

Looks at what is written: bounds, lengths, lists of values, patterns, types. May not guess: what it cannot work out it passes over. Comes
after view; the arithmetic stands in spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guard.core.values import Json, encode
from guard.errors import Problem
from guard.policy.conditions import fragment
from guard.policy.judges import constant
from guard.policy.keywords import walk
from guard.policy.problems import Problems
from guard.policy.source import Item
from guard.review.spans import Span, clash, span, values_of
from guard.review.view import View, finding

_CURE = "compare the bounds; one of them is probably mistyped"


def ranges(view: View) -> Iterator[Problem]:
    """Contradictions in schemas, and conditions that are decided before any call."""
    for name, entry in view.entries.items():
        schema = entry.fields.get("schema")
        if schema is not None and isinstance(schema.value, Mapping):
            yield from _schema(name, schema)
        shapes = _shapes(view, name)
        yield from _conditions(name, entry, shapes)
        yield from _together(name, entry, shapes)
        yield from _alternatives(name, entry)


def _shapes(view: View, name: str) -> Mapping[str, Json]:
    tool = view.tools.get(name)
    found = tool.schema.get("properties") if tool is not None else None
    return found if isinstance(found, Mapping) else {}


# -- schemas -----------------------------------------------------------------------------------------------------------


def _schema(name: str, item: Item) -> Iterator[Problem]:
    for at, inner in walk(item.value):
        spot = item.at(list(at))
        found = clash(inner, whole=False)
        if found is not None:
            yield finding(spot.fields.get(found[0], spot), "range-empty", f"{name}: no value can fit: {found[1]}", _CURE)
        properties, required = inner.get("properties"), inner.get("required")
        closed = inner.get("additionalProperties", not at and "patternProperties" not in inner and False) is False
        plain = not {"allOf", "anyOf", "oneOf", "$ref", "patternProperties"} & inner.keys()
        if (
            isinstance(properties, Mapping)
            and isinstance(required, list)
            and closed
            and plain
            and (not at or "additionalProperties" in inner)
        ):
            for missing in (one for one in required if isinstance(one, str) and one not in properties):
                message = f"{name}: {missing} is required and not among the properties, so no call can fit"
                yield finding(
                    spot.at(["required"]), "range-empty", message, f"add {missing} to properties, or take it out of required"
                )
        if "default" in inner and _fails(inner, inner["default"]):
            message = f"{name}: the default {encode(inner['default'])} does not fit its own schema"
            yield finding(spot.at(["default"]), "default-unfit", message, "write a default that fits")


def _fails(shape: Mapping[str, Json], value: Json) -> bool:
    allowed = values_of(shape)
    return (allowed is not None and value not in allowed) or span(shape).excludes(value)


# -- conditions --------------------------------------------------------------------------------------------------------


def _conditions(name: str, entry: Item, shapes: Mapping[str, Json]) -> Iterator[Problem]:
    for what, when in _whens(entry):
        for spelled, test in when.fields.items():
            found = clash(test.value, whole=True) if isinstance(test.value, dict) else None
            shape = shapes.get(spelled.removeprefix("arguments.")) if what != "where" else None
            verdict = _verdict(test, shape) if isinstance(shape, Mapping) and found is None else None
            if found is not None:
                message = f"{name}: {what} {spelled} can never hold: {found[1]}"
                yield finding(test.fields.get(found[0], test), "range-empty", message, _CURE)
            elif verdict is False:
                message = f"{name}: {what} {spelled} can never hold: the schema has no such value"
                yield finding(test, "range-empty", message, "compare with the schema")
            elif verdict is True and (what == "require" or len(when.fields) == 1):
                message = f"{name}: {what} {spelled} always holds: the schema has no other value"
                yield finding(test, "range-always", message, "compare with the schema, or leave it out")


def _whens(entry: Item) -> Iterator[tuple[str, Item]]:
    """Every condition of an entry, with the key that it stands below."""
    for key in ("require", "refuse", "approve"):
        for one in _listed(entry.fields.get(key)):
            when = one.fields.get("when", one if key == "require" else None)
            if when is not None:
                yield key if key != "approve" else "when", when
    for one in _listed(entry.fields.get("after")):
        if "where" in one.fields:
            yield "where", one.fields["where"]


def _listed(item: Item | None) -> list[Item]:
    return [] if item is None else item.items or [item]


def _verdict(test: Item, shape: Mapping[str, Json]) -> bool | None:
    """Whether every value that fits the shape meets the test, or none does. None where that is not certain."""
    allowed = values_of(shape)
    judge = fragment(test, Problems()) if isinstance(test.value, dict) and not _typed(test) else None
    if not isinstance(test.value, dict):
        judge = constant(test.value)
    if allowed is not None and judge is not None:
        answers = {judge(value) for value in allowed}
        return answers.pop() if len(answers) == 1 else None
    asked, given = span(test.value if isinstance(test.value, dict) else {"const": test.value}), span(shape)
    if asked.known and given.known and not given.empty:
        return False if asked.meet(given).empty else True if asked.whole and asked.holds(given) else None
    return None


def _typed(test: Item) -> bool:
    return bool({"equals", "path", "email", "url", "command"} & test.fields.keys())


def _together(name: str, entry: Item, shapes: Mapping[str, Json]) -> Iterator[Problem]:
    """Requirements on one argument that exclude one another."""
    spans: dict[str, Span] = {path: span(shape) for path, shape in shapes.items() if isinstance(shape, Mapping)}
    for one in _listed(entry.fields.get("require")):
        shadow = one.fields.get("shadow")
        when = one.fields.get("when", one)
        for spelled, test in when.fields.items() if shadow is None or shadow.value is not True else ():
            asked = span(test.value) if isinstance(test.value, dict) else Span()
            before = spans.get(spelled, Span())
            spans[spelled] = before.meet(asked)
            if (
                asked.known
                and before.known
                and spans[spelled].empty
                and not asked.empty
                and not before.empty
                and spelled not in shapes
            ):
                message = f"{name}: require {spelled} can never hold beside the requirements before it"
                yield finding(test, "range-empty", message, _CURE)


def _alternatives(name: str, entry: Item) -> Iterator[Problem]:
    """An alternative of `approve` that an earlier one always takes first."""
    before: list[tuple[str, Span, int | None]] = []
    for one in _listed(entry.fields.get("approve")):
        when = one.fields.get("when")
        if when is None or len(when.fields) != 1:
            continue
        [(spelled, test)] = when.fields.items()
        asked = span(test.value) if isinstance(test.value, dict) else Span()
        first = next(
            (line for path, other, line in before if path == spelled and asked.known and other.whole and other.holds(asked)), 0
        )
        if first != 0:
            message = f"{name}: this alternative is never reached: the one in line {first} takes its calls"
            yield finding(when, "approve-unreached", message, "put the narrower alternative first")
        if asked.known:
            before.append((spelled, asked, test.line))
