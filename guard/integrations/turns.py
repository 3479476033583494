"""Turns: the calls of one message, which a framework brings one by one and often at once, walked together and once.

A framework hands its layer single calls. The layer brings each with the whole message that it stands in; whoever comes first walks that message,
the others wait for their part of it. So siblings are judged as a loop of one's own would have them judged. A call that comes again (after a
pause, or by another way) has the message handled again, which runs nothing twice. Decides nothing; knows no framework. Comes after the runner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from guard.core.model import Approval, Outcome, ToolCall
from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.integrations.single import single, single_soon
from guard.runner import AsyncConversation, Conversation, Turn
from guard.runner.proposed import digest_of

_KEPT = 8  # messages whose outcomes are kept until they are fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A reply with calls in the form of the chat's wire, and what was said before it."""

    reply: JsonObject
    before: Sequence[object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one call, and the question to a person that it waits for."""

    outcome: Outcome
    approval: Approval | None = None
    suspended: bool = False  # the loop is to pause here


@dataclass(slots=True, eq=False)
class _Walk:
    """One walk of one message, under way or done."""

    turn: Any  # a Future of a Turn, or a Task
    taken: set[int] = field(default_factory=set)
    waiting: int = 0


class Turns:
    """The messages of one conversation. Raises GuardError for what is no conversation on a wire that the layer speaks."""

    def __init__(self, chat: Conversation | AsyncConversation, wire: str) -> None:
        if not isinstance(chat, Conversation | AsyncConversation):
            raise GuardError(
                f"this takes a conversation, chat = guard.open(session, wire={wire!r}, …), not {type(chat).__name__}"
            )
        if chat.wire.name != wire:
            raise GuardError(
                f"open the conversation with wire={wire!r}: this framework's messages are read as such, not as {chat.wire.name}"
            )
        self.chat = chat
        self._walks: dict[object, _Walk] = {}
        self._lock = Lock()

    def take(self, message: Message, position: int, *, look: bool = False) -> Answer:
        """What became of the call at this place of the message. `look`: the layer only asks; it fetches the outcome later."""
        if not isinstance(self.chat, Conversation):
            raise GuardError("a conversation of AsyncGuard needs the framework's async way; open one of Guard for the plain way")
        chat = self.chat
        walk, first = self._walk(self._mark(message), position, Future, look=look)
        if first:
            try:
                walk.turn.set_result(chat.handle(message.reply, history=message.before))
            except BaseException as error:
                walk.turn.set_exception(error)
                raise
        return self._answer(walk, walk.turn.result(), position)

    async def take_soon(self, message: Message, position: int, *, look: bool = False) -> Answer:
        """The same for asyncio. A plain conversation works in a thread. When all who wait are cancelled, so is the walk."""
        if isinstance(self.chat, Conversation):
            return await asyncio.to_thread(self.take, message, position, look=look)
        chat = self.chat
        mark = (asyncio.get_running_loop(), self._mark(message))

        def begin() -> asyncio.Task[Turn]:
            return asyncio.ensure_future(chat.handle(message.reply, history=message.before))

        walk, _ = self._walk(mark, position, begin, look=look)
        return self._answer(walk, await _shared(walk), position)

    def alone(self, call: ToolCall) -> Answer:
        """Walk a call that stands in no message, or otherwise than there: a proposal of its own."""
        if not isinstance(self.chat, Conversation):
            raise GuardError("a conversation of AsyncGuard needs the framework's async way; open one of Guard for the plain way")
        return Answer(outcome=single(self.chat, self._own(call)))

    async def alone_soon(self, call: ToolCall) -> Answer:
        """The same for asyncio."""
        if isinstance(self.chat, Conversation):
            return await asyncio.to_thread(self.alone, call)
        return Answer(outcome=await single_soon(self.chat, self._own(call)))

    def _own(self, call: ToolCall) -> ToolCall:
        return ToolCall(call.id, self.chat.in_force.names(self.chat.wire).tool(call.tool), call.arguments)

    def _mark(self, message: Message) -> tuple[str, int]:
        return digest_of(self.chat.wire.read(message.reply).kept), len(message.before)

    def _walk(self, mark: object, position: int, begin: Any, *, look: bool) -> tuple[_Walk, bool]:
        """The walk to have this call's outcome from, and whether it is a new one."""
        with self._lock:
            walk = self._walks.get(mark)
            new = walk is None or position in walk.taken
            if walk is None or new:
                walk = _Walk(begin())
                self._walks.pop(mark, None)
                self._walks[mark] = walk
                for old in list(self._walks)[:-_KEPT]:
                    del self._walks[old]
            if not look:
                walk.taken.add(position)
            return walk, new

    def _answer(self, walk: _Walk, turn: Turn, position: int) -> Answer:
        if not 0 <= position < len(turn.outcomes):
            raise GuardError("the call is not in the message that it is said to stand in")
        outcome = turn.outcomes[position]
        suspended = turn.stop == "held" and outcome.status == "held"
        if suspended:
            walk.taken.add(position)  # what waits is never kept: a person may have decided by the next time
        approval = next((one for one in turn.pending if one.id == outcome.approval), None)
        return Answer(outcome=outcome, approval=approval, suspended=suspended)


async def _shared(walk: _Walk) -> Turn:
    """The turn of a walk that others may wait for as well."""
    walk.waiting += 1
    try:
        turn: Turn = await asyncio.shield(walk.turn)
        return turn
    except asyncio.CancelledError:
        if walk.waiting == 1 and not walk.turn.done():
            walk.turn.cancel()
            with suppress(asyncio.CancelledError):
                await walk.turn  # every call is closed in the ledger before the cancellation goes on
        raise
    finally:
        walk.waiting -= 1
