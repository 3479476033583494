"""The driver for plain callers: a short loop that carries out a flow's commands.

Gives the same answers to the same commands as the one for asyncio. When the caller is interrupted (Ctrl-C) the command under way is answered,
nothing new starts, the flow closes every call in the ledger, and then the interruption goes on up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from guard.core import ports as p
from guard.core.sealing import veiled
from guard.errors import AnsweredInterrupt, StoreError
from guard.runner.hands import PROBE_SECONDS, Hands, distinct, finished, guarded, load_call, now, probed, resolved
from guard.runner.records import record
from guard.runner.report import failure
from guard.runner.threads import TooLateError, within
from guard.runner.waiting import PATIENCE, Watch

T = TypeVar("T")
_STARTS = (p.Claim, p.Outright, p.Begin, p.Execute)
_FOREIGN = (Exception, SystemExit, GeneratorExit, asyncio.CancelledError)
"""What a tool or loader may raise and only fails itself by it: nothing is left running that these could mean to stop."""


class SyncRun:
    """Carries out one flow for a plain caller."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._interrupt: BaseException | None = None
        self._until: float | None = None  # when the patience for all that is waited for ends

    def run(self, flow: p.Flow[T]) -> T:
        """The flow's result; raises what interrupted the caller once everything is closed."""
        value = self._drive(flow)
        if self._interrupt is not None:
            raise self._interrupt
        return value

    def _drive(self, flow: p.Flow[T]) -> T:
        try:
            command = next(flow)
            while True:
                try:
                    answer = self._perform(command)
                except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
                    command = flow.throw(error)
                else:
                    command = flow.send(answer)
        except StopIteration as stop:
            value: T = stop.value
            return value

    def _perform(self, command: p.Command[Any]) -> Any:
        if self._interrupt is not None and isinstance(command, _STARTS):
            raise p.HaltedError
        call = self._hands.store_call(command)
        if call is not None:
            return self._store(call)
        if isinstance(command, p.Execute):
            return self._execute(command)
        if isinstance(command, p.Together):
            return tuple(self._drive(flow) for flow in command.flows)
        if isinstance(command, p.LoadFacts):
            return self._facts(command)
        if isinstance(command, p.Join):
            return self._join(command)
        if isinstance(command, p.Probe):
            return self._probe(command)
        raise TypeError(f"no driver knows {type(command).__name__}")

    def _store(self, call: Callable[[], Any]) -> Any:
        try:
            return guarded(call)
        except AnsweredInterrupt as error:  # the store had begun to write, and has ended
            self._interrupt = error
            return guarded(error.result)
        except KeyboardInterrupt as error:
            self._interrupt = error
            raise StoreError("interrupted while the store was asked") from error

    def _execute(self, command: p.Execute) -> p.Executed:
        call = self._hands.prepare(command)
        if isinstance(call, p.Executed):
            return call
        started = now()
        try:
            with self._hands.busy(command):
                return finished(within(call, command.tool.timeout), command, started)
        except TooLateError as error:
            self._hands.late(command, error.pending, started)
            return p.Executed(timed_out=True)
        except _FOREIGN as error:
            return self._hands.raised(command, error, started)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C goes on up once the turn is closed
            self._interrupt = error
            self._hands.late(command, getattr(error, "guard_pending", None), started)
            return p.Executed(interrupted=True)

    def _join(self, command: p.Join) -> p.Joined:
        self._until = monotonic() + PATIENCE if self._until is None else self._until
        watch = Watch(self._hands.store, command.row, self._until)
        while True:
            found: p.Joined | None = watch.leave() if self._interrupt is not None else self._store(watch.look)
            if found is not None:
                return found
            try:
                time.sleep(watch.pause)
            except BaseException as error:  # noqa: BLE001 - Ctrl-C goes on up once the turn is closed
                self._interrupt = error

    def _probe(self, command: p.Probe) -> p.Probed:
        call = self._hands.probe(command)
        if call is None:
            return p.Probed(happened=None)
        try:
            return probed(within(call, self._hands.patience or PROBE_SECONDS))
        except _FOREIGN as error:
            failure(f"the probe of {command.tool.name}", error, self._hands.redactor)
        except BaseException as error:  # noqa: BLE001 - as for a tool
            self._interrupt = error
        return p.Probed(happened=None)

    def _facts(self, command: p.LoadFacts) -> p.Facts:
        found: dict[tuple[str, str], Any] = {}
        for place, (name, identity) in distinct(command).items():
            loader = self._hands.loader(name)
            if loader is None:
                continue
            try:
                call = partial(load_call, loader, identity, command.session)
                found[place] = record(within(call, self._hands.patience))
            except _FOREIGN as error:  # a fact that cannot be had is missing, and what is missing refuses
                failure(f"the loader of {name}", error, veiled(self._hands.redactor, command.revealed))
            except BaseException as error:  # noqa: BLE001 - as for a tool
                self._interrupt = error
        return p.Facts(resources=found, resolved=resolved(command))
