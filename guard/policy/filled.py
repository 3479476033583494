"""Filled: the defaults that a call is judged with, since an argument that is left out runs with its default.

Whoever bounds, grounds, tests, checks or approves an argument must see the value that will run: `prepare` fills it in first. Where that value
cannot be known at load the policy has a mistake; where it only makes a target, a warning: of such a call nobody knows what it acts on.
Comes after judged, prepare and schemas; before tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guard.core.paths import Path
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject
from guard.policy.fields import gap, kinds
from guard.policy.judged import always, judged, owned
from guard.policy.keywords import exact_copy
from guard.policy.prepare import defaults_of
from guard.policy.problems import Problems
from guard.policy.schemas import Schema
from guard.policy.source import Item


@dataclass(frozen=True, slots=True)
class Own:
    """What the function does by itself: the defaults that JSON can say, and the arguments whose default it cannot."""

    told: Mapping[str, Json]
    silent: frozenset[str]


def filled(tool: Tool, schema: Schema, own: Own, item: Item, problems: Problems) -> dict[str, Json]:
    """The default of each judged argument that may be left out; the schema's own comes before the function's."""
    written = defaults_of(schema)
    optional = own.silent | own.told.keys()
    found: dict[str, Json] = {}
    looked_at, aimed = judged(tool, optional), frozenset(path.steps[0] for path in aims(tool)) - owned(tool)
    for name in sorted((looked_at | aimed) - frozenset(schema.source.get("required", ()))):
        if name in written or name in own.told:
            value = written[name] if name in written else exact_copy(own.told[name])
            if name in looked_at:
                _check_fit(tool.name, name, value, schema, item, problems)
            if name in looked_at or _fits(name, value, schema):
                found[name] = value
        elif name in own.silent and name in looked_at:
            message = f"{tool.name}: {name} may be left out, and what then runs cannot be judged"
            problems.error(item, message, "make it required or give it a default that JSON can say")
    return found


def _check_fit(tool: str, name: str, value: Json, schema: Schema, item: Item, problems: Problems) -> None:
    if not _fits(name, value, schema):
        problems.error(item, f"{tool}: the default of {name} does not fit its schema", "make it required, or correct one of them")


def _fits(name: str, value: Json, schema: Schema) -> bool:
    part = schema.strict.get("properties", {}).get(name, True)
    return schema.fits(part)(value)


def check_records(tool: Tool, schema: Schema, known: Mapping[str, Json], item: Item, problems: Problems) -> None:
    """Report a record's id that may be left out: then no record would be looked up, and no owner be asked for."""
    for rule in tool.resources:
        path = rule.argument
        if path.steps[0] in owned(tool) or gap(schema.source, path.steps) is not None:  # the latter has been reported
            continue
        if not _named(path, schema.source, known):
            message = f"resource: {path} may be left out, and the record must always be named"
            problems.error(item, message, "make the argument required")


def warn_targets(tool: Tool, schema: Schema, known: Mapping[str, Json], item: Item, problems: Problems) -> None:
    """Warn of what makes a target and may be left out or null: nobody knows then what the call acts on."""
    for path in aims(tool):
        if path.steps[0] in owned(tool) or gap(schema.source, path.steps) is not None:
            continue
        null = "null" in (kinds(schema.source, path.steps) or ())
        if null or not _named(path, schema.source, known):
            how, cure = ("null", "let it not be null") if null else ("left out", "make it required or give it a default")
            message = f"unknown: {path} may be {how}; such a call waits for every {tool.name} in doubt and, in doubt, keeps every one waiting"
            problems.warn(item, message, cure)


def aims(tool: Tool) -> tuple[Path, ...]:
    """The arguments that make the tool's target."""
    return () if tool.target is None else tool.target.arguments


def _named(path: Path, schema: JsonObject, known: Mapping[str, Json]) -> bool:
    first = path.steps[0]
    if first not in known:
        return always(schema, path.steps)
    reach = path.reach(known)
    filled_in = not (reach.missing or reach.blocked) and all(value is not None for value, _ in reach.spots)
    return filled_in and always({**schema, "required": [first]}, path.steps)
