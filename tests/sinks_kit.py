"""What the tests of sinks share: sinks that do as they are told, and records to send."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stores_kit import REF, event

from guard.core.outbox import Outbox
from guard.core.ports import Sealed, Store
from guard.proof.alone import check_files
from guard.proof.checking import Report
from guard.sinks import Bounds, Follower, SinkError
from guard.stores.outbox import outbox_of

QUICK = Bounds(first=1.0, timeout=5.0)


class Shelf:
    """Keeps what it gets. `fails` is asked before each batch; what it gives is raised."""

    def __init__(self, name: str = "shelf", fails: Any = None) -> None:
        self.name = name
        self.got: list[Sealed] = []
        self.fails = fails
        self.closed = False

    def send(self, batch: Sequence[Sealed]) -> None:
        error = self.fails(batch) if self.fails is not None else None
        self.got += batch[: getattr(error, "sent", 0)] if error is not None else batch
        if error is not None:
            raise error

    def close(self) -> None:
        self.closed = True

    def numbers(self) -> list[tuple[int, int]]:
        return [(one.chain, one.seq) for one in self.got]


class Stuck(Shelf):
    """Hangs until it is let go."""

    def __init__(self) -> None:
        super().__init__("stuck")
        self.go = threading.Event()
        self.calls = 0

    def send(self, batch: Sequence[Sealed]) -> None:
        self.calls += 1
        self.go.wait(30)
        super().send(batch)


def dying(point: int, os_of: Any, one: Follower) -> None:
    """From here on this process is killed at the `point`th write, flush or note of how far it got; a write is half done then."""
    count = 0
    box, write, flush = one._outbox, os_of.write, os_of.fsync

    def dies() -> bool:
        nonlocal count
        count += 1
        return count == point

    def writes(handle: int, data: Any) -> int:
        if dies():
            write(handle, bytes(data)[: len(data) // 2])
            os.kill(os.getpid(), 9)
        done: int = write(handle, data)
        return done

    def flushes(handle: int) -> None:
        if dies():
            os.kill(os.getpid(), 9)
        flush(handle)

    class Box:
        def __getattr__(self, name: str) -> Any:
            if name == "advance" and dies():
                os.kill(os.getpid(), 9)
            return getattr(box, name)

    os_of.write, os_of.fsync, one._outbox = writes, flushes, Box()  # type: ignore[assignment]


def down(_: Any) -> SinkError:
    return SinkError("nobody answers")


def refusing(*seqs: int) -> Any:
    """Refuses records of these numbers for good."""

    def fails(batch: Sequence[Sealed]) -> SinkError | None:
        bad = [number for number, one in enumerate(batch) if one.seq in seqs and "sink." not in one.body]
        return SinkError("it was refused", retry=False, sent=bad[0]) if bad else None

    return fails


def write(store: Store, count: int, *, kind: str = "call.decided", conversation: str = "conv-1", **fields: Any) -> None:
    """So many records of one conversation, so of one chain."""
    store.record((), [event(kind, conversation=conversation, number=number, **fields) for number in range(count)])


def follower(store: Store, sink: Any, bounds: Bounds = QUICK) -> Follower:
    store.open(REF)
    return Follower(outbox_of(store), sink, bounds)


def standing(store: Store, sink: str = "shelf") -> Any:
    return box(store).standing(sink)


def box(store: Store) -> Outbox:
    return outbox_of(store)


def checked(paths: Iterable[Path], *, partial: bool = False) -> Report:
    """What exported files prove, in the order of their names."""
    return check_files([str(path) for path in sorted(paths)], [], None, partial=partial)


def told(store: Store, kind: str) -> list[Any]:
    """What stands in records of a kind."""
    bodies = [json.loads(one.body) for chain in range(store.chains) for one in store.audit(chain=chain)]
    return [body for body in bodies if body["kind"] == kind]


def in_order(numbers: Sequence[tuple[int, int]]) -> bool:
    """Whether each chain's numbers rise, repeats of a whole stretch (sent again) left out."""
    seen: dict[int, int] = {}
    for chain, seq in numbers:
        if seq > seen.get(chain, 0) + 1:
            return False
        seen[chain] = max(seq, seen.get(chain, 0))
    return True
