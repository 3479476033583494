"""Benchmark of the stores: durable claims a second beside a bare loop that commits one row at a time with the same driver and workers.

    python tests/bench/stores.py                              # SQLite and PostgreSQL, 1 to 16 threads
    python tests/bench/stores.py --stores postgres --processes
    python tests/bench/stores.py --profile                    # where the time of a claim goes, one worker
    python tests/bench/stores.py --stores sqlite --workers 16 --delays 0,0.25,0.5,1,2    # as on disks whose flush takes so many ms longer

A claim is `store.claim` of a call that nobody has: it locks, looks for twins, takes the call by a unique key, writes its row and payload and seals an
audit record of about 700 bytes, in one durable transaction. The loop inserts rows of 700 bytes. Both run for the same time in turns, which begins
when each worker is connected and has done a few, each in a conversation of its own; figures are medians over the rounds. The server is the one that
GUARD_TEST_POSTGRES names, else an embedded one with fsync on. GUARD_BENCH_SCRATCH names a real disk. `flush` is how long one flush of that disk
takes, measured beside each round: what group commit saves is flushes, so the ratio on SQLite depends on it. `--delays` makes each flush of this
program longer, through tests/bench/slow_flush.c; with GUARD_BENCH_SCRATCH=/dev/shm, where a flush takes no time, `--delays 0.15,4` is a quick and a
common disk, whatever the machine's own is doing. `floor` is the ratio that the driver alone reaches in one thread with the statements of as many
claims in each commit, their values made before: no store on this file can reach more (tests/bench/stores_floor.py), and `of it` how much of that the
store reaches. Judge the ratios of one run, never the figures of two. No test asserts a time.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import multiprocessing
import os
import pstats
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE)]

import postgres_kit  # noqa: E402 - behind the path to it
import psycopg  # noqa: E402 - behind the path to it
from stores_kit import REF, key  # noqa: E402 - behind the path to it
from stores_kit import row as row_of  # noqa: E402

from guard.core.model import ConversationRef  # noqa: E402 - behind the path to it
from guard.core.ports import Claim, Store, Won  # noqa: E402 - behind the path to it
from guard.stores import open_store  # noqa: E402 - behind the path to it

TAKEN = row_of("started")
WORKERS = (1, 2, 4, 8, 16)
WARM = 20  # of each worker before the time begins: connections are made then, statements prepared, plans kept
BODY = "x" * 700
PAD = "x" * 480  # so that the sealed record has about 700 bytes, as a real one
INSERT = "INSERT INTO bare (body) VALUES (?)"
TABLE = "CREATE TABLE bare (id {serial}, body TEXT NOT NULL)"


def command(worker: int, number: int) -> Claim:
    """A claim that nobody made before."""
    taken = replace(TAKEN, key=key(number, ref=who(worker)), fingerprint=f"f{number}", mark=f"m{number}")
    head = f'"kind":"call.begin","tenant":"acme","conversation":"bench-{worker}","turn":{number},"position":0'
    return Claim(row=taken, approval=None, event=f'{head},"pad":"{PAD}"')


@cache
def who(worker: int) -> ConversationRef:
    """The conversation of a worker."""
    return replace(REF, conversation=f"bench-{worker}")


def until(stop: float, work: Callable[[int], object]) -> int:
    """How often `work` was done before that moment."""
    done = 0
    while time.monotonic() < stop:
        work(done)
        done += 1
    return done


def claims(store: Store, worker: int, start: int, begin: Callable[[], float]) -> int:
    """Claims of one worker."""

    def one(number: int) -> None:
        if not isinstance(store.claim(command(worker, start + number)), Won):
            sys.exit("a claim of a fresh call was not won")

    for number in range(WARM):
        one(number)
    return until(begin(), lambda number: one(WARM + number))


def bare(url: str, begin: Callable[[], float]) -> int:
    """Rows of one worker, on a connection of its own."""
    if url.startswith("sqlite"):
        lite = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60, isolation_level=None, check_same_thread=False)
        lite.execute("PRAGMA synchronous = FULL")
        done = rows(lambda: lite.execute(INSERT, (BODY,)), begin)
        lite.close()
        return done
    with psycopg.connect(url, autocommit=True) as connection:
        return rows(lambda: connection.execute("INSERT INTO bare (body) VALUES (%s)", (BODY,)), begin)


def rows(one: Callable[[], object], begin: Callable[[], float]) -> int:
    """Rows of one worker, after the first few."""
    for _ in range(WARM):
        one()
    return until(begin(), lambda _: one())


def together(workers: int, seconds: float, work: Callable[[int, Callable[[], float]], int], *, processes: bool) -> int:
    """What so many workers do in so many seconds in all, which begin when each is connected and has done a few."""
    if processes:
        context = multiprocessing.get_context("fork")
        found = context.Array("l", workers)
        gate: Any = context.Barrier(workers)
        kinds: Any = context.Process
    else:
        found, gate, kinds = [0] * workers, Barrier(workers), Thread

    def begin() -> float:
        gate.wait()
        return time.monotonic() + seconds

    def one(worker: int) -> None:
        found[worker] = work(worker, begin)

    started = [kinds(target=one, args=(worker,)) for worker in range(workers)]
    for each in started:
        each.start()
    for each in started:
        each.join()
    return sum(found)


@contextmanager
def opened(kind: str) -> Iterator[tuple[str, Store]]:
    """A fresh store and its URL; the table of the bare loop is in the same place."""
    if kind == "postgres":
        with postgres_kit.database() as url:
            postgres_kit.run(url, TABLE.format(serial="BIGSERIAL PRIMARY KEY"))
            yield url, open_store(url)
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("GUARD_BENCH_SCRATCH")) as folder:
        with sqlite3.connect(f"{folder}/bare.db") as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(TABLE.format(serial="INTEGER PRIMARY KEY"))
        yield f"sqlite:///{folder}/bare.db", open_store(f"sqlite:///{folder}/guard.db")


def flush_ms(folder: str | None, times: int = 40) -> float:
    """How long one appended block and its flush take on the disk of `folder`: the median, in milliseconds."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        spent = []
        for _ in range(times):
            begin = time.perf_counter()
            file.write(b"x" * 4096)
            getattr(os, "fdatasync", os.fsync)(file.fileno())
            spent.append(time.perf_counter() - begin)
    return statistics.median(spent) * 1000


