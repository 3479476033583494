"""Reported failures: actions whose answer was lost, and the keys that their repeats carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, codes, error, outcome, shown_schema, start, states
from wire_helpers import message

from guard import OutcomeUnknownError, PolicyError

MAIL = {"to": "Ann"}


# -- BR-207 ------------------------------------------------------------------------------------------------------------


class ReadTimeout(Exception):  # noqa: N818 - the name is the point
    """As an HTTP library names it."""


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


CUT_OFF = {
    "time-out": TimeoutError("PLANTED read timed out"),
    "reset": ConnectionResetError("PLANTED reset"),
    "library": ReadTimeout("PLANTED"),
    "wrapped": caused(RuntimeError("PLANTED upstream"), TimeoutError()),
    "says so": OutcomeUnknownError("PLANTED"),
}


class Upstream:
    """Acts, and then its answer is lost as often as it is told to. Counts what it did by key: a key that it knows does nothing more."""

    def __init__(self, error: BaseException, losses: int = 99) -> None:
        self.error, self.losses = error, losses
        self.calls: list[tuple[Any, str]] = []

    def _act(self, what: Any, key: str) -> dict[str, int]:
        self.calls.append((what, key))
        if len(self.calls) <= self.losses:
            raise self.error
        return {"effects": len({key for _, key in self.calls})}

    def send(self, to: str) -> Any:
        return self._act(to, str(len(self.calls)))

    def pay(self, amount: int, idempotency_key: str) -> Any:
        return self._act(amount, idempotency_key)


SEND = "tools: {send: {kind: action, allow: [staff], approve: never}}"
PAY = "tools: {pay: {kind: action, allow: [staff], effect: EFFECT, approve: APPROVE}}"


@BOTH
@pytest.mark.parametrize("how", CUT_OFF)
def test_a_lost_answer_is_not_repeated_br_207(tmp_path: Path, wire: str, how: str) -> None:
    """The upstream acted and its answer was lost: unknown, not failed, in one attempt; proposed again it is not sent again."""
    upstream = Upstream(CUT_OFF[how])
    desk = start(tmp_path, wire, SEND, {"send": upstream.send}, store="sqlite")
    turn = desk.propose(("c1", "send", MAIL))
    assert (states(turn), codes(turn)) == (["unknown"], ["outcome_unknown"])
    assert error(outcome(turn, "c1"))["retry"] is False
    desk.say("Please try again.")
    assert states(desk.propose(("c2", "send", MAIL))) == ["unknown"]
    desk.restart()
    assert states(desk.propose(("c3", "send", MAIL))) == ["unknown"]
    assert len(upstream.calls) == 1
    assert "PLANTED" not in desk.everything()
    desk.closed()


@BOTH
@pytest.mark.parametrize("approve", ["never", "{by: [boss]}"])
@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "new process"])
def test_a_lost_answer_of_a_tool_with_a_key_br_207b(tmp_path: Path, wire: str, approve: str, fresh: bool) -> None:
    """Only where the upstream honours the guard's key may it be tried again: same key, same approval, until it answers, and then never."""
    upstream = Upstream(TimeoutError(), losses=2)
    policy = PAY.replace("EFFECT", "idempotent").replace("APPROVE", approve)
    desk = start(tmp_path, wire, policy, {"pay": upstream.pay}, store="sqlite")
    turn = desk.propose(("c1", "pay", {"amount": 5}))
    if approve != "never":
        desk.approve(turn, "c1")
        assert "outcome_unknown" in desk.settle()
    assert len(upstream.calls) == 1, "the guard itself repeats nothing"
    found = []
    for number in (2, 3, 4):
        if fresh:
            desk.restart()
        found += states(desk.propose((f"c{number}", "pay", {"amount": 5})))
    assert found == ["unknown", "done", "done"]
    assert len(upstream.calls) == 3
    assert len(set(upstream.calls)) == 1
    assert len(desk.guard.approvals.list(status=None)) == (approve != "never")
    desk.closed()


