"""Dialect: schemas that only look like JSON Schema (OpenAPI 3.0, Gemini, Python's type names), said in JSON Schema 2020-12.

Only what would be judged otherwise, or not at all, is translated; every other keyword stays as it is, known or not. Each kind of change is
told once in a note. Pure. Comes after found.
"""

from __future__ import annotations

from collections.abc import Mapping

from guard.core.values import Json, JsonObject, is_number
from guard.policy.keywords import ASSERTIONS, MANY, NAMED, ONE

_TYPES = {
    **dict.fromkeys(("dict", "map", "struct"), "object"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("str", "text"), "string"),
    "bool": "boolean",
    **dict.fromkeys(("list", "tuple", "set"), "array"),
}
_REAL = frozenset({"object", "number", "integer", "string", "boolean", "array", "null"})
_NEVER_NULL = (ONE | MANY | NAMED | ASSERTIONS | {"description", "title", "$ref", "$schema", "$id"}) - {"const"}
_MAX_DEPTH = 200


def translated(schema: JsonObject, *, request: bool = False) -> tuple[JsonObject, tuple[str, ...]]:
    """The schema and what was changed in it. `request` leaves out what OpenAPI calls `readOnly`. Raises RecursionError when too deep."""
    notes: dict[str, None] = {}
    done = _schema(schema, notes, request=request, depth=0)
    return done if isinstance(done, dict) else {}, tuple(notes)


def _schema(schema: Json, notes: dict[str, None], *, request: bool, depth: int) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    if depth > _MAX_DEPTH:
        raise RecursionError
    below = {key: _below(key, value, notes, request=request, depth=depth + 1) for key, value in schema.items()}
    done = _typed(_said(below, notes), notes)
    _bounds(done, notes)
    if request:
        _writable(done)
    return _nullable(done, notes)


def _below(key: str, value: Json, notes: dict[str, None], *, request: bool, depth: int) -> Json:
    def inner(one: Json) -> Json:
        return _schema(one, notes, request=request, depth=depth)

    if key in NAMED and isinstance(value, Mapping):
        return {name: inner(one) for name, one in value.items()}
    if key in MANY and isinstance(value, list):
        return [inner(one) for one in value]
    return inner(value) if key in ONE else value


def _said(schema: JsonObject, notes: dict[str, None]) -> JsonObject:
    """Without keywords that are null, which say nothing, and with `required: true` of a field where it belongs: beside the fields."""
    found = {key: value for key, value in schema.items() if value is not None or key not in _NEVER_NULL}
    fields = found.get("properties")
    if isinstance(fields, Mapping):
        flags = {name: one["required"] for name, one in fields.items() if _is_flagged(one)}
        if flags:
            notes["schema: required stands beside the properties"] = None
            found["properties"] = {name: _without_flag(one) for name, one in fields.items()}
            named = found.get("required")
            needed = [*(named if isinstance(named, list) else ()), *(name for name, flag in flags.items() if flag)]
            found["required"] = list(dict.fromkeys(needed))
    return found


def _is_flagged(schema: Json) -> bool:
    return isinstance(schema, Mapping) and isinstance(schema.get("required"), bool)


def _without_flag(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key != "required"} if _is_flagged(schema) else schema


def _typed(schema: JsonObject, notes: dict[str, None]) -> JsonObject:
    """Types by their names in JSON Schema. `any` is no type at all."""
    kind = schema.get("type")
    if isinstance(kind, list):
        return {**schema, "type": list(dict.fromkeys(_type(one, notes) for one in kind))}
    if isinstance(kind, str) and kind.lower() in ("any", "type_unspecified"):
        notes[f"schema: the type {kind} was left out"] = None
        return {key: value for key, value in schema.items() if key != "type"}
    return schema if kind is None else {**schema, "type": _type(kind, notes)}


def _type(kind: Json, notes: dict[str, None]) -> Json:
    if not isinstance(kind, str) or kind in _REAL:
        return kind
    lower = kind.lower()
    found = lower if lower in _REAL else _TYPES.get(lower)
    if found is None:
        return kind
    notes[f"schema: the type {kind} is written {found}"] = None
    return found


def _bounds(schema: JsonObject, notes: dict[str, None]) -> None:
    """`exclusiveMinimum: true` beside a `minimum`, as in OpenAPI 3.0 and draft 4."""
    if "draft-04" in str(schema.get("$schema", "")):
        return
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(flag), bool):
            strict = schema.pop(flag)
            if strict and is_number(schema.get(bound)):
                schema[flag] = schema.pop(bound)
                notes[f"schema: {flag} is written as a number"] = None


def _nullable(schema: JsonObject, notes: dict[str, None]) -> JsonObject:
    """`nullable: true`, which JSON Schema does not know. On an enum or a combination null is one more alternative."""
    if not isinstance(schema.get("nullable"), bool):
        return schema
    rest = {key: value for key, value in schema.items() if key != "nullable"}
    if not schema["nullable"]:
        return rest
    notes["schema: nullable is written as the type null"] = None
    kind = rest.get("type")
    if isinstance(kind, str) and "enum" not in rest and "const" not in rest:
        return {**rest, "type": [kind, "null"]}
    said: JsonObject = {key: rest.pop(key) for key in ("description", "title", "default") if key in rest}
    return {**said, "anyOf": [rest, {"type": "null"}]} if rest else said


def _writable(schema: JsonObject) -> None:
    """Leave out the fields that only answers have."""
    fields = schema.get("properties")
    if not isinstance(fields, Mapping):
        return
    closed = {name for name, one in fields.items() if isinstance(one, Mapping) and one.get("readOnly") is True}
    if closed:
        schema["properties"] = {name: one for name, one in fields.items() if name not in closed}
        if isinstance(schema.get("required"), list):
            schema["required"] = [name for name in schema["required"] if name not in closed]
