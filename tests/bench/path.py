"""Benchmark of the path: what one allowed look-up of two arguments costs over a bare loop of `json.loads`, call, `json.dumps`.

    python tests/bench/path.py                       # 1, 4 and 32 calls a turn, memory and SQLite, plain and asyncio
    python tests/bench/path.py --stages              # where the time of one call goes
    python tests/bench/path.py --import              # what `import guard` costs beside the packages it needs
    python tests/bench/path.py --peers DIR           # as one more column of a harness with a driver.py

Counted: reading the reply, strict JSON, schema, allow list through Casbin, ledger rows, the audit chain, redaction, messages. Not counted:
opening the conversation. Each turn has ids of its own, so nothing is replayed. Every sample is paired with the bare loop on the same messages
right before it; figures are CPU time (all threads), medians over the rounds. Judge ratios of one run, never microseconds of two. No test
asserts a time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
sys.path.insert(0, str(HERE))

SIZES = (1, 4, 32)
CALLS = 128  # of one sample
POLICY = """
tools:
  query_rate:
    kind: read
    allow: [employee]
    schema:
      type: object
      properties:
        level: {type: string, minLength: 1, maxLength: 16}
        tier: {type: string, enum: [low, middle, high]}
      required: [level, tier]
      additionalProperties: false
