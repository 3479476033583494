"""Relay: the followers of several sinks, each in a thread of its own, until they are told to stop. Comes after follower.

Nothing here ends a program or holds one up: threads are daemons, what goes wrong is logged and tried again, and closing waits no longer than it
is told to.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from guard.core.outbox import Outbox
from guard.errors import StoreError
from guard.sinks.follower import POLL, Follower, Step
from guard.sinks.port import Bounds, Sink

LOG = logging.getLogger("guard.sinks")
_DOWN = 2.0  # seconds between two looks at a store that is down
_LONGEST = 5.0  # seconds between two looks at a sink that is to be tried later


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A sink with its bounds."""

    sink: Sink
    bounds: Bounds = field(default_factory=Bounds)


class Relay:
    """Sends to all of its sinks. `said` is called after each step that did something, with the sink's name."""

    def __init__(
        self, outbox: Outbox, sinks: Sequence[Planned | Sink], *, said: Callable[[str, Step], None] | None = None
    ) -> None:
        planned = [one if isinstance(one, Planned) else Planned(sink=one) for one in sinks]
        self.followers = [Follower(outbox, one.sink, one.bounds) for one in planned]
        self._said = said or _log
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> Self:
        """Begin; a second time does nothing."""
        if not self._threads:
            self.begin()
            for one in self.followers:
                name = f"guard-follower-{one.sink.name}"
                self._threads.append(threading.Thread(target=self._run, args=(one,), name=name, daemon=True))
            for thread in self._threads:
                thread.start()
        return self

    def close(self, seconds: float = 10.0) -> None:
        """Stop after the step under way, waiting for each sink so long at most, and close the sinks."""
        self._stop.set()
        for thread in self._threads:
            thread.join(seconds)
        for one in self.followers:
            with suppress(StoreError):  # what was sent is known to the cursors all the same
                one.end()
            one.close()

    def begin(self) -> None:
        """Write down where new sinks begin."""
        for one in self.followers:
            with suppress(StoreError):  # a store that is down may be up by the first step
                one.begin()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def hanging(self) -> tuple[str, ...]:
        """The sinks of which an attempt has not ended although its time is over."""
        return tuple(one.sink.name for one in self.followers if one.hangs())

    def _run(self, follower: Follower) -> None:
        while not self._stop.is_set():
            step = self.stepped(follower)
            self._stop.wait(min(step.wait, _LONGEST))

    def stepped(self, follower: Follower) -> Step:
        """One step that never raises."""
        try:
            step = follower.step()
        except StoreError as error:
            LOG.warning("%s: %s", follower.sink.name, error)
            return Step("down", _DOWN, error=str(error))
        except Exception as error:
            LOG.exception("%s: a step failed", follower.sink.name)
            return Step("down", _DOWN, error=type(error).__name__)
        if step.did in ("sent", "failed"):
            self._said(follower.sink.name, step)
        return step


def _log(name: str, step: Step) -> None:
    if step.did == "failed":
        LOG.warning("%s: %s; next try in %.0f seconds", name, step.error, max(step.wait, 0.0))


__all__ = ["POLL", "Planned", "Relay"]
