"""Lists: the tools of a request body or a tool list, whoever's form it has.

A form is a row in `_WRAPPERS` (where the list stands) or in `_SCHEMAS` (under which key a tool keeps the schema of its arguments). What is
not a tool is left out by name and with a reason, never guessed at. Comes after found and dialect, before sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from guard.core.values import Json, JsonObject
from guard.review.init.dialect import translated
from guard.review.init.found import Found, LeftOut, SourceError, Sources

MAX_TOOLS = 10_000

_WRAPPERS: tuple[tuple[str, ...], ...] = (
    ("tools",),  # a request body of OpenAI, Anthropic or Gemini; the result of MCP's tools/list
    ("result", "tools"),  # MCP's whole answer
    ("toolConfig", "tools"),  # Bedrock Converse
    ("functions",),  # OpenAI before tools
    ("function_declarations",),
    ("functionDeclarations",),
)
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "args_schema")
_INNER = ("function", "toolSpec", "custom")  # a tool may stand one level deeper
_GROUPS = ("function_declarations", "functionDeclarations")  # an item may be a list of tools
_FOREIGN = frozenset({"inputSchema"})  # how a server of MCP spells it


def tools_of(document: Json, what: str) -> Sources | None:
    """The tools of a list in any known form; None when this is no tool list. Raises SourceError for a list that is too long or empty."""
    items = _items(document)
    if items is None:
        return None
    flat = list(_flat(items))
    if len(flat) > MAX_TOOLS:
        raise SourceError(f"{what}: {len(flat)} tools (at most {MAX_TOOLS} are read; split the list)")
    found = [_tool(item, number) for number, item in enumerate(flat, 1)]
    tools = tuple(one for one in found if isinstance(one, Found))
    return Sources(what="a tool list", tools=tools, left_out=tuple(one for one in found if isinstance(one, LeftOut)))


def _items(document: Json) -> list[Any] | None:
    if isinstance(document, list):
        return document
    if not isinstance(document, Mapping):
        return None
    for path in _WRAPPERS:
        here: Json = document
        for step in path:
            here = here.get(step) if isinstance(here, Mapping) else None
        if isinstance(here, list):
            return here
    return [document] if "name" in document or any(key in document for key in _INNER) else None


def _flat(items: list[Any]) -> Iterator[Any]:
    for item in items:
        groups = [item[key] for key in _GROUPS if isinstance(item, Mapping) and isinstance(item.get(key), list)]
        if groups:
            yield from (below for group in groups for below in group)
        else:
            yield item


def _tool(item: Any, number: int) -> Found | LeftOut:
    inner = _inner(item)
    if inner is None:
        return LeftOut(name=f"item {number}", why="it is no tool: a mapping with a name is needed")
    name = inner.get("name")
    kind = item.get("type")
    if not isinstance(name, str) or not name.strip():
        if name is None and isinstance(kind, str) and kind != "function":
            return LeftOut(name=kind, why="it has no name: the provider runs it itself, and the guard sees no call of it")
        return LeftOut(name=f"item {number}", why="it has no name" if name is None else "its name is no text, or empty")
    return _described(inner, name, kind)


def _inner(item: Any) -> Mapping[str, Any] | None:
    if not isinstance(item, Mapping):
        return None
    return next((item[key] for key in _INNER if isinstance(item.get(key), Mapping)), item)


def _described(inner: Mapping[str, Any], name: str, kind: object) -> Found | LeftOut:
    key = next((key for key in _SCHEMAS if inner.get(key) is not None), None)
    if key is None and kind == "custom":
        return LeftOut(name=name, why="it takes free text instead of arguments, which no policy can judge")
    raw = inner.get(key) if key else _nothing(kind)
    if isinstance(raw, Mapping) and isinstance(raw.get("json"), Mapping) and not {"type", "properties"} & raw.keys():
        raw = raw["json"]
    if raw is not None and not isinstance(raw, Mapping | bool):
        return LeftOut(name=name, why=f"its {key} is no JSON Schema")
    schema, notes = translated({} if isinstance(raw, bool) else dict(raw)) if raw is not None else (None, ())
    if raw is False:
        return LeftOut(name=name, why="its schema is false, so no call could ever fit")
    claims = inner.get("annotations")
    return Found(
        name=name,
        description=_text(inner.get("description")) or _text(inner.get("title")),
        schema=schema,
        claims=dict(claims) if isinstance(claims, Mapping) else {},
        foreign=key in _FOREIGN,
        notes=notes if raw is not None else ("the list says nothing about its arguments: all are accepted",),
    )


def _nothing(kind: object) -> JsonObject | None:
    """What no schema means: no arguments for a function, an unknown form for a tool that a provider defines (bash, computer, …)."""
    return {"type": "object", "properties": {}} if kind in (None, "function") else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value.strip() else ""
