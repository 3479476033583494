"""What becomes of a proposed grant, and of an old revision, when somebody rejects, changes or withdraws the question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from grants_kit import BOSS, U1, code_of, desk, policy, tried

from guard import ApprovalError, Session

OTHER_BOSS = Session(principal="b2", roles=("boss",))
TWO = policy().replace(
    "approve: {by: [boss], grants: [{scope: same", "approve: {by: [boss], need: 2, edit: [note], grants: [{scope: same"
)


@pytest.mark.parametrize("end", ["rejected", "edited", "cancelled"])
def test_what_was_proposed_ends_with_its_question(tmp_path: Path, end: str) -> None:
    """The first person's yes and proposal come to nothing once another one rejects, changes or withdraws the call: nobody can add to it."""
    here = desk(tmp_path, TWO)
    turn = here.propose(("c1", "pay", {"amount": 1, "payee": "A", "note": "n"}))
    name = here.waiting(turn, "c1")
    approvals, grants = here.guard.approvals, here.guard.grants
    approvals.approve(name, approver=BOSS)
    proposed = grants.give(name, by=BOSS, scope="amount")
    ways: dict[str, Callable[[], object]] = {
        "rejected": lambda: approvals.reject(name, approver=OTHER_BOSS, reason="no"),
        "edited": lambda: approvals.edit(name, editor=OTHER_BOSS, changes={"/note": "m"}, reason="clearer"),
        "cancelled": lambda: approvals.cancel(name, by=U1, reason="no longer"),
    }
    ways[end]()

    assert grants.show(proposed).status(here.clock.now) == "revoked"
    for by in (OTHER_BOSS, Session(principal="b3", roles=("boss",)), BOSS):
        with pytest.raises(ApprovalError) as error:
            grants.give(name, by=by, scope="amount")
        assert code_of(error) in ("not_approved", "already_given", "not_found")
    assert [event["grant"]["status"] for event in here.audit("grant.revoked")] == ["revoked"]


def test_an_old_revision_gives_nothing(tmp_path: Path) -> None:
    """What was asked before somebody changed it is not what runs: a grant is made from the call that was approved."""
    here = desk(tmp_path, TWO.replace("need: 2, ", ""))
    turn = here.propose(("c1", "pay", {"amount": 1, "payee": "A", "note": "n"}))
    name = here.waiting(turn, "c1")
    newer = here.guard.approvals.edit(name, editor=OTHER_BOSS, changes={"/note": "m"}, reason="clearer")
    with pytest.raises(ApprovalError) as error:
        here.guard.grants.give(name, by=BOSS, scope="same_call")
    assert code_of(error) == "not_approved"
    here.guard.approvals.approve(newer.id, approver=BOSS)
    grant = here.guard.grants.give(newer.id, by=BOSS, scope="same_call")
    here.settle()
    here.say("Again.")
    assert tried(here, {"amount": 1, "payee": "A", "note": "n"}) == ["held"]
    assert tried(here, {"amount": 1, "payee": "A", "note": "m"}) == ["done"]
    assert here.guard.grants.show(grant).used == 1
