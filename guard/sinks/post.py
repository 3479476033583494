"""Post: one request to one address, which is looked up anew each time and may not lead into the house unless it is listed. No redirects.

Uses what HTTP tools use to send. Says of an answer whether it may help to send again. Comes after port; before webhook and notice.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from guard.core.endpoints import Endpoint
from guard.errors import OutcomeUnknownError, ToolError
from guard.sinks.port import SinkError
from guard.tools.request import Written
from guard.tools.sending import Sender

_ANSWER = 10_000  # bytes of an answer that are read
_GOOD = range(200, 300)
_NEVER = frozenset({400, 413, 415, 422})
"""Answers that say that this very body will never be taken. Others (not found, forbidden) say something of the receiver, which may be mended."""


class Post:
    """Sends bodies to one URL. Raises ValueError for a URL that nothing may be sent to."""

    def __init__(self, url: str, *, networks: Sequence[str] = (), seconds: float = 10.0) -> None:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
        if parts.scheme not in ("https", "http") or not host or "@" in parts.netloc or parts.fragment:
            raise ValueError("write https://HOST/PATH, without a user or a fragment")
        if any(char <= " " or char > "~" or char == "\\" for char in url):
            raise ValueError("only visible ASCII stands in a URL")
        if parts.scheme == "http" and not networks and not _local(host):
            raise ValueError("write https://; what is sent would be readable on the way")
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._sender = Sender(_endpoint(parts.scheme, host, port, networks), acts=True, seconds=seconds)

    def send(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send once. Raises SinkError where it did not arrive for sure."""
        written = Written(target=self._target, headers=tuple(headers.items()), body=body)
        try:
            answer = self._sender.send(written)
        except OutcomeUnknownError:
            raise SinkError("it was sent, and nobody answered") from None
        except ToolError as error:
            raise SinkError(str(error)) from None
        if answer.status not in _GOOD:
            why, never = f"it was answered with status {answer.status}", answer.status in _NEVER
            raise SinkError(why, retry=not never, after=_seconds(*answer.later))


def _seconds(later: str, date: str) -> float:
    """How long the receiver asks to be left alone: in seconds, or until a time by its own clock; 0 where it says nothing that can be read."""
    if later.isascii() and later.isdecimal() and len(later) < 10:
        return float(later)
    try:
        return max((parsedate_to_datetime(later) - parsedate_to_datetime(date)).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _endpoint(scheme: str, host: str, port: int | None, networks: Sequence[str]) -> Endpoint:
    tls = scheme == "https"
    return Endpoint(
        method="POST",
        scheme="https" if tls else "http",
        host=host,
        port=port or (443 if tls else 80),
        path=(),
        networks=tuple(networks),
        max_bytes=_ANSWER,
    )


def _local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
