"""Answers: JSON for a program, and problems as `{"error": …}`. Used by every route of the API."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from guard.core.values import JsonObject, encode


def answer(value: JsonObject, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON."""
    body = encode(value).encode("utf-8", "replace")  # half a character, which no text may hold, is no reason to lose an answer
    return Response(body, status, headers=headers, media_type="application/json")


def problem(message: str, status: int, **more: object) -> Response:
    """What is wrong. `more` are further fields of the object."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "60"} if status == 429 else None
    return answer({"error": message, **more}, status, headers)
