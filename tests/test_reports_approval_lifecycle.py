"""Reported failures: what counts as a decision, when it ends, and how often it can be used."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from report_child import effect, effects
from report_processes import job, together
from reports import BOSS, BOTH, U1, Desk, codes, outcome, start, states
from wire_helpers import answers

from guard import ApprovalError, AsyncGuard, Session

HELD = pytest.mark.parametrize("held", ["answer", "suspend"])
STORES = pytest.mark.parametrize("store", ["memory", "sqlite"])

PAY = """
    tools:
      pay:
        kind: action
        allow: [staff]
        schema: {type: object, properties: {amount: {type: integer}}, required: [amount], additionalProperties: false}
        approve: {by: [boss], expires: 15m}
"""
CALL = ("c1", "pay", {"amount": 5})


def paying(tmp_path: Path, wire: str, *, store: str = "sqlite", policy: str = PAY, **given: Any) -> Desk:
    return start(tmp_path, wire, policy, {"pay": effect(tmp_path, "pay")}, store=store, **given)


def told(desk: Desk) -> str:
    """What the model is told about the payment now, by the way that goes with `held`."""
    return desk.settle() if desk.opening["held"] == "answer" else json.dumps(desk.propose(CALL).messages)


def edit(tmp_path: Path, statement: str, *values: Any) -> None:
    """Write into the store behind the guard's back."""
    with closing(sqlite3.connect(tmp_path / "guard.db")) as connection, connection:
        assert connection.execute(statement, values).rowcount > 0


# -- BR-093 ------------------------------------------------------------------------------------------------------------


@BOTH
@STORES
def test_only_a_yes_is_a_yes_br_093(tmp_path: Path, wire: str, store: str) -> None:
    """No other value decides, whether it is given as the vote, as the approver, or as the approval; the call stays held."""
    desk = paying(tmp_path, wire, store=store)
    turn = desk.propose(CALL)
    name = desk.waiting(turn, "c1")
    for value in (None, 0, 1, "", "yes", "true", "APPROVED", True, False, [], {"approved": True}, object()):
        with pytest.raises((ValueError, TypeError)):
            desk.guard.store.vote(name, status=value, by="b1", reason=None, event={"kind": "x", "tenant": "default"})
        with pytest.raises(ApprovalError):
            desk.guard.approvals.approve(name, approver=value)
        with pytest.raises(ApprovalError):
            desk.guard.approvals.approve(value, approver=BOSS)
    assert desk.settle() == "[]"
    assert states(desk.propose(("c2", *CALL[1:]))) == ["held"]
    assert [approval.status for approval in desk.pending()] == ["pending"]
    assert not effects(tmp_path)
    desk.closed()


STATUSES: tuple[Any, ...] = ("", "yes", "APPROVED", "approved ", 1, b"approved")


@BOTH
@HELD
def test_a_stored_status_that_is_none_br_093b(tmp_path: Path, wire: str, held: str) -> None:
    """Nor does anything else in the place of the stored status: what is not a known status lets nothing run."""
    desk = paying(tmp_path, wire, held=held)
    calls = [(f"c{number}", "pay", {"amount": number}) for number in range(len(STATUSES))]
    turn = desk.propose(*calls)
    for (name, *_), value in zip(calls, STATUSES, strict=True):
        edit(tmp_path, "UPDATE approvals SET status = ? WHERE id = ?", value, desk.waiting(turn, name))
    if held == "answer":
        assert desk.settle().count("approval_invalid") == len(STATUSES)
    else:
        assert set(codes(desk.propose(*calls))) == {"approval_invalid"}
    assert not effects(tmp_path)
    desk.closed()


@BOTH
def test_words_are_no_yes_br_093c(tmp_path: Path, wire: str) -> None:
    """Neither the user's words, nor the model's repetition, nor a result that the host wrote itself approve anything."""
    desk = paying(tmp_path, wire)
    desk.propose(CALL)
    desk.say("Yes, I approve. Go ahead.")
    assert states(desk.propose(("c2", *CALL[1:]))) == ["held"]
    assert desk.chat.resume(desk.history) == desk.history
    assert not effects(tmp_path)
    assert len(desk.pending()) == 1
    desk.closed()


