"""The driver for asyncio callers: tools are awaited, look-ups that stand together overlap, stores run in a thread.

Gives the same answers to the same commands as the plain one. When the caller's task is cancelled the command under way is answered, nothing
new starts, the flow closes every call in the ledger, and then the cancellation goes on up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from inspect import iscoroutinefunction
from time import monotonic
from typing import Any, TypeVar

from guard.core import ports as p
from guard.core.model import Outcome
from guard.core.sealing import veiled
from guard.runner.hands import PROBE_SECONDS, Hands, distinct, finished, guarded, load_call, now, probed, resolved
from guard.runner.landing import Calm, Landing
from guard.runner.records import record
from guard.runner.report import failure
from guard.runner.threads import Came, TooLateError, in_thread
from guard.runner.waiting import PATIENCE, Watch

T = TypeVar("T")
_STARTS = (p.Claim, p.Outright, p.Begin, p.Execute)
_FOREIGN = (Exception, SystemExit, asyncio.CancelledError)
"""What a tool or loader may raise and only fails itself by it: nothing is left running that these could mean to stop."""


class AsyncRun:
    """Carries out one flow for an asyncio caller: tools are awaited, look-ups that stand together overlap, stores run in a thread.

    `calm`: for whoever has the loop to itself, how long it may stand still for a store that is about to answer. `beside` is called with an outcome while
    that is being written down in a thread; it may not raise, nor tell anybody.
    """

    def __init__(self, hands: Hands, *, calm: Calm | None = None, beside: Callable[[Outcome], None] | None = None) -> None:
        self._hands = hands
        self._calm, self._beside = calm, beside
        self._interrupt: BaseException | None = None
        self._until: float | None = None  # when the patience for all that is waited for ends

    async def run(self, flow: p.Flow[T]) -> T:
        """The flow's result; raises what interrupted the caller once everything is closed."""
        value = await self._drive(flow)
        if self._interrupt is not None:
            raise self._interrupt
        return value

    async def _drive(self, flow: p.Flow[T]) -> T:
        try:
            command = next(flow)
            while True:
                try:
                    answer = await self._perform(command)
                except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
                    command = flow.throw(error)
                else:
                    command = flow.send(answer)
        except StopIteration as stop:
            value: T = stop.value
            return value

    async def _perform(self, command: p.Command[Any]) -> Any:
        if self._interrupt is not None and isinstance(command, _STARTS):
            raise p.HaltedError
        call = self._hands.store_call(command)
        if call is not None:
            return await self._store(call, command)
        if isinstance(command, p.Execute):
            return await self._execute(command)
        if isinstance(command, p.Together):
            return await self._together(command)
        if isinstance(command, p.LoadFacts):
            return await self._facts(command)
        if isinstance(command, p.Join):
            return await self._join(command)
        if isinstance(command, p.Probe):
            return await self._probe(command)
        raise TypeError(f"no driver knows {type(command).__name__}")

    async def _store(self, call: Callable[[], Any], command: p.Command[Any] | None = None) -> Any:
        """A store call in a thread. Cancellation cannot stop a statement that runs, so its answer is waited for."""
        if not self._hands.store.blocking or self._interrupt is not None:
            return guarded(call)
        calm, asked = self._calm, partial(guarded, call)
        if calm is not None:
            tried = calm.tried(self._hands.store, asked)
            if tried is not None:
                return tried[0]
            asked = partial(calm.timed, asked)
        landing = Landing(asked, patient=calm is not None)
        if self._beside is not None and isinstance(command, p.Finish) and command.rows and command.rows[0].outcome is not None:
            self._beside(command.rows[0].outcome)
        soon = landing.soon(0 if calm is None else calm.seconds)
        if soon is not None:
            return soon.get()
        while True:
            try:
                return (await landing.came()).get()
            except asyncio.CancelledError as error:
                self._interrupt = error

    async def _together(self, command: p.Together) -> tuple[Any, ...]:
        tasks = [asyncio.ensure_future(self._drive(flow)) for flow in command.flows]
        while not all(task.done() for task in tasks):
            try:
                await asyncio.wait(tasks)
            except asyncio.CancelledError as error:
                self._interrupt = error
                for task in tasks:
                    task.cancel()
        return tuple(task.result() for task in tasks)

    async def _execute(self, command: p.Execute) -> p.Executed:
        call = self._hands.prepare(command)
        if isinstance(call, p.Executed):
            return call
        started, before = now(), _cancels()
        try:
            with self._hands.busy(command):
                value = await self._call(call, self._hands.is_async(command), command.tool.timeout)
                done = finished(value, command, started)
        except TooLateError as error:
            self._hands.late(command, error.pending, started)
            done = p.Executed(timed_out=True)
        except asyncio.CancelledError as error:
            if _cancels() > before:
                self._interrupt = error
                self._hands.late(command, getattr(error, "guard_pending", None), started)
                return p.Executed(interrupted=True)
            return self._hands.raised(command, error, started)  # the tool cancelled itself
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool is foreign code: whatever it raises is a failed result
            done = self._hands.raised(command, error, started)
            self._hands.late(command, getattr(error, "guard_pending", None), started)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C goes on up once the turn is closed
            self._interrupt = error
            return p.Executed(interrupted=True)
        if _cancels() > before:  # the tool kept the caller's cancellation to itself
            self._interrupt = asyncio.CancelledError()
        return done

    async def _call(self, call: Callable[[], Any], awaited: bool, seconds: float | None) -> Any:  # noqa: FBT001 - private
        if seconds is None:
            value = call()
            return await value if awaited else value
        waited: asyncio.Future[Came]
        running: Any = call() if awaited else in_thread(call)
        waited = asyncio.ensure_future(_came(running)) if awaited else asyncio.wrap_future(running)
        try:
            done, _ = await asyncio.wait({waited}, timeout=seconds)
        except asyncio.CancelledError as error:
            error.guard_pending = _given_up(waited, running)  # type: ignore[attr-defined]
            raise
        if not done:
            raise TooLateError(_given_up(waited, running))
        return waited.result().get()

    async def _join(self, command: p.Join) -> p.Joined:
        self._until = monotonic() + PATIENCE if self._until is None else self._until
        watch = Watch(self._hands.store, command.row, self._until)
        while True:
            found: p.Joined | None = watch.leave() if self._interrupt is not None else await self._store(watch.look)
            if found is not None:
                return found
            try:
                await asyncio.sleep(watch.pause)
            except asyncio.CancelledError as error:
                self._interrupt = error

    async def _probe(self, command: p.Probe) -> p.Probed:
        call, before = self._hands.probe(command), _cancels()
        if call is None:
            return p.Probed(happened=None)
        try:
            awaited = iscoroutinefunction(self._hands.probes[command.tool.name])
            value = await self._call(call, awaited, self._hands.patience or PROBE_SECONDS)
            return probed(await value if asyncio.iscoroutine(value) else value)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what cannot be found out is not known
            failure(f"the probe of {command.tool.name}", error, self._hands.redactor)
        except BaseException as error:  # noqa: BLE001 - as for a tool
            if _cancels() > before or not isinstance(error, asyncio.CancelledError):
                self._interrupt = error
        return p.Probed(happened=None)

    async def _facts(self, command: p.LoadFacts) -> p.Facts:
        found: dict[tuple[str, str], Any] = {}
        for place, (name, identity) in distinct(command).items():
            loader, before = self._hands.loader(name), _cancels()
            if loader is None:
                continue
            try:
                call = partial(load_call, loader, identity, command.session)
                value = await self._call(call, iscoroutinefunction(loader), self._hands.patience)
                found[place] = record(await value if asyncio.iscoroutine(value) else value)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a fact that cannot be had is missing, and what is missing refuses
                failure(f"the loader of {name}", error, veiled(self._hands.redactor, command.revealed))
            except BaseException as error:  # noqa: BLE001 - as for a tool
                if _cancels() > before or not isinstance(error, asyncio.CancelledError):
                    self._interrupt = error
        return p.Facts(resources=found, resolved=resolved(command))


def _cancels() -> int:
    """How often the caller's task was asked to stop: tells its cancellation from one that a tool raises by itself."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def _given_up(waited: asyncio.Future[Came], value: Any) -> Future[Came]:
    """Stop waiting; what goes on all the same, so that what it does in the end can still be learned.

    A thread goes on, and so does what is run elsewhere; a task that was told to stop may end otherwise. That is told in a thread, since writing it down may
    wait for a disk.
    """
    waited.cancel()
    if isinstance(value, Future):
        return value
    elsewhere: Future[Came] | None = getattr(value, "guard_pending", None)
    if elsewhere is not None:
        return elsewhere
    told: Future[Came] = Future()

    def ended(task: asyncio.Future[Came]) -> None:
        came = None if task.cancelled() else task.result()
        if came is not None and not isinstance(came.error, asyncio.CancelledError):
            in_thread(lambda: told.set_result(came))

    waited.add_done_callback(ended)
    return told


async def _came(coroutine: Awaitable[Any]) -> Came:
    """What a tool in a task of its own gave or raised, as a value: a task that ends with SystemExit would end the event loop."""
    try:
        return Came(value=await coroutine)
    except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
        return Came(error=error)
