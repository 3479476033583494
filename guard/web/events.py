"""Events: what changes about the approvals that a person may see, told as it changes (server-sent events).

One look at the store each second for all who listen, never in a decision's way: a vote is written before anybody here hears of it. Who comes back with
`Last-Event-ID` gets what they missed, or `reset` where that is not known any more: then everything has to be read again. Comes after desk.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import monotonic

from starlette.responses import Response, StreamingResponse

from guard.core.approval import Approval
from guard.core.values import encode
from guard.errors import GuardError
from guard.runner.approvals import Approvals
from guard.web import shapes
from guard.web.asking import Asked, desk
from guard.web.bodies import RequestError
from guard.web.people import whose
from guard.web.site import site

LOOK_SECONDS = 1.0
"""Between two looks at the store."""
BEAT_SECONDS = 15.0
"""Between two signs of life, when it is also looked whether the person may still listen."""
_KEPT = 1_000  # events that somebody may have missed
_LISTENERS = 500
_LINGER = 60.0  # seconds that a tenant is looked at after the last listener left: who comes back has missed nothing
_LIVE = ("pending", "approved")
_HEADERS = {"X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class Change:
    """An approval as it was found to be."""

    number: int
    approval: Approval


@dataclass(slots=True)
class _Watched:
    """One tenant whose approvals are looked at. `floor`: who knows less than this number has missed something; `left`: since when nobody listens."""

    floor: int
    marks: dict[str, tuple[object, ...]]
    listeners: int = 0
    left: float = 0.0


class Feed:
    """The changes of one server's store, for all who listen to it."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._epoch = secrets.token_hex(4)
        self._number = 0
        self._kept: deque[Change] = deque(maxlen=_KEPT)
        self._watched: dict[str, _Watched] = {}
        self._news = asyncio.Condition()
        self._job: asyncio.Task[None] | None = None
        self.closed = False

    async def close(self) -> None:
        """End every stream: the server is about to stop."""
        self.closed = True
        async with self._news:
            self._news.notify_all()

    @contextlib.asynccontextmanager
    async def listening(self, tenant: str) -> AsyncIterator[None]:
        """As long as somebody listens, and a little longer, the store is looked at. Raises RequestError where too many listen."""
        if sum(one.listeners for one in self._watched.values()) >= _LISTENERS:
            raise RequestError("too many listen already", 503)
        if tenant not in self._watched:
            found = await asyncio.to_thread(self._live, tenant)
            self._number += 1  # what was known before this look is no place to go on from
            self._watched.setdefault(tenant, _Watched(self._number, {one.id: _mark(one) for one in found}))
        watched = self._watched[tenant]
        watched.listeners += 1
        try:
            if self._job is None or self._job.done():
                self._job = asyncio.create_task(self._watch())
            yield
        finally:
            watched.listeners -= 1
            watched.left = monotonic()

    @property
    def number(self) -> int:
        """The number of the last change."""
        return self._number

    def name(self, number: int) -> str:
        """The id of an event."""
        return f"{self._epoch}-{number}"

    def since(self, tenant: str, place: str) -> int | None:
        """The number behind which somebody goes on; None where it is not known what came since."""
        epoch, _, text = place.partition("-")
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else -1
        first = self._kept[0].number - 1 if len(self._kept) == _KEPT else 0
        known = max(first, self._watched[tenant].floor)
        return number if epoch == self._epoch and known <= number <= self._number else None

    async def after(self, number: int, seconds: float) -> tuple[int, list[Change]]:
        """What came after a number, waited for so long; and the number of the last."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: self.closed or self._number > number)
        return self._number, [change for change in self._kept if change.number > number]

    async def _watch(self) -> None:
        while self._watched and not self.closed:
            await asyncio.sleep(LOOK_SECONDS)
            for tenant, watched in [*self._watched.items()]:
                if not watched.listeners and monotonic() - watched.left > _LINGER:
                    del self._watched[tenant]
                    continue
                with contextlib.suppress(GuardError):  # a store that is down has nothing to tell; it is asked again
                    await self._look(tenant, watched)

    async def _look(self, tenant: str, watched: _Watched) -> None:
        """Compare with what was found last."""
        found = await asyncio.to_thread(self._live, tenant)
        marks = {one.id: _mark(one) for one in found}
        changed = [one for one in found if watched.marks.get(one.id) != marks[one.id]]
        changed += [await asyncio.to_thread(self._approvals.show, name) for name in watched.marks.keys() - marks.keys()]
        watched.marks = marks
        if changed:
            async with self._news:
                for one in changed:
                    self._number += 1
                    self._kept.append(Change(self._number, one))
                self._news.notify_all()

    def _live(self, tenant: str) -> list[Approval]:
        return [one for status in _LIVE for one in self._approvals.list(status=status, tenant=tenant)]


def _mark(approval: Approval) -> tuple[object, ...]:
    """What is different once something happened to it."""
    return approval.status, approval.revision, len(approval.votes), approval.escalated_at


async def events(asked: Asked) -> Response:
    """The stream of one person."""
    given = asked.request.headers.getlist("last-event-id")
    body = _stream(asked, given[0] if given else None)
    if asked.request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return StreamingResponse(body, media_type="text/event-stream", headers=_HEADERS)


async def _stream(asked: Asked, last: str | None) -> AsyncIterator[bytes]:
    feed, tenant = site(asked.request).feed, asked.person.session.tenant
    try:
        async with feed.listening(tenant):
            number = None if last is None else feed.since(tenant, last)
            if number is None:
                kind = "ready" if last is None else "reset"
                number = feed.number
                yield _event(feed.name(number), kind, "{}")
            while not feed.closed and await _still(asked):
                number, found = await feed.after(number, BEAT_SECONDS)
                for change in found:
                    if await asyncio.to_thread(_sees, asked, change.approval):
                        yield _event(feed.name(change.number), "approval", encode(shapes.state(change.approval)))
                if not found:
                    yield b": still here\n\n"
    except RequestError as error:
        yield _event("", "error", encode({"error": str(error)}))


def _sees(asked: Asked, approval: Approval) -> bool:
    return approval.tenant == asked.person.session.tenant and desk(asked).sees(approval)


async def _still(asked: Asked) -> bool:
    """Whether the credential still lets this person read."""
    found = await whose(asked.request)
    return found is not None and found.session.tenant == asked.person.session.tenant and "read" in found.scopes


def _event(name: str, kind: str, data: str) -> bytes:
    head = f"id: {name}\n" if name else ""
    return f"{head}event: {kind}\ndata: {data}\n\n".encode("utf-8", "replace")