"""
RULES = "g, alice, employee, default\n"
TIERS = ("low", "middle", "high")
PEERS = "guard,limit,tool-call-guard,agt,pydantic-ai,langchain"


def query_rate(level: str, tier: str) -> dict[str, Any]:
    """The look-up itself: trivial, so that what stands around it is what is measured."""
    return {"level": level, "tier": tier, "hotel_cap": 600, "cabin": "economy"}


async def query_rate_later(level: str, tier: str) -> dict[str, Any]:
    """The same, awaited."""
    return query_rate(level, tier)


def message(size: int, mark: str) -> dict[str, Any]:
    """An assistant message with `size` calls, as the provider sends it; `mark` makes its ids unique."""
    calls = [
        {
            "id": f"call_{mark}_{at}",
            "type": "function",
            "function": {"name": "query_rate", "arguments": json.dumps({"level": f"P{at % 9}", "tier": TIERS[at % 3]})},
        }
        for at in range(size)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def bare(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The loop that nearly everybody starts with: nothing is checked."""
    tools = {"query_rate": query_rate}
    done = []
    for call in given["tool_calls"]:
        result = tools[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
        done.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
    return done


@dataclass(frozen=True)
class Column:
    """One way to run the guard."""

    name: str
    store: str  # with {folder} and {number} to fill in
    is_async: bool


COLUMNS = (
    Column("memory", "memory://", is_async=False),
    Column("memory, asyncio", "memory://", is_async=True),
    Column("sqlite", "sqlite:///{folder}/{number}.db", is_async=False),
    Column("sqlite, asyncio", "sqlite:///{folder}/{number}.db", is_async=True),
)


@contextmanager
def folder() -> Iterator[Path]:
    """A folder with the policy. GUARD_BENCH_SCRATCH names a real disk: in a memory file system durable writes are free."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("GUARD_BENCH_SCRATCH")) as name:
        place = Path(name)
        (place / "policy").mkdir()
        (place / "policy" / "tools.yaml").write_text(POLICY)
        (place / "policy" / "rules.csv").write_text(RULES)
        yield place


def opened(column: Column, place: Path, number: int) -> Any:
    """A conversation over a fresh store."""
    from guard import AsyncGuard, Guard, Session

    kind: Any = AsyncGuard if column.is_async else Guard
    tool = query_rate_later if column.is_async else query_rate
    store = column.store.format(folder=place, number=number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guard = kind.load(place / "policy", tools={"query_rate": tool}, store=store)
    return guard, guard.open(Session(principal="alice"), wire="openai-chat", conversation="bench")


def timed(run: Callable[[], object]) -> int:
    """Nanoseconds of CPU that `run` takes."""
    start = time.process_time_ns()
    run()
    return time.process_time_ns() - start


def sample(column: Column, size: int, place: Path, number: int) -> tuple[float, float]:
    """Microseconds a call of the bare loop and of the guard, on the same messages."""
    guard, chat = opened(column, place, number)
    turns = [message(size, f"{number}_{at}") for at in range(max(2, CALLS // size))]
    warm = [message(size, f"warm{number}_{at}") for at in range(2)]
    loop = asyncio.new_event_loop()

    async def awaited(given: list[dict[str, Any]]) -> Any:
        for one in given:
            last = await chat.handle(one)
        return last

    def walk(given: list[dict[str, Any]]) -> Any:
        if column.is_async:
            return loop.run_until_complete(awaited(given))
        for one in given:
            last = chat.handle(one)
        return last

    checked(walk(warm).messages, bare(warm[-1]))
    calls = 1000 * size * len(turns)
    figures = timed(lambda: [bare(one) for one in turns]) / calls, timed(lambda: walk(turns)) / calls
    loop.close()
    guard.close()
    return figures


def checked(got: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Stop when the guard's results are not those of the bare loop: a figure for something else would mean nothing."""
    same = [(one["tool_call_id"], json.loads(one["content"])) for one in got]
    if same != [(one["tool_call_id"], json.loads(one["content"])) for one in wanted]:
        sys.exit(f"the results differ: {got[:1]} and {wanted[:1]}")


def measure(rounds: int) -> list[dict[str, Any]]:
    """One row for each column and size, from interleaved rounds; the first is a warm-up and not counted."""
    cells = [(column, size) for column in COLUMNS for size in SIZES]
    found: dict[tuple[str, int], list[tuple[float, float]]] = {(column.name, size): [] for column, size in cells}
    number = 0
    with folder() as place:
        for turn in range(rounds + 1):
            for column, size in cells if turn % 2 else cells[::-1]:
                number += 1
                pair = sample(column, size, place, number)
                if turn:
                    found[column.name, size].append(pair)
    return [row(name, size, pairs) for (name, size), pairs in found.items()]


def row(name: str, size: int, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """The medians of one cell. Microseconds a call."""
    return {
        "column": name,
        "calls_a_turn": size,
        "bare": statistics.median(low for low, _ in pairs),
        "guard": statistics.median(high for _, high in pairs),
        "over": statistics.median(high - low for low, high in pairs),
        "best": min(high for _, high in pairs) - min(low for low, _ in pairs),
        "ratio": statistics.median(high / low for low, high in pairs),
        "samples": len(pairs),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text."""
    lines = [f"{'column':18} {'calls':>5} {'bare':>8} {'guard':>9} {'over bare':>10} {'best':>8} {'ratio':>7}   µs of CPU a call"]
    lines += [
        f"{one['column']:18} {one['calls_a_turn']:5} {one['bare']:8.2f} {one['guard']:9.2f} {one['over']:10.2f} {one['best']:8.2f} {one['ratio']:6.1f}x"
        for one in rows
    ]
    return "\n".join(lines)


def peers(where: str, rounds: int, only: str) -> int:
    """Run the harness in `where` with our column beside the others; its environments must be there (see its own page)."""
    driver = Path(where).resolve() / "driver.py"
    command = [sys.executable, str(driver), "--guard-file", str(HERE / "peer_guard.py"), "--only", only, "--rounds", str(rounds)]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    """Read the command line and print."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--json", action="store_true", help="print JSON instead of a table")
    reader.add_argument("--rounds", type=int, default=15)
    reader.add_argument("--stages", action="store_true", help="where the time goes, 32 calls a turn")
    reader.add_argument("--import", action="store_true", dest="imports", help="what importing costs")
    reader.add_argument("--peers", metavar="DIR", help="a folder with a driver.py that takes --guard-file")
    reader.add_argument("--only", default=PEERS, help="columns for --peers, comma separated")
    wanted = reader.parse_args()
    if wanted.peers:
        return peers(wanted.peers, wanted.rounds, wanted.only)
    if wanted.imports:
        import import_cost

        return import_cost.report(wanted.json)
    if wanted.stages:
        import stages

        return stages.report(wanted.rounds, wanted.json)
    rows = measure(wanted.rounds)
    print(json.dumps({"load": os.getloadavg()[0], "rows": rows}) if wanted.json else table(rows))
    if not wanted.json:
        print(f"{wanted.rounds} rounds, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
