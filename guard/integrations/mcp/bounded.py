"""Bounded: what a remote MCP server may send in one message over HTTP, counted as it comes. Needs the extra `mcp`. Used by `web`.

An answer that is one document counts whole; of a stream of events each event counts, since a stream may go on for days.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from itertools import pairwise

import httpx2

_EVENTS = "text/event-stream"
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


def bounded(most: int) -> httpx2.AsyncBaseTransport:
    """A transport whose answers break off after a message of more than `most` bytes."""
    return _Bounded(most)


class _Bounded(httpx2.AsyncHTTPTransport):
    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        events = answer.headers.get("content-type", "").lower().startswith(_EVENTS)
        if isinstance(answer.stream, httpx2.AsyncByteStream):
            answer.stream = _Counted(answer.stream, self._most, events=events)
        return answer


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most: int, *, events: bool) -> None:
        self._inner, self._most, self._events = inner, most, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, before = 0, b""
        async for chunk in self._inner:
            sizes = _sizes(before, chunk) if self._events else [len(chunk)]
            sizes[0] += size
            if max(sizes) > self._most:
                raise httpx2.ReadError(f"a message of more than {self._most} bytes")
            size, before = sizes[-1], (before + chunk)[-3:]
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _sizes(before: bytes, chunk: bytes) -> list[int]:
    """How many bytes of the chunk belong to each event, the one that began earlier first. `before` is what came last."""
    ends = [found.end() - len(before) for found in _END.finditer(before + chunk)]
    marks = [0, *(end for end in ends if end > 0), len(chunk)]
    return [end - start for start, end in pairwise(marks)]
