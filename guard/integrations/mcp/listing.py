"""Listing: what a server says that its tools are, held against what a person has reviewed and what was there before, and shown to a client.

A definition is the name, the description and the schema, and everything else of it that a model or a person may be shown. One that differs
from its pin, that no pin knows, that comes twice or that passes for another is refused, and stays so until somebody accepts it. Pure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from guard.core.rules import Tool
from guard.core.telling import told
from guard.core.values import Json, JsonObject, copy
from guard.policy.pins import Pin, pin
from guard.tools import RegisteredTool

_SHOWN = ("title", "annotations")
"""Of a definition, besides name, description and schemas, what a client is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One answer to tools/list, judged: the definitions that may be used, and why each other one may not."""

    accepted: Mapping[str, JsonObject] = field(default_factory=dict)
    pins: Mapping[str, Pin] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


def pin_of(definition: Mapping[str, Json], server: str) -> Pin:
    """The pin of a definition as the server gives it."""
    schema = definition.get("inputSchema")
    more = {key: definition[key] for key in (*_SHOWN, "outputSchema") if definition.get(key) is not None}
    whole = dict(schema) if isinstance(schema, dict) else {}
    return pin(
        str(definition["name"]), _text(definition.get("description")), whole | ({"mcp": more} if more else {}), server=server
    )


def judge(
    found: Sequence[Json], server: str, pinned: Mapping[str, Pin] | None, before: Mapping[str, Pin] | None = None
) -> Listing:
    """Which of the tools that a server lists may be used.

    `pinned` are the reviewed definitions (None: nobody has reviewed any), `before` those that were in use since the start.
    """
    counts: dict[str, list[JsonObject]] = {}
    for one in found:
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            counts.setdefault(one["name"], []).append(one)
    pins = {name: pin_of(ones[0], server) for name, ones in counts.items()}
    reviewed = pinned if pinned is not None else before
    known = {name for name, one in pins.items() if reviewed is not None and _same(reviewed.get(name), one)}
    refused: dict[str, str] = {}
    for name, ones in counts.items():
        why = _why(name, ones, pins, (pinned, before), _alike(name, counts, known))
        if why:
            refused[name] = why
    accepted = {name: ones[0] for name, ones in counts.items() if name not in refused}
    return Listing(accepted=accepted, pins={name: pins[name] for name in accepted}, refused=refused)


def _why(
    name: str,
    ones: Sequence[JsonObject],
    pins: Mapping[str, Pin],
    against: tuple[Mapping[str, Pin] | None, Mapping[str, Pin] | None],
    alike: str | None,
) -> str:
    pinned, before = against
    if len(ones) > 1:
        return "it is listed more than once"
    if alike is not None:
        return f"its name passes for that of {alike}"
    if pinned is not None and name not in pinned:
        return "it was added since the tools were pinned"
    if pinned is not None and not _same(pinned[name], pins[name]):
        return "its definition changed since it was pinned"
    if before is not None and name not in before:
        return "it was added since the guard started"
    if before is not None and not _same(before[name], pins[name]):
        return "its definition changed since the guard started"
    return ""


def first(why: str) -> str:
    """What somebody should do first about a tool that is refused for this reason."""
    if why.startswith(("its definition changed", "it was added")):
        return 'review its definition, then guard check --pin --mcp "…" and start anew'
    return "ask whoever runs the server"


def _same(left: Pin | None, right: Pin) -> bool:
    return left is not None and left.digest == right.digest


def _alike(name: str, names: Mapping[str, object], known: set[str]) -> str | None:
    """Another listed name that a reader takes for this one; a known definition is never the one that is refused for it."""
    if name in known:
        return None
    return next((other for other in names if other != name and squashed(other) == squashed(name)), None)


def squashed(name: str) -> str:
    """What a hurried reader sees of a name: letters without case and accents, digits, and nothing between them."""
    plain = unicodedata.normalize("NFKD", name).translate(_LOOKALIKES).casefold().translate(_LOOKALIKES)
    return "".join(char for char in plain if char.isalnum())


_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u04cf\u03bf\u03b1\u03b5\u03bd\u03b9\u03ba\u03c1\u03c4\u03c50l1|",
    "aeopcyxijsdhloaevikptuoiii",
)
"""Letters of other alphabets, and digits, that look like Latin letters."""


# -- for the guard -------------------------------------------------------------------------------------------------------

Caller = Callable[[str, JsonObject], Awaitable[Any]]


def registered(name: str, definition: Mapping[str, Json], call: Caller, *, server: str, given: str = "") -> RegisteredTool:
    """A server's tool, to be registered as `given` (its own name by default). `call(name, arguments)` asks the server."""

    async def run(arguments: JsonObject, _key: str) -> Any:
        return await call(name, arguments)

    schema = definition.get("inputSchema")
    whole = copy(dict(schema)) if isinstance(schema, dict) else {"type": "object"}
    return _tool(given or name, f"{server}.{name}", run, _text(definition.get("description")), whole)


def missing(name: str, server: str) -> RegisteredTool:
    """What stands for a tool that the policy knows and the server does not offer, or not as it was reviewed: it cannot be called."""

    async def run(_arguments: JsonObject, _key: str) -> Any:
        raise RuntimeError("the server does not offer this tool")

    return replace(_tool(name, f"{server}.{name}", run), known=False)


def _tool(
    name: str,
    origin: str,
    run: Callable[[JsonObject, str], Awaitable[Any]],
    description: str = "",
    schema: JsonObject | None = None,
) -> RegisteredTool:
    return RegisteredTool(
        name=name,
        description=description,
        schema=schema,
        parameters=None,
        accepts=None,
        origin=origin,
        run=run,
        is_async=True,
    )


# -- for the client ------------------------------------------------------------------------------------------------------


def shown(tool: Tool, definition: Mapping[str, Json]) -> JsonObject:
    """The tool as a client sees it: the policy's description, what is told of its results, and its schema without the fields that the session owns."""
    found: JsonObject = {"name": tool.name, "description": told(tool).description, "inputSchema": copy(dict(tool.visible))}
    found |= {key: copy(definition[key]) for key in _SHOWN if definition.get(key) is not None}
    output = definition.get("outputSchema")
    return found | {"outputSchema": {**loosened(output), "type": "object"}} if isinstance(output, dict) else found


_KEPT = frozenset({"type", "title", "description", "$ref", "$schema", "$id", "$anchor"})
_LISTS = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}
_MAPS = frozenset({"properties", "$defs", "definitions"})


def loosened(schema: Json, depth: int = 0) -> Json:
    """An output schema that a result still fits after fields were left out and values hidden: types and names, no further demands."""
    if not isinstance(schema, dict) or depth > 50:
        return {}
    found: JsonObject = {}
    for key, item in schema.items():
        if key in _KEPT:
            found[key] = _or_text(item) if key == "type" else item
        elif key in _LISTS and isinstance(item, list):
            found[_LISTS[key]] = [loosened(one, depth + 1) for one in item]
        elif key in _MAPS and isinstance(item, dict):
            found[key] = {name: loosened(one, depth + 1) for name, one in item.items()}
        elif key == "items" and isinstance(item, dict):
            found[key] = loosened(item, depth + 1)
    return found


def _or_text(kinds: Json) -> Json:
    """The types of a value that may have been hidden: a number is text then."""
    known = kinds if isinstance(kinds, list) else [kinds]
    return [*known, "string"] if {"number", "integer"}.intersection(map(str, known)) and "string" not in known else kinds


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
