"""Remote: tools that a loop elsewhere runs. The walk stops where it would run the tool, until the loop reports how it ended.

A call that is allowed becomes a ticket; what the loop reports about it is what the tool gave. What is never reported was lost: an action is unknown
then, and no ticket is given out twice. Comes before the API.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial

from guard.core.model import Outcome
from guard.core.values import Json, JsonObject, equal
from guard.errors import OutcomeUnknownError, ToolError
from guard.runner.report import ReportedError
from guard.tools import RegisteredTool

REPORT_SECONDS = 300.0
"""How long a report is waited for, where the tool has no time-out of its own."""
_KEPT = 1_000  # outcomes that a repeated report gets again
_MOST = 10_000  # tickets at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a call ended elsewhere: `done` with a result, `failed` with a text that the model may read, or `unknown`."""

    status: str
    result: Json = None
    message: str = ""


@dataclass(kw_only=True, eq=False)
class Ticket:
    """One proposal on its way. `reached` is set once the tool may run, with exactly these arguments."""

    token: str
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    report: asyncio.Future[Report] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    arguments: JsonObject | None = None
    key: str = ""
    outcome: asyncio.Task[Outcome] | None = None
    owner: str = ""


class ContradictedError(Exception):
    """A call was reported once already, and otherwise than now: the first report counts."""


class FailedError(ReportedError):
    """The loop says that its tool failed, and nothing that the model may read."""


def _same(one: Report, other: Report) -> bool:
    return (one.status, one.message) == (other.status, other.message) and equal(one.result, other.result)


_ASKED: ContextVar[Ticket] = ContextVar("ticket")


class Remote:
    """The tickets of one server."""

    def __init__(self, seconds: float = REPORT_SECONDS) -> None:
        self._seconds = seconds
        self._open: dict[str, Ticket] = {}
        self._done: OrderedDict[str, tuple[Ticket, Outcome]] = OrderedDict()

    def tools(self, names: Iterable[str]) -> dict[str, RegisteredTool]:
        """Tools of these names, each run elsewhere."""
        return {name: self._tool(name) for name in names}

    def _tool(self, name: str) -> RegisteredTool:
        return RegisteredTool(
            name=name,
            description="",
            schema=None,
            parameters=None,
            accepts=None,
            origin="a loop elsewhere",
            run=partial(self._run, name),
            is_async=True,
            keyed=True,
        )

    async def _run(self, name: str, arguments: JsonObject, key: str) -> Json:
        """Hand the call over and wait for its report."""
        ticket = _ASKED.get(None)
        if ticket is None or ticket.reached.is_set():
            raise ToolError(f"{name} is run by a loop elsewhere, and none is waiting for it.")
        ticket.arguments, ticket.key = arguments, key
        ticket.reached.set()
        try:
            report = await asyncio.wait_for(asyncio.shield(ticket.report), self._seconds)
        except TimeoutError:
            raise OutcomeUnknownError from None
        if report.status == "unknown":
            raise OutcomeUnknownError
        if report.status == "failed":
            raise ToolError(report.message) if report.message else FailedError
        return report.result

    async def propose(self, walk: Callable[[], Awaitable[Outcome]], owner: str) -> Outcome | Ticket:
        """Walk a call until it has its outcome, or until it may run elsewhere: then a ticket. `owner` is whose report counts."""
        if len(self._open) >= _MOST:
            raise OverflowError("too many calls are waiting for their reports")
        ticket = Ticket(token=secrets.token_urlsafe(32), owner=owner)
        self._open[ticket.token] = ticket
        reset = _ASKED.set(ticket)
        try:
            ticket.outcome = asyncio.ensure_future(walk())
        finally:
            _ASKED.reset(reset)
        ticket.outcome.add_done_callback(partial(self._ended, ticket))
        reached = asyncio.ensure_future(ticket.reached.wait())
        try:
            await asyncio.wait({ticket.outcome, reached}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reached.cancel()
        return ticket if ticket.reached.is_set() else await ticket.outcome

    def _ended(self, ticket: Ticket, task: asyncio.Task[Outcome]) -> None:
        """Keep the outcome for a report that is sent once more."""
        self._open.pop(ticket.token, None)
        if not task.cancelled() and task.exception() is None and ticket.reached.is_set():
            self._done[ticket.token] = (ticket, task.result())
            while len(self._done) > _KEPT:
                self._done.popitem(last=False)

    async def report(self, token: str, report: Report, owner: str) -> Outcome | None:
        """The outcome of a call, now that it is known how it ended. None for a ticket that is not known here.

        The first report counts. The same once more gives its outcome, marked as replayed; another one raises ContradictedError.
        """
        ended = self._done.get(token)
        ticket = ended[0] if ended is not None else self._open.get(token)
        if ticket is None or ticket.owner != owner or not ticket.reached.is_set() or ticket.outcome is None:
            return None
        again = ended is not None or ticket.report.done()
        if not ticket.report.done():
            ticket.report.set_result(report)
        elif not _same(ticket.report.result(), report):
            raise ContradictedError
        outcome = await asyncio.shield(ticket.outcome)
        return replace(outcome, replayed=True) if again else outcome

    async def close(self) -> None:
        """Give up every call that has no report: actions are unknown. Their outcomes are in the ledger afterwards."""
        waiting = [ticket for ticket in self._open.values() if ticket.outcome is not None]
        for ticket in waiting:
            if not ticket.report.done():
                ticket.report.set_result(Report(status="unknown"))
        await asyncio.gather(*(ticket.outcome for ticket in waiting if ticket.outcome), return_exceptions=True)
