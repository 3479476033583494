"""Fields: what a tool's schema says about its arguments as a whole: which exist, which the model sees, whether others are refused.

Works on schemas as written, before they are compiled. Pure. Comes after keywords and before tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from guard.core.paths import ANY
from guard.core.values import Json, JsonObject
from guard.policy.keywords import COMPOSITION, float_copy
from guard.policy.problems import meant

_SPEAKS = frozenset({"additionalProperties", "unevaluatedProperties", "patternProperties"}) | COMPOSITION
_OPENS = frozenset({"patternProperties"}) | COMPOSITION
_NOTES = frozenset({"$schema", "$defs", "definitions", "title", "description", "$comment"})


@dataclass(frozen=True, slots=True)
class Gap:
    """A path that the schema cannot hold: the step that is unknown, and what would be known in its place."""

    step: str
    cure: str


def normal(schema: JsonObject, *, signature: bool) -> JsonObject:
    """The schema with a lone root reference opened, and closed against unknown fields where it says nothing about them."""
    opened = _opened(schema)
    named = "properties" in opened or (opened != {} and (signature or opened.get("type") == "object"))
    if named and not _SPEAKS & opened.keys():
        return {**opened, "additionalProperties": False}
    return opened


def _opened(schema: JsonObject) -> JsonObject:
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    if "$ref" not in schema or not rest.keys() <= _NOTES:
        return schema
    target = local(schema, schema["$ref"])
    return {**rest, **target} if isinstance(target, dict) and target is not schema else schema


def local(root: Json, reference: Json) -> Json:
    """What a `#/…` reference points to, or None."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    here = root
    for step in reference.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        elif isinstance(here, Mapping) and key in here:
            here = here[key]
        else:
            return None
    return here


def takes(schema: JsonObject, name: str) -> bool:
    """Whether the schema has a property of this name at its root."""
    return name in schema.get("properties", {})


def with_fields(schema: JsonObject, names: Iterable[str]) -> JsonObject:
    """The schema with further root properties of any type. One that named none stays open, and says so."""
    extra: JsonObject = {name: {} for name in names}
    if not extra:
        return schema
    if "properties" not in schema and not _SPEAKS & schema.keys():
        return {**schema, "properties": extra, "additionalProperties": True}
    return {**schema, "properties": {**schema.get("properties", {}), **extra}}


def visible(schema: JsonObject, hidden: frozenset[str]) -> JsonObject:
    """What the model is shown: the schema without `hidden` fields, always an object with properties."""
    shown = _without(schema, hidden)
    shown["type"] = "object"
    shown.setdefault("properties", {})
    ordered: JsonObject = float_copy({key: shown[key] for key in ("type", "properties", *shown)})  # clients write plain JSON
    return ordered


def _without(schema: JsonObject, hidden: frozenset[str]) -> JsonObject:
    out = dict(schema)
    if isinstance(out.get("properties"), Mapping):
        out["properties"] = {name: inner for name, inner in out["properties"].items() if name not in hidden}
    if isinstance(out.get("required"), list):
        out["required"] = [name for name in out["required"] if name not in hidden]
        if not out["required"]:
            del out["required"]
    for key in ("allOf", "anyOf", "oneOf"):
        if isinstance(out.get(key), list):
            out[key] = [_without(inner, hidden) if isinstance(inner, dict) else inner for inner in out[key]]
    for key in ("if", "then", "else"):
        if isinstance(out.get(key), dict):
            out[key] = _without(out[key], hidden)
    return out


def gap(schema: JsonObject, steps: tuple[str, ...]) -> Gap | None:
    """The first step of a path that certainly finds nothing in arguments of this schema; None when it may find something."""
    return _gap(schema, schema, steps)


def _gap(root: JsonObject, schema: Json, steps: tuple[str, ...]) -> Gap | None:
    if not steps or not isinstance(schema, Mapping):
        return None
    found = [_gap_here(root, branch, steps) for branch in _branches(root, schema, set())]
    return None if None in found or not found else found[0]


def _branches(root: JsonObject, schema: Json, seen: set[int]) -> Iterator[Mapping[str, Json]]:
    """The schema itself and whatever it refers to or combines, each once. An empty one stands for what cannot be told."""
    if not isinstance(schema, Mapping):
        yield {}
        return
    if id(schema) in seen:
        return
    seen.add(id(schema))
    parts = [local(root, schema["$ref"])] if "$ref" in schema else []
    parts += [branch for key in ("allOf", "anyOf", "oneOf") for branch in schema.get(key, ())]
    for part in parts:
        yield from _branches(root, part, seen)
    if not parts or "properties" in schema or "items" in schema:
        yield schema


def kinds(schema: JsonObject, steps: tuple[str, ...]) -> frozenset[str] | None:
    """The JSON types that a value at this path can have (whole numbers are numbers); None where that cannot be told."""
    here: list[Json] = [schema]
    for step in (*steps, None):
        branches = [branch for part in here for branch in _branches(schema, part, set())]
        if step is None:
            return _kinds(branches)
        named = [branch for branch in branches if ("items" if step == ANY else "properties") in branch]
        here = [branch.get("items") if step == ANY else branch["properties"].get(step) for branch in named]
        if not here or None in here:
            return None
    return None


def _kinds(branches: list[Mapping[str, Json]]) -> frozenset[str] | None:
    found: set[str] = set()
    for branch in branches:
        if "type" not in branch:
            return None
        names = branch["type"] if isinstance(branch["type"], list) else [branch["type"]]
        found |= {"number" if name == "integer" else name for name in names}
    return frozenset(found) or None


def _gap_here(root: JsonObject, schema: Mapping[str, Json], steps: tuple[str, ...]) -> Gap | None:
    step, rest = steps[0], steps[1:]
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds
    if names and ("array" if step == ANY else "object") not in names:
        return Gap(step, "the schema holds no such part here")
    if step == ANY:
        return _gap(root, schema.get("items"), rest)
    known = schema.get("properties")
    if not isinstance(known, Mapping):
        return Gap(step, "the schema has no fields here") if schema.get("additionalProperties") is False else None
    if step in known:
        return _gap(root, known[step], rest)
    if schema.get("additionalProperties", False) is False and not _OPENS & schema.keys():
        return Gap(step, meant(step, known))
    return None
