"""Hands: how a command is carried out. What both drivers share: store calls, look-ups, running a tool, turning its answer into JSON.

A driver decides when and where (inline, in a thread, awaited); this file says what. May not decide whether anything runs.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os.path
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import GeneratorType
from typing import Any, Generic, TypeVar, cast

from guard.core import ports as p
from guard.core.acting import FindBlocked
from guard.core.audit_ends import reference
from guard.core.granting import FindGrants, UseGrant
from guard.core.model import Session
from guard.core.replacing import replace
from guard.core.sealing import answering
from guard.core.values import Json, canonical, copy, keyed
from guard.errors import AnsweredInterrupt, GuardError, OutcomeUnknownError, StoreError, ToolError
from guard.runner.claiming import TAKES
from guard.runner.cut_off import cut_off
from guard.runner.leases import Keeper, decided, elapsed, enough_left, written_down
from guard.runner.recalled import recalled
from guard.runner.report import LOG, failure, missing
from guard.runner.threads import Came, Promise
from guard.tools import RegisteredTool, normalise

T = TypeVar("T")
Loader = Callable[..., Any]
PROBE_SECONDS = 30.0  # how long a probe may take, where the host gave no `patience`
_PATIENT = 1.0  # seconds: a store that took longer to fail is not asked again while somebody waits
_PAUSES = (0.05, 0.2)  # seconds before an outcome that the store did not take is offered again


@dataclass(frozen=True, slots=True, kw_only=True)
class Consult(p.Command[T], Generic[T]):
    """Ask the store something that is not part of the walk (approvals to list, rows to close a history with)."""

    question: Callable[[p.Store], T]


_ANSWERS: dict[type, Callable[[p.Store, Any], Any]] = {
    p.OpenTurn: lambda store, command: store.open_turn(command),
    p.Recall: recalled,
    p.LoadLedger: lambda store, command: store.load_ledger(command),
    p.LoadHandles: lambda store, command: store.handles(command),
    FindBlocked: lambda store, command: store.blocked(command),
    p.FindTwins: lambda store, command: store.find_twins(command),
    FindGrants: lambda store, command: store.find_grants(command),
    UseGrant: lambda store, command: store.use_grant(command),
    p.TakeQuota: lambda store, command: store.take(command),
    p.AskApproval: lambda store, command: store.ask(command),
    p.Void: lambda store, command: store.end(command.approval, status="superseded", by="", event=command.event),
    p.Record: decided,
    p.Lapse: lambda store, command: store.lapse(command),
    Consult: lambda store, command: command.question(store),
}


@dataclass(slots=True, kw_only=True)
class Hands:
    """The store, the registered implementations by policy name, and the loaders of facts."""

    store: p.Store
    tools: Mapping[str, RegisteredTool]
    redactor: p.Redactor
    loaders: dict[str, Loader] = field(default_factory=dict)
    probes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)  # by the policy's names of tools
    patience: float | None = None  # seconds that a loader may take; None: it runs inline and is waited for
    keeper: Keeper = field(init=False)
    told: set[str] = field(default_factory=set)  # rules about results that the log has named

    def __post_init__(self) -> None:
        self.keeper = Keeper(self.store, self.redactor)

    def store_call(self, command: p.Command[Any]) -> Callable[[], Any] | None:
        """What to call for a command that the store answers; None for the others."""
        answer = _ANSWERS.get(type(command))
        if answer is not None:
            return functools.partial(answer, self.store, command)
        take = TAKES.get(type(command))
        if take is not None:
            return functools.partial(take, self.store, self.keeper, command)
        return functools.partial(self._finish, command) if isinstance(command, p.Finish) else None

    def _finish(self, command: p.Finish) -> p.CallRow | None:
        """Write outcomes down. That of an action is tried again for a moment, and kept until the store is back."""
        if command.later:
            self.keeper.owe(command)
            return None
        acted, begun = any(row.attempt for row in command.rows), elapsed()
        try:
            for pause in _PAUSES if acted else ():
                try:
                    return written_down(self.store, command)
                except StoreError:
                    if elapsed() - begun > _PATIENT:
                        raise
                    time.sleep(pause)
            return written_down(self.store, command)
        except BaseException as error:  # Ctrl-C too: what is known is not thrown away
            written = isinstance(error, AnsweredInterrupt) and error.error is None
            if acted and not written:
                self.keeper.owe(command)
            raise

    def late(self, command: p.Execute, pending: Future[Came] | None, started: float) -> None:
        """What a call that was given up turns out to have done, once it ends, is written down after all."""
        if pending is not None and command.late is not None:
            pending.add_done_callback(lambda future: self._late(command, future, started))

    def _late(self, command: p.Execute, future: Future[Came], started: float) -> None:
        try:
            ran = finished(future.result().get(), command, started)
        except Exception as error:  # noqa: BLE001 - as for a tool that ended in time
            ran = self.raised(command, error, started)
        except BaseException:  # noqa: BLE001 - as when it is interrupted in time: nobody knows
            return
        if ran.unclear or command.late is None:
            return  # it is unknown already
        finish = command.late(ran)
        try:
            better = self._finish(
                replace(finish, rows=tuple(replace(row, settled=False) for row in finish.rows))
            )  # yet to be told
            if isinstance(future, Promise):
                future.stands, future.settled = better or finish.rows[0], better is None
        except Exception as error:  # noqa: BLE001 - kept, or nothing that could be kept
            LOG.warning("the late end of %s could not be recorded yet: %s", command.tool.name, type(error).__name__)

    def prepare(self, command: p.Execute) -> Callable[[], Any] | p.Executed:
        """The call of a tool with a copy of exactly the arguments that were decided about; or why it may not start."""
        tool = self.tools.get(command.tool.name)
        arguments = copy(command.arguments)
        if tool is None or (command.tool.acts and canonical(arguments) != command.canonical):
            return p.Executed(error="ArgumentsChanged" if tool else "NotRegistered", started=False)
        if command.taken is None and command.tool.acts:  # INVARIANT: an action is taken first; nothing else gives it a way here
            return p.Executed(error="NotTaken", started=False)
        if command.taken is None:
            return lambda: tool.run(arguments, command.idempotency_key)
        if not enough_left(command.taken, command.tool.timeout):
            return p.Executed(started=False, lapsed=True)
        key = self.key(command.idempotency_key)
        return lambda: tool.run(arguments, key)

    def key(self, idem: str) -> str:
        """The idempotency key that a tool and a probe get: nobody can make it who does not hold the store's secret."""
        return keyed(self.store.secret, f"guard-idempotency-v1\0{idem}")

    def probe(self, command: p.Probe) -> Callable[[], Any] | None:
        """The call of the host's probe; None where it registered none."""
        probe = self.probes.get(command.tool.name)
        return None if probe is None else functools.partial(probe, self.key(command.idempotency_key))

    def raised(self, command: p.Execute, error: BaseException, started: float) -> p.Executed:
        """What a tool raised: the class for the audit, the text only where the tool declared it safe, all of it for the host's log."""
        if isinstance(error, OutcomeUnknownError) and (command.tool.acts or not isinstance(error, ToolError)):
            return p.Executed(unclear=True, ms=_since(started))
        name, hides = f"tool {command.tool.name} (reference {reference(command.key)}", answering(self.redactor, command)
        if command.tool.acts and not isinstance(error, ToolError) and cut_off(error):
            failure(f"{name}, outcome unknown)", error, hides)
            return p.Executed(unclear=True, ms=_since(started))
        safe = _text(error) if isinstance(error, ToolError) else None
        if safe is None:
            failure(f"{name})", error, hides)
        return p.Executed(error=_class(error), safe=safe, ms=_since(started))

    @contextmanager
    def busy(self, command: p.Execute) -> Iterator[None]:
        """While an action without a time-out runs, its lease is renewed; one with a time-out has a lease that is long enough."""
        if command.taken is None or command.tool.timeout is not None:
            yield
            return
        self.keeper.hold(command.key, command.taken)
        try:
            yield
        finally:
            self.keeper.drop(command.key)

    def loader(self, name: str) -> Loader | None:
        """The loader of a resource; the lack of one is told to the host's log."""
        found = self.loaders.get(name)
        if found is None:
            missing(name)
        return found

    def is_async(self, command: p.Execute) -> bool:
        """Whether the implementation must be awaited."""
        tool = self.tools.get(command.tool.name)
        return tool is not None and tool.is_async


