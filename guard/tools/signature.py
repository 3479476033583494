"""Signature: the parameters of a function as JSON Schema, read once when the tool is registered.

Annotations are resolved, pydantic turns them into a schema and a validator. May not call the function. Before it stands the registry,
after it `arguments`, which judges and converts what the model sent.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError, PydanticUndefined, core_schema
from typing_extensions import TypedDict

from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.tools.defaults import default_of

IDEMPOTENCY = "idempotency_key"
"""The parameter that the guard fills: never in a schema, never from the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter that the model may fill. `default` is PydanticUndefined where the call must give a value."""

    name: str
    annotation: Any
    default: Any = PydanticUndefined
    fill: bool = False  # the default stands in a pydantic Field, so Python would not fill it in


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function takes. `adapter` and `schema` are None when pydantic cannot tell an annotation in JSON (`trouble` names it)."""

    listed: tuple[Parameter, ...]
    open: bool  # takes **kwargs
    keyed: bool  # takes idempotency_key
    adapter: TypeAdapter[Any] | None = None
    schema: JsonObject | None = None
    trouble: str = ""
    parameters: frozenset[str] = field(default_factory=frozenset)

    def silent(self, schema: JsonObject | None) -> frozenset[str]:
        """Parameters whose default the function fills in and `schema` does not tell."""
        shapes = (schema or {}).get("properties", {})
        optional = (parameter.name for parameter in self.listed if parameter.default is not PydanticUndefined)
        return frozenset(name for name in optional if "default" not in shapes.get(name, {}))


def read_signature(function: Callable[..., Any], inner: Callable[..., Any], name: str) -> Signature:
    """Read the parameters of `function`; `inner` holds its annotations. Raises GuardError naming function and parameter."""
    listed: list[Parameter] = []
    takes_any = keyed = False
    preset = _preset(function)
    for parameter in _parameters(function, name):
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
        elif parameter.name == IDEMPOTENCY:
            keyed = True
        elif parameter.name not in preset:
            listed.append(_parameter(parameter, inner, name))
    adapter, trouble = _adapter(name, listed, takes_any=takes_any)
    schema = None if adapter is None else _schema(adapter, listed, takes_any=takes_any)
    return Signature(
        listed=tuple(listed),
        open=takes_any,
        keyed=keyed,
        adapter=adapter,
        schema=schema,
        trouble=trouble,
        parameters=frozenset(parameter.name for parameter in listed),
    )


def _preset(function: Any) -> frozenset[str]:
    """Keywords that the host fixed with functools.partial: the model must not be able to give them another value."""
    return frozenset(function.keywords) if isinstance(function, functools.partial) else frozenset()


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError, NameError) as error:
        raise GuardError(f"tool {name}: its parameters cannot be read; wrap it in a function of your own") from error
    for parameter in found:
        if parameter.name == "self":
            raise GuardError(f"tool {name}: a method without its object; pass the bound method of an instance")
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
            raise GuardError(
                f"tool {name}: parameter {star}{parameter.name} has no name to be called by; make it a keyword parameter"
            )
    return found


def _parameter(parameter: inspect.Parameter, inner: Callable[..., Any], name: str) -> Parameter:
    empty = parameter.empty
    annotation = Any if parameter.annotation is empty else _resolve(parameter, inner, name)
    default = PydanticUndefined if parameter.default is empty else parameter.default
    fields = [item for item in (default, *getattr(annotation, "__metadata__", ())) if isinstance(item, FieldInfo)]
    if any(alias not in (None, parameter.name) for item in fields for alias in (item.alias, item.validation_alias)):
        raise GuardError(
            f"tool {name}: parameter {parameter.name} has an alias, and aliases are not supported; "
            "give the parameter the name that the model uses"
        )
    if isinstance(default, FieldInfo):
        return Parameter(
            name=parameter.name,
            annotation=Annotated[annotation, default],
            default=default.get_default(call_default_factory=False),
            fill=True,
        )
    return Parameter(name=parameter.name, annotation=annotation, default=default)


def _resolve(parameter: inspect.Parameter, inner: Any, name: str) -> Any:
    scope = getattr(inspect.unwrap(inner), "__globals__", {})
    stub: Any = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        return typing.get_type_hints(stub, globalns=scope, include_extras=True)[parameter.name]
    except Exception as error:
        raise GuardError(
            f"tool {name}: the annotation {parameter.annotation!r} of parameter {parameter.name} cannot be resolved; "
            "import its names at run time, at the top of the module"
        ) from error


def _adapter(name: str, listed: list[Parameter], *, takes_any: bool) -> tuple[TypeAdapter[Any] | None, str]:
    """A validator of all arguments at once, or None with the text that names the parameter pydantic cannot read."""
    for parameter in listed:
        try:
            TypeAdapter(parameter.annotation).json_schema(schema_generator=_Schemas)
        except Exception as error:  # noqa: BLE001 - whatever pydantic cannot read, the policy may still describe
            return None, f"parameter {parameter.name} of tool {name} has no JSON Schema ({type(error).__name__})"
    fields = {
        parameter.name: parameter.annotation if parameter.default is PydanticUndefined else NotRequired[parameter.annotation]
        for parameter in listed
    }
    make: Any = TypedDict  # called, since the names are known only now
    shape = make("Arguments", fields)
    shape.__pydantic_config__ = ConfigDict(extra="allow" if takes_any else "forbid")
    return TypeAdapter(shape), ""


class _Schemas(GenerateJsonSchema):
    """Pydantic's schemas without titles, and with a Decimal as what JSON calls it: a number."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - declared by pydantic as an instance variable

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """A plain number with the bounds of the annotation; a text would be another type."""
        bounds = {key: float(value) for key, value in schema.items() if key in ("multiple_of", "le", "lt", "ge", "gt")}  # type: ignore[arg-type]
        return self.float_schema(core_schema.float_schema(**bounds))  # type: ignore[arg-type]  # the keys are those of both schemas

    def encode_default(self, dft: Any) -> Any:
        """A Decimal default as the number that the schema says it is, or left out where it would be rounded."""
        if not isinstance(dft, Decimal):
            return super().encode_default(dft)
        if Decimal(repr(float(dft))) != dft:
            raise PydanticSerializationError("a default with more digits than a schema can say")
        return float(dft)

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's own signature
        """No titles made up from names: they cost tokens and say nothing."""
        return False


def _schema(adapter: TypeAdapter[Any], listed: list[Parameter], *, takes_any: bool) -> JsonObject:
    schema = adapter.json_schema(schema_generator=_Schemas)
    for shape in (schema, *schema.get("$defs", {}).values()):
        shape.pop("title", None)
        if shape.get("type") == "object" and "properties" in shape:
            shape.setdefault("additionalProperties", False)
    schema["additionalProperties"] = takes_any
    schema.setdefault("properties", {})
    for parameter in listed:
        _put_default(schema["properties"][parameter.name], parameter)
    return schema


def _put_default(shape: JsonObject, parameter: Parameter) -> None:
    shape.pop("default", None)
    told = default_of(parameter.annotation, parameter.default)
    if told is not PydanticUndefined:
        shape["default"] = told


def bounds_of(shape: Mapping[str, Any]) -> bool:
    """Whether a property's schema says more than its type, so that the fast judges may not stand in for pydantic."""
    return bool(set(shape) - {"type", "default", "description", "title", "anyOf"})
