"""Worker: runs calls whose own process is gone, once they were approved or a grant answers them, and looks after calls that were lost. For a fleet; decides nothing.

Each call walks the whole path again with today's policy and with a session that the host's loader gives: roles that were stored with a call
authorize nothing. The claim makes sure that a call runs once, whoever else picks it. Calls of child conversations are left to their host: only
it knows how much narrower the child is. Between batches it looks for approvals that are overdue. Used by `guard serve work`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self, TypeAlias

from guard.core import ports as p
from guard.core.model import Outcome, Session
from guard.core.persons import named
from guard.core.pipeline import settle_calls
from guard.errors import GuardError, StoreError
from guard.runner.chat import Chat
from guard.runner.compensation import offering
from guard.runner.drivers import SyncRun
from guard.runner.drivers_async import AsyncRun
from guard.runner.grants import Grants
from guard.runner.guard import AsyncGuard, GuardBase
from guard.runner.hands import Hands
from guard.runner.overdue import Looking
from guard.runner.report import failure, idle
from guard.wires import wire

Sessions: TypeAlias = Callable[[str, str], Session | None]
"""principal, tenant → their session as it is now, with today's roles; None for somebody who may not act any more."""

_LEASE = 30.0  # seconds for which a picked call is left alone by other workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a worker did with one call: its row as it was picked, and the outcome; None where nobody could act for its person."""

    row: p.CallRow
    outcome: Outcome | None


class Worker:
    """Picks calls and carries them out, one after the other. `grace` is how long a call's own process has to run it first, in seconds.

    As a context manager it keeps one event loop for the tools of an AsyncGuard, whose clients may be bound to it; else each call has its own.
    """

    def __init__(self, guard: GuardBase, sessions: Sessions, *, grace: float = 10.0, batch: int = 8) -> None:
        if inspect.iscoroutinefunction(sessions):
            raise GuardError("the session loader is a plain function of (principal, tenant)")
        self._guard, self._sessions, self._grace, self._batch = guard, sessions, grace, batch
        self._loop: asyncio.Runner | None = None
        self._overdue = Looking(guard.store)

    def __enter__(self) -> Self:
        self._loop = asyncio.Runner() if isinstance(self._guard, AsyncGuard) else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def once(self, stopped: Callable[[], bool] = lambda: False) -> list[Done]:
        """Carry out one batch, until `stopped` says so between two calls; empty when there was nothing to do. Raises StoreError."""
        while True:
            rows = self._guard.store.pick(grace=self._grace, lease=_LEASE, limit=self._batch)
            self._overdue.in_time()
            mine = [row for row in rows if not row.key.ref.branch and self._ready(row)]
            if mine or not rows:
                return [self._one(row) for row in mine if not stopped()]

    def _ready(self, row: p.CallRow) -> bool:
        """Whether there is something to do: a held call waits for its person still, unless today's policy lets a grant answer it."""
        asked = self._guard.store.approval(row.approval) if row.status == "held" and row.approval else None
        return asked is None or asked.status != "pending" or Grants(self._guard).answers(asked)

    def _one(self, row: p.CallRow) -> Done:
        session = self._session(row)
        if session is None:
            return Done(row=row, outcome=None)
        chat = Chat(self._guard, session, wire("openai-chat"), row.key.ref, "answer", None).pinned()
        return Done(row=row, outcome=self._drive(chat.in_force.hands, _carried(chat, row)))

    def _session(self, row: p.CallRow) -> Session | None:
        """The session of the call's person, from the host: it must be that very person."""
        ref = row.key.ref
        name = named(ref.principal)
        if name is None:
            logging.getLogger("guard").warning("a call waits for somebody whose name was erased: nobody can act for them")
            return None
        try:
            session = self._sessions(name, ref.tenant)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - nobody can be asked whether this person may
            failure("the session loader", error, self._guard.redactor)
            return None
        same = isinstance(session, Session) and (session.principal, session.tenant) == (name, ref.tenant)
        return session if same else None

    def _drive(self, hands: Hands, flow: p.Flow[Outcome]) -> Outcome:
        if isinstance(self._guard, AsyncGuard):
            run = asyncio.run if self._loop is None else self._loop.run
            return run(AsyncRun(hands).run(flow))
        return SyncRun(hands).run(flow)


def _carried(chat: Chat, row: p.CallRow) -> p.Flow[Outcome]:
    walked = yield from settle_calls([row], chat.context())
    idle(walked.idle, chat.in_force.hands.told)
    if walked.outcomes[0].status == "unknown":
        with suppress(StoreError):  # offered later: the host's next settle or resume tries again
            yield from offering(chat)
    return walked.outcomes[0]
