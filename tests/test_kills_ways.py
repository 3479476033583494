"""Kills on the ways around a plain call: a worker's, and that of look-ups whose records wait."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores_kit import STORES
from votes_kit import ANN, BOSS, CHIEF, office

from guard import Guard, ToolCall
from guard.core.reasons import Reason
from guard.runner.worker import Worker

pytestmark = pytest.mark.filterwarnings("ignore::guard.PolicyWarning")


def test_where_records_may_wait_the_opening_of_the_turn_stops(tmp_path: Path) -> None:
    """Look-ups whose records wait are refused from the next turn on."""
    (tmp_path / "tools.yaml").write_text("tools: {look: {kind: read, allow: [staff]}}\nlimits: {run: {calls: 9}}\n")

    def look(n: int) -> int:
        """Look."""
        return n

    with Guard.load(tmp_path, tools=[look], store=f"sqlite:///{tmp_path}/guard.db", batch_reads=60.0) as guard:
        call = ToolCall("c", "look", {"n": 1})
        assert guard.call(call, ANN, conversation="c").status == "done"
        guard.kills.set(by=CHIEF, reason="r", tool="look")
        assert guard.call(call, ANN, conversation="c").reason is Reason.KILLED


@pytest.mark.parametrize("store", STORES)
def test_a_worker_runs_nothing_that_is_stopped(tmp_path: Path, store: str) -> None:
    """What was approved and nobody ran ends with the kill, so that a worker finds nothing, before and behind its clearing."""
    with office(tmp_path, store, ", expires: 1h") as desk:
        approval = desk.ask(1)
        desk.approvals.approve(approval, approver=BOSS)
        kill = desk.guard.kills.set(by=CHIEF, reason="r", tool="pay")
        worker = Worker(desk.guard, lambda *_: ANN, grace=0.0)
        desk.clock.now += 1
        assert worker.once() == []
        desk.guard.kills.clear(kill.id, by=CHIEF, reason="mended")
        assert worker.once() == []
        assert desk.ran == []
