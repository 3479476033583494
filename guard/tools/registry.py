"""Registry: the functions that the host offers, under unique names, each with its schema and its executor.

Takes plain functions, bound methods, partials, callable objects, mappings and other registries. May not call a tool, and knows no policy:
whether anybody may call a tool is decided elsewhere. Before it stands the host's code, after it the policy loader and the runner.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from guard.core.rules import Issue
from guard.core.values import JsonObject
from guard.errors import GuardError

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__guard_tool__"
_GUARDED = "__guarded__"  # on what calls the guard: the function itself, which only the guard may run


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTool:
    """One function, ready to be called.

    `schema` is None when an annotation cannot be told in JSON Schema (`trouble` says which): the policy must then give one. `parameters`
    are the names that arguments may have, None when the function takes any (`**kwargs`). `accepts` judges arguments that fit the schema by
    the signature's own types; it never raises. `run(arguments, idempotency_key)` converts and calls, and returns a coroutine when `is_async`.

    What the function takes for an argument that is left out stands in `schema` as `default`. `silent` are the parameters that may be left
    out although `schema` does not say what the function then takes: nobody can judge or show that value.
    """

    name: str
    description: str
    schema: JsonObject | None
    parameters: frozenset[str] | None
    accepts: Callable[[JsonObject], tuple[Issue, ...]] | None
    origin: str
    run: Callable[[JsonObject, str], Any]
    is_async: bool
    trouble: str = ""
    silent: frozenset[str] = frozenset()
    keyed: bool = False  # the function takes `idempotency_key`
    known: bool = True  # False: it runs elsewhere, so that nothing of its description and arguments is known here


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    name: str | None = None
    schema: Mapping[str, Any] | None = None
    description: str | None = None


def tool(
    function: F | None = None,
    *,
    name: str | None = None,
    schema: Mapping[str, Any] | None = None,
    description: str | None = None,
) -> Any:
    """Mark a function with a name, a JSON Schema or a description of its own; the function itself stays as it is.

    Usable as `@tool` and as `@tool(name=…)`. A schema given here replaces the one read from the signature.
    """
    mark = _Mark(name=name, schema=schema, description=description)

    def apply(target: F) -> F:
        setattr(target, _MARK, mark)
        return target

    return apply if function is None else apply(function)


class Registry:
    """Tools collected one by one: `tools = Registry()`, then `@tools.add` or `tools.add(function, name=…)`."""

    def __init__(self, tools: object = ()) -> None:
        self.tools: dict[str, RegisteredTool] = registry(tools)

    def add(self, function: F, *, name: str | None = None) -> F:
        """Register a function and give it back. Raises GuardError as `registry` does."""
        _put(self.tools, _ready(function, name))
        return function


def registry(tools: object) -> dict[str, RegisteredTool]:
    """Every tool in `tools`, by name.

    `tools` is a callable, a mapping of names to callables, an object whose `.tools` is such a mapping, or an iterable of any of these.
    Raises GuardError for a repeated or missing name, for what cannot be called, and for parameters that JSON cannot fill.
    """
    found: dict[str, RegisteredTool] = {}
    for name, item in _items(tools):
        _put(found, _ready(item, name))
    return found


def _items(tools: object) -> Iterator[tuple[str | None, object]]:
    inner = getattr(tools, "tools", None)
    if isinstance(tools, RegisteredTool) or (callable(tools) and not isinstance(inner, Mapping)):
        yield None, tools
    elif isinstance(tools, Mapping) or isinstance(inner, Mapping):
        named: Mapping[Any, object] = tools if isinstance(tools, Mapping) else inner  # type: ignore[assignment]  # one of both is
        yield from named.items()
    elif isinstance(tools, Iterable) and not isinstance(tools, str | bytes):
        for item in tools:
            yield from _items(item)
    else:
        raise GuardError(
            f"tools: a value of type {type(tools).__name__} is not a tool; pass functions, or a mapping of names to functions"
        )


def _put(found: dict[str, RegisteredTool], ready: RegisteredTool) -> None:
    other = found.get(ready.name)
    if other is not None:
        raise GuardError(
            f"two tools are called {ready.name!r}: {other.origin} and {ready.origin}; give one of them another name with @tool(name=…)"
        )
    found[ready.name] = ready


def _ready(item: object, name: str | None) -> RegisteredTool:
    item = getattr(item, _GUARDED, item)
    if isinstance(item, RegisteredTool):
        return item if name in (None, item.name) else _renamed(item, name)
    if not callable(item) or isinstance(item, type):
        what = f"the class {item.__name__}" if isinstance(item, type) else f"a value of type {type(item).__name__}"
        raise GuardError(f"tools: {what} is not a tool{f' (under {name!r})' if name else ''}; pass a function or a bound method")
    return _build(item, name)


def _renamed(item: RegisteredTool, name: object) -> RegisteredTool:
    if not isinstance(name, str) or not name:
        raise GuardError(f"tools: a name is a non-empty text, not {name!r}")
    values = {field: getattr(item, field) for field in RegisteredTool.__slots__}
    return RegisteredTool(**{**values, "name": name})


def _build(function: Callable[..., Any], given: str | None) -> RegisteredTool:
    inner = _inner(function)
    mark = next((found for place in (function, inner) if isinstance(found := getattr(place, _MARK, None), _Mark)), _Mark())
    origin = f"{getattr(inner, '__module__', None) or '?'}.{getattr(inner, '__qualname__', type(inner).__name__)}"
    name = _name(next(name for name in (given, mark.name, _own_name(function)) if name is not None), origin)
    if inspect.isasyncgenfunction(inner):
        raise GuardError(f"tool {name} ({origin}) is an async generator; collect its items into a list and return that")
    # pydantic is loaded with the first function, so that importing guard stays cheap
    from guard.tools.arguments import executor  # noqa: PLC0415
    from guard.tools.signature import read_signature  # noqa: PLC0415

    signature = read_signature(function, inner, name)
    schema = signature.schema if mark.schema is None else _own_schema(dict(mark.schema), signature.parameters, name)
    accepts, run = executor(function, signature)
    return RegisteredTool(
        name=name,
        description=_first_paragraph(inner) if mark.description is None else mark.description,
        schema=schema,
        parameters=None if signature.open else signature.parameters,
        accepts=accepts,
        origin=origin,
        run=run,
        is_async=_is_async(function, inner),
        trouble=signature.trouble,
        silent=signature.silent(schema),
        keyed=signature.keyed,
    )


def _inner(function: Any) -> Any:
    """The function or method behind partials and callable objects: it holds the annotations and the docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return function
    return type(function).__call__


def _own_name(function: Any) -> str:
    while isinstance(function, functools.partial) and not hasattr(function, "__name__"):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _name(name: object, origin: str) -> str:
    if name == "<lambda>":
        raise GuardError(f"a lambda ({origin}) has no name; pass {{'its_name': lambda …}} or use def")
    if not isinstance(name, str) or not name:
        raise GuardError(f"tools: a name is a non-empty text, not {name!r} ({origin})")
    return name


def _own_schema(schema: JsonObject, parameters: frozenset[str] | None, name: str) -> JsonObject:
    fields = schema.get("properties", {})
    unknown = sorted(set(fields) - parameters) if parameters is not None else []
    if unknown:
        raise GuardError(f"tool {name}: its schema names {', '.join(unknown)}, which the function does not take")
    return schema


def _first_paragraph(function: Any) -> str:
    text = inspect.getdoc(function) or ""
    return " ".join(text.split("\n\n", 1)[0].split())


def _is_async(function: Any, inner: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner)
