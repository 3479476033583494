"""Ahead: the newest turn of each conversation that makes one call after the other, so that the next one can be foreseen.

A wrong guess costs a second look and nothing else: the store says whether it fits. Used by `chat`. Decides nothing.
"""

from __future__ import annotations

from threading import Lock
from typing import Final, Protocol

from guard.core import ports as p
from guard.core.ahead import foreseen
from guard.core.context import Context
from guard.core.model import ConversationRef
from guard.core.replacing import replace
from guard.core.walked import Walked

MOST: Final = 1_000
"""Conversations of which the newest turn is kept at most: of those that were quiet for longest nothing is foreseen."""


class Ahead(Protocol):
    """What may be known of the next turn."""

    def within(self, context: Context, store: p.Store) -> Context:
        """The context of a walk, with the turn that is foreseen."""

    def learn(self, walked: Walked) -> None:
        """Take note of a turn that was walked."""


class _Nothing:
    """Nothing is foreseen: every call is walked step by step."""

    def within(self, context: Context, store: p.Store) -> Context:  # noqa: ARG002 - as in Ahead
        return context

    def learn(self, walked: Walked) -> None:
        """Nothing is kept."""


class Newest:
    """The newest turn of one conversation, as this process knows it."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: p.Opened | None = None

    def within(self, context: Context, store: p.Store) -> Context:
        """See Ahead. Nothing is foreseen before the first turn, nor where the store has several writers."""
        at_once = self._last is not None and getattr(store, "at_once", False)  # another store than ours may not know the word
        return replace(context, ahead=foreseen(self._last)) if at_once and self._last is not None else context

    def learn(self, walked: Walked) -> None:
        """See Ahead. Of calls that overlap the newest counts, whichever ends last."""
        opened = walked.opened
        if opened is not None and (self._last is None or opened.turn > self._last.turn):
            self._last = opened


NOTHING_AHEAD: Ahead = _Nothing()


class Aheads:
    """The newest turns of the conversations that made a call here lately. Threads may share one."""

    def __init__(self) -> None:
        self._known: dict[ConversationRef, Newest] = {}
        self._lock = Lock()

    def of(self, ref: ConversationRef) -> Ahead:
        """What is known of this conversation's next turn."""
        with self._lock:
            found = self._known.pop(ref) if ref in self._known else Newest()
            self._known[ref] = found
            if len(self._known) > MOST:
                del self._known[next(iter(self._known))]
        return found
