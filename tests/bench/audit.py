"""Benchmark of the audit: what the record of an allowed look-up costs, and how many durable records a second beside a bare insert loop.

    python tests/bench/audit.py                  # both, on an SQLite file
    python tests/bench/audit.py --json
    python tests/bench/audit.py --only read      # or: durable

`read`: CPU (all threads) of the three records of one allowed look-up (proposed, decided, ended) in the batched mode: written out by the core, sealed, put
into the file with their share of the commit, `batch` look-ups a transaction. `filed_later`: what making the three findable by index takes afterwards, here as the store is closed. The rows of the ledger are left
out: they are no records. `durable`:
records a second through a store's own transactions of `batch` records against a loop that inserts rows of the same size, as many a commit, with the
same pragmas; in turns, medians over the rounds; as in a rush, records are filed while the bare loop has its turn, and in between when a hundred thousand lie unfiled. GUARD_BENCH_SCRATCH names a real disk. Judge ratios of one run. No test asserts a time.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]

import path as of_path  # noqa: E402 - behind the path to it

from guard import Guard, Session, ToolCall  # noqa: E402 - behind the path to it
from guard.core import audit, audit_ends  # noqa: E402 - behind the path to it
from guard.core.commitments import More  # noqa: E402 - behind the path to it
from guard.core.model import Allow, CallKey, Usage  # noqa: E402 - behind the path to it
from guard.core.pipeline import guard_turn  # noqa: E402 - behind the path to it
from guard.core.ports import Event, Executed, OpenTurn, Store  # noqa: E402 - behind the path to it
from guard.runner.drivers import SyncRun  # noqa: E402 - behind the path to it
from guard.stores import open_store  # noqa: E402 - behind the path to it

BATCH = 64
READS = 2048  # of one round


@contextmanager
def file(name: str) -> Iterator[str]:
    """The path of a file on the disk that is measured."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("GUARD_BENCH_SCRATCH")) as folder:
        yield f"{folder}/{name}.db"


def events_of_a_read() -> tuple[Callable[[int], list[Event]], int]:
    """What writes the three records of one look-up out, as a walk does, and how many bytes they have."""
    call, seen = ToolCall("call_1", "query_rate", '{"level": "P3", "tier": "low"}'), list[object]()
    with of_path.folder() as place:
        guard = Guard.load(place / "policy", tools={"query_rate": of_path.query_rate}, store="memory://")
        chat = guard.open(Session(principal="alice"), wire="openai-chat", conversation="bench")
        context = replace(chat.context(), watch=lambda _, after: seen.append(after))
        opening = OpenTurn(ref=chat.ref, digest="d", calls=(call,), usage=Usage(known=False))
        outcome = SyncRun(guard.hands).run(guard_turn(opening, context)).outcomes[0]
        guard.close()
    allow = next(one for one in seen if isinstance(one, Allow))
    ref, redactor, version = chat.ref, guard.redactor, guard.policy.version

    decided_in = (0.42, "") if "ms" in More.__dataclass_fields__ else ()  # an older tree has no time of a decision

    def written(number: int) -> list[Event]:
        key, salt = CallKey(ref, number, 0), os.urandom(16).hex()
        return [
            audit.proposed(ref, number, 0, call, redactor, salt),
            audit.decided(key, call, allow, allow.call, version, redactor, chat.session, More((), salt, *decided_in)),
            audit_ends.ended(key, call, outcome, redactor, Executed(value={}, ms=0.1), audit_ends.Beside(salt=salt)),
        ]

    return written, sum(len(str(one)) for one in written(1))


def cost(rounds: int) -> dict[str, Any]:
    """Microseconds of CPU that the records of one look-up take, batched."""
    written, size = events_of_a_read()
    build, whole, later = [], [], []
    for number in range(rounds + 1):
        with file("audit") as place:
            store = open_store(f"sqlite:///{place}")
            start = time.process_time_ns()
            made = [written(turn) for turn in range(READS)]
            middle = time.process_time_ns()
            put(store, made)
            end = time.process_time_ns()
            store.close()
            filed = time.process_time_ns()
        if number:
            later.append((filed - end) / 1000 / READS)
            build.append((middle - start) / 1000 / READS)
            whole.append((end - start) / 1000 / READS)
    return {
        "read_us": statistics.median(whole),
        "best_us": min(whole),
        "of_it_written_out_us": statistics.median(build),
        "filed_later_us": statistics.median(later),
        "bytes": size,
        "batch": BATCH,
    }


def put(store: Store, made: list[list[Event]]) -> None:
    """Write the records of many look-ups, so many a transaction."""
    for first in range(0, len(made), BATCH):
        store.record((), [event for read in made[first : first + BATCH] for event in read])


def durable(rounds: int, seconds: float) -> dict[str, Any]:
    """Records a second, and rows of a bare loop, both durable, BATCH a commit."""
    written, _ = events_of_a_read()
    batch = [written(turn)[1] for turn in range(BATCH)]
    pairs = []
    with file("audit") as place, file("bare") as other:
        store, bare = open_store(f"sqlite:///{place}"), sqlite3.connect(other, isolation_level=None)
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        store.record((), batch)
        body = store.audit(limit=1)[0].body
        for _ in range(rounds + 1):
            rows = until(seconds, lambda: loop(bare, body))
            pairs.append((until(seconds, lambda: store.record((), batch)) / seconds, rows / seconds))
        store.close()
        bare.close()
    pairs = pairs[1:]
    return {
        "records_a_second": statistics.median(ours for ours, _ in pairs),
        "bare_a_second": statistics.median(rows for _, rows in pairs),
        "ratio": statistics.median(ours / rows for ours, rows in pairs),
        "batch": BATCH,
    }


def loop(bare: sqlite3.Connection, body: str) -> None:
    """One commit of the bare loop."""
    bare.execute("BEGIN IMMEDIATE")
    for _ in range(BATCH):
        bare.execute("INSERT INTO bare (body) VALUES (?)", (body,))
    bare.execute("COMMIT")


def until(seconds: float, work: Callable[[], object]) -> int:
    """How many records were written in that time."""
    stop, done = time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        work()
        done += BATCH
    return done


def main() -> int:
    """Read the command line and print."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--json", action="store_true")
    reader.add_argument("--rounds", type=int, default=7)
    reader.add_argument("--seconds", type=float, default=0.5, help="of one round of `durable`")
    reader.add_argument("--only", choices=("read", "durable"))
    wanted = reader.parse_args()
    found: dict[str, Any] = {}
    if wanted.only != "durable":
        found["read"] = cost(wanted.rounds)
    if wanted.only != "read":
        found["durable"] = durable(wanted.rounds, wanted.seconds)
    if wanted.json:
        print(json.dumps({"load": os.getloadavg()[0], **found}))
        return 0
    for name, row in found.items():
        print(
            name, "  ".join(f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
        )
    print(f"{wanted.rounds} rounds, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
