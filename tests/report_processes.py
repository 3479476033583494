"""How a test of a reported failure has other processes act: see `report_child`, which is the program that they run."""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from reports import Desk

HERE = Path(__file__).parent


@functools.cache
def _nursery() -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    made = subprocess.Popen(
        [sys.executable, str(HERE / "report_child.py")],
        env={**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end, made)
    return made


def _end(made: subprocess.Popen[str]) -> None:
    assert made.stdin
    assert made.stdout
    made.stdin.close()
    made.stdout.close()
    made.wait(5)


def job(desk: Desk, folder: Path, tools: dict[str, bool], *steps: list[Any], **more: Any) -> dict[str, Any]:
    """What one process shall do: `tools` says of each whether it takes the guard's key."""
    held = desk.opening["held"]
    return {
        "folder": str(folder), "wire": desk.wire, "now": desk.clock.now, "held": held, "tools": tools, "steps": steps, **more
    }  # fmt: skip


def together(*jobs: dict[str, Any]) -> list[Any]:
    """Have a process for each job, all at the same instant: what its steps gave, or None where it was killed."""
    nursery = _nursery()
    assert nursery.stdin
    assert nursery.stdout
    nursery.stdin.write(json.dumps(jobs) + "\n")
    nursery.stdin.flush()
    found: list[Any] = []
    for number, (one, code) in enumerate(zip(jobs, json.loads(nursery.stdout.readline()), strict=True)):
        if code == -signal.SIGKILL:
            found.append(None)
            continue
        answer = json.loads(Path(one["folder"], f"out-{number}").read_text())
        assert isinstance(answer, list), answer
        found.append(answer)
    return found


def killed(one: dict[str, Any], tool: str, when: str = "after") -> None:
    """Have a process do this and die in the tool."""
    assert together({**one, "dies": [tool, when]}) == [None]
