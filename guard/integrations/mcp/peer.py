"""Peer: one side of a connection: what it was asked and has not answered, and what it asked and is still being worked on.

Carries messages; judges none. Each question gets exactly one answer or GoneError; whoever stops waiting tells the other side. Comes after
messages; before relay.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any, Protocol

from guard.core.values import Json, JsonObject
from guard.integrations.mcp.messages import INTERNAL, RemoteError, UnfitError, is_id, notice, request

MOST_OPEN = 1_000
"""Requests of one side that may be worked on at once."""


class GoneError(ConnectionError):
    """The connection ended before there was an answer: what was asked may or may not have been done."""


class Channel(Protocol):
    """A way to one side, as messages. Sending raises GoneError when nobody is there any more."""

    answers_cancelled: bool  # whether a request that was cancelled must be answered all the same

    async def send(self, message: JsonObject, about: object = None) -> None:
        """Send one message. `about` is the id of the other side's request that it belongs to."""

    def messages(self) -> AsyncIterator[JsonObject | UnfitError]:
        """What comes, until the connection ends."""

    async def close(self) -> None:
        """End the connection, and what stands behind it."""


class Peer:
    """One side."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.busy: dict[object, asyncio.Task[None]] = {}
        self.dropped: set[object] = set()  # of these this side wants no answer any more
        self._waiting: dict[object, asyncio.Future[Json]] = {}
        self._numbers = itertools.count(1)
        self._gone = False
        self._sending: set[asyncio.Task[None]] = set()

    async def tell(self, method: str, params: Json = None, about: object = None) -> None:
        """Send a notification; one for nobody is lost."""
        if not self._gone:
            await self.channel.send(notice(method, params), about)

    async def ask(self, method: str, params: Json = None, *, about: object = None, seconds: float | None = None) -> Json:
        """Send a request and wait for its result. Raises RemoteError, GoneError, TimeoutError."""
        if self._gone:
            raise GoneError("the connection is gone")
        number = next(self._numbers)
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            async with asyncio.timeout(seconds):  # for the sending as well: a side that hangs reads nothing
                await self.channel.send(request(number, method, params), about)
                return await waiting
        except (asyncio.CancelledError, TimeoutError):
            if method != "initialize":  # the protocol forbids to cancel that one
                self._later(self.tell("notifications/cancelled", {"requestId": number}))
            raise
        finally:
            self._waiting.pop(number, None)

    def settle(self, message: Mapping[str, Json]) -> None:
        """Take an answer. One to nothing that was asked, or the second one, is dropped."""
        number = message.get("id")
        waiting = self._waiting.get(number) if is_id(number) else None
        if waiting is None or waiting.done():
            return
        error, answered = message.get("error"), "result" in message
        if answered and error is None:
            waiting.set_result(message["result"])
        elif isinstance(error, dict) and not answered:
            waiting.set_exception(RemoteError(error))
        else:  # neither a result nor an error, or both: nobody knows what it says
            waiting.set_exception(RemoteError({"code": INTERNAL, "message": "no result"}))

    def work(self, number: object, job: Coroutine[Any, Any, None]) -> None:
        """Work on one of this side's requests."""
        self.busy[number] = asyncio.ensure_future(job)

    def cancel(self, number: object) -> None:
        """Stop working on one of this side's requests, if it is still worked on."""
        task = self.busy.get(number) if is_id(number) else None
        if task is not None:
            self.dropped.add(number)
            task.cancel()

    def lost(self) -> None:
        """Nobody is there any more: whoever waits for an answer is told so."""
        self._gone = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(GoneError("the connection ended before there was an answer"))

    async def finish(self, *, seconds: float, cancel: bool) -> None:
        """Let the work on this side's requests end, or stop it; after so many seconds it is stopped in any case."""
        tasks = list(self.busy.values())
        if not cancel and tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._sending, return_exceptions=True)

    def _later(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(_quiet(job))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


async def _quiet(job: Coroutine[Any, Any, None]) -> None:
    """Send what nobody waits for; a side that is gone need not hear it."""
    try:
        async with asyncio.timeout(2):
            await job
    except (OSError, TimeoutError):
        return
