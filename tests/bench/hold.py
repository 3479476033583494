"""Benchmark of holding a call and going on with it: processor time beyond what the same call costs when nobody is asked.

    python tests/bench/hold.py                      # memory and SQLite
    python tests/bench/hold.py --rounds 500 --json

A round handles one reply with an allowed action, one with an action that is held, lets somebody approve it, and asks for what was settled. Figures
are medians of processor time of the process in microseconds, system calls included and waiting for the disk left out. No test asserts a time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

from wire_helpers import message  # noqa: E402 - behind the path to it

from guard import Guard, PolicyWarning, Session  # noqa: E402 - behind the path to it

POLICY = """
tools:
  ask: {kind: action, allow: [staff], approve: {by: [boss]}}
  act: {kind: action, allow: [staff], approve: never}
limits: {run: {calls: 1000000}}
"""
ANN, BOSS = Session(principal="u1", roles=("staff",)), Session(principal="b1", roles=("boss",))
STEPS = ("allowed", "held", "vote", "resumed")


def ask(n: int) -> dict[str, int]:
    """Do something that a person is asked about."""
    return {"n": n}


def act(n: int) -> dict[str, int]:
    """Do something."""
    return {"n": n}


def timed(work: Callable[[], Any], into: list[float]) -> Any:
    """What `work` gives; its processor time is noted in microseconds."""
    begin = time.process_time_ns()
    found = work()
    into.append((time.process_time_ns() - begin) / 1000)
    return found


def one_round(guard: Guard, number: int, spent: dict[str, list[float]]) -> None:
    """One conversation: an allowed action, a held one, a yes, and what was settled."""
    chat = guard.open(ANN, wire="openai-chat", conversation=f"c{number}")
    history: list[Any] = [chat.user("go")]
    replies = [message("openai-chat", (f"c{n}", name, f'{{"n": {number}}}')) for n, name in enumerate(("act", "ask"))]
    history += timed(lambda: chat.handle(replies[0], history=history), spent["allowed"]).append
    turn = timed(lambda: chat.handle(replies[1], history=history), spent["held"])
    timed(lambda: guard.approvals.approve(turn.pending[0], approver=BOSS), spent["vote"])
    if "done" not in str(timed(chat.settled, spent["resumed"])):
        sys.exit("the approved call did not run")


def measured(url: str, folder: Path, rounds: int) -> dict[str, float]:
    """Medians of each step, and what holding and resuming cost beyond an allowed call."""
    (folder / "tools.yaml").write_text(POLICY)
    spent: dict[str, list[float]] = {step: [] for step in STEPS}
    with Guard.load(folder, tools=[ask, act], store=url) as guard:
        for number in range(rounds):
            one_round(guard, number, spent)
    found = {step: statistics.median(times[rounds // 10 :]) for step, times in spent.items()}
    return {**found, "hold and resume, beyond allowed": found["held"] + found["resumed"] - found["allowed"]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PolicyWarning)
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, url in (("memory", "memory://"), ("sqlite", f"sqlite:///{folder}/guard.db")):
            table[name] = measured(url, Path(folder), arguments.rounds)
    if arguments.json:
        print(json.dumps(table))
        return
    for name, found in table.items():
        print(f"{name:8}" + "".join(f"  {step} {spent:.0f} µs" for step, spent in found.items()))


if __name__ == "__main__":
    main()
