"""Cut off: whether an exception says that the other side may have acted and only its answer is missing.

A time-out or a broken connection is no failure: the payment may have been made. Told by what the exception is, by the names of its classes (so
that no HTTP or database package is imported), and by what caused it. May only widen doubt: what is not recognised counts as failed, as before. Used by `hands`; pure.
"""

from __future__ import annotations

_MOST = 8  # causes behind causes
_NEVER_SENT = frozenset(
    {
        *(
            "ConnectionRefusedError",
            "gaierror",
            "ConnectError",
            "ConnectTimeout",
            "PoolTimeout",
        ),  # operating system, httpx, requests
        *("ConnectTimeoutError", "NewConnectionError", "NameResolutionError", "ClientConnectorError", "EndpointConnectionError"),
    }
)
"""Nothing can have reached the other side."""

_BROKEN = frozenset(
    {
        *("TimeoutError", "ConnectionError", "IncompleteReadError", "SSLError"),  # the standard library
        *("TimeoutException", "NetworkError", "RemoteProtocolError"),  # httpx
        *("Timeout", "ChunkedEncodingError", "ProtocolError", "HTTPException"),  # requests, urllib3, http.client
        *("ServerDisconnectedError", "ClientPayloadError", "ClientOSError", "ServerTimeoutError"),  # aiohttp
        *(
            "HTTPClientError",
            "DeadlineExceeded",
            "APIConnectionError",
            "APITimeoutError",
            "OperationalError",
        ),  # SDKs and databases
    }
)


def cut_off(error: BaseException) -> bool:
    """Whether this exception, or one that caused it, leaves open whether the act took place."""
    seen: BaseException | None = error
    for _ in range(_MOST):
        if seen is None:
            return False
        names = {kind.__name__ for kind in type(seen).__mro__}
        if names & _NEVER_SENT:
            return False
        if names & _BROKEN or any("timeout" in name.lower() or "timedout" in name.lower() for name in names):
            return True
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return False