@BOTH
def test_what_was_never_sent_has_failed_br_207c(tmp_path: Path, wire: str) -> None:
    """A refused connection is a failure, not a doubt; and a lost answer of a look-up is an error that may be tried again."""
    upstream = Upstream(ConnectionRefusedError())
    policy = SEND.replace("send: {", "look: {kind: read, allow: [staff]}, send: {")
    desk = start(tmp_path, wire, policy, {"send": upstream.send, "look": Upstream(TimeoutError()).send})
    turn = desk.propose(("c1", "send", MAIL), ("c2", "look", MAIL))
    assert (states(turn), codes(turn)) == (["failed", "failed"], ["tool_failed", "tool_failed"])
    assert [error(one)["retry"] for one in turn.outcomes] == [False, True]
    desk.closed()


# -- BR-209 ------------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("effect_of", ["once", "idempotent"])
@pytest.mark.parametrize("approve", ["never", "{by: [boss]}"])
def test_the_key_is_not_the_models_br_209(tmp_path: Path, wire: str, effect_of: str, approve: str) -> None:
    """The key is hidden; what the model sends for it is dropped and noted. A repeat with another key is the same proposal.

    The report expects the repeat to be held for a person; here it is the call that is unknown, and nobody is asked to pay a second time.
    """
    upstream = Upstream(TimeoutError())
    desk = start(
        tmp_path,
        wire,
        PAY.replace("EFFECT", effect_of).replace("APPROVE", approve),
        {"pay": upstream.pay},
        store="sqlite",
    )
    assert set(shown_schema(desk, "pay")["properties"]) == {"amount"}
    turn = desk.propose(("c1", "pay", {"amount": 5, "idempotency_key": "k-abc"}))
    if approve != "never":
        assert desk.pending()[0].arguments == {"amount": 5}
        desk.approve(turn, "c1")
        assert "outcome_unknown" in desk.settle()
    else:
        assert states(turn) == ["unknown"]
    assert desk.decision("c1")["spoof"] == ["idempotency_key"]
    assert states(desk.propose(("c2", "pay", {"amount": 5, "idempotency_key": "k-def"}))) == ["unknown"]
    assert len(upstream.calls) == (1 if effect_of == "once" else 2)
    assert len({key for _, key in upstream.calls}) == 1
    assert not {"k-abc", "k-def", ""} & {key for _, key in upstream.calls}
    assert "k-abc" not in "".join(record.body for record in desk.guard.store.audit())
    assert not desk.pending()
    desk.closed()


@BOTH
def test_each_proposal_has_a_key_of_its_own_br_209b(tmp_path: Path, wire: str) -> None:
    """Other arguments, and the same ones after the user has spoken, are other acts with other keys; so is another conversation's."""
    upstream = Upstream(TimeoutError(), losses=0)
    desk = start(tmp_path, wire, PAY.replace("EFFECT", "idempotent").replace("APPROVE", "never"), {"pay": upstream.pay})
    desk.propose(("c1", "pay", {"amount": 5}), ("c2", "pay", {"amount": 6}))
    desk.say("Once more.")
    desk.propose(("c3", "pay", {"amount": 5, "idempotency_key": upstream.calls[0][1]}))
    other = desk.guard.open(**{**desk.opening, "conversation": "conv-2"})
    other.user("go")
    other.handle(message(wire, ("c1", "pay", desk._spelled({"amount": 5}))))
    assert [amount for amount, _ in upstream.calls] == [5, 6, 5, 5]
    assert len({key for _, key in upstream.calls}) == 4
    desk.closed()


@BOTH
def test_a_schema_that_shows_the_key_br_209c(tmp_path: Path, wire: str) -> None:
    """A policy that would have the model fill the key does not load."""
    schema = "schema: {type: object, properties: {amount: {type: integer}, idempotency_key: {type: string}}}, effect"
    policy = PAY.replace("effect", schema).replace("EFFECT", "once").replace("APPROVE", "never")
    with pytest.raises(PolicyError, match="idempotency_key"):
        start(tmp_path, wire, policy, {"pay": Upstream(TimeoutError()).pay})
