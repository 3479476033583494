"""Bodies: what a loop sends, read strictly: one JSON object, exact numbers, no repeated or unknown keys, within a size.

Raises RequestError with a sentence that names the field, never its value. Comes before the API.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.requests import Request

from guard.core.model import Session, ToolCall
from guard.core.values import Json, JsonObject, encode, read_json
from guard.web.remote import Report
from guard.web.site import site

READ_SECONDS = 30.0
"""Seconds in which a body must be there."""
_STATUSES = ("done", "failed", "unknown")


class RequestError(Exception):
    """A request that cannot be answered. `status` is HTTP's."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(message)


async def read(request: Request, most: int | None = None) -> bytes:
    """The body, within its bounds of size (`most`, and the policy's ceiling) and time. Raises RequestError."""
    ceiling = site(request).guard.in_force.policy.ceilings.message_bytes
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await _read(request, ceiling if most is None else min(most, ceiling))
    except TimeoutError:
        raise RequestError("the body came too slowly", 408) from None


async def _read(request: Request, most: int) -> bytes:
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > most:
            raise RequestError(f"the body is larger than {most} bytes (ceilings.message_bytes)", 413)
    return bytes(found)


async def read_object(request: Request) -> JsonObject:
    """The body as an object; only JSON, so that no page of a browser can send it unasked. Raises RequestError."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError("send Content-Type: application/json", 415)
    return decode(await read(request))


def decode(raw: bytes) -> JsonObject:
    """The body as an object."""
    try:
        found = read_json(raw.decode("utf-8"))
    except ValueError:
        raise RequestError("the body is no JSON, repeats a key, or is nested too deeply") from None
    if not isinstance(found, dict):
        raise RequestError("the body must be an object")
    return found


def fields(body: Mapping[str, Json], needed: tuple[str, ...], more: tuple[str, ...] = (), what: str = "") -> None:
    """Check that the needed fields are there, and no others but `more`."""
    lacking = [name for name in needed if name not in body]
    if lacking:
        raise RequestError(f"{what}{lacking[0]} is missing")
    unknown = sorted(body.keys() - {*needed, *more})
    if unknown:
        raise RequestError(f"{what or 'the body'} has a field that means nothing; known: {', '.join((*needed, *more))}")


def text(value: Json, what: str, *, empty: bool = False) -> str:
    """A text."""
    if not isinstance(value, str) or not (value or empty):
        raise RequestError(f"{what} must be a text" + ("" if empty else " that is not empty"))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise RequestError(f"{what} holds half a character") from None
    return value


def session(value: Json) -> Session:
    """Who is signed in, as the loop's host says."""
    if not isinstance(value, dict):
        raise RequestError("session must be an object")
    fields(value, ("principal",), ("tenant", "roles", "attributes"), "session.")
    roles, attributes = value.get("roles", []), value.get("attributes", {})
    if not isinstance(roles, list) or not isinstance(attributes, dict):
        raise RequestError("session.roles must be a list, session.attributes an object")
    text(encode(attributes), "session.attributes")
    return Session(
        principal=text(value["principal"], "session.principal"),
        tenant=text(value.get("tenant", "default"), "session.tenant"),
        roles=tuple(text(role, "session.roles") for role in roles),
        attributes=attributes,
    )


def call(value: Json) -> ToolCall:
    """One proposed call; its arguments are a text as the model wrote it, or an object."""
    if not isinstance(value, dict):
        raise RequestError("call must be an object")
    fields(value, ("tool", "arguments"), ("id",), "call.")
    arguments = value["arguments"]
    if arguments is not None and not isinstance(arguments, str | dict):
        raise RequestError("call.arguments must be the model's text or an object")
    return ToolCall(text(value.get("id", ""), "call.id", empty=True), text(value["tool"], "call.tool", empty=True), arguments)


def report(body: JsonObject) -> Report:
    """How a call ended."""
    status = body["status"]
    if status not in _STATUSES:
        raise RequestError(f"status must be {', '.join(_STATUSES)}")
    if status != "done" and "result" in body:
        raise RequestError("result goes with status done")
    if status != "failed" and "message" in body:
        raise RequestError("message goes with status failed")
    return Report(status=status, result=body.get("result"), message=text(body.get("message", ""), "message", empty=True))
