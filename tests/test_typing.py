"""What the types promise, checked by the type checker over `tests/typing`, and the one promise that only holds at run time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guard.core.model import Allow, Decision, Hold, Refusal
from guard.core.reasons import Reason

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("path", sorted((ROOT / "tests/typing").glob("*.py")), ids=lambda path: path.stem)
def test_the_type_checker_agrees(path: Path, tmp_path: Path) -> None:
    """Every marked line is an error to mypy, every other line is none, and no mark is unneeded."""
    command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", f"--cache-dir={tmp_path}", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "Success: no issues found in 1 source file", done.stdout + done.stderr


ANY: Any = None
DECISIONS = (Allow(call=ANY), Hold(call=ANY, approval=ANY), Refusal(reason=Reason.NOT_AUTHORIZED))


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda decision: type(decision).__name__)
def test_a_decision_has_no_truth_value(decision: Decision) -> None:
    """`if decision:` raises: a third answer must not pass for one of two."""
    with pytest.raises(TypeError, match="no truth value"):
        assert decision
    with pytest.raises(TypeError, match="no truth value"):
        assert not decision
