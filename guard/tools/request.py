"""Request: an endpoint and the arguments of one call, written out as the request that is sent.

Exact: numbers keep their digits, a text stays inside its place. The arguments were judged before; what does not fit after all raises
ValueError, and nothing was sent. May not open connections. Comes before sending.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from guard.core.endpoints import Endpoint, Shape, Slot, Template, value_text
from guard.core.values import Json, JsonObject, encode

_ABSENT = object()
_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A request as it goes out: the target (path and query, ASCII), headers, and the body."""

    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


def write(endpoint: Endpoint, arguments: JsonObject, secrets: Mapping[str, str]) -> Written:
    """Fill the places of an endpoint. Raises ValueError for an argument that cannot stand in its place."""
    rest = {name: value for name, value in arguments.items() if name not in endpoint.named}
    query = [pair for name, template in endpoint.query for pair in _query(name, template, arguments, secrets)]
    if endpoint.rest == "query":
        query += [pair for name, value in rest.items() for pair in _query(name, (Slot(name=name),), arguments, secrets)]
    path = "".join(
        piece if isinstance(piece, str) else quote(_text(piece, arguments, secrets), safe="") for piece in endpoint.path
    )
    headers = [(name, "".join(_pieces(template, arguments, secrets))) for name, template in endpoint.headers]
    kind, body = _body(endpoint, rest, arguments, secrets)
    if kind and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", kind))
    return Written(target=path + (f"?{urlencode(query)}" if query else ""), headers=tuple(headers), body=body)


def _text(slot: Slot, arguments: JsonObject, secrets: Mapping[str, str]) -> str:
    text = secrets[slot.name] if slot.secret else value_text(arguments.get(slot.name))
    if text is None:
        raise ValueError(f"{slot.name} cannot be written as text")
    return text


def _pieces(template: Template, arguments: JsonObject, secrets: Mapping[str, str]) -> Iterator[str]:
    for piece in template:
        yield piece if isinstance(piece, str) else _text(piece, arguments, secrets)


def _query(name: str, template: Template, arguments: JsonObject, secrets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The pairs of one name: none where the argument is left out, several for a list."""
    alone = template[0] if len(template) == 1 else None
    if isinstance(alone, Slot) and not alone.secret:
        value = arguments.get(alone.name)
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield name, _told(alone.name, item)
    else:
        yield name, "".join(_pieces(template, arguments, secrets))


def _told(name: str, value: Json) -> str:
    text = value_text(value)
    if text is None:
        raise ValueError(f"{name} cannot be written as text")
    return text


def _body(endpoint: Endpoint, rest: JsonObject, arguments: JsonObject, secrets: Mapping[str, str]) -> tuple[str | None, bytes]:
    if endpoint.body is not None:
        return _TYPES["json"], encode(_filled(endpoint.body, arguments, secrets)).encode()
    if endpoint.rest == "json":
        return _TYPES["json"], encode(rest).encode()
    if endpoint.rest == "form":
        pairs = [pair for name in rest for pair in _query(name, (Slot(name=name),), arguments, secrets)]
        return _TYPES["form"], urlencode(pairs).encode()
    return None, b""


def _filled(shape: Shape, arguments: JsonObject, secrets: Mapping[str, str]) -> Json:
    """A body with its places filled; what stands for an argument that is left out is left out."""
    if isinstance(shape, dict):
        filled = {key: _filled(below, arguments, secrets) for key, below in shape.items()}
        return {key: value for key, value in filled.items() if value is not _ABSENT}
    if isinstance(shape, list):
        return [value for below in shape if (value := _filled(below, arguments, secrets)) is not _ABSENT]
    if not isinstance(shape, tuple):
        return shape
    if len(shape) == 1 and isinstance(shape[0], Slot) and not shape[0].secret:
        return arguments.get(shape[0].name, _ABSENT)
    return "".join(_pieces(shape, arguments, secrets))
