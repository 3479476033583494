"""The crash test: six processes on one store, killed by SIGKILL at every seam of a call, stopped, and asleep past their leases.

What must be true at the end is in `crash.verdict`: no `once` call took effect twice, each `idempotent` and `probe` call did exactly once, every call id
has one result in a history that the provider takes, the ledger tells the truth, the audit chain verifies. This is the short version; the long one is
`python tests/crash/run.py --kills 1000`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from crash import places

RUN = Path(__file__).parent / "crash" / "run.py"
KILLS = 110
pytestmark = pytest.mark.slow


def run(folder: Path, *given: str) -> dict[str, Any]:
    """The report of one run; its summary goes to the test's output."""
    command = [sys.executable, "-W", "ignore", str(RUN), "--json", "--folder", str(folder), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    print(found.pop("line"))
    return found


@pytest.mark.parametrize("store", places.NAMES)
def test_no_action_runs_twice_whatever_is_killed(tmp_path: Path, store: str) -> None:
    """A hundred kills and more, at every seam: not one rule is broken, and what had to be given up as unknown is few."""
    found = run(tmp_path, "--kills", str(KILLS), "--kill", "0.025", "--store", places.url_of(store, tmp_path))
    assert found["problems"] == []
    assert found["kills"] >= KILLS
    assert found["duplicates"] == 0
    assert len(found["seams"]) >= 10
    assert found["effects"]["idempotent"][1] > 30
    assert found["effects"]["probe"][1] > 30
    assert found["unknown"] <= found["kills"] + sum(found["late"].values())


@pytest.mark.parametrize("store", places.NAMES)
def test_a_store_that_forgets_is_found_out(tmp_path: Path, store: str) -> None:
    """The same run on a store whose claim is always won: effects are counted twice, so the harness can see duplicates."""
    found = run(
        tmp_path, "--kills", "120", "--kill", "0.01", "--sleep", "0.06", "--naive", "--store", places.url_of(store, tmp_path)
    )
    assert found["duplicates"] > 0
    assert any(problem.startswith("twice") for problem in found["problems"])
