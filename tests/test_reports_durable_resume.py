"""Reported failures: calls that were approved, paused or under way when the process ended."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from report_child import effect, effects
from report_processes import job, killed
from reports import BOSS, BOTH, Desk, codes, outcome, start, states
from wire_helpers import answers, message

from guard import ApprovalError, AsyncGuard

HELD = pytest.mark.parametrize("held", ["answer", "suspend"])


def policy(*tools: str) -> str:
    """Tools that take any arguments, one line each."""
    schema = "schema: {type: object, additionalProperties: {}}, kind: action, allow: [staff]"
    return "tools:\n" + "".join("  {}: {{{}, {}}}\n".format(*line.partition(": ")[::2], schema) for line in tools)


ASKED = "approve: {by: [boss]}"
MAIL = ("c1", "send_mail", {"to": "a@example.com"})


def mailing(tmp_path: Path, wire: str, held: str = "answer", more: str = ASKED, **given: Any) -> tuple[Desk, dict[str, Any]]:
    """A desk where a mail waits for a person, and the job of the process that sends it once it was approved."""
    keyed = "idempotent" in more or "dedupes" in more
    tools = {"send_mail": effect(tmp_path, "send_mail", keyed=keyed)}
    desk = start(tmp_path, wire, policy(f"send_mail: {more}"), tools, store="sqlite", held=held, **given)
    sends: list[Any] = ["settled"] if held == "answer" else ["handle", [spelled(desk, MAIL)], desk.history]
    turn = desk.propose(MAIL) if ASKED in more else None
    if turn is None:
        sends = ["handle", [spelled(desk, MAIL)], desk.history]
    else:
        assert states(turn) == ["held"]
        desk.approve(turn, "c1")
    return desk, job(desk, tmp_path, {"send_mail": keyed}, sends)


def spelled(desk: Desk, call: tuple[str, str, Any]) -> list[Any]:
    """A call as another process is told it."""
    return [call[0], call[1], desk._spelled(call[2])]


def resumed(desk: Desk, held: str) -> str:
    """After a restart: what the model is told about the mail, by the way that goes with `held`."""
    desk.restart()
    if held == "suspend":
        turn = desk.propose(MAIL)
        return json.dumps(turn.messages)
    before = len(desk.history)
    desk.history = desk.chat.resume(desk.history)
    desk.legal()
    return json.dumps(desk.history[before:])


def approval_of(desk: Desk) -> str:
    return str(desk.guard.approvals.list(status=None)[0].status)


# -- BR-107 ------------------------------------------------------------------------------------------------------------


@BOTH
@HELD
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_between_act_and_record_br_107(tmp_path: Path, wire: str, held: str, when: str) -> None:
    """Started and spent before the act: after the crash it is unknown, the model is told so once, and it is not sent twice."""
    desk, sends = mailing(tmp_path, wire, held)
    killed(sends, "send_mail", when)
    assert approval_of(desk) == "consumed"
    assert len(desk.audit("call.begin", call_id="c1")) == 1
    assert "outcome_unknown" in resumed(desk, held)
    assert [row.status for row in desk.guard.store.doubtful()] == ["unknown"], "a person can find it"
    with pytest.raises(ApprovalError, match=r"consumed|already"):
        desk.guard.approvals.approve(desk.guard.approvals.list(status=None)[0].id, approver=BOSS)
    again = desk.propose(("c2", *MAIL[1:]))
    assert (states(again), codes(again)) == (["unknown"], ["outcome_unknown"])
    assert desk.settle() == "[]"
    assert len(effects(tmp_path)) == (when == "after")
    assert len(desk.audit("call.unknown")) == 1
    desk.closed()


@BOTH
def test_a_crash_of_an_action_that_nobody_approves_br_107b(tmp_path: Path, wire: str) -> None:
    """The same without an approval: the open id of the stored history is closed as unknown, however often it is asked for."""
    desk, sends = mailing(tmp_path, wire, more="approve: never")
    killed(sends, "send_mail")
    desk.restart()
    desk.history.append(message(wire, spelled(desk, MAIL)))
    for _ in range(2):
        desk.history = desk.chat.resume(desk.history)
        desk.legal()
    assert [(name, "outcome_unknown" in content) for name, content in answers(wire, desk.history)] == [("c1", True)]
    desk.say("Try again, please.")
    assert states(desk.propose(("c2", *MAIL[1:]))) == ["unknown"]
    assert len(effects(tmp_path)) == 1
    desk.seen.clear()
    desk.closed()


@BOTH
@HELD
def test_a_crash_of_a_tool_that_takes_the_key_br_107c(tmp_path: Path, wire: str, held: str) -> None:
    """An idempotent tool is called again, under the approval that was spent, with the very key of the first attempt; and only then."""
    desk, sends = mailing(tmp_path, wire, held, more=f"effect: idempotent, {ASKED}")
    killed(sends, "send_mail")
    told = resumed(desk, held)
    if held == "answer":  # told first that it is unknown; the model's next proposal goes on with it
        assert "outcome_unknown" in told or "did" in told
        assert states(desk.propose(("c2", *MAIL[1:]))) == ["done"]
    else:
        assert "did" in told
    tried = effects(tmp_path)
    assert len(tried) == 2
    assert tried[0] == tried[1]
    assert tried[0][2]
    assert states(desk.propose(("c3", *MAIL[1:]))) == ["done"]
    assert len(effects(tmp_path)) == 2
    desk.closed()


@BOTH
@pytest.mark.parametrize(
    ("effect_of", "answer", "status", "times"),
    [
        ("probe", {"id": 7}, "done", 1),
        ("probe", None, "unknown", 1),
        ("{probe: {dedupes: true}}", True, "done", 1),
        ("{probe: {dedupes: true}}", None, "done", 2),
    ],
)
def test_a_crash_of_a_tool_that_can_be_asked_br_107d(
    tmp_path: Path, wire: str, effect_of: str, answer: Any, status: str, times: int
) -> None:
    """The checker is asked with the key of the attempt; it is called again only where nothing happened and the other side dedupes."""
    asked: list[str] = []

    def probe(key: str) -> Any:
        asked.append(key)
        return answer

    more = f"effect: {effect_of}, {ASKED}"
    desk, sends = mailing(tmp_path, wire, "suspend", more, probes={"send_mail": probe})
    keyed = "dedupes" in more
    killed(sends | {"probes": ["send_mail"]}, "send_mail")
    desk.restart()
    assert states(desk.propose(MAIL)) == [status]
    assert len(effects(tmp_path)) == times
    assert len(asked) == 1
    if keyed:
        assert {key for _, _, key in effects(tmp_path)} == set(asked)
    desk.closed()


@BOTH
def test_a_crash_seen_from_asyncio_br_107e(tmp_path: Path, wire: str) -> None:
    """The program that comes back may be an asyncio one."""
    desk, sends = mailing(tmp_path, wire)
    killed(sends, "send_mail")

    async def back() -> list[dict[str, Any]]:
        chat = desk.load(AsyncGuard).open(**desk.opening)
        history: list[dict[str, Any]] = await chat.resume(desk.history)
        return history + await chat.settled()

    desk.history = asyncio.run(back())
    desk.legal()
    assert "outcome_unknown" in str(desk.history[-1]["content"])
    assert len(effects(tmp_path)) == 1
    desk.closed()


# -- BR-108 ------------------------------------------------------------------------------------------------------------

CHARGE, ASK = ("c1", "charge", {"amount": 5}), ("c2", "ask", {"q": "ok?"})


@BOTH
@HELD
@pytest.mark.parametrize("calls", [(CHARGE, ASK), (ASK, CHARGE)], ids=["charge first", "charge last"])
@pytest.mark.parametrize("class_", ["once", "idempotent"])
def test_siblings_of_a_paused_call_br_108(tmp_path: Path, wire: str, held: str, calls: Any, class_: str) -> None:
    """The batch is walked again after the restart and the yes: what had run is not run again, its stored result is given."""
    tools = {"charge": effect(tmp_path, "charge", keyed=True), "ask": effect(tmp_path, "ask")}
    lines = policy(f"charge: effect: {class_}, approve: never", f"ask: {ASKED}")
    desk = start(tmp_path, wire, lines, tools, store="sqlite", held=held)
    turn = desk.propose(*calls)
    assert [outcome(turn, name).status for name in ("c1", "c2")] == ["done", "held"]
    desk.restart()
    desk.approve(turn, "c2")
    if held == "suspend":
        again = desk.propose(*calls)
        assert states(again) == ["done", "done"]
        assert (outcome(again, "c1").replayed, outcome(again, "c2").replayed) == (True, False)
        assert outcome(again, "c1").content == outcome(turn, "c1").content
        desk.restart()
        assert desk.chat.resume(desk.history) == desk.history
    else:
        desk.history = desk.chat.resume(desk.history)
        desk.legal()
        assert "charge" in desk.result("c1")
        assert '"did' in json.dumps(desk.history[-1])
    assert sorted(name for name, *_ in effects(tmp_path)) == ["ask", "charge"]
    desk.closed()


@BOTH
def test_a_crash_in_the_paused_call_br_108b(tmp_path: Path, wire: str) -> None:
    """Nor does the sibling run again when the paused call, once approved, takes the process with it."""
    tools = {"charge": effect(tmp_path, "charge"), "ask": effect(tmp_path, "ask")}
    desk = start(tmp_path, wire, policy("charge: approve: never", f"ask: {ASKED}"), tools, store="sqlite", held="suspend")
    turn = desk.propose(CHARGE, ASK)
    desk.approve(turn, "c2")
    handle = ["handle", [spelled(desk, CHARGE), spelled(desk, ASK)], desk.history]
    killed(job(desk, tmp_path, {"charge": False, "ask": False}, handle), "ask")
    desk.restart()
    again = desk.propose(CHARGE, ASK)
    assert states(again) == ["done", "unknown"]
    assert [name for name, *_ in effects(tmp_path)] == ["charge", "ask"]
    desk.closed()
