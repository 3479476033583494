"""Server: listens with uvicorn until SIGTERM or Ctrl-C. Comes last; needs the extra `server`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

LOG = logging.getLogger("uvicorn.error")
HEAD_SECONDS = 10.0
"""In which the head of a request must be there; its body has a time of its own."""


async def listen(app: ASGIApp, host: str, port: int, said: Callable[[str], None]) -> None:
    """Serve until stopped; requests under way are answered first, for at most ten seconds. `said` gets the address once it is known.

    Raises UnboundError where nothing can listen there.
    """
    await Server(configured(app, host, port), said).serve()


def configured(app: ASGIApp, host: str, port: int) -> uvicorn.Config:
    """How the server speaks HTTP."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=_Hasty,
        ws="none",
        log_level="warning",
        access_log=False,  # who sees approvals stands in the audit log
        server_header=False,
        proxy_headers=False,  # a request comes from the connection's other end; what a proxy says is judged by people
        timeout_graceful_shutdown=10,
        lifespan="off",
    )


class UnboundError(Exception):
    """Nothing can listen at this address; `errno` says why."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.errno = error.errno


class Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, said: Callable[[str], None]) -> None:
        super().__init__(config)
        self._said = said

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """See uvicorn."""
        with _bound():
            await super().startup(sockets)
        for one in (each for listening in self.servers for each in listening.sockets):
            host, port = one.getsockname()[:2]
            self._said(f"http://{f'[{host}]' if ':' in host else host}:{port}/api/v1")

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        """See uvicorn; what has no end of its own is ended first."""
        close = getattr(self.config.app, "close", None)
        if close is not None:
            await close()
        await super().shutdown(sockets)


@contextlib.contextmanager
def _bound() -> Iterator[None]:
    """Raise UnboundError where uvicorn logs that it cannot listen, and exits."""
    found: list[OSError] = []

    def kept(record: logging.LogRecord) -> bool:
        if isinstance(record.msg, OSError):
            found.append(record.msg)
        return not found

    LOG.addFilter(kept)
    try:
        yield
    except SystemExit:
        if found:
            raise UnboundError(found[0]) from None
        raise
    finally:
        LOG.removeFilter(kept)


class _Hasty(H11Protocol):
    """A connection that does not wait for ever for the head of a request."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        self._hurry()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The next request has as long."""
        super().on_response_complete()
        self._hurry()

    def _hurry(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(HEAD_SECONDS, self._late)

    def _late(self) -> None:
        if self.conn.their_state is h11.IDLE:
            self.transport.close()
