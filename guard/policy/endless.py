"""Endless: schemas that come back to themselves without going into the value: no validator ever finishes judging by them.

A schema may name itself for what lies inside a value (a tree of orders); about the same value it may not. Looks at what is judged in place: references,
`allOf` and its kin, `if`. Comes after keywords, before schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from guard.core.values import Json

CURE = "let it refer to itself below properties or items only"
_ONE = ("not", "if", "then", "else")
_MANY = ("allOf", "anyOf", "oneOf")
_NAMED = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_Steps = tuple[str | int, ...]


class Circles:
    """Finds each circle once. `specification` is the draft's, of the referencing library."""

    def __init__(self, specification: Any) -> None:
        self._specification = specification
        self._told: set[int] = set()

    def through(self, schema: Json, resolver: Any) -> _Steps | None:
        """The steps from `schema` that begin a way back to it; None where there is no way back, or it was told before."""
        if not isinstance(schema, Mapping) or id(schema) in self._told:
            return None
        seen: set[int] = set()
        for steps, inner, theirs in self._in_place(schema, resolver):
            way = self._way(inner, theirs, id(schema), seen)
            if way is not None:
                self._told |= {*way, id(schema)}
                return steps
        return None

    def _way(self, schema: Json, resolver: Any, goal: int, seen: set[int]) -> list[int] | None:
        """What lies on the way to the schema with this identity."""
        waiting: list[tuple[Json, Any, list[int]]] = [(schema, resolver, [])]
        while waiting:
            here, known, way = waiting.pop()
            if id(here) == goal:
                return way
            if isinstance(here, Mapping) and id(here) not in seen:
                seen.add(id(here))
                waiting += [(inner, theirs, [*way, id(here)]) for _, inner, theirs in self._in_place(here, known)]
        return None

    def _in_place(self, schema: Mapping[str, Json], resolver: Any) -> Iterator[tuple[_Steps, Json, Any]]:
        """Every schema by which the same value is judged as well, with the resolver that holds there."""
        for steps, inner in _beside(schema):
            if isinstance(inner, Mapping):
                yield steps, inner, resolver.in_subresource(self._specification.create_resource(inner))
        for key in _REFERENCES:
            if isinstance(schema.get(key), str):
                try:
                    found = resolver.lookup(schema[key])
                except Exception:  # noqa: BLE001, S112 - a reference that points nowhere is told elsewhere
                    continue
                yield (key,), found.contents, found.resolver


def _beside(schema: Mapping[str, Json]) -> Iterator[tuple[_Steps, Json]]:
    yield from (((key,), schema[key]) for key in _ONE if key in schema)
    for key in _MANY:
        value = schema.get(key)
        yield from (((key, place), inner) for place, inner in enumerate(value)) if isinstance(value, list) else ()
    for key in _NAMED:
        value = schema.get(key)
        yield from (((key, name), inner) for name, inner in value.items()) if isinstance(value, Mapping) else ()