# -- BR-095 ------------------------------------------------------------------------------------------------------------


@BOTH
@HELD
@STORES
@pytest.mark.parametrize(("approved", "looked"), [(16, 16), (14, 16), (None, 16), (15, 15)])
def test_too_late_br_095(tmp_path: Path, wire: str, held: str, store: str, approved: int | None, looked: int) -> None:
    """The time is checked when somebody says yes and again right before it runs, by whoever looks: no clean-up job is needed."""
    desk = paying(tmp_path, wire, store=store, held=held)
    turn = desk.propose(CALL)
    begun = desk.clock.now
    if approved is not None:
        desk.clock.now = begun + approved * 60
        if approved < 15:
            desk.approve(turn, "c1")
        else:
            with pytest.raises(ApprovalError) as raised:
                desk.approve(turn, "c1")
            assert raised.value.code == "expired"
    desk.clock.now = begun + looked * 60
    assert "approval_expired" in told(desk)
    assert not effects(tmp_path)
    assert not desk.pending()
    assert len(desk.audit("approval.expired")) == 1
    desk.closed()


class Ticking:
    """A clock that jumps after so many readings."""

    def __init__(self, now: float, left: int, jump: float) -> None:
        self.now, self.left, self.jump = now, left, jump

    def __call__(self) -> float:
        self.left -= 1
        return self.now if self.left >= 0 else self.now + self.jump


@BOTH
@pytest.mark.parametrize("kind", ["plain", "asyncio"])
def test_too_late_between_any_two_steps_br_095b(tmp_path: Path, wire: str, kind: str) -> None:
    """Wherever in the walk the time runs out, it does not run after it; the claim itself is the last to look."""
    ran = []
    for left in range(1, 17):
        folder = tmp_path / str(left)
        folder.mkdir()
        desk = paying(folder, wire)
        desk.approve(desk.propose(CALL), "c1")
        clock = Ticking(desk.clock.now, left, 901)
        if kind == "plain":
            text = json.dumps(desk.load(clock=clock).open(**desk.opening).settled())
        else:
            text = json.dumps(asyncio.run(desk.load(AsyncGuard, clock=clock).open(**desk.opening).settled()))
        ran.append(len(effects(folder)))
        assert ("did" in text) == (ran[-1] == 1)
        assert ran[-1] or "approval_" in text or text == "[]"
        begun = desk.audit("call.begin")
        assert len(begun) == ran[-1]
        desk.closed()
    assert set(ran) == {0, 1}, "the window ended before and after the claim"
    assert ran == sorted(ran)


@BOTH
def test_too_late_in_another_process_br_095c(tmp_path: Path, wire: str) -> None:
    """A process that was not there when it ended refuses the yes, and the use of an earlier one."""
    desk = paying(tmp_path, wire)
    turn = desk.propose(CALL, ("c2", "pay", {"amount": 6}))
    desk.approve(turn, "c1")
    desk.clock.now += 901
    late = job(desk, tmp_path, {"pay": False}, ["approve", desk.waiting(turn, "c2"), "b1"], ["settled"])
    [[answer, messages]] = together(late)
    assert answer == "expired"
    assert json.dumps(messages).count("approval_expired") == 2
    assert not effects(tmp_path)
    desk.restart()
    desk.closed()


# -- BR-097 ------------------------------------------------------------------------------------------------------------

TIMES: tuple[Any, ...] = (
    "2020-01-01", "2020-01-01T00:00:00", "2099-01-01T00:00:00+00:00", "", "soon", b"\x00", 1e300, float("inf")
)  # fmt: skip
FIRM = ("c99", "pay", {"amount": 99})


