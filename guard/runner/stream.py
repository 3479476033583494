"""Stream: a streamed reply on its way to the host. Every event passes on unchanged; the calls are handled once, when the reply is over.

Nothing is judged, recorded or run before that: not when an event seems to complete a call, and not when the host stops looking. A reply that was
cut off is handled as one: each call in it is refused with its result. Comes after `chat`; opened by `conversation`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.runner.turn import Turn
from guard.wires.streams import Collector

if TYPE_CHECKING:
    from guard.runner.conversation import AsyncConversation, Conversation


class _Streamed:
    """What plain and awaited streams share: the collector, and what became of the source.

    `complete` says whether the provider ended the reply; `error` holds what the source raised while `turn` read what was left.
    """

    def __init__(self, collector: Collector, history: Sequence[object] | None) -> None:
        self._collector = collector
        self._history = history
        self._turn: Turn | None = None
        self.error: Exception | None = None

    @property
    def complete(self) -> bool:
        """Whether the provider has said that the reply is over. A reply that never was is handled as cut off."""
        return self._collector.ended

    def _reply(self) -> JsonObject:
        """The reply, once there is nothing more. Raises what the source raised when no call came: then there is nothing to answer."""
        if self.error is not None and not self._collector.calls():
            raise self.error
        return self._collector.reply()


class Stream(_Streamed):
    """A streamed reply in a plain loop: go over it for the provider's events, then take the `turn`."""

    def __init__(self, chat: Conversation, events: Any, history: Sequence[object] | None) -> None:
        super().__init__(Collector(chat.wire), history)
        self._chat = chat
        source = _source(events)
        if not hasattr(source, "__iter__"):
            raise GuardError(f"a stream is something to go over with `for`; {type(source).__name__} is not")
        self._events: Iterator[Any] = iter(source)

    def __iter__(self) -> Iterator[Any]:
        """Go over the events; may be left and gone on with."""
        return self

    def __next__(self) -> Any:
        """The next event, exactly as it came. Raises whatever the source raises."""
        event = next(self._events)
        self._collector.add(event)
        return event

    def turn(self) -> Turn:
        """Read what is left of the stream, then handle the reply as `handle` does; always the same turn.

        When the connection breaks meanwhile, calls that came are refused as cut off and `error` says why; without any, the error is raised.
        """
        if self._turn is None:
            try:
                for _ in self:
                    pass
            except Exception as error:  # noqa: BLE001 - the calls that came still need their results
                self.error = error
            self._turn = self._chat.handle(self._reply(), history=self._history)
        return self._turn


class AsyncStream(_Streamed):
    """A streamed reply in an asyncio loop; see `Stream`. `events` may still have to be awaited."""

    def __init__(self, chat: AsyncConversation, events: Any, history: Sequence[object] | None) -> None:
        super().__init__(Collector(chat.wire), history)
        self._chat = chat
        self._source = events
        self._events: AsyncIterator[Any] | None = None

    def __aiter__(self) -> AsyncIterator[Any]:
        """Go over the events; may be left and gone on with."""
        return self

    async def __anext__(self) -> Any:
        """The next event, exactly as it came. Raises whatever the source raises."""
        if self._events is None:
            given = await self._source if inspect.isawaitable(self._source) else self._source
            self._events = _async(_source(given))
        event = await anext(self._events)
        self._collector.add(event)
        return event

    async def turn(self) -> Turn:
        """See `Stream.turn`. Cancelling goes on up, as with `handle`."""
        if self._turn is None:
            try:
                async for _ in self:
                    pass
            except Exception as error:  # noqa: BLE001 - the calls that came still need their results
                self.error = error
            self._turn = await self._chat.handle(self._reply(), history=self._history)
        return self._turn


def _source(events: Any) -> Any:
    """The events: boto3 gives them inside its answer."""
    return events["stream"] if isinstance(events, Mapping) and "stream" in events else events


def _async(source: Any) -> AsyncIterator[Any]:
    if hasattr(source, "__aiter__"):
        found: AsyncIterator[Any] = aiter(source)
        return found
    if not hasattr(source, "__iter__"):
        raise GuardError(f"a stream is something to go over with `async for`; {type(source).__name__} is not")
    return _ready(source)


async def _ready(source: Any) -> AsyncIterator[Any]:
    """Events of a plain iterator, such as those that were collected before."""
    for event in source:
        yield event
