"""Reload: builds a new policy aside, and publishes it by one assignment or leaves the old one in force and says so.

One reload at a time; what is published last is what was read last. A policy in force is never changed. Where it comes from and what makes it
a good one is the source's business (`guard.compose`). Comes after `force`; the watcher and the guard use it.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from guard.core.audit_policy import Parts
from guard.core.ports import Policy, Redactor
from guard.errors import GuardError, PolicyError, Problem
from guard.runner.force import InForce
from guard.runner.leases import elapsed
from guard.runner.policy_log import replaced
from guard.runner.report import published, unpublished
from guard.tools import RegisteredTool

_PAUSE = 0.05  # seconds between two readings that must be the same
_READINGS = 40
_ALL: weakref.WeakSet[Reloader] = weakref.WeakSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What a reload did. `changed` is False where the contents were those that are in force; `warnings` are what is probably not meant."""

    version: str
    changed: bool
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyState:
    """The policy in force, as one would ask a running program.

    `age` is how many seconds ago its files (and rules) were last found to be what is in force, `loads` how often a policy was published,
    `failure` what was wrong at the last try, redacted, or None. `stale`: it is older than `stale_after`, so every call is refused. `watching`:
    a thread looks for changes. `previous` is the version that `roll_back` would put in force again, or None.
    """

    version: str
    age: float
    loads: int
    failure: str | None
    stale: bool
    watching: bool
    previous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A policy that may be used, its tools by the policy's names, and what is probably not meant."""

    policy: Policy
    tools: Mapping[str, RegisteredTool]
    warnings: tuple[Problem, ...] = ()
    redactor: Redactor | None = None  # what this policy hides; None: the same as before
    parts: Parts = field(default_factory=dict)  # what it consists of, for the audit


class Reading(Protocol):
    """What stood in the policy's places at one moment."""

    @property
    def mark(self) -> str:
        """The same for the same contents."""

    @property
    def stamp(self) -> object:
        """The same for the same contents where nobody has written meanwhile."""


class Source(Protocol):
    """Where policies come from."""

    def read(self, *, ask: bool) -> Reading:
        """Read everything; `ask`: a database as well, else what it said last. Raises PolicyError."""

    def build(self, reading: Reading) -> Built:
        """Compile and check exactly what was read. Raises PolicyError with every problem at once."""

    def close(self) -> None:
        """Give back what reading holds open."""


class Reloader:
    """Holds the one reference to what is in force. `stale_after`: seconds for which it is relied on without being found again."""

    def __init__(self, first: InForce, source: Source | None, *, stale_after: float | None = None) -> None:
        self.current = first  # INVARIANT: replaced by assignment only
        self.failure: str | None = None
        self.previous: InForce | None = None  # what was in force before
        self.left: str | None = None  # the contents that were rolled back: only a reload that somebody asks for loads them again
        self.loads = 1
        self.source = source
        self.stale_after = stale_after
        self._found = elapsed()
        self.unlock()
        _ALL.add(self)

    def unlock(self) -> None:
        """A lock that nobody holds: at the beginning, and in a child process whose parent may have been reloading."""
        self._lock = threading.Lock()
        self._owner: int | None = None

    @property
    def in_force(self) -> InForce:
        """What is to be judged by now."""
        current = self.current
        return current.expired() if self.stale else current

    @property
    def stale(self) -> bool:
        """Whether the policy was not found to be the right one for too long."""
        return self.stale_after is not None and elapsed() - self._found > self.stale_after

    def state(self, *, watching: bool) -> PolicyState:
        """See PolicyState."""
        return PolicyState(
            version=self.current.policy.version,
            age=elapsed() - self._found,
            loads=self.loads,
            failure=self.failure,
            stale=self.stale,
            watching=watching,
            previous=None if self.previous is None else self.previous.policy.version,
        )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One reload at a time. Raises GuardError where this very thread is reloading already."""
        if self._owner == threading.get_ident():
            raise GuardError("a policy cannot be reloaded by what is being run to check it")
        with self._lock:
            self._owner = threading.get_ident()
            try:
                yield
            finally:
                self._owner = None

    def reload(self) -> Reloaded:
        """Read, build, check, publish. Raises PolicyError with every problem at once; the old policy then stays in force.

        Only contents that were the same at two looks are loaded, so that a folder that is just being written is not.
        """
        source = self._source()
        with self.alone(), self._told():
            reading = source.read(ask=True)
            for _ in range(_READINGS if reading.mark != self.current.mark else 0):
                time.sleep(_PAUSE)
                before, reading = reading, source.read(ask=False)
                if before.stamp == reading.stamp:
                    return self.load(reading)
            if reading.mark == self.current.mark:
                return self.load(reading)
            raise PolicyError([Problem(file="the policy", message="its files change all the time", cure="try again")])

    def load(self, reading: Reading) -> Reloaded:
        """Publish what was read, unless it is what is in force. Raises PolicyError. Only for whoever is `alone`."""
        current = self.current
        if reading.mark == current.mark:
            self.found()
            return Reloaded(version=current.policy.version, changed=False)
        built = _built(self._source(), reading)
        self.previous, self.left = current, None
        self._put(current.followed_by(built.policy, built.tools, reading.mark, built.redactor, built.parts), "reload")
        self.loads += 1
        self.found()
        published(built.policy.version, built.warnings, current.hands.redactor)
        return Reloaded(version=built.policy.version, changed=True, warnings=built.warnings)

    def _put(self, version: InForce, how: str) -> None:
        """Put a version in force and on record: what is still owed to the store is hidden as this one says."""
        before, self.current = self.current, version
        version.hands.keeper.redactor = version.hands.redactor
        replaced(before, version, how)

    def roll_back(self) -> Reloaded:
        """Put the policy in force again that was before. Raises GuardError where none is kept. The folder stays as it is."""
        with self.alone():
            current, before = self.current, self.previous
            if before is None:
                raise GuardError(
                    "no earlier policy is kept: only the one before the newest load is, and until it is back in force"
                )
            self._put(before, "roll_back")
            self.previous, self.left = None, current.mark
            self.loads += 1
            told = f"{current.policy.version[:12]} was rolled back; the folder still holds it: mend it, or reload it"
            self.failed(GuardError(told))
            published(before.policy.version, (), before.hands.redactor)
            return Reloaded(version=before.policy.version, changed=True)

    def close(self) -> None:
        """Give back what the source holds open."""
        if self.source is not None:
            self.source.close()

    def found(self) -> None:
        """What is in force is what the files say."""
        self._found = elapsed()
        self.failure = None

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failed(error)
            raise

    def failed(self, error: Exception) -> None:
        """Keep what went wrong, and say it in the host's log once for each text."""
        current = self.current
        self.failure = unpublished(current.policy.version, error, current.hands.redactor, before=self.failure)

    def _source(self) -> Source:
        if self.source is None:
            raise GuardError("this guard was not loaded from a policy folder, so there is nothing to reload")
        return self.source


def _built(source: Source, reading: Reading) -> Built:
    try:
        return source.build(reading)
    except GuardError:
        raise
    except Exception as error:
        raise PolicyError([Problem(file="the policy", message=f"it cannot be built: {type(error).__name__}")]) from error


def _after_fork() -> None:
    for reloader in list(_ALL):
        reloader.unlock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