_LONGEST = 4_000  # characters of a declared safe text


def _text(error: BaseException) -> str | None:
    try:
        return str(error)[:_LONGEST]
    except BaseException:  # noqa: BLE001 - the text of a foreign exception is foreign code
        return None


def _class(error: BaseException) -> str:
    return str(type.__dict__["__name__"].__get__(type(error)))[:100]


def guarded(call: Callable[[], Any]) -> Any:
    """Run a store call; whatever it raises besides the guard's own errors is a StoreError."""
    try:
        return call()
    except GuardError:
        raise
    except Exception as error:
        raise StoreError(f"the store failed: {type(error).__name__}") from error


def finished(value: object, command: p.Execute, started: float) -> p.Executed:
    """What a tool returned, as JSON."""
    kind = type(value)  # never what a hostile object says that it is
    if issubclass(kind, BaseException):
        raise cast("BaseException", value)  # returned in place of raised
    if issubclass(kind, Future | asyncio.Future):
        raise OutcomeUnknownError  # it promises an end that nobody here waits for
    most = command.tool.ceilings
    if issubclass(kind, GeneratorType):  # what it raises is what the tool raises
        value = list(islice(cast("Iterator[object]", value), most.result_items))
    normal = normalise(value, most.result_depth, most.result_items)
    return p.Executed(value=normal.value, content=normal.blocks, failed=normal.failed, ms=_since(started))


