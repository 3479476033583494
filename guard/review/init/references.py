"""References: `$ref` inside one OpenAPI document. What an operation needs is copied beside it; nothing outside is ever fetched.

Cycles are fine: a schema that refers to itself refers to its own copy. Pure. Comes after found and dialect, before openapi.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from guard.core.values import Json, JsonObject
from guard.policy.fields import local
from guard.policy.keywords import MANY, NAMED, ONE

_MAX_HOPS = 20
_HERE = "#/$defs/"


class UnreadableError(ValueError):
    """A reference that cannot be followed; the text says why."""


def follow(root: Json, value: Json) -> Json:
    """`value`, or what it refers to when it is a reference, however many there are in a row. Raises UnreadableError."""
    for _ in range(_MAX_HOPS):
        if not isinstance(value, Mapping) or not isinstance(value.get("$ref"), str):
            return value
        value = target(root, value["$ref"])
    raise UnreadableError("references that lead round in a circle")


def target(root: Json, reference: str) -> Json:
    """What a local reference points to. Raises UnreadableError."""
    if not reference.startswith("#"):
        raise UnreadableError(f"it refers to {reference}, outside of the document, and nothing is fetched")
    found = local(root, unquote(reference))
    if found is None:
        raise UnreadableError(f"it refers to {reference}, which is not in the document")
    return found


class Collector:
    """Copies schemas out of a document, with everything that they refer to under `$defs`."""

    def __init__(self, root: Json, *, siblings: bool) -> None:
        self.root = root
        self.siblings = siblings  # whether words beside a $ref count, as they do from OpenAPI 3.1 on
        self.names: dict[str, str] = {}
        self.defs: JsonObject = {}

    def copy(self, schema: Json) -> Json:
        """A schema with its references pointing to `#/$defs/…`. Raises UnreadableError."""
        if not isinstance(schema, Mapping):
            return schema
        found = {key: self._below(key, value) for key, value in schema.items()}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return found
        found["$ref"] = _HERE + self._name(reference)
        return found if self.siblings else {"$ref": found["$ref"]}

    def used(self, schema: Json) -> JsonObject:
        """The copies that a schema needs, directly or through others."""
        found: JsonObject = {}
        waiting = [schema]
        while waiting:
            for name in self._named(waiting.pop()):
                if name not in found:
                    found[name] = self.defs[name]
                    waiting.append(self.defs[name])
        return found

    def _named(self, value: Json) -> Iterator[str]:
        if isinstance(value, Mapping):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference.removeprefix(_HERE) in self.defs:
                yield reference.removeprefix(_HERE)
            for below in value.values():
                yield from self._named(below)
        elif isinstance(value, list):
            for below in value:
                yield from self._named(below)

    def _below(self, key: str, value: Json) -> Json:
        if key in NAMED and isinstance(value, Mapping):
            return {name: self.copy(one) for name, one in value.items()}
        if key in MANY and isinstance(value, list):
            return [self.copy(one) for one in value]
        return self.copy(value) if key in ONE else value

    def _name(self, reference: str) -> str:
        """The name of the copy of what a reference points to. The copy is made once, and named before it is made."""
        if reference not in self.names:
            found = target(self.root, reference)
            self.names[reference] = name = self._free(reference)
            self.defs[name] = {}
            self.defs[name] = self.copy(found)
        return self.names[reference]

    def _free(self, reference: str) -> str:
        last = (
            "".join(char if char.isalnum() or char in "_-" else "_" for char in unquote(reference).rpartition("/")[2]) or "root"
        )
        name, number = last, 2
        while name in self.defs:
            name, number = f"{last}_{number}", number + 1
        return name
