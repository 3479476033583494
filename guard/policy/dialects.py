"""Dialects: the drafts of JSON Schema with numbers read exactly, built on the jsonschema library.

Differences to the library, each a known defect for a guard: a bool is no number, an integral Decimal is an integer, NaN is no number;
`multipleOf`, bounds, `enum`, `const` and `uniqueItems` compare exact numbers; nothing is ever fetched. May not know tools or policies.
Comes after formats and before schemas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from guard.core.values import Json, canonical, equal, is_number
from guard.policy.formats import ANNOTATIONS, FORMATS

DRAFTS: Mapping[str, str] = {
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
}
"""The drafts that `$schema` may name; 2020-12 where it names none."""

FLAGGED = frozenset({"http://json-schema.org/draft-04/schema"})
"""Drafts where `exclusiveMinimum` is a flag beside `minimum`."""

NEWEST = next(iter(DRAFTS))


def exact(value: Json) -> Json:
    """A number to compute with: a float counts as the decimal that it is written as."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def is_integer(value: Json) -> bool:
    """Whether a JSON number is whole: 5, 5.0 and 5E+3 are."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    number = exact(value)
    return isinstance(number, Decimal) and number.is_finite() and number == number.to_integral_value()


def is_finite(value: Json) -> bool:
    """Whether `value` is a JSON number at all."""
    return is_number(value) and (isinstance(value, int) or exact(value).is_finite())


def is_multiple(value: Json, step: Json) -> bool:
    """Whether `value` is a whole multiple of `step`, exactly, and without building numbers as large as their exponents say."""
    top, bottom = Decimal(exact(value)), Decimal(exact(step))
    digits, shift = _parts(top)
    divisor, divisor_shift = _parts(bottom)
    shift -= divisor_shift
    if digits == 0:
        return True
    if shift >= 0:
        return digits * pow(10, shift, divisor) % divisor == 0
    return -shift <= len(str(digits)) and digits % (divisor * 10**-shift) == 0


def _parts(number: Decimal) -> tuple[int, int]:
    _, digits, exponent = number.as_tuple()
    return int("".join(map(str, digits))), int(exponent)


@cache
def dialect(name: str) -> Any:
    """The validator class for one of `DRAFTS`."""
    import jsonschema  # noqa: PLC0415 - loaded with the first schema, so that importing guard stays cheap

    base = getattr(jsonschema, DRAFTS[name])
    types = base.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: is_integer(value),
            "number": lambda _, value: is_finite(value),
            "array": lambda _, value: isinstance(value, list | tuple),
            "object": lambda _, value: isinstance(value, Mapping),
        }
    )
    ours = {key: judge for key, judge in _keywords(jsonschema.ValidationError).items() if key in base.VALIDATORS}
    if name in FLAGGED:
        ours = {key: judge for key, judge in ours.items() if "inimum" not in key and "aximum" not in key}
    validators: Any = jsonschema.validators
    return validators.extend(base, validators=ours, type_checker=types)


def _keywords(error: Any) -> dict[str, Keyword]:
    """Our own keywords. Each yields errors whose message is the name of the field concerned, or empty."""
    judges: dict[str, Keyword] = {
        key: _simple(error, kind, test)
        for kind, table in ((None, _ANY), ("number", _NUMBER), ("array", _ARRAY))
        for key, test in table.items()
    }
    return {**judges, "required": _required(error), "additionalProperties": _additional(error)}


Keyword = Callable[[Any, Json, Json, Json], Iterator[Any]]
Test = Callable[[Json, Json], bool]

_ANY: Mapping[str, Test] = {
    "const": equal,
    "enum": lambda value, options: any(equal(value, option) for option in options),
}
_NUMBER: Mapping[str, Test] = {
    "multipleOf": is_multiple,
    "minimum": lambda value, limit: exact(value) >= exact(limit),
    "maximum": lambda value, limit: exact(value) <= exact(limit),
    "exclusiveMinimum": lambda value, limit: exact(value) > exact(limit),
    "exclusiveMaximum": lambda value, limit: exact(value) < exact(limit),
}
_ARRAY: Mapping[str, Test] = {
    "uniqueItems": lambda value, wanted: not wanted or len({canonical(item) for item in value}) == len(value),
}


def _simple(error: Any, kind: str | None, test: Test) -> Keyword:
    def judge(validator: Any, wanted: Json, instance: Json, _schema: Json) -> Iterator[Any]:
        if (kind is None or validator.is_type(instance, kind)) and not test(instance, wanted):
            yield error("")

    return judge


def _required(error: Any) -> Keyword:
    def judge(validator: Any, names: Json, instance: Json, _schema: Json) -> Iterator[Any]:
        if validator.is_type(instance, "object"):
            yield from (error(name) for name in names if name not in instance)

    return judge


def _additional(error: Any) -> Keyword:
    def judge(validator: Any, rest: Json, instance: Json, schema: Json) -> Iterator[Any]:
        if not validator.is_type(instance, "object"):
            return
        for name in _extras(instance, schema):
            if rest is False:
                yield error(name)
            else:
                yield from validator.descend(instance[name], rest, path=name)

    return judge


def _extras(instance: Mapping[str, Json], schema: Mapping[str, Json]) -> list[str]:
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    return [name for name in instance if name not in known and not any(re.search(pattern, name) for pattern in patterns)]


@cache
def format_checker() -> Any:
    """Our formats, and the library's for those that we do not have."""
    import jsonschema  # noqa: PLC0415 - as above

    checker = jsonschema.FormatChecker(formats=())
    theirs = jsonschema.FormatChecker.checkers
    checker.checkers = {name: entry for name, entry in theirs.items() if name not in ANNOTATIONS}
    for name, fits in FORMATS.items():
        checker.checkers[name] = (_texts_only(fits), ())
    return checker


def _texts_only(fits: Callable[[str], bool]) -> Callable[[Json], bool]:
    return lambda value: not isinstance(value, str) or fits(value)


@cache
def meta(name: str) -> Any:
    """The library's own validator for the meta-schema of one of `DRAFTS`."""
    import jsonschema  # noqa: PLC0415 - as above

    base = getattr(jsonschema, DRAFTS[name])
    return base(base.META_SCHEMA, registry=registry())


@cache
def registry() -> Any:
    """The published meta-schemas and nothing else: no reference is ever fetched."""
    import jsonschema_specifications  # type: ignore[import-untyped]  # noqa: PLC0415 - as above; it ships no types

    return jsonschema_specifications.REGISTRY
