"""Messages: MCP's JSON-RPC as plain dicts: reading a line strictly, which methods go on to the other side, and what an answer looks like.

Pure. A method that stands in no table here does not pass: what the guard does not know it cannot judge. Comes before everything else in
this package; knows no transport.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from guard.core.values import Json, JsonObject

VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of the protocol that are spoken on both sides. A newer client falls back to `initialize`, as the protocol says."""

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL, GONE = -32700, -32600, -32601, -32602, -32603, -32000

NOT_DONE: Final = frozenset({PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS})
"""Errors by which the protocol says that a request was not carried out. After any other it may have been."""

TO_SERVER: Final = frozenset(
    {
        "ping",
        "logging/setLevel",
        "completion/complete",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
    }
)
"""Requests of a client that go on to the server as they are; `initialize` and `tools/*` are the guard's own business."""

TO_CLIENT: Final = frozenset({"ping", "sampling/createMessage", "elicitation/create", "roots/list"})
"""Requests of a server that go on to the client."""

TOLD_SERVER: Final = frozenset({"notifications/initialized", "notifications/progress", "notifications/roots/list_changed"})
TOLD_CLIENT: Final = frozenset(
    {
        "notifications/progress",
        "notifications/message",
        "notifications/resources/updated",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/tools/list_changed",
        "notifications/elicitation/complete",
    }
)
"""Notifications that go on; `notifications/cancelled` does with the id that the other side knows."""

CAPABILITIES: Final = frozenset({"tools", "prompts", "resources", "logging", "completions"})
"""What a server may say that it can do. Tasks, for one, would fetch a result behind the guard's back."""

CLIENT_CAPABILITIES: Final = frozenset({"roots", "sampling", "elicitation"})


class UnfitError(ValueError):
    """A line that is no message, or means different things to different readers. `id` is the request's, where it could be read."""

    def __init__(self, text: str, request: object = None) -> None:
        super().__init__(text)
        self.request = request


class RemoteError(Exception):
    """The other side answered with an error; `error` is it, as it came."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(str(error.get("message", "")))
        self.error = error


def _once(pairs: list[tuple[str, Json]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnfitError("a key is given more than once")
    return found


def _constant(name: str) -> Any:
    raise UnfitError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_float=Decimal, parse_constant=_constant).decode
_PLAIN = json.JSONDecoder(parse_float=Decimal, parse_constant=_constant).decode


def read(line: bytes, *, strict: bool) -> JsonObject:
    """One message. `strict` refuses repeated keys, which two readers may understand differently. Raises UnfitError."""
    try:
        text = line.decode()
        found = (_STRICT if strict else _PLAIN)(text)
    except UnfitError as error:
        raise UnfitError(str(error), _id_of(line)) from None
    except ArithmeticError:
        raise UnfitError("a number that cannot be exact", _id_of(line)) from None
    except (ValueError, RecursionError):
        raise UnfitError("not JSON") from None
    if type(found) is not dict or found.get("jsonrpc") != "2.0":
        raise UnfitError("not a JSON-RPC 2.0 message", found.get("id") if isinstance(found, dict) else None)
    return found


def _id_of(line: bytes) -> object:
    try:
        found = json.loads(line, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return found.get("id") if isinstance(found, dict) else None


def is_id(value: object) -> bool:
    """Whether `value` may be the id of a request: a text or a whole number."""
    return type(value) is str or type(value) is int


def request(number: int | str, method: str, params: Json = None) -> JsonObject:
    """A request."""
    head: JsonObject = {"jsonrpc": "2.0", "id": number, "method": method}
    return head if params is None else head | {"params": params}


def notice(method: str, params: Json = None) -> JsonObject:
    """A notification."""
    head: JsonObject = {"jsonrpc": "2.0", "method": method}
    return head if params is None else head | {"params": params}


def answer(number: object, result: Json) -> JsonObject:
    """An answer that is a result."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def fault(number: object, code: int, message: str, data: Json = None) -> JsonObject:
    """An answer that is an error."""
    error: JsonObject = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": number, "error": error if data is None else error | {"data": data}}


def params_of(message: Mapping[str, Json]) -> JsonObject:
    """The parameters of a request or notification; none are an empty object. Raises UnfitError for what is no object."""
    found = message.get("params")
    if found is None:
        return {}
    if type(found) is not dict:
        raise UnfitError("params is an object", message.get("id"))
    return found
