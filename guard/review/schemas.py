"""Schemas: which way the JSON Schema of a tool's arguments has changed, keyword by keyword.

A direction is given only to a keyword that stands as a demand of its own on the way down from the root; what stands in a combination, a reference
or a keyword unknown here may widen. Comes after changes; used by tool_changes. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, canonical
from guard.policy.keywords import NOTES
from guard.review.changes import Direction, Fact, demands, fact, most, permits, words

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_WORDS = NOTES - {"$ref", "$dynamicRef", "$recursiveRef", "default", "nullable", "discriminator", "$schema"}
_ANYTHING: tuple[Json, ...] = ({}, True)

Sides = tuple[Json, Json]


def schema_facts(old: Tool, new: Tool, *, written: tuple[bool, bool]) -> Iterator[Fact]:
    """How the arguments that a tool takes differ. What the session fills in is left out; `written`: whether each side has a schema at all."""
    if written[0] != written[1]:
        before, after = [
            canonical(tool.schema) if here else "the function's signature" for tool, here in zip((old, new), written, strict=True)
        ]
        yield Fact(Direction.MAYBE, "schema", before, after, "the function is not known here")
        return
    yield from _compare(_own(old, new), _own(new, old), "schema")


def _own(tool: Tool, other: Tool) -> JsonObject:
    """The tool's schema without fields that are there only because they are bound."""
    schema = dict(tool.schema)
    alone = {binding.field for binding in tool.bindings} - set(other.schema.get("properties", {}))
    if alone and isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {name: inner for name, inner in schema["properties"].items() if name not in alone}
    if alone and isinstance(schema.get("required"), list):
        schema["required"] = [name for name in schema["required"] if name not in alone]
    return {key: value for key, value in schema.items() if value not in ({}, []) or key not in ("properties", "required")}


def _compare(old: Json, new: Json, at: str) -> Iterator[Fact]:
    """Every difference of two schemas at one place."""
    left, right = _mapping(old), _mapping(new)
    if left is None or right is None or not left or not right:
        yield from fact(_whole(old, new), at, old, new)
        return
    for word in sorted({*left, *right}):
        if word in left and word in right and canonical(left[word]) == canonical(right[word]):
            continue
        if word in ("properties", "items", "additionalProperties"):
            yield from _inner(word, left, right, at)
        else:
            yield from fact(_keyword(word, left, right), f"{at}.{word}", left.get(word), right.get(word))


def _mapping(schema: Json) -> Mapping[str, Json] | None:
    return schema if isinstance(schema, Mapping) else {} if schema is True else None


def _whole(old: Json, new: Json) -> Direction | None:
    """Where one side accepts everything or nothing."""
    if old == new or (old in _ANYTHING and new in _ANYTHING):
        return None
    if new is False or old in _ANYTHING:
        return Direction.NARROWS
    return Direction.WIDENS


def _inner(word: str, left: Mapping[str, Json], right: Mapping[str, Json], at: str) -> Iterator[Fact]:
    if word != "properties":
        yield from _compare(left.get(word, True), right.get(word, True), f"{at}.{word}")
        return
    before, after = left.get(word, {}), right.get(word, {})
    for name in sorted({*before, *after}):
        # what is not named is judged by additionalProperties; a field that comes or goes is compared with that
        one = before.get(name, left.get("additionalProperties", True))
        other = after.get(name, right.get("additionalProperties", True))
        for found in _compare(one, other, f"{at}.{name}"):
            if name in before and name in after:
                yield found
            else:
                yield Fact(found.direction, f"{at}.{name}", *_presence(name in before, before, after, name))


def _presence(there: bool, before: Json, after: Json, name: str) -> tuple[str, str]:  # noqa: FBT001 - on which side
    return (words(before[name]), "no such argument") if there else ("no such argument", words(after[name]))


def _keyword(word: str, left: Mapping[str, Json], right: Mapping[str, Json]) -> Direction | None:
    old, new = left.get(word), right.get(word)
    if word in _WORDS:
        return Direction.CHANGES
    known = _KEYWORDS.get(word)
    if known is not None:
        return known(old, new)
    if word in ("pattern", "format", "const", "multipleOf"):
        return Direction.NARROWS if old is None else Direction.WIDENS if new is None else Direction.MAYBE
    return Direction.MAYBE


def _types(old: Json, new: Json) -> Direction | None:
    return permits(_names(old), _names(new))


def _names(given: Json) -> frozenset[str]:
    names = _TYPES if given is None else frozenset([given] if isinstance(given, str) else given)
    return names | {"integer"} if "number" in names else names


def _enum(old: Json, new: Json) -> Direction | None:
    if old is None or new is None:
        return Direction.NARROWS if old is None else Direction.WIDENS
    return permits(map(canonical, old), map(canonical, new))


def _least(old: Json, new: Json) -> Direction | None:
    return most(None if old is None else -old, None if new is None else -new)


def _required(old: Json, new: Json) -> Direction | None:
    return demands(old or (), new or ())


def _unique(old: Json, new: Json) -> Direction | None:
    return demands(["unique"] if old else [], ["unique"] if new else [])


_KEYWORDS: Mapping[str, Callable[[Json, Json], Direction | None]] = MappingProxyType(
    {
        "type": _types,
        "enum": _enum,
        "required": _required,
        "uniqueItems": _unique,
        **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), most),
        **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _least),
    }
)
