"""The crash test from a terminal, and for the tests.

    python tests/crash/run.py --kills 1000 --store sqlite:////tmp/x/guard.db [--seed 1] [--processes 6] [--json] [--naive]

Without `--store` it makes a file in a folder of its own. Ends with 1 when something that must be true is not. With `--naive` the store forgets
who took a call: then the run must find duplicates.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent.parent), str(HERE.parent), *(path for path in sys.path if Path(path or ".").resolve() != HERE)]


def arguments(given: list[str] | None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--store", default="", help="URL of an empty store")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--kill", type=float, default=0.015, help="chance to die at one seam")
    parser.add_argument("--sleep", type=float, default=0.02, help="chance of each of two ways to be late in a tool")
    parser.add_argument("--outside", type=float, default=1.0, help="kills from outside, a second")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--naive", action="store_true", help="a store that must fail")
    parser.add_argument("--folder", default="", help="where targets and messages are kept")
    return parser.parse_args(given)


def run(asked: argparse.Namespace, folder: Path, progress: Callable[[int], None]) -> Any:
    """Kill, recover, judge."""
    from crash import fleet, verdict
    from crash.cast import Host, Stage
    from crash.seams import Dice

    logging.getLogger("guard").setLevel(logging.ERROR)
    began = time.monotonic()
    wanted = fleet.Wanted(
        url=asked.store or f"sqlite:///{folder / 'guard.db'}",
        folder=folder,
        kills=asked.kills,
        seed=asked.seed,
        processes=asked.processes,
        kill=asked.kill,
        sleep=asked.sleep,
        outside=asked.outside,
        naive=asked.naive,
    )
    stage = Stage(folder)
    killed = fleet.Fleet(wanted, stage)
    killed.run(progress)

    def recover() -> None:
        calm = Dice(folder, "calm", kill=0.0, sleep=0.0)
        verdict.recover(Host(stage, stage.equip(wanted.url, calm, naive=wanted.naive), wanted.seed), folder)

    _, status = os.waitpid(fleet.forked(folder, "recovery", recover), 0)
    if status:
        raise fleet.BrokenError(fleet.said(folder, "recovery"))
    report = verdict.judged(wanted.url, folder, killed.kills)
    report.seconds = time.monotonic() - began
    return report


def show(report: Any) -> None:
    """For a person."""
    print(report.line())
    for name, counts in (("killed", report.seams), ("late", report.late), ("in the ledger", report.ledger)):
        print(f"  {name}: " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items(), key=lambda item: -item[1])))
    for problem in report.problems[:20]:
        print(f"  PROBLEM {problem}")


def main(given: list[str] | None = None) -> int:
    """Run, print, and say by the exit code whether all is well."""
    asked = arguments(given)
    step = [0]

    def progress(kills: int) -> None:
        if kills - step[0] >= 50 and not asked.json:
            step[0] = kills
            print(f"{kills} kills", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as made:
        folder = Path(asked.folder or made)
        folder.mkdir(parents=True, exist_ok=True)
        report = run(asked, folder, progress)
    if asked.json:
        print(report.json())
    else:
        show(report)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
