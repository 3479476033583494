"""Issues: what is wrong with arguments, in words that help a model, never with the value that it sent.

Turns the validator's errors into `Issue`s: path, rule, what would fit, the nearest known field. Pure. Comes after dialects and keywords
and before schemas. To word another keyword, add one row to `WORDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from guard.core.rules import Issue
from guard.core.values import Json, is_number
from guard.policy.keywords import spelled
from guard.policy.problems import meant, nearest

MAX_ISSUES = 20
MAX_NAME = 60
"""Characters of a field name that the model made up; longer ones are cut."""

TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}

WORDS: Mapping[str, Callable[[Json], str]] = {
    "enum": lambda _: "must be one of the allowed values",
    "const": lambda _: "must be the one allowed value",
    "minimum": lambda limit: f"must be at least {limit}",
    "maximum": lambda limit: f"must be at most {limit}",
    "exclusiveMinimum": lambda limit: f"must be greater than {limit}",
    "exclusiveMaximum": lambda limit: f"must be less than {limit}",
    "multipleOf": lambda step: f"must be a multiple of {step}",
    "minLength": lambda limit: f"must have at least {limit} characters",
    "maxLength": lambda limit: f"must have at most {limit} characters",
    "pattern": lambda pattern: f"must match the pattern {spelled(str(pattern))}",
    "format": lambda name: f"must be in the format {name}",
    "minItems": lambda limit: f"must have at least {limit} items",
    "maxItems": lambda limit: f"must have at most {limit} items",
    "uniqueItems": lambda _: "must not hold the same item twice",
    "contains": lambda _: "must hold an item of the required form",
    "minContains": lambda limit: f"must hold at least {limit} items of the required form",
    "maxContains": lambda limit: f"must hold at most {limit} items of the required form",
    "minProperties": lambda limit: f"must have at least {limit} fields",
    "maxProperties": lambda limit: f"must have at most {limit} fields",
    "propertyNames": lambda _: "holds a field whose name is not permitted",
    "dependentRequired": lambda _: "lacks a field that another field needs beside it",
    "dependencies": lambda _: "lacks a field that another field needs beside it",
    "unevaluatedProperties": lambda _: "holds a field that is not known here",
    "unevaluatedItems": lambda _: "holds an item that is not known here",
    "not": lambda _: "is of a form that is not permitted here",
    "anyOf": lambda _: "fits none of the permitted forms",
    "oneOf": lambda _: "must fit exactly one of the permitted forms",
}


def issues(errors: Iterable[Any], hidden: frozenset[str] = frozenset()) -> tuple[Issue, ...]:
    """At most `MAX_ISSUES` issues for the validator's errors, each once. `hidden` fields of the root are never suggested."""
    found = (issue for error in islice(errors, MAX_ISSUES) for issue in _explain(error, hidden))
    return tuple(islice(_once(found), MAX_ISSUES))


def _once(found: Iterable[Issue]) -> Iterator[Issue]:
    seen: set[tuple[str, str, str]] = set()
    for issue in found:
        place = (issue.path, issue.rule, issue.message)
        if place not in seen:
            seen.add(place)
            yield issue


def _explain(error: Any, hidden: frozenset[str]) -> Iterator[Issue]:
    rule = error.validator
    where = dotted(error.absolute_path)
    if rule in {"anyOf", "oneOf"} and error.context:
        yield from _alternatives(error, where, hidden)
    elif rule == "required":
        yield _missing(error, where)
    elif rule == "additionalProperties":
        yield _unknown(error, where, hidden)
    elif rule == "type":
        yield _wrong_type(where, error.validator_value, error.instance)
    elif rule in WORDS and not (rule == "not" and error.validator_value == {}):
        yield Issue(
            path=where, rule=rule, message=WORDS[rule](error.validator_value), allowed=_allowed(rule, error.validator_value)
        )
    else:  # a schema that is `false`
        yield Issue(path=where, rule="false", message="no value is permitted here; leave it out")


def _allowed(rule: str, value: Json) -> tuple[Json, ...]:
    if rule == "enum" and isinstance(value, list):
        return tuple(value)
    return (value,) if rule == "const" else ()


def _wrong_type(where: str, types: Json, instance: Json) -> Issue:
    names = types if isinstance(types, list) else [types]
    wanted = " or ".join(TYPES.get(str(name), str(name)) for name in names)
    message = f"must be {wanted}, not {kind(instance)}"
    if isinstance(instance, str) and {"number", "integer"} & set(names):
        message += "; write a plain number: digits only, no quotes, currency, unit or separators"
    return Issue(path=where, rule="type", message=message)


def kind(value: Json) -> str:
    """The type of a value in words."""
    if isinstance(value, bool):
        return TYPES["boolean"]
    if is_number(value):
        return TYPES["number"]
    names = {str: "string", list: "array", tuple: "array", dict: "object", type(None): "null"}
    return TYPES[names.get(type(value), "object")]


def _missing(error: Any, where: str) -> Issue:
    known = error.schema.get("properties", {})
    near = nearest(error.message, [name for name in error.instance if name not in known])
    text = "is required" if near is None else f"is required; is {cut(near)} meant for it?"
    return Issue(path=joined(where, error.message), rule="required", message=text, nearest=near and cut(near))


def _unknown(error: Any, where: str, hidden: frozenset[str]) -> Issue:
    known = [name for name in error.schema.get("properties", {}) if where or name not in hidden]
    near = nearest(error.message, known)
    hint = meant(error.message, known)
    text = f"is not a known field; {hint}" if hint else "is not a known field"
    return Issue(path=joined(where, cut(error.message)), rule="additionalProperties", message=text, nearest=near)


def _alternatives(error: Any, where: str, hidden: frozenset[str]) -> Iterator[Issue]:
    """The issues of the one alternative that was meant, or one issue that names the types that fit."""
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0] if inner.schema_path else id(inner), []).append(inner)
    wrong = [inner for errors in branches.values() for inner in errors if inner.validator == "type" and not inner.path]
    close = [errors for errors in branches.values() if not any(inner in wrong for inner in errors)]
    if len(close) == 1:
        yield from (issue for inner in close[0] for issue in _explain(inner, hidden))
    elif not close:
        types = [name for inner in wrong for name in _names(inner.validator_value)]
        yield _wrong_type(where, list(dict.fromkeys(types)), error.instance)
    else:
        yield Issue(path=where, rule=error.validator, message=WORDS[error.validator](None))


def _names(value: Json) -> list[str]:
    return value if isinstance(value, list) else [value]


def cut(name: str) -> str:
    """A field name that the model made up, short and on one line."""
    clean = "".join(char if char.isprintable() else "?" for char in name[:MAX_NAME])
    return clean if len(name) <= MAX_NAME else clean + "…"


def joined(where: str, name: str) -> str:
    """The path of field `name` of the object at `where`."""
    return f"{where}.{name}" if where else name


def dotted(steps: Iterable[str | int]) -> str:
    """`items[2].price` for the steps that lead to a value."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{cut(step)}" for step in steps).lstrip(".")
