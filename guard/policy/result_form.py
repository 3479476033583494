"""Result form: which form a tool's results must have, in which units they count, how much room they have.

A schema stands inline, or in a file of the folder whose name ends in `.schema.json`: such a file counts in the policy's version like any
other. Comes after schemas and fields; before results and limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from guard.core.paths import ANY, Path
from guard.core.values import Json
from guard.core.views import Room
from guard.policy import language
from guard.policy.fields import gap
from guard.policy.keywords import exact_copy
from guard.policy.problems import Problems, nearest
from guard.policy.schemas import Schema, compile_schema
from guard.policy.source import Item

_END = ".schema.json"
ROOM = ("result_bytes", "result_tokens")
"""Keys of a turn and of a conversation that bound how much of all results goes back."""


def form(
    fields: Mapping[str, Item], keep: tuple[Path, ...] | None, shapes: Mapping[str, Item], problems: Problems
) -> dict[str, Any]:
    """The fields of a `ResultRule` that are about the form of results, their units and their tokens."""
    tokens = language.whole(fields.get("max_tokens"), problems, "max_tokens")
    if tokens == 0:
        problems.error(fields["max_tokens"], "max_tokens: 0 withholds every result", "write a number from 1 up, or leave it out")
    schema = _schema(fields["schema"], shapes, problems) if "schema" in fields else None
    return {
        "max_tokens": tokens,
        "shape": None if schema is None else schema.source,
        "fits": None if schema is None else _judge(schema),
        "units": _units(fields["units"], keep, schema, problems) if "units" in fields else (),
    }


def room(fields: Mapping[str, Item], what: str, problems: Problems) -> Room:
    """`result_bytes` and `result_tokens` of a turn or a conversation."""
    found = {key: language.whole(fields.get(key), problems, f"{what}.{key}") for key in ROOM}
    for key, value in found.items():
        if value == 0:
            problems.error(fields[key], f"{what}.{key}: 0 withholds every result", "write a number from 1 up, or leave it out")
    return Room(bytes=found[ROOM[0]], tokens=found[ROOM[1]])


# -- the form ----------------------------------------------------------------------------------------------------------


def _schema(item: Item, shapes: Mapping[str, Item], problems: Problems) -> Schema | None:
    spot = _read(item, shapes, problems)
    if spot is None:
        return None
    schema = compile_schema(spot.value, spot, problems, "schema of the result")
    if schema is None:
        return None
    try:
        schema.explain(None)
    except RecursionError:
        problems.error(spot, "schema of the result: it refers to itself without end", "flatten it")
        return None
    return schema


def _read(item: Item, shapes: Mapping[str, Item], problems: Problems) -> Item | None:
    """Where the schema stands: here, or in the file that is named here."""
    if isinstance(item.value, dict):
        return item
    if not isinstance(item.value, str):
        cure = f"write a schema below it, or the name of a file that ends in {_END}"
        problems.error(item, f"schema of the result: a mapping or a file's name is needed, not {language.kind_of(item)}", cure)
        return None
    found = shapes.get(_beside(item))
    if found is not None:
        return found
    near = nearest(item.value, shapes)
    cure = f"did you mean {near}?" if near else f"put it into the policy folder, under a name that ends in {_END}"
    problems.error(item, f"schema of the result: there is no file {item.value}", cure)
    return None


def _beside(item: Item) -> str:
    """The name of a file that is named here: of several layers, it is in the one in which the name stands."""
    folder, slash, _ = item.file.rpartition("/")
    return f"{folder}{slash}{item.value}"


def _judge(schema: Schema) -> Callable[[Json], bool]:
    """A tool's own floats are compared as the digits that they are written with."""

    def fits(value: Json) -> bool:
        return not schema.validate(exact_copy(value))

    return fits


def warn_unused(shapes: Mapping[str, Item], entries: Iterable[Item], problems: Problems) -> None:
    """Say which schema files no tool names."""
    named = [entry.at(["result", "schema"]) for entry in entries] if shapes else []
    used = {_beside(one) for one in named if isinstance(one.value, str)}
    for name in sorted(shapes.keys() - used):
        problems.warn(Item(name, None), "no tool names this file", f"write result: {{schema: {name}}}, or remove it")


# -- the units ---------------------------------------------------------------------------------------------------------


def _units(item: Item, keep: tuple[Path, ...] | None, schema: Schema | None, problems: Problems) -> tuple[tuple[Path, str], ...]:
    """The fields that count in a unit; a field that is never shown, or that the schema cannot hold, is a mistake."""
    found: list[tuple[Path, str]] = []
    for name, below in language.entries(item, "units", problems).items():
        path = language.path(name, "result", below, problems)
        unit = language.text(below, problems, f"units.{name}")
        if path is None or not unit:
            continue
        missing = None if schema is None else _gap(schema, path)
        if missing is not None:
            problems.error(below, f"units: the schema of the result has no field {missing[0]}", missing[1])
        elif keep is not None and not any(_covers(kept, path) for kept in keep):
            problems.error(below, f"units: {path} is not kept, so nobody sees it", f"add {path} to keep, or leave it out here")
        elif not unit.isprintable() or len(unit) > _LONGEST:
            problems.error(below, f"units.{name}: not the name of a unit", f"write a word or two, at most {_LONGEST} characters")
        else:
            found.append((path, unit))
    return tuple(found)


_LONGEST = 40


def _gap(schema: Schema, path: Path) -> tuple[str, str] | None:
    """The step that the schema certainly lacks; a leading `[*]` may be left out where the result is a list."""
    lacks = [gap(schema.source, steps) for steps in (path.steps, (ANY, *path.steps))]
    first = lacks[0]
    return None if first is None or lacks[1] is None else (first.step, first.cure)


def _covers(kept: Path, path: Path) -> bool:
    own, other = (tuple(step for step in one.steps if step != ANY) for one in (kept, path))
    return other[: len(own)] == own
