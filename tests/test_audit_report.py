"""The report of a month about what people really did: votes that did not count, edits, revocations, standing grants."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from votes_kit import ANN, BOSS, BOSSES, OTHER, STRANGER, Office, code, office

from guard.auditing import blocks, month

_EDIT = ", need: 2, edit: [amount], effect: 'Pay {amount} to {to}'"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Office]:
    with office(tmp_path, "sqlite", _EDIT) as made:
        yield made


def report(desk: Office) -> Any:
    return month.report(desk.guard.store, time.strftime("%Y-%m", time.gmtime(desk.clock.now)))


def edit(desk: Office, asked: Any, amount: Any) -> Any:
    return desk.approvals.edit(asked.id, editor=BOSS, changes={"/amount": amount}, reason="too much")


def test_votes_that_did_not_count_stand_under_what_was_wrong(desk: Office) -> None:
    """Each with what its person wanted; only strangers are told as people who may not decide, and all of them in the life of the call."""
    asked = desk.ask()
    seen = desk.seen(asked)
    for who, wanted in ((ANN, "approve"), (STRANGER, "reject"), (BOSS, "approve"), (BOSS, "reject"), (OTHER, "reject")):
        code(getattr(desk.approvals, wanted), asked.id, approver=who)
    code(desk.approvals.approve, asked.id, approver=BOSSES[2])
    other = desk.ask(200, call="c2")
    code(desk.approvals.approve, other.id, approver=OTHER, seen=seen)
    assert code(edit, desk, other, "many") == "refused"

    made = report(desk)
    found = {
        sort: [(row["who"], row["wanted"]) for row in made[sort]["rows"]]
        for sort in ("own", "not_entitled", "stale", "too_late", "voted", "edit_refused", "other")
    }
    assert found == {
        "own": [("u1", "approved")],
        "not_entitled": [("u9", "rejected")],
        "stale": [("b1", "approved")],
        "too_late": [("b2", "approved")],
        "voted": [("b0", "rejected")],
        "edit_refused": [("b0", "edited")],
        "other": [],
    }
    page = blocks.sections(made)
    assert "Votes that came too late (1)" in page
    assert "<td>refused</td><td>pay</td>" not in page
    assert made["totals"]["own_votes_refused"] == 1
