"""Keywords: where schemas stand inside a JSON Schema, and the copy of a schema that the validator is given.

In the copy patterns are ASCII and their `$` is the true end of the text, numbers are exact, and `$schema` is gone (it would make the
library leave our dialect). May not judge values. Comes before schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from guard.core.values import Json

ONE = frozenset(
    [
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
MANY = frozenset(["allOf", "anyOf", "oneOf", "prefixItems", "items"])
NAMED = frozenset(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"])
ASSERTIONS = frozenset(
    [
        "type",
        "enum",
        "const",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
        "required",
        "dependentRequired",
    ]
)
NOTES = frozenset(
    [
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "$comment",
        "title",
        "description",
        "default",
        "deprecated",
        "readOnly",
        "writeOnly",
        "examples",
        "example",
        "contentEncoding",
        "contentMediaType",
        "nullable",
        "discriminator",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
    ]
)
KNOWN = ONE | MANY | NAMED | ASSERTIONS | NOTES
COMPOSITION = frozenset(
    [
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "then",
        "else",
        "not",
        "$dynamicRef",
        "$recursiveRef",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
    ]
)
"""Keywords at the root of a schema that may let further fields in or describe them elsewhere."""


def below(schema: Json) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """Every schema directly inside `schema`, with the steps that lead to it."""
    if not isinstance(schema, Mapping):
        return
    for key, value in schema.items():
        if key in NAMED and isinstance(value, Mapping):
            yield from (((key, name), inner) for name, inner in value.items() if not isinstance(inner, list))
        elif key in MANY and isinstance(value, list):
            yield from (((key, index), inner) for index, inner in enumerate(value))
        elif key in ONE or (key not in KNOWN and isinstance(value, Mapping)):  # a reference may point into an unknown keyword
            yield (key,), value


def walk(schema: Json, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Json]]]:
    """Every schema object inside `schema`, itself first."""
    if isinstance(schema, Mapping):
        yield at, schema
        for steps, inner in below(schema):
            yield from walk(inner, (*at, *steps))


def exact_copy(value: Json) -> Json:
    """A deep copy in which every float is the Decimal that it is written as."""
    if isinstance(value, Mapping):
        return {key: exact_copy(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [exact_copy(inner) for inner in value]
    return Decimal(repr(value)) if isinstance(value, float) else value


def float_copy(value: Json) -> Json:
    """A deep copy without Decimals, for the library's check of the schema itself."""
    if isinstance(value, Mapping):
        return {key: float_copy(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [float_copy(inner) for inner in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value.adjusted()) < 100 else float(value)
    return value


def strict_copy(schema: Json) -> Json:
    """The copy that values are judged by. Raises re.error for a pattern that cannot be compiled."""
    if not isinstance(schema, Mapping):
        return schema
    copy: dict[str, Any] = {key: value for key, value in schema.items() if key != "$schema"}
    for steps, inner in below(schema):
        never = inner is False and len(steps) == 2  # the library loses the place of a field whose schema is false
        _put(copy, schema, steps, {"not": {}} if never else strict_copy(inner))
    if isinstance(copy.get("pattern"), str):
        copy["pattern"] = anchored(copy["pattern"])
    if isinstance(copy.get("patternProperties"), Mapping):
        copy["patternProperties"] = {anchored(name): inner for name, inner in copy["patternProperties"].items()}
    return copy


def _put(copy: dict[str, Any], schema: Mapping[str, Json], steps: tuple[str | int, ...], value: Json) -> None:
    key = str(steps[0])
    if len(steps) == 1:
        copy[key] = value
        return
    if copy[key] is schema[key]:
        copy[key] = type(schema[key])(schema[key])
    copy[key][steps[1]] = value


def anchored(pattern: str) -> str:
    """`pattern` with ASCII classes and `$` at the true end only, still searched for. Raises re.error."""
    out: list[str] = []
    inside = False
    for piece in re.findall(r"\\.|.", pattern, re.DOTALL):
        if piece == "[" or (piece == "]" and inside):
            inside = piece == "["
        out.append(r"\Z" if piece == "$" and not inside else piece)
    strict = f"(?a:{''.join(out)})"
    re.compile(strict)
    return strict


def spelled(strict: str) -> str:
    """The pattern as the author wrote it."""
    return strict.removeprefix("(?a:").removesuffix(")").replace(r"\Z", "$")
