"""Arguments: judge a call's arguments by the function's own types, and convert them to what its annotations ask.

A judge may only refuse, and its issues never hold the value; a conversion never changes what the value means. Before it stands `signature`,
after it the validate room (which calls `accepts` once the JSON Schema fits) and the driver that executes (which calls `run`).
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

from pydantic import ValidationError
from pydantic_core import PydanticUndefined, core_schema

from guard.core.rules import Issue
from guard.core.values import JsonObject
from guard.tools.faithful import unfaithful
from guard.tools.signature import IDEMPOTENCY, Signature, bounds_of

Accepts: TypeAlias = Callable[[JsonObject], tuple[Issue, ...]]
Run: TypeAlias = Callable[[JsonObject, str], Any]
Convert: TypeAlias = Callable[[Any], Any]

_KNOWN = frozenset(typing.get_args(core_schema.ErrorType)) - {
    "value_error",
    "assertion_error",
    "union_tag_invalid",
    "get_attribute_error",
}
_SAME: frozenset[type] = frozenset({str, bool, type(None)})


def executor(function: Callable[..., Any], signature: Signature) -> tuple[Accepts | None, Run]:
    """The judge (None when pydantic cannot read the annotations) and the executor of one function."""
    fills = {parameter.name: parameter.default for parameter in signature.listed if parameter.fill}
    if signature.adapter is None:
        return None, _runner(function, signature, None, fills)
    plain = _plain(signature)
    if plain is None:
        return _careful(signature), _runner(function, signature, signature.adapter.validator.validate_python, fills)
    return _quick(signature, plain), _runner(function, signature, _converter(plain), fills)


def _runner(function: Callable[..., Any], signature: Signature, convert: Convert | None, fills: JsonObject) -> Run:
    """The executor, with nothing in it that this function does not need."""
    if not (signature.keyed or fills or signature.open):
        if convert is None:
            return lambda arguments, _key: function(**arguments)
        return lambda arguments, _key: function(**convert(arguments))

    def run(arguments: JsonObject, idempotency_key: str) -> Any:
        values = {**fills, **(arguments if convert is None else convert(arguments))}
        values.pop(IDEMPOTENCY, None)
        if signature.keyed:
            values[IDEMPOTENCY] = idempotency_key
        return function(**values)

    return run


# -- plain parameters: str, int, bool, float, Decimal, None, and whatever has no annotation ----------------------------------


def _plain(signature: Signature) -> dict[str, frozenset[type] | None] | None:
    """The Python types of each parameter (None: any value), or None when some parameter needs pydantic."""
    shapes = (signature.schema or {}).get("properties", {})
    found: dict[str, frozenset[type] | None] = {}
    for parameter in signature.listed:
        kinds = _kinds(parameter.annotation)
        if kinds is not None and (not kinds <= _ALLOWED or bounds_of(shapes[parameter.name])):
            return None
        found[parameter.name] = kinds
    return found


def _kinds(annotation: Any) -> frozenset[type] | None:
    if annotation is Any:
        return None
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = typing.get_args(annotation)
        kinds = frozenset(part for part in parts if part is not type(None))
        return frozenset(parts) if len(kinds) == 1 and kinds <= _ALLOWED else frozenset({object})
    return frozenset({annotation}) if isinstance(annotation, type) else frozenset({object})


def _quick(signature: Signature, plain: dict[str, frozenset[type] | None]) -> Accepts:
    required = frozenset(parameter.name for parameter in signature.listed if parameter.default is PydanticUndefined)
    judges = {name: kinds for name, kinds in plain.items() if kinds is not None}
    names, open_ = frozenset(plain), signature.open

    def accepts(arguments: JsonObject) -> tuple[Issue, ...]:
        found: list[Issue] = []
        for name, value in arguments.items():
            kinds = judges.get(name)
            if kinds is None:
                if name not in names and (not open_ or name == IDEMPOTENCY):
                    found.append(_unknown(name))
            elif type(value) not in kinds or type(value) not in _SAME:
                found += _number(name, value, kinds)
        if not required <= arguments.keys():
            found += [_missing(name) for name in sorted(required - arguments.keys())]
        return tuple(found)

    return accepts


def _number(name: str, value: Any, kinds: frozenset[type]) -> list[Issue]:
    """Judge a value that is not of one of the asked types as it stands: it must be a number that converts exactly."""
    if type(value) in (int, Decimal, float):
        for kind, convert in _CONVERT.items():
            if kind in kinds:
                return [] if _exactly(value, convert) else [_INEXACT[kind](name)]
    told = " or ".join(sorted(_NAMES[kind] for kind in kinds))
    return [Issue(path=name, rule="type", message=f"must be {told}")]


def _exactly(value: Any, convert: Convert) -> bool:
    try:
        return unfaithful(value, convert(value)) is None
    except (ValueError, ArithmeticError):
        return False


def _to_int(value: Any) -> int:
    whole = int(value)
    if whole != value:
        raise ValueError("a fraction")
    return whole


def _to_decimal(value: Any) -> Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


_CONVERT: dict[type, Convert] = {int: _to_int, float: float, Decimal: _to_decimal}
_ALLOWED: frozenset[type] = _SAME | _CONVERT.keys()
_NAMES = {str: "a text", bool: "true or false", int: "an integer", float: "a number", Decimal: "a number", type(None): "null"}


def _converter(plain: dict[str, frozenset[type] | None]) -> Convert | None:
    """What the plain parameters need before the call: numbers made the type that is asked. None when nothing is a number."""
    wanted = {
        name: next((kind, convert) for kind, convert in _CONVERT.items() if kind in kinds)
        for name, kinds in plain.items()
        if kinds is not None and kinds & _CONVERT.keys()
    }
    if not wanted:
        return None

    def convert(arguments: JsonObject) -> JsonObject:
        values = arguments
        for name, (kind, change) in wanted.items():
            value = arguments.get(name)
            if value is not None and type(value) is not kind:
                if values is arguments:
                    values = dict(arguments)
                values[name] = change(value)
        return values

    return convert


# -- everything else: pydantic ------------------------------------------------------------------------------------------------


def _careful(signature: Signature) -> Accepts:
    validate = typing.cast("Any", signature.adapter).validator.validate_python

    def accepts(arguments: JsonObject) -> tuple[Issue, ...]:
        try:
            got = validate(arguments)
            found = None if _same(arguments, got) else unfaithful(arguments, got)
        except ValidationError as error:
            return tuple(_told(item) for item in error.errors(include_url=False, include_input=False, include_context=False))
        except Exception:  # noqa: BLE001 - a validator of the host's that breaks must refuse, and its text stays inside
            return (Issue(path="", rule="signature", message="the tool's own validation could not be carried out"),)
        if signature.open and IDEMPOTENCY in arguments:
            return (_unknown(IDEMPOTENCY),)
        return () if found is None else (Issue(path=found.path, rule=found.rule, message=found.message),)

    return accepts


def _same(given: JsonObject, got: Any) -> bool:
    """Whether pydantic left every argument as it was: a cheap yes to what `unfaithful` would find faithful."""
    if type(got) is not dict:
        return False
    for name, value in given.items():
        after = got.get(name)
        if after is not value and not (type(value) is str and type(after) is str and after == value):
            return False
    return True


def _told(item: Any) -> Issue:
    """One of pydantic's errors without the value. Texts of the host's own validators may hold it, so they are not shown."""
    path = ".".join(str(step) for step in item["loc"])
    kind = str(item["type"])
    if kind == "missing":
        return _missing(path)
    if kind == "extra_forbidden":
        return _unknown(path)
    return Issue(path=path, rule=kind if kind in _KNOWN else "signature", message=item["msg"] if kind in _KNOWN else _OWN)


_OWN = "does not pass the tool's own validation"


def _missing(name: str) -> Issue:
    return Issue(path=name, rule="required", message="is required")


def _unknown(name: str) -> Issue:
    return Issue(path=name, rule="additionalProperties", message="is not a parameter of this tool")


def _fraction(name: str) -> Issue:
    return Issue(path=name, rule="type", message="must be an integer")


def _imprecise(name: str) -> Issue:
    return Issue(path=name, rule="precision", message="has more digits than this tool can take without rounding")


_INEXACT: dict[type, Callable[[str], Issue]] = {int: _fraction, float: _imprecise, Decimal: _imprecise}
