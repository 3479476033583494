"""Sending: one request goes out once, to an address that was looked up and permitted, and its answer is read within bounds.

What was never sent has failed; what was sent by an action and not answered clearly is unknown. No cookies, no proxies from the
environment, no retries. Comes after destination and request; before the registered tool.
"""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import httpx

from guard.core.endpoints import Endpoint
from guard.errors import OutcomeUnknownError, ToolError
from guard.tools.deadline import Deadline
from guard.tools.destination import ForbiddenError, addresses
from guard.tools.request import Written

_AGAIN = frozenset({301, 302, 303, 307, 308})
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back: the status, its kind of content, and at most `max_bytes` of it. `whole` says whether that is all.

    `later` is what the headers Retry-After and Date say, as they are.
    """

    status: int
    kind: str
    body: bytes
    whole: bool
    later: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where one request goes. `own` says that it is the address that the policy writes, and not one that a server named."""

    scheme: str
    host: str
    port: int
    target: str
    own: bool = True

    def origin(self) -> tuple[str, str, int]:
        """What the secrets of the policy may go to."""
        return self.scheme, self.host, self.port


class Sender:
    """Sends the requests of one endpoint, each on a connection of its own.

    One that was kept open may be gone by now, and nobody could tell whether an action went through it.
    """

    def __init__(self, endpoint: Endpoint, *, acts: bool, seconds: float) -> None:
        self._endpoint, self._acts, self._seconds = endpoint, acts, seconds
        self._trust: ssl.SSLContext | None = None

    def send(self, written: Written) -> Answer:
        """Send once; follow redirects where the policy permits them.

        Raises ToolError for what failed, OutcomeUnknownError where an action may have taken effect.
        """
        point = self._endpoint
        target = Target(scheme=point.scheme, host=point.host, port=point.port, target=written.target)
        first, end = target.origin(), time.monotonic() + self._seconds
        for left in range(point.redirects, -1, -1):
            headers = [*written.headers] if target.origin() == first else []
            answer, onward = self._once(target, headers, written.body, end)
            if onward is None:
                return answer
            if not left:
                break
            target = self._onward(target, onward)
        if self._acts:
            raise OutcomeUnknownError
        raise ToolError("The service sent the request elsewhere, and it was not followed.")

    def _onward(self, target: Target, location: str) -> Target:
        """Where a redirect leads, if it may."""
        parts = urlsplit(urljoin(f"{target.scheme}://{_netloc(target)}{target.target}", location))
        host, usual = (parts.hostname or "").lower(), 443 if parts.scheme == "https" else 80
        port = parts.port or usual
        safe = parts.scheme == "https" or (parts.scheme == target.scheme == "http")
        known = host == self._endpoint.host and port == self._endpoint.port
        listed = host in self._endpoint.hosts and port == usual
        named = f"{host}:{port}" in self._endpoint.hosts
        if not safe or not (known or listed or named):
            raise ToolError("The service sent the request to a place that the policy does not name.")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return Target(scheme=parts.scheme, host=host, port=port, target=path, own=known)

    def _once(self, target: Target, headers: list[tuple[str, str]], body: bytes, end: float) -> tuple[Answer, str | None]:
        """One request, and where it is sent on to."""
        try:
            found = addresses(target.host, target.port, self._endpoint.networks, literal=target.own)
        except ForbiddenError:
            raise ToolError("The request was not sent: its destination is not permitted.") from None
        except (OSError, UnicodeError, ValueError):
            raise ToolError("The request was not sent: the service's name cannot be found.") from None
        for address in found:
            try:
                return self._to(address, target, headers, body, end)
            except _UNSENT:
                continue  # nothing was sent
        raise ToolError("The request was not sent: the service cannot be reached.")

    def _to(
        self, address: str, target: Target, headers: list[tuple[str, str]], body: bytes, end: float
    ) -> tuple[Answer, str | None]:
        left = end - time.monotonic()
        if left <= 0:
            raise httpx.ConnectTimeout("")
        request = httpx.Request(
            self._endpoint.method,
            f"{target.scheme}://{f'[{address}]' if ':' in address else address}:{target.port}{target.target}",
            headers=[
                ("Host", _netloc(target)),
                ("Accept", "application/json, text/*;q=0.5"),
                ("Accept-Encoding", "identity"),
                ("Connection", "close"),
                *headers,
            ],
            content=body,
            extensions={"sni_hostname": target.host, "timeout": httpx.Timeout(left).as_dict()},
        )
        with Deadline(end) as deadline, httpx.HTTPTransport(verify=self._believed(target.scheme), trust_env=False) as transport:
            request.extensions["trace"] = deadline
            try:
                return self._read(transport.handle_request(request), deadline)
            except _UNSENT:
                raise
            except httpx.TransportError:
                raise self._lost() from None

    def _lost(self) -> Exception:
        return OutcomeUnknownError() if self._acts else ToolError("The service did not answer.")

    def _believed(self, scheme: str) -> ssl.SSLContext:
        """The authorities of the machine, read once; where nothing is encrypted none are, and none would be believed."""
        if scheme != "https":
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self._trust is None:
            self._trust = ssl.create_default_context()
        return self._trust

    def _read(self, response: httpx.Response, deadline: Deadline) -> tuple[Answer, str | None]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        body, whole = bytearray(), True
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            whole = False  # asked for none
        for chunk in response.iter_raw() if whole else ():
            body += chunk
            if len(body) > self._endpoint.max_bytes:
                whole = False
                break
        if deadline.over:  # what ended may not have been all
            raise httpx.ReadTimeout("")
        onward = response.headers.get("location") if response.status_code in _AGAIN else None
        later = (response.headers.get("retry-after", ""), response.headers.get("date", ""))
        return Answer(status=response.status_code, kind=kind, body=bytes(body), whole=whole, later=later), onward


def _netloc(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == (443 if target.scheme == "https" else 80) else f"{host}:{target.port}"
