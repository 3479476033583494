"""Remote: tools that a loop elsewhere runs. The walk stops where it would run the tool, until the loop reports how it ended.

A call that is allowed becomes a ticket; what the loop reports about it is what the tool gave. What is never reported was lost: an action is unknown
then, and no ticket is given out twice. A report that comes after that settles it, since its ticket proves that it is of the same attempt; where a
person has settled the call meanwhile, their word stands. Comes before the API.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from guard.core.model import Outcome
from guard.core.ports import CallRow
from guard.core.values import Json, JsonObject, equal
from guard.errors import OutcomeUnknownError, ToolError
from guard.runner.report import ReportedError
from guard.runner.threads import Came, Promise
from guard.tools import RegisteredTool

REPORT_SECONDS = 300.0
"""How long a report is waited for, where the tool has no time-out of its own."""
_MARGIN = 5.0  # seconds by which the walk's own time-out comes first
_KEPT = 1_000  # outcomes that a repeated report gets again
_DOUBTED = 2_000  # calls in doubt whose report may yet come
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
    timeout: float = REPORT_SECONDS  # seconds from the ticket on for the tool and its report
    bound: float = REPORT_SECONDS  # when waiting ends in any case; a tool's own time-out ends it before, in the walk
    said: Report | None = None  # the report that counts: the first one that says how it ended
    pending: Promise = field(default_factory=Promise)
    late: asyncio.Future[None] | None = None  # set once a report that came too late is being written down


class ContradictedError(Exception):
    """A call was reported once already, and otherwise than now: the first report counts."""


class SettledError(Exception):
    """A call was settled otherwise before its report came. That stands; the report is on record as disagreeing."""


class FailedError(ReportedError):
    """The loop says that its tool failed, and nothing that the model may read."""


def _same(one: Report, other: Report) -> bool:
    return (one.status, one.message) == (other.status, other.message) and equal(one.result, other.result)


def _came(report: Report) -> Came:
    """What the tool gave or raised, by this report."""
    if report.status == "failed":
        return Came(error=ToolError(report.message) if report.message else FailedError())
    return Came(error=OutcomeUnknownError()) if report.status == "unknown" else Came(value=report.result)


_ASKED: ContextVar[Ticket] = ContextVar("ticket")


class _Elsewhere:
    """One call that a loop runs: awaiting it hands it over and waits for its report, which may be told to `guard_pending` later still."""

    def __init__(self, name: str, arguments: JsonObject, key: str) -> None:
        self._name, self._arguments, self._key = name, arguments, key
        self._ticket = _ASKED.get(None)
        own = self._ticket is not None and not self._ticket.reached.is_set()
        self.guard_pending = self._ticket.pending if self._ticket is not None and own else None

    def __await__(self) -> Generator[Any, Any, Json]:
        return self._wait().__await__()

    async def _wait(self) -> Json:
        ticket = self._ticket
        if ticket is None or ticket.reached.is_set():
            raise ToolError(f"{self._name} is run by a loop elsewhere, and none is waiting for it.")
        ticket.arguments, ticket.key = self._arguments, self._key
        ticket.reached.set()
        try:
            report = await asyncio.wait_for(asyncio.shield(ticket.report), ticket.bound)
        except TimeoutError:
            gone = OutcomeUnknownError()
            gone.guard_pending = ticket.pending  # type: ignore[attr-defined]
            raise gone from None
        return _given(report, ticket)


def _given(report: Report, ticket: Ticket) -> Json:
    """What a report says that the tool gave; raises what it raised. One that says that nobody knows may be followed by one that does."""
    came = _came(report)
    if isinstance(came.error, OutcomeUnknownError):
        came.error.guard_pending = ticket.pending  # type: ignore[attr-defined]
    return came.get()


class Remote:
    """The tickets of one server."""

    def __init__(self, seconds: float = REPORT_SECONDS) -> None:
        self._seconds = seconds
        self._open: dict[str, Ticket] = {}
        self._done: OrderedDict[str, Ticket] = OrderedDict()
        self._doubted: OrderedDict[str, Ticket] = OrderedDict()

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
            run=partial(_Elsewhere, name),
            is_async=True,
            keyed=True,
            known=False,
        )

    async def propose(self, walk: Callable[[], Awaitable[Outcome]], owner: str, seconds: float | None = None) -> Outcome | Ticket:
        """Walk a call until it has its outcome, or until it may run elsewhere: then a ticket. `owner` is whose report counts, `seconds` the tool's own time-out."""
        if len(self._open) >= _MOST:
            raise OverflowError("too many calls are waiting for their reports")
        within, bound = (self._seconds, self._seconds) if seconds is None else (seconds, seconds + _MARGIN)
        ticket = Ticket(token=secrets.token_urlsafe(32), owner=owner, timeout=within, bound=bound)
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
        """Keep the outcome for a report that is sent once more, or that comes too late."""
        self._open.pop(ticket.token, None)
        if not task.cancelled() and task.exception() is None and ticket.reached.is_set():
            doubt = task.result().status == "unknown"
            kept, most = (self._doubted, _DOUBTED) if doubt else (self._done, _KEPT)
            kept[ticket.token] = ticket
            while len(kept) > most:
                kept.popitem(last=False)

    async def report(self, token: str, report: Report, owner: str) -> Outcome | None:
        """The outcome of a call, now that it is known how it ended. None for a ticket that is not known here.

        The first report that says how it ended counts. The same once more gives its outcome, marked as replayed; another one raises ContradictedError. One that
        comes when the call was given up settles it; SettledError where somebody else has, otherwise.
        """
        ended = self._done.get(token) or self._doubted.get(token)
        ticket = ended or self._open.get(token)
        if ticket is None or ticket.owner != owner or not ticket.reached.is_set() or ticket.outcome is None:
            return None
        again = ended is not None or ticket.said is not None
        if ticket.said is None or ticket.said.status == "unknown":
            ticket.said = report
        elif not _same(ticket.said, report):
            raise ContradictedError
        if not ticket.report.done():
            ticket.report.set_result(report)
        outcome = await asyncio.shield(ticket.outcome)
        if outcome.status == "unknown" and report.status != "unknown":
            return await self._late(ticket, report, outcome)
        return replace(outcome, replayed=True) if again else outcome

    async def _late(self, ticket: Ticket, report: Report, outcome: Outcome) -> Outcome:
        """Have a report written down that came when the call was unknown already; what the ledger says of it then."""
        first = ticket.late is None
        if ticket.late is None:
            ticket.late = asyncio.ensure_future(asyncio.to_thread(ticket.pending.tell, _came(report)))
        await asyncio.shield(ticket.late)
        row: CallRow | None = ticket.pending.stands
        if (
            row is None or row.outcome is None
        ):  # it was never given up, or the store is down: what is owed is written when it is back
            return replace(outcome, replayed=True)
        if not ticket.pending.settled and row.outcome.status != report.status:
            raise SettledError
        return replace(row.outcome, call_id=outcome.call_id, replayed=not first)

    async def close(self) -> None:
        """Give up every call that has no report: actions are unknown. Their outcomes are in the ledger afterwards."""
        waiting = [ticket for ticket in self._open.values() if ticket.outcome is not None]
        for ticket in waiting:
            if not ticket.report.done():
                ticket.report.set_result(Report(status="unknown"))
        await asyncio.gather(*(ticket.outcome for ticket in waiting if ticket.outcome), return_exceptions=True)
