"""Kills on the ways around a plain call: a worker's, a sidecar's, the MCP proxy's, a history closed by `resume`, and look-ups whose records wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_kit import code, run, talking
from sidecar_kit import Sidecar
from stores_kit import STORES
from votes_kit import ANN, BOSS, CHIEF, LASTING, office
from wire_helpers import answers, message, spelled

from guard import Guard, Session, ToolCall
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


def test_the_proxy_passes_nothing_on(tmp_path: Path) -> None:
    """A client's call is refused and does not reach the server, held, approved or plain; the client goes on, and so do its calls once it is cleared."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            await pay(talk, 1)
            assert talk.desk.guard is not None
            approvals, kills = talk.desk.guard.approvals, talk.desk.guard.kills
            held = [
                json.loads(one["content"][0]["text"])["error"]["approval"] for one in [await pay(talk, 1), await pay(talk, 2)]
            ]
            await approvals.approve(held[1], approver=Session(principal="E2", roles=("boss",)))
            kill = await kills.set(by=CHIEF, reason="r", tenant=talk.records("call.decided")[0]["tenant"])
            refused = [await pay(talk, n) for n in (1, 2, 3)] + [await talk.call("echo", {"text": "x"})]
            assert [code(one) for one in refused] == ["killed"] * 4
            assert all(one["isError"] for one in refused)
            assert talk.seen() == []
            assert [(await approvals.show(one)).status for one in held] == ["cancelled", "revoked"]
            await kills.clear(kill, by=CHIEF, reason="mended")
            assert json.loads((await talk.call("echo", {"text": "x"}))["content"][0]["text"])["text"] == "x"
            assert code(await pay(talk, 3)) == "held_for_approval"

    run(go())


async def pay(talk: Any, number: int) -> Any:
    return await talk.call("pay", {"text": str(number)})


@pytest.mark.slow
def test_a_loop_elsewhere_gets_no_ticket(tmp_path: Path) -> None:
    """Another process sets it: the server's next answer is a refusal; a ticket given before is reported and its result delivered."""
    with Sidecar(tmp_path) as sidecar:
        look = ("order_status", {"order_id": "A17"})
        begun = sidecar.decide(*look)
        here = ("--policy", str(sidecar.policy), "--store", f"sqlite:///{tmp_path}/guard.db", "--as", "ops")
        stopped = sidecar.guard("kill", "set", "--tool", "order_status", "--reason", "r", "--json", *here)
        assert stopped.returncode == 0, stopped.stderr
        told = sidecar.decide(*look, conversation="other")
        assert (told["decision"], told["reason"], "ticket" in told) == ("refuse", "killed", False)
        ended = sidecar.ask("report", ticket=begun["ticket"], status="done", result={"order_id": "A17", "status": "placed"})
        assert ended["status"] == "done"
        sidecar.guard("kill", "clear", json.loads(stopped.stdout)["id"], "--reason", "mended", *here)
        assert sidecar.decide(*look, conversation="other")["decision"] == "allow"


@pytest.mark.parametrize("store", LASTING)
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_a_history_that_is_closed_under_a_kill(tmp_path: Path, store: str, wire: str) -> None:
    """What waited is told as stopped, once; a reply that was never handled is closed as interrupted; nothing runs, then or after clearing."""
    with office(tmp_path, store, wire=wire) as desk:
        for n in (1, 2):
            desk.propose(n, call=f"c{n}")
        desk.approvals.approve(desk.approvals.list()[0], approver=BOSS)
        new = message(wire, ("c3", "pay", spelled(wire, {"amount": 3, "to": "Bob"})))
        desk.guard.kills.set(by=CHIEF, reason="not for the model", tool="pay")
        desk.restart()
        resumed = desk.chat.resume([*desk.history, new])
        told = json.dumps(resumed[len(desk.history) :])
        assert told.count("killed") == 2
        assert "interrupted" in told
        assert "not for the model" not in told
        assert [name for name, _ in answers(wire, resumed)] == ["c1", "c2", "c3"]
        assert desk.chat.resume(resumed) == resumed
        desk.guard.kills.clear(desk.guard.kills.list()[0], by=CHIEF, reason="mended")
        desk.restart()
        assert (desk.chat.resume(resumed), desk.chat.settled()) == (resumed, [])
        assert desk.ran == []
