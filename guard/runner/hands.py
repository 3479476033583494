"""Hands: how a command is carried out. What both drivers share: store calls, look-ups, running a tool, turning its answer into JSON.

A driver decides when and where (inline, in a thread, awaited); this file says what. May not decide whether anything runs.
"""

from __future__ import annotations

import functools
import inspect
import os.path
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from guard.core import ports as p
from guard.core.audit import reference
from guard.core.model import Session
from guard.core.values import Json, canonical, copy
from guard.errors import GuardError, OutcomeUnknownError, StoreError, ToolError
from guard.runner.report import failure, missing
from guard.tools import RegisteredTool, normalise

T = TypeVar("T")
Loader = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consult(p.Command[T], Generic[T]):
    """Ask the store something that is not part of the walk (approvals to list, rows to close a history with)."""

    question: Callable[[p.Store], T]


_ANSWERS: dict[type, Callable[[p.Store, Any], Any]] = {
    p.OpenTurn: lambda store, command: store.open_turn(command),
    p.LoadLedger: lambda store, command: store.load_ledger(command),
    p.FindTwins: lambda store, command: store.find_twins(command),
    p.TakeQuota: lambda store, command: store.take(command),
    p.AskApproval: lambda store, command: store.ask(command),
    p.Record: lambda store, command: store.record(command.rows, command.events),
    p.Finish: lambda store, command: store.record(command.rows, command.events),
    p.Claim: lambda store, command: store.claim(command),
    Consult: lambda store, command: command.question(store),
}


@dataclass(slots=True, kw_only=True)
class Hands:
    """The store, the registered implementations by policy name, and the loaders of facts."""

    store: p.Store
    tools: Mapping[str, RegisteredTool]
    redactor: p.Redactor
    loaders: dict[str, Loader] = field(default_factory=dict)
    patience: float | None = None  # seconds that a loader may take; None: it runs inline and is waited for

    def store_call(self, command: p.Command[Any]) -> Callable[[], Any] | None:
        """What to call for a command that the store answers; None for the others."""
        answer = _ANSWERS.get(type(command))
        return None if answer is None else functools.partial(answer, self.store, command)

    def prepare(self, command: p.Execute) -> Callable[[], Any] | p.Executed:
        """The call of a tool with a copy of exactly the arguments that were decided about; or why it may not start."""
        tool = self.tools.get(command.tool.name)
        arguments = copy(command.arguments)
        if tool is None or (command.tool.acts and canonical(arguments) != command.canonical):
            return p.Executed(error="ArgumentsChanged" if tool else "NotRegistered", started=False)
        return lambda: tool.run(arguments, command.idempotency_key)

    def raised(self, command: p.Execute, error: BaseException, started: float) -> p.Executed:
        """What a tool raised: the class for the audit, the text only where the tool declared it safe, all of it for the host's log."""
        if isinstance(error, OutcomeUnknownError):
            return p.Executed(unclear=True, ms=_since(started))
        safe = _text(error) if isinstance(error, ToolError) else None
        if safe is None:
            failure(f"tool {command.tool.name} (reference {reference(command.key)})", error, self.redactor)
        return p.Executed(error=_class(error), safe=safe, ms=_since(started))

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


def finished(value: object, started: float) -> p.Executed:
    """What a tool returned, as JSON."""
    normal = normalise(value)
    return p.Executed(value=normal.value, content=normal.blocks, failed=normal.failed, ms=_since(started))


def now() -> float:
    """A monotonic reading in seconds, for durations."""
    return time.perf_counter()


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What a tool that ran elsewhere gave or raised, carried over as a value: not every exception can travel in a future."""

    value: Any = None
    error: BaseException | None = None

    def get(self) -> Any:
        """The value; raises the error where the caller waits."""
        if self.error is not None:
            raise self.error
        return self.value


def in_thread(call: Callable[[], Any]) -> Future[Came]:
    """Run `call` in a daemon thread of its own, so that one that never returns blocks neither the caller nor the exit."""
    future: Future[Came] = Future()
    future.set_running_or_notify_cancel()  # nobody can stop it any more; a caller who gives up just does not look

    def run() -> None:
        try:
            came = Came(value=call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            came = Came(error=error)
        future.set_result(came)

    threading.Thread(target=run, daemon=True, name="guard-tool").start()
    return future


class TooLateError(TimeoutError):
    """The guard's own time-out, told apart from one that a tool raises."""


def within(call: Callable[[], Any], timeout: float | None) -> Any:
    """Run inline; with a time-out in a thread, since nothing else can be stopped waiting for. Raises TooLateError."""
    if timeout is None:
        return call()
    future = in_thread(call)
    done, _ = wait([future], timeout)
    if not done:
        raise TooLateError
    return future.result().get()


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