def damaged(tmp_path: Path, wire: str, held: str, *, approved: bool, edits: list[tuple[Any, ...]]) -> Desk:
    """For each edit a payment whose stored approval is changed by it, beside a payment whose approval is sound: the latter is decided and runs.

    Each of the former is refused, can no longer be decided, is not listed, and stands in nobody's way.
    """
    desk = paying(tmp_path, wire, held=held)
    calls = [*((f"c{number}", "pay", {"amount": number}) for number in range(len(edits))), FIRM]
    turn = desk.propose(*calls)
    for (name, *_), (statement, *values) in zip(calls, edits, strict=False):
        if approved:
            desk.approve(turn, name)
        edit(tmp_path, statement, *values, desk.waiting(turn, name))
    desk.restart()
    assert [approval.arguments["amount"] for approval in desk.pending()] == [99]
    for name, *_ in calls[:-1]:
        with pytest.raises(ApprovalError):
            desk.approve(turn, name)
    desk.approve(turn, "c99")
    text = desk.settle() if held == "answer" else json.dumps(desk.propose(*calls).messages)
    assert text.count("approval_expired") + text.count("approval_invalid") == len(edits)
    assert text.count("did") == 1
    assert [arguments["amount"] for _, arguments, _ in effects(tmp_path)] == [99]
    desk.say("And 7000, please.")
    assert states(desk.propose(("d1", "pay", {"amount": 7000}))) == [states(turn)[0]] == ["held"]
    return desk


@BOTH
@HELD
@pytest.mark.parametrize("approved", [False, True])
def test_a_stored_expiry_that_is_no_time_br_097(tmp_path: Path, wire: str, held: str, approved: bool) -> None:
    """It counts as expired: no exception comes up, that call is refused, and the others stay usable."""
    edits = [("UPDATE approvals SET expires_at = ? WHERE id = ?", value) for value in TIMES]
    desk = damaged(tmp_path, wire, held, approved=approved, edits=edits)
    assert len(desk.audit("approval.expired")) == len(TIMES)
    assert len([event for event in desk.audit("call.decided") if event["decision"].get("code") == "approval_expired"]) == len(
        TIMES
    )
    desk.closed()


DAMAGE = (
    "UPDATE approvals SET detail = '{' WHERE id = ?",
    "UPDATE approvals SET detail = '[]' WHERE id = ?",
    "UPDATE approvals SET requested_at = 'then', decided_at = 'now', detail = '' WHERE id = ?",
    "UPDATE payloads SET body = '[1' WHERE id = 'approval:' || ?",
    "UPDATE payloads SET body = '[null, null, null]' WHERE id = 'approval:' || ?",
    "UPDATE approvals SET status = 'fine' WHERE id = ?",
)


@BOTH
@HELD
@pytest.mark.parametrize("approved", [False, True])
def test_a_record_that_cannot_be_read_br_097b(tmp_path: Path, wire: str, held: str, approved: bool) -> None:
    """The same for everything else of it: that one is refused, the list, the other calls and the conversation stay usable."""
    damaged(tmp_path, wire, held, approved=approved, edits=[(statement,) for statement in DAMAGE]).closed()


@BOTH
def test_another_persons_record_that_cannot_be_read_br_097c(tmp_path: Path, wire: str) -> None:
    """A damaged record in one conversation is nothing to the others, nor to an asyncio program's list."""
    desk = paying(tmp_path, wire)
    turn = desk.propose(CALL)
    other = desk.guard.open(Session(principal="u2", roles=("staff",)), wire=wire, conversation="conv-2")
    other.user("go")
    desk.propose(("c2", "pay", {"amount": 6}), chat=other)
    edit(tmp_path, "UPDATE approvals SET expires_at = 'never', detail = '' WHERE id = ?", desk.waiting(turn, "c1"))

    async def main() -> list[str]:
        guard = desk.load(AsyncGuard)
        found = await guard.approvals.list()
        await guard.approvals.approve(found[0], approver=BOSS)
        everything = await guard.approvals.list(status=None)
        guard.close()
        return [approval.requester for approval in found] + sorted(approval.status for approval in everything)

    assert asyncio.run(main()) == ["u2", "approved", "expired"]
    assert "did" in json.dumps(other.settled())
    assert (U1.principal, codes(turn)) == ("u1", ["held_for_approval"])
    assert outcome(turn, "c1").status == "held"
    assert len(answers(wire, turn.messages)) == 1
    desk.closed()
