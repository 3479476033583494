"""Cut off: whether an exception says that the other side may have acted and only its answer is missing.

A time-out or a broken connection is no failure: the payment may have been made. Told by what the exception is, by the names of its classes (so
that no HTTP or database package is imported), and by what stands behind it. May only widen doubt: what is not recognised counts as failed, as
before. Used by `hands`; pure.
"""

from __future__ import annotations

_MOST = 16  # exceptions behind exceptions
_NEVER_SENT = frozenset(
    {
        *("ConnectionRefusedError", "gaierror"),  # the operating system
        *("ConnectError", "ConnectTimeout", "PoolTimeout"),  # httpx, requests
        *("ConnectTimeoutError", "NewConnectionError", "NameResolutionError"),  # urllib3
        *("ClientConnectorError", "EndpointConnectionError"),  # aiohttp, botocore
    }
)
"""Nothing can have reached the other side."""

_OWNERS = frozenset({"builtins", "socket", "httpx", "httpcore", "requests", "urllib3", "aiohttp", "botocore"})
"""Whose classes those are. The same name elsewhere may mean something else, and proves nothing."""

_SYSTEM = frozenset({"builtins", "socket"})
"""Where the operating system's errors come from."""

_BROKEN = frozenset(
    {
        *(
            "TimeoutError",
            "ConnectionError",
            "IncompleteReadError",
            "SSLError",
            "EOFError",
            "CancelledError",
        ),  # the standard library
        *("TimeoutException", "NetworkError", "RemoteProtocolError"),  # httpx
        *("Timeout", "ChunkedEncodingError", "ProtocolError", "HTTPException"),  # requests, urllib3, http.client
        *("ServerDisconnectedError", "ClientPayloadError", "ClientOSError", "ServerTimeoutError"),  # aiohttp
        *(
            "SMTPServerDisconnected",
            "HTTPClientError",
            "DeadlineExceeded",
            "ConnectionClosedError",
            "AutoReconnect",
        ),  # mail, botocore, gRPC, websockets, pymongo
        *("APIConnectionError", "APITimeoutError", "OperationalError"),  # SDKs and databases
    }
)


def cut_off(error: BaseException) -> bool:
    """Whether this exception, or one that it came from, leaves open whether the act took place."""
    waiting: list[BaseException] = [error]
    for _ in range(_MOST):
        if not waiting:
            return False
        seen = waiting.pop()
        if _never_sent(seen):
            waiting += _before(seen)
            continue
        names = {kind.__name__ for kind in type(seen).__mro__}
        if names & _BROKEN or any("timeout" in name.lower() or "timedout" in name.lower() for name in names):
            return True
        waiting += _behind(seen)
    return False


def _behind(error: BaseException) -> list[BaseException]:
    """What caused it, or was being handled when it was raised; every member of a group."""
    found = list(error.exceptions) if isinstance(error, BaseExceptionGroup) else []
    if error.__cause__ is not None:
        return [*found, error.__cause__]
    hidden = error.__suppress_context__ or error.__context__ is None
    return found if hidden else [*found, error.__context__]  # type: ignore[list-item]  # not None, by `hidden`


def _before(error: BaseException) -> list[BaseException]:
    """What went wrong before this one, as an earlier try whose answer is missing.

    A package's own class stands on the operating system's error, which only explains why nothing was sent: even a time-out. Packages cut
    these links for whoever reads a traceback (`from None`); here they are followed all the same.
    """
    seen = error
    for _ in range(_MOST):
        under = seen.__context__ if seen.__cause__ is None else seen.__cause__
        if under is None:
            return []
        if type(seen).__module__ in _SYSTEM or not (_never_sent(under) or type(under).__module__ in _SYSTEM):
            return [under]
        seen = under
    return []


def _never_sent(error: BaseException) -> bool:
    kinds = type(error).__mro__
    return any(kind.__name__ in _NEVER_SENT and kind.__module__.partition(".")[0] in _OWNERS for kind in kinds)
