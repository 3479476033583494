"""Repeats: a request that is sent again under the same `Idempotency-Key` gets the answer that it got, and is carried out once.

Kept in this process's memory; after a restart a repeated vote is answered by how the approval stands. Comes before the API of approvals.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from guard.core.values import Json, canonical, digest
from guard.web.bodies import RequestError

_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_MOST = 10_000  # answers that are kept; the oldest goes first


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was asked, and its answer once there is one."""

    asked: str
    answer: asyncio.Future[Response | None]


class Repeats:
    """The answers of one server."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def once(self, request: Request, who: tuple[str, ...], body: Json, act: Callable[[], Awaitable[Response]]) -> Response:
        """The answer to this request of `who`; `act` carries it out the first time. Raises RequestError (422) for a key with another body."""
        given = request.headers.getlist("idempotency-key")
        if not given:
            return await act()
        if len(given) > 1 or not _KEY.fullmatch(given[0]):
            raise RequestError("Idempotency-Key is 1 to 200 visible ASCII characters, once")
        name = digest("guard-repeat-v1", *who, given[0])
        asked = digest("guard-asked-v1", request.method, request.url.path, canonical(body))
        while (kept := self._kept.get(name)) is not None:
            if kept.asked != asked:
                raise RequestError("this Idempotency-Key was used for another request", 422)
            found = await asyncio.shield(kept.answer)
            if found is not None:
                return Response(found.body, found.status_code, {**found.headers, "idempotency-replayed": "true"})
        return await self._first(name, asked, act)

    async def _first(self, name: str, asked: str, act: Callable[[], Awaitable[Response]]) -> Response:
        kept = _Kept(asked, asyncio.get_running_loop().create_future())
        self._kept[name] = kept
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        found = None
        try:
            found = await act()
        finally:
            lasts = found is not None and found.status_code < 500
            if not lasts and self._kept.get(name) is kept:
                del self._kept[name]  # it may be tried again
            kept.answer.set_result(found if lasts else None)
        return found
