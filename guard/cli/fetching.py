"""Fetching: one document from a URL, with an end to its time, its size and its redirects. Used by `init`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.errors import GuardError

if TYPE_CHECKING:
    import httpx

_HOPS = 5
_SECONDS = 60.0


def fetch(url: str, most: int) -> bytes:
    """The body behind an http or https URL, at most `most` bytes. Never leaves https once it is there. Raises GuardError."""
    import httpx  # noqa: PLC0415 - only where something is fetched

    shown, ends = spell(public(url)), time.monotonic() + _SECONDS
    try:
        with httpx.Client(timeout=10.0, headers={"Accept": "application/json, application/yaml;q=0.9, */*;q=0.5"}) as client:
            for _ in range(_HOPS):
                with client.stream("GET", url) as answer:
                    if answer.next_request is None:
                        return _body(answer, shown, most, ends)
                    url = _next(str(answer.next_request.url), url, shown)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise GuardError(f"{shown}: cannot be fetched: {spell(str(error)) or type(error).__name__}") from None
    raise GuardError(f"{shown}: redirected more than {_HOPS} times")


def _next(target: str, url: str, shown: str) -> str:
    if not target.startswith(("https://", "http://")) or (url.startswith("https://") and target.startswith("http://")):
        raise GuardError(f"{shown}: redirected to {spell(public(target))}, which is not followed")
    return target


def _body(answer: httpx.Response, shown: str, most: int, ends: float) -> bytes:
    if answer.status_code != 200:
        raise GuardError(f"{shown}: the server answers {answer.status_code}")
    found = bytearray()
    for chunk in answer.iter_bytes():
        found += chunk
        if len(found) > most:
            raise GuardError(f"{shown}: larger than {most} bytes")
        if time.monotonic() > ends:
            raise GuardError(f"{shown}: took longer than {_SECONDS:g} seconds")
    return bytes(found)


def public(url: str) -> str:
    """The URL without what may be secret: user, password, query and fragment. Raises UsageError when it is none."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise UsageError(f"{spell(url)}: not a URL") from error
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return f"{parts.scheme}://{host}{port}{parts.path}"
