"""Compensations: what would take an unknown call back is offered once, waits for a person, runs after a yes, and is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from life_kit import BOSS, CLERK, ENTRIES, UNKNOWN, Life, a_life, lives, plain_lives, reply, said

from guard import OutcomeUnknownError
from guard.errors import StoreError
from guard.runner.worker import Worker


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


plainly = pytest.mark.parametrize("life", plain_lives, indirect=True)


def unclear(n: int) -> Any:
    raise OutcomeUnknownError


def waiting(life: Life) -> list[Any]:
    return list(life.run(life.process().approvals.list()))


def offer(life: Life, how: str) -> None:
    """The call is lost, and somebody looks after it."""
    guard = life.process()
    if how == "handle":
        life.answers["back"] = unclear
        turn = life.run(life.chat(guard).handle(reply(("back", 1))))
        assert said(turn.outcomes[0]) == UNKNOWN
        assert [one.tool for one in turn.pending] == ["undo"]
    elif how == "the same reply":
        life.dies("back")
        life.propose(guard, ("back", 1))
    elif how == "resume":
        life.dies("back")
        life.run(life.chat(guard).resume([]))
    elif how == "worker":
        life.dies("back")
        done = Worker(guard, lambda principal, tenant: CLERK).once()
        assert [said(one.outcome) for one in done if one.outcome] == [UNKNOWN]
    else:
        lost_when_settled(life)
        life.settled(guard)


def lost_when_settled(life: Life) -> None:
    """A call that a settling process took under its approval and lost."""
    from life_kit import LEASE, DiedError, Mortal

    life.text = life.text.replace(
        ENTRIES["back"], "kind: action, allow: [clerk], approve: {by: [boss]}, effect: {compensate: undo}"
    )
    life.propose(life.process(), ("back", 1))
    life.approve(life.process())
    with pytest.raises(DiedError):
        life.settled(life.process(Mortal(life.store)))
    life.clock.now += LEASE + 1


@pytest.mark.parametrize("how", ["handle", "the same reply", "resume", "settled", "worker"])
def test_it_is_offered_once_and_runs_after_a_yes(life: Life, how: str) -> None:
    """With the arguments of the call that it is for; nothing runs before somebody said yes, and what it did is told once."""
    offer(life, how)
    asked = waiting(life)
    assert [(one.tool, one.arguments, one.status, one.by) for one in asked] == [("undo", {"n": 1}, "pending", ("boss",))]
    assert life.keys("undo") == []
    guard = life.process()
    for _ in range(2):
        life.settled(guard)
        life.run(life.chat(guard).resume([]))
        life.propose(guard, ("back", 1))
    assert waiting(life) == asked

    life.approve(guard, BOSS)
    told = life.settled(guard)
    assert [(name, n) for name, n, _ in life.ran if name == "undo"] == [("undo", 1)]
    assert "undo" in told
    assert '\\"n\\":1' in told
    assert life.settled(guard) == ""
    assert life.rows()[0].status == "unknown"  # that it was taken back is no word on whether it had happened


@pytest.mark.parametrize("tool", ["back", "once", "same"])
def test_nothing_is_offered_without_need(life: Life, tool: str) -> None:
    """A call that is done or failed is no call in doubt, and a call of another class names no compensation."""
    guard = life.process()
    life.propose(guard, (tool, 1))
    life.answers[tool] = lambda n: 1 / 0
    life.propose(guard, (tool, 2), call_id="d")
    if tool != "back":
        life.dies(tool, 3, call_id="e")
        life.propose(guard, (tool, 3), call_id="e")
    life.settled(guard)
    assert waiting(life) == []


def test_a_rejected_one_is_not_offered_again(life: Life) -> None:
    """A no is an answer."""
    offer(life, "handle")
    guard = life.process()
    life.run(guard.approvals.reject(waiting(life)[0].id, approver=BOSS))
    assert "approval_rejected" in life.settled(guard)
    life.propose(guard, ("back", 1), call_id="d")
    assert (life.settled(guard), waiting(life), life.keys("undo")) == ("", [], [])


REFUSED = {
    "not allowed": "kind: action, allow: [boss], approve: {by: [boss]}",
    "refused by a rule": "kind: action, allow: [clerk], approve: {by: [boss]}, refuse: [{when: {n: {maximum: 5}}}]",
}


@pytest.mark.parametrize("case", REFUSED)
def test_one_that_policy_refuses_is_not_asked_about(life: Life, case: str) -> None:
    """It walks the whole path: nobody is asked about a call that would be refused."""
    life.answers["back"] = unclear
    guard = life.process(undo=REFUSED[case])
    assert said(life.propose(guard, ("back", 1))[0]) == UNKNOWN
    life.settled(guard)
    assert waiting(life) == []
    assert [row.status for row in life.rows()] == ["unknown", "refused"]


def test_two_calls_have_one_each(life: Life) -> None:
    """Two unknown calls are taken back by two calls, each with its own arguments."""
    life.answers["back"] = unclear
    life.propose(life.process(), ("back", 1), ("back", 2))
    assert [one.arguments for one in waiting(life)] == [{"n": 1}, {"n": 2}]
    life.approve(life.process())
    life.settled(life.process())
    assert [n for name, n, _ in life.ran if name == "undo"] == [1, 2]


@plainly
def test_one_of_a_child_is_offered_in_the_child(life: Life) -> None:
    """It belongs to the conversation that made the call."""
    life.answers["back"] = unclear
    guard = life.process()
    child = life.chat(guard).child(name="helper")
    child.handle(reply(("back", 1)))
    assert [one.branch for one in waiting(life)] == ["/helper"]
    life.approve(guard)
    assert life.settled(guard) == ""
    assert "undo" in str(child.settled())


class Failing:
    """A store that fails when a turn with a key of the guard is opened."""

    def __init__(self, life: Life) -> None:
        self.inner, self.blocking, self.secret = life.store, life.store.blocking, life.store.secret

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def rows(self, ref: Any, *, turn: int | None = None) -> Any:
        raise StoreError("down")


@pytest.mark.parametrize("how", ["handle", "worker"])
def test_a_store_that_fails_meanwhile_takes_nothing_with_it(life: Life, how: str) -> None:
    """The outcome of the call goes back; the compensation is offered by whoever looks next."""
    if how == "worker":
        life.dies("back")
        done = Worker(life.process(Failing(life)), lambda principal, tenant: CLERK).once()
        assert [said(one.outcome) for one in done if one.outcome] == [UNKNOWN]
    else:
        life.answers["back"] = unclear
        assert said(life.propose(life.process(Failing(life)), ("back", 1))[0]) == UNKNOWN
    assert waiting(life) == []
    life.settled(life.process())
    assert [one.tool for one in waiting(life)] == ["undo"]
