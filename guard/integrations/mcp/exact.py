"""Exact: messages over HTTP, where the SDK's own models know only floats and take the last of equal keys.

What a client posts is read here as strictly as a line over pipes, and goes to the relay as it was read. Numbers that leave are written as near as
the SDK can; to a server, whose tool would run with another value, only those that it writes exactly. Comes after messages; before web.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

from guard.core.values import Json, JsonObject
from guard.integrations.mcp import messages as m

Receive = Callable[[], Awaitable[Any]]
_KEPT = "guard.message"  # in the scope of a request: its message as it was read
_LONGEST = 300  # digits of a whole number; a longer one could not be written out in a reasonable time


async def posted(scope: Any, receive: Receive) -> Receive:
    """Read the message of a POST, keep it for `kept`, and give what receives the same body once more. Raises UnfitError."""
    if scope["method"] != "POST":
        return receive
    first = await receive()
    if first["type"] == "http.request" and not first.get("more_body", False):
        found = m.read(first.get("body", b""), strict=True)
        if "id" in found and "method" in found and not m.is_id(found["id"]):
            raise m.UnfitError("a request has an id that is a text or a whole number")
        scope[_KEPT] = found
    waiting = [first]

    async def again() -> Any:
        return waiting.pop() if waiting else await receive()

    return again


def asked(scope: Any) -> str | None:
    """The id of the request that was posted, as the SDK tells requests apart: as a text; None where it was no request."""
    found = scope.get(_KEPT, {})
    return str(found["id"]) if "id" in found and "method" in found else None


def kept(item: Any) -> JsonObject | None:
    """The message of the SDK's item as it was read, where it came by a POST."""
    request = getattr(item.metadata, "request_context", None)
    found: JsonObject | None = request.scope.get(_KEPT) if request is not None else None
    return found


def writable(value: Json, *, exactly: bool) -> Json:
    """The value with its numbers as the SDK can write them. `exactly`: raises UnfitError for one that it would change."""
    if isinstance(value, dict):
        return {key: writable(item, exactly=exactly) for key, item in value.items()}
    if isinstance(value, list):
        return [writable(item, exactly=exactly) for item in value]
    return _number(value, exactly=exactly) if isinstance(value, Decimal) else value


def _number(value: Decimal, *, exactly: bool) -> Json:
    if abs(value.adjusted()) < _LONGEST and value == value.to_integral_value():
        return int(value)
    near = float(value)
    if exactly and (not math.isfinite(near) or Decimal(repr(near)) != value):
        raise m.UnfitError("a number that cannot be sent exactly over HTTP")
    return near if math.isfinite(near) else str(value)