def measure(kind: str, workers: int, wanted: argparse.Namespace) -> dict[str, Any]:
    """One row: medians of claims and bare rows a second, in turns on one store; the first round is a warm-up."""
    processes, seconds = wanted.processes and kind == "postgres", wanted.seconds
    pairs, flushes, floors = [], [], []
    with opened(kind) as (url, store):
        for worker in range(workers):
            store.claim(command(worker, 1))
        start = 2
        for _ in range(wanted.rounds + 1):
            written = together(workers, seconds, lambda _, begin: bare(url, begin), processes=processes)
            first = start
            won = together(
                workers, seconds, lambda worker, begin, first=first: claims(store, worker, first, begin), processes=processes
            )
            start += won + WARM + 1
            pairs.append((won / seconds, written / seconds))
            flushes.append(flush_ms(os.environ.get("GUARD_BENCH_SCRATCH")))
            if kind == "sqlite":
                floors.append(1e6 / least(workers) / (written / seconds))
        store.close()
    found = {**row(kind, workers, pairs[1:]), "flush_ms": statistics.median(flushes[1:])}
    return {**found, "floor": statistics.median(floors[1:])} if floors else found


def least(workers: int) -> float:
    """Microseconds of a claim where so many share a commit, with the driver alone: see tests/bench/stores_floor.py."""
    from stores_floor import floor

    return floor(workers, 25 * workers)[2]


def row(kind: str, workers: int, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """The medians of one cell."""
    return {
        "store": kind,
        "workers": workers,
        "claims": statistics.median(won for won, _ in pairs),
        "bare": statistics.median(written for _, written in pairs),
        "ratio": statistics.median(won / written for won, written in pairs),
        "rounds": len(pairs),
    }


def table(found: list[dict[str, Any]]) -> str:
    """The rows as text."""
    lines = [f"{'store':10} {'workers':>7} {'claims/s':>9} {'bare/s':>9} {'ratio':>6} {'floor':>6} {'of it':>6} {'flush':>8}"]
    for one in found:
        most = f"{one['floor']:6.2f} {one['ratio'] / one['floor']:6.0%}" if "floor" in one else f"{'':13}"
        counts = f"{one['store']:10} {one['workers']:7} {one['claims']:9.0f} {one['bare']:9.0f} {one['ratio']:6.2f}"
        lines.append(f"{counts} {most} {one['flush_ms']:5.2f} ms")
    return "\n".join(lines)


def profile(kind: str, seconds: float) -> None:
    """Print where one worker's time goes."""
    with opened(kind) as (_, store):
        seen = cProfile.Profile()
        seen.runcall(claims, store, 0, 1, lambda: time.monotonic() + seconds)
        pstats.Stats(seen).sort_stats("tottime").print_stats(25)
        store.close()


def slowed(delays: str) -> int:
    """Run this program once for each delay, each flush of it that much longer. Needs a C compiler."""
    given = [word for word in sys.argv[1:] if not word.startswith("--delays") and word != delays]
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/slow_flush.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, str(HERE / "slow_flush.c"), "-ldl"], check=True)
        for delay in delays.split(","):
            print(f"each flush {delay} ms longer", flush=True)
            more = {"LD_PRELOAD": library, "GUARD_BENCH_FLUSH_US": str(round(float(delay) * 1000))}
            subprocess.run([sys.executable, __file__, *given], check=True, env={**os.environ, **more})
    return 0


def main() -> int:
    """Read the command line and print."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--json", action="store_true", help="print JSON instead of a table")
    reader.add_argument("--rounds", type=int, default=5)
    reader.add_argument("--seconds", type=float, default=1.0, help="of one round of one cell")
    reader.add_argument("--stores", default="sqlite,postgres", help="comma separated; default: %(default)s")
    reader.add_argument("--workers", default=",".join(map(str, WORKERS)), help="comma separated; default: %(default)s")
    reader.add_argument("--processes", action="store_true", help="PostgreSQL: processes instead of threads")
    reader.add_argument("--profile", action="store_true", help="where the time of a claim goes")
    reader.add_argument(
        "--delays", default="", help="milliseconds, comma separated: SQLite once for each, every flush that much longer"
    )
    wanted = reader.parse_args()
    if wanted.delays:
        return slowed(wanted.delays)
    if "postgres" in wanted.stores and not postgres_kit.NAMED:
        postgres_kit.NAMED = postgres_kit.Embedded(safe=True).url
    if wanted.profile:
        for kind in wanted.stores.split(","):
            profile(kind, wanted.seconds)
        return 0
    cells = [(kind, int(workers)) for kind in wanted.stores.split(",") for workers in wanted.workers.split(",")]
    found = [measure(kind, workers, wanted) for kind, workers in cells]
    print(json.dumps({"load": os.getloadavg()[0], "rows": found}) if wanted.json else table(found))
    if not wanted.json:
        print(f"{wanted.rounds} rounds, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
