"""Fleet: forks the processes, kills and stops them from outside too, wakes those that sleep, and starts a new one for each that died."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from crash import scene, targets
from crash.cast import Host, Stage
from crash.seams import SLEEP, Dice


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a run is asked for. `kill` and `sleep` are chances at one seam; `outside` is how many a second are killed from outside."""

    url: str
    folder: Path
    kills: int
    seed: int = 1
    processes: int = scene.PROCESSES
    kill: float = 0.015
    sleep: float = 0.02
    outside: float = 1.0
    naive: bool = False
    seconds: float = 3_600.0  # a run that takes longer has hung


class BrokenError(Exception):
    """A process ended in another way than it should; the text is what it wrote."""


def forked(folder: Path, name: str, work: Callable[[], None]) -> int:
    """A new process that does this work and nothing else; what it writes to stderr goes to a file."""
    child = os.fork()
    if child:
        return child
    try:
        handle = os.open(folder / f"{name}.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(handle, 2)
        work()
        os._exit(0)
    except BaseException:  # nothing of the parent may run in here
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def said(folder: Path, name: str) -> str:
    """What a process wrote."""
    return (folder / f"{name}.err").read_text()[-3_000:]


@dataclass(slots=True)
class Fleet:
    """The processes of a run. `kills` counts those that really died by SIGKILL."""

    wanted: Wanted
    stage: Stage
    kills: int = 0
    started: int = 0
    slots: dict[int, int] = field(default_factory=dict)  # process id → slot
    asleep: dict[int, float] = field(default_factory=dict)  # process id → when it is woken

    def run(self, progress: Callable[[int], None]) -> None:
        """Until enough have been killed; then all that are left are killed too. Raises BrokenError."""
        dice, until = Random(self.wanted.seed), time.monotonic() + self.wanted.seconds
        try:
            for slot in range(self.wanted.processes):
                self._start(slot)
            while self.kills < self.wanted.kills:
                if time.monotonic() > until:
                    raise BrokenError(f"only {self.kills} kills in {self.wanted.seconds:.0f} s")
                self._reap()
                self._wake()
                self._hit(dice)
                progress(self.kills)
                time.sleep(0.005)
        finally:
            self._end()

    def _start(self, slot: int) -> None:
        self.started += 1
        name = f"{self.wanted.seed}:{slot}:{self.started}"
        self.slots[forked(self.wanted.folder, f"slot-{slot}", lambda: self._work(slot, name))] = slot

    def _work(self, slot: int, name: str) -> None:
        """One process: its slot's conversations, one after the other, from the one that the process before it left."""
        wanted = self.wanted
        dice = Dice(wanted.folder, name, kill=wanted.kill, sleep=wanted.sleep)
        host = Host(self.stage, self.stage.equip(wanted.url, dice, naive=wanted.naive), wanted.seed)
        place = wanted.folder / f"slot-{slot}"
        number = int(place.read_text()) if place.exists() else slot
        while True:
            scene.keep(place, number)
            host.play(number, crashed=True)
            number += wanted.processes
            for _ in range(3):
                host.meddle(wanted.processes)

    def _reap(self) -> None:
        while True:
            child, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if not child:
                return
            if os.WIFSTOPPED(status):
                self.asleep.setdefault(child, time.monotonic() + SLEEP)
                continue
            slot = self._gone(child, status)
            self._start(slot)

    def _gone(self, child: int, status: int) -> int:
        slot = self.slots.pop(child)
        self.asleep.pop(child, None)
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            raise BrokenError(f"slot {slot} ended with status {status}: {said(self.wanted.folder, f'slot-{slot}')}")
        self.kills += 1
        return slot

    def _wake(self) -> None:
        for child, when in list(self.asleep.items()):
            if time.monotonic() >= when:
                del self.asleep[child]
                os.kill(child, signal.SIGCONT)

    def _hit(self, dice: Random) -> None:
        """From outside, wherever it is just now: a kill, or a pause."""
        if dice.random() < self.wanted.outside * 0.005:
            os.kill(dice.choice(list(self.slots)), signal.SIGKILL)
        if dice.random() < self.wanted.outside * 0.001:
            child = dice.choice(list(self.slots))
            if child not in self.asleep:
                targets.write(self.wanted.folder, "late", "stopped_outside")
                os.kill(child, signal.SIGSTOP)

    def _end(self) -> None:
        for child in list(self.slots):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            with suppress(BrokenError):
                self._gone(child, status)
