"""Deadline: when the time is over, one connection ends, wherever its other side is with what it says.

A time-out of a single read begins anew with each byte. Who drips a header, a number, a trailer or one preliminary answer after the other would never be given up.
Knows nothing of requests. Comes before sending.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Timer
from types import TracebackType
from typing import Any, Self

_CONNECTED = "connection.connect_tcp.complete"


class Deadline:
    """Called with what a transport does (httpx calls that `trace`), it watches over the connection until `end` (seconds of the monotonic clock)."""

    def __init__(self, end: float) -> None:
        self._end = end
        self._watched: socket.socket | None = None
        self._timer: Timer | None = None
        self.over = False

    def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Something was done: where that was connecting, the time runs."""
        if event == _CONNECTED and self._timer is None:
            self._watched = info["return_value"].get_extra_info("socket").dup()  # encryption takes the first one away
            self._timer = Timer(max(0.0, self._end - time.monotonic()), self._cut)
            self._timer.daemon = True
            self._timer.start()

    def _cut(self) -> None:
        self.over = True
        with suppress(OSError):  # it has ended by itself
            if self._watched is not None:
                self._watched.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._watched is not None:
            self._watched.close()
