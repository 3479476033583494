"""Conversation: a chat as a host uses it, plain or awaited. Two thin faces of the same flows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from guard.core.values import JsonObject
from guard.runner.aftermath import settling
from guard.runner.chat import Chat
from guard.runner.closing import resuming
from guard.runner.drivers import SyncRun
from guard.runner.drivers_async import AsyncRun
from guard.runner.stream import AsyncStream, Stream
from guard.runner.turn import Turn


class Conversation(Chat):
    """One session's calls on one wire, for a plain loop."""

    def user(self, text: str) -> JsonObject:
        """Register what the user said and get the message for it. Only words registered here count as the user's."""
        return self._said(text)

    def handle(self, reply: object, history: Sequence[object] | None = None) -> Turn:
        """Walk every call of a reply (SDK response, message, or dict of either).

        `history` are the messages sent so far, without this reply; with it the guard can tell the same turn handled again from an equal
        new one. Raises WireError for what is no reply; whatever happens to a call is in `turn.outcomes`, never an exception.
        """
        chat = self.pinned()
        return SyncRun(chat.in_force.hands).run(chat.handling(reply, history))

    def stream(self, events: Any, history: Sequence[object] | None = None) -> Stream:
        """Pass on the events of a streamed reply unchanged; when it is over, `stream.turn()` is what `handle` would give for it.

        Nothing is judged or run before. Raises WireError where the wire reads no streams.
        """
        return Stream(self, events, history)

    def settled(self) -> list[JsonObject]:
        """Messages to append for held calls that were decided since: approved ones run now, at most once. Empty when there are none."""
        chat = self.pinned()
        return SyncRun(chat.in_force.hands).run(settling(chat))

    def resume(self, messages: Sequence[object]) -> list[JsonObject]:
        """The history, as plain JSON, with open call ids closed from the ledger and settled outcomes added: after a crash or restart."""
        chat = self.pinned()
        return SyncRun(chat.in_force.hands).run(resuming(chat, messages))

    def child(
        self, *, roles: Sequence[str] | None = None, tools: Sequence[str] | None = None, name: str | None = None
    ) -> Conversation:
        """A conversation for a sub-agent: same ledger, budgets and holds, never wider. Raises ConversationError when it would be.

        Each child is new, unless it is given the `name` of an earlier one: then it is that one, to settle or resume it.
        """
        session, ref, only = self._narrow(roles, tools, name)
        return Conversation(self.guard, session, self.wire, ref, self._held, only)


class Ready(dict[str, Any]):
    """A message that is there already and may be awaited all the same."""

    def __await__(self) -> Generator[None, None, Ready]:
        """Give the message itself."""
        yield from ()
        return self


class AsyncConversation(Chat):
    """One session's calls on one wire, for an asyncio loop. `user` returns at once and may be awaited too."""

    def __await__(self) -> Generator[None, None, AsyncConversation]:
        """Give the conversation itself: `open` may be awaited or not."""
        yield from ()
        return self

    def user(self, text: str) -> Ready:
        """Register what the user said and get the message for it. Only words registered here count as the user's."""
        return Ready(self._said(text))

    async def handle(self, reply: object, history: Sequence[object] | None = None) -> Turn:
        """See `Conversation.handle`. Cancelling the caller's task closes every call of the turn in the ledger, then goes on up."""
        chat = self.pinned()
        return await AsyncRun(chat.in_force.hands).run(chat.handling(reply, history))

    def stream(self, events: Any, history: Sequence[object] | None = None) -> AsyncStream:
        """See `Conversation.stream`: `async for event in stream`, then `await stream.turn()`. `events` may still have to be awaited."""
        return AsyncStream(self, events, history)

    async def settled(self) -> list[JsonObject]:
        """See `Conversation.settled`."""
        chat = self.pinned()
        return await AsyncRun(chat.in_force.hands).run(settling(chat))

    async def resume(self, messages: Sequence[object]) -> list[JsonObject]:
        """See `Conversation.resume`."""
        chat = self.pinned()
        return await AsyncRun(chat.in_force.hands).run(resuming(chat, messages))

    def child(
        self, *, roles: Sequence[str] | None = None, tools: Sequence[str] | None = None, name: str | None = None
    ) -> AsyncConversation:
        """See `Conversation.child`."""
        session, ref, only = self._narrow(roles, tools, name)
        return AsyncConversation(self.guard, session, self.wire, ref, self._held, only)
