"""Server: listens with uvicorn until SIGTERM or Ctrl-C. Comes last; needs the extra `server`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp


async def listen(app: ASGIApp, host: str, port: int, said: Callable[[str], None]) -> None:
    """Serve until stopped; requests under way are answered first, for at most ten seconds. `said` gets the address once it is known."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        server_header=False,
        proxy_headers=False,  # who a request comes from is the connection's other end; what a proxy says is judged by people
        timeout_graceful_shutdown=10,
        lifespan="off",
    )
    await _Server(config, said).serve()


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, said: Callable[[str], None]) -> None:
        super().__init__(config)
        self._said = said

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        for one in (each for listening in self.servers for each in listening.sockets):
            host, port = one.getsockname()[:2]
            self._said(f"http://{f'[{host}]' if ':' in host else host}:{port}/api/v1")
