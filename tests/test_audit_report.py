"""The report of a month about what people really did: votes that did not count, edits, revocations, standing grants."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grants_kit
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
    assert "<td>refused</td><td>pay</td>" not in cells(page)
    assert made["totals"]["own_votes_refused"] == 1


def cells(page: str) -> str:
    """The cells of a page's tables without what they are called."""
    return re.sub(r"<td[^>]*>", "<td>", page)


def told(made: Any) -> dict[str, tuple[str, str, str]]:
    """Of each approval its status, by whom, and what then came."""
    return {row["approval"]: (row["status"], row["by"], row["ran"]) for row in made["approvals"]["rows"]}


def test_an_edited_question_is_followed_by_its_new_revision(desk: Office) -> None:
    """The original is replaced, not undecided; the revision was asked by the edit, also before anybody votes, and has its own time and votes."""
    asked = desk.ask()
    first = edit(desk, asked, 40)
    made = report(desk)
    assert told(made) == {asked.id: ("superseded", "b0", ""), first.id: ("undecided", "", "")}
    assert [row["approval"] for row in made["never"]["rows"]] == [first.id]
    assert (made["totals"]["superseded"], made["totals"]["undecided"]) == (1, 1)

    desk.clock.now += 60
    desk.approvals.approve(first.id, approver=OTHER)
    assert told(report(desk))[first.id] == ("undecided", "", ""), "one of two"
    desk.approvals.approve(first.id, approver=BOSSES[2])
    desk.settle()
    made = report(desk)
    assert told(made) == {asked.id: ("superseded", "b0", ""), first.id: ("approved", "b1, b2", "ended well")}
    (row,) = (row for row in made["approvals"]["rows"] if row["approval"] == first.id)
    assert (row["tool"], row["for"], row["seconds"], bool(row["asked"])) == ("pay", "u1", 60.0, True)
    assert made["never"]["rows"] == []


def test_a_revoked_yes_names_who_revoked_it_and_who_gave_it(desk: Office) -> None:
    """Both are people an auditor asks about."""
    asked = desk.ask()
    for who in (BOSS, OTHER):
        desk.approvals.approve(asked.id, approver=who)
    desk.approvals.revoke(asked.id, by=BOSSES[2], reason="the wrong account")
    assert told(report(desk)) == {asked.id: ("revoked", "b2; approved by b0, b1", "")}


def test_calls_under_a_standing_grant_are_counted_and_listed(tmp_path: Path) -> None:
    """How many there were, by which grant, and of the grant itself what it is for and how far it reaches."""
    here = grants_kit.desk(tmp_path, store="sqlite")
    grant = grants_kit.granted(here, "amount", reason="known payee")
    for number in (1, 2):
        here.propose((f"n{number}", "pay", {"amount": number, "payee": "A"}))
    here.guard.grants.revoke(grant.id, by=grants_kit.BOSS, reason="left")
    made: Any = month.report(here.guard.store, "2027-01")
    assert made["totals"]["by_grant"] == 2
    (row,) = made["grants"]["rows"]
    assert (row["grant"], row["scope"], row["tool"], row["for"], row["uses"]) == (grant.id, "amount", "pay", "u1", 2)
    assert row["approval"] == grant.approval
    said = {row["kind"]: row["said"] for row in made["changes"]["rows"]}
    assert said["grant.created"].startswith(f"{grant.id} live: scope amount, pay for u1; ")
    assert said["grant.created"].endswith("; known payee")
    assert said["grant.revoked"] == f"{grant.id} revoked, pay for u1; used 2; left"
    assert said["policy.loaded"].startswith(f"version {here.guard.policy.version} (start)")
    assert "What ran under a standing grant" in blocks.sections(made)
    assert f"<td>{grant.id}</td><td>amount</td><td>pay</td><td>u1</td>" in cells(blocks.sections(made))