def probed(value: object) -> p.Probed:
    """What a probe returned: None or False, the act did not take effect; True, it did; anything else is its result.

    Raises TypeError for what has yet to be awaited: it is no answer.
    """
    if inspect.isawaitable(value):
        raise TypeError("an async probe needs AsyncGuard")
    if value is None or value is False:
        return p.Probed(happened=False)
    if value is True:
        return p.Probed(happened=True)
    normal = normalise(value)
    if not value or value is NotImplemented or isinstance(value, BaseException) or normal.failed:
        return p.Probed(happened=None)  # an empty or failed answer is none
    return p.Probed(happened=True, value=normal.value)


def now() -> float:
    """A monotonic reading in seconds, for durations."""
    return time.perf_counter()


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


# -- facts -----------------------------------------------------------------------------------------------------------------


def load_call(loader: Loader, name_of: Json, session: Session) -> Any:
    """Call a loader with the id, and with the session when it asks for one: a second parameter without a default, or called so."""
    try:
        second = list(inspect.signature(loader).parameters.values())[1:2]
    except (TypeError, ValueError):
        second = []
    wanted = any(one.name == "session" or one.default is one.empty for one in second)
    return loader(name_of, session) if wanted and second[0].kind is not second[0].VAR_KEYWORD else loader(name_of)


def distinct(command: p.LoadFacts) -> dict[tuple[str, str], tuple[str, Json]]:
    """Each record once, by its place in the answer."""
    return {(name, canonical(identity)): (name, identity) for name, identity in command.resources}


def resolved(command: p.LoadFacts) -> dict[str, str]:
    """Each path with what it really points to; a path that cannot be resolved is missing."""
    found: dict[str, str] = {}
    for path in command.paths:
        try:
            found[path] = os.path.realpath(path)
        except (OSError, ValueError):
            continue
    return found
