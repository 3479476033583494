"""Quick: says yes to arguments that plainly fit a plain schema, a hundred times faster than the validator.

It may only accept what the validator accepts; whatever it does not know, or does not accept, is decided and worded by the validator.
A property test holds the two together. Comes after dialects and formats, before schemas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from guard.core.values import Json, equal
from guard.policy.dialects import exact, is_integer, is_multiple
from guard.policy.formats import ANNOTATIONS, FORMATS

Accepts = Callable[[Json], bool]

_IGNORED = frozenset({"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"})
_SHAPE = frozenset({"properties", "required", "additionalProperties"})
_MAX_DEPTH = 20


def quick(schema: Json, depth: int = 0) -> Accepts | None:
    """A judge that accepts only what `schema` accepts; None where the schema is not plain."""
    if schema is True or schema == {}:
        return _always
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return None
    checks: list[Accepts | None] = [
        _CHECKS[key](value) if key in _CHECKS else None
        for key, value in schema.items()
        if key not in _IGNORED | _SHAPE | _NESTED.keys()
    ]
    checks += [_NESTED[key](value, depth) for key, value in schema.items() if key in _NESTED]
    if _SHAPE & schema.keys():
        checks.append(_object(schema, depth))
    found = [check for check in checks if check is not None]
    return _every(found) if len(found) == len(checks) else None


def _always(_value: Json) -> bool:
    return True


def _never(_value: Json) -> bool:
    return False


def _every(checks: Sequence[Accepts]) -> Accepts:
    if len(checks) <= 1:
        return checks[0] if checks else _always
    first, rest = checks[0], _every(checks[1:])
    return lambda value: first(value) and rest(value)


def _is_number(value: Json) -> bool:
    kind = type(value)
    return kind is int or (kind is Decimal and value.is_finite())


_TYPES: Mapping[str, Accepts] = {
    "string": lambda value: type(value) is str,
    "integer": lambda value: type(value) is int or (type(value) is Decimal and is_integer(value)),
    "number": _is_number,
    "boolean": lambda value: value is True or value is False,
    "null": lambda value: value is None,
    "array": lambda value: type(value) is list,
    "object": lambda value: type(value) is dict,
}


def _types(wanted: Json) -> Accepts:
    tests = [_TYPES[name] for name in (wanted if isinstance(wanted, list) else [wanted])]
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _pattern(wanted: Json) -> Accepts:
    search = re.compile(wanted).search
    return lambda value: type(value) is str and search(value) is not None


def _format(wanted: Json) -> Accepts | None:
    if wanted in ANNOTATIONS:
        return _always
    fits = FORMATS.get(wanted)
    return None if fits is None else lambda value: type(value) is str and fits(value)


def _enum(options: Json) -> Accepts | None:
    if all(type(option) is str for option in options):
        texts = frozenset(options)
        return lambda value: type(value) is str and value in texts
    return lambda value: any(equal(value, option) for option in options)


_CHECKS: Mapping[str, Callable[[Json], Accepts | None]] = {
    "type": _types,
    "enum": _enum,
    "const": lambda wanted: lambda value: equal(value, wanted),
    "minimum": lambda limit: lambda value: _is_number(value) and value >= exact(limit),
    "maximum": lambda limit: lambda value: _is_number(value) and value <= exact(limit),
    "multipleOf": lambda step: lambda value: _is_number(value) and is_multiple(value, step),
    "minLength": lambda limit: lambda value: type(value) is str and len(value) >= limit,
    "maxLength": lambda limit: lambda value: type(value) is str and len(value) <= limit,
    "minItems": lambda limit: lambda value: type(value) is list and len(value) >= limit,
    "maxItems": lambda limit: lambda value: type(value) is list and len(value) <= limit,
    "pattern": _pattern,
    "format": _format,
}


def _object(schema: Mapping[str, Json], depth: int) -> Accepts | None:
    rest = schema.get("additionalProperties", True)
    fields = {name: quick(inner, depth + 1) for name, inner in schema.get("properties", {}).items()}
    judges = {name: judge for name, judge in fields.items() if judge is not None}
    if len(judges) < len(fields) or rest not in (True, False):
        return None
    required = frozenset(schema.get("required", ()))
    stranger = _always if rest else _never

    def judge_object(value: Json) -> bool:
        if type(value) is not dict:
            return False
        for name, inner in value.items():
            if not judges.get(name, stranger)(inner):
                return False
        return required <= value.keys()

    return judge_object


def _items(schema: Json, depth: int) -> Accepts | None:
    judge = quick(schema, depth + 1) if isinstance(schema, Mapping) else None
    return None if judge is None else lambda value: type(value) is list and all(judge(item) for item in value)


def _any(branches: Json, depth: int) -> Accepts | None:
    judges = [quick(branch, depth + 1) for branch in branches]
    found = [judge for judge in judges if judge is not None]
    return (lambda value: any(judge(value) for judge in found)) if len(found) == len(judges) else None


_NESTED: Mapping[str, Callable[[Json, int], Accepts | None]] = {"items": _items, "anyOf": _any}
