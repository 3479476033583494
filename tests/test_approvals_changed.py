"""Approve, then change something: whatever changed between the yes and the run, the yes does not cover it. And votes that are nobody's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from votes_kit import ANN, BOSS, BOSSES, OTHER, STRANGER, Office, code, known, office
from wire_helpers import message

from guard import Guard, Session
from guard.core.approval import Seen


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Office]:
    with office(tmp_path, "sqlite", ", edit: [amount]") as made:
        yield made


def rewritten(desk: Office, kind: str) -> None:
    """Write another amount into what is stored, behind the guard's back."""
    with sqlite3.connect(desk.folder.parent / "guard.db") as connection:
        assert connection.execute("UPDATE payloads SET body = replace(body, '100', '999') WHERE kind = ?", (kind,)).rowcount


def policy(desk: Office, old: str, new: str) -> None:
    text = (desk.folder / "tools.yaml").read_text()
    assert old in text
    desk.policy(text.replace(old, new))
    desk.restart()


def sign_in(desk: Office, session: Session) -> None:
    desk.session = session
    desk.restart()


def people(desk: Office, gone: str) -> None:
    """From now on the host does not know this person any more."""
    desk.guard.session(lambda principal, tenant: None if principal == gone else known(principal, tenant))


CHANGES: dict[str, tuple[Callable[[Office], None], str]] = {
    "arguments-of-the-approval": (lambda desk: rewritten(desk, "approval"), "approval_invalid"),
    "arguments-of-the-call": (lambda desk: rewritten(desk, "call"), ""),  # another call: asked about anew
    "tool-definition": (lambda desk: policy(desk, "kind: action", "kind: action\n    description: Pay anybody."), ""),
    "session": (lambda desk: sign_in(desk, replace(ANN, attributes={"account": "A-2"})), ""),
    "session-without-its-fact": (lambda desk: sign_in(desk, replace(ANN, attributes={})), "session_fact_missing"),
    "session-without-its-role": (lambda desk: sign_in(desk, replace(ANN, roles=("guest",))), "not_authorized"),
    "policy-forbids": (lambda desk: policy(desk, "maximum: 1000", "maximum: 10"), "rule_refused"),
    "policy-asks-another-role": (lambda desk: policy(desk, "by: [boss]", "by: [owner]"), "approval_invalid"),
    "policy-asks-two": (lambda desk: policy(desk, "by: [boss]", "by: [boss], need: 2"), "approval_invalid"),
    "approver-left": (lambda desk: people(desk, "b0"), "approval_invalid"),
    "everybody-left": (lambda desk: people(desk, "u1") or people(desk, "b0"), "approval_invalid"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_behind_a_yes_does_not_run(desk: Office, change: str) -> None:
    """Refused with its own reason, or held again as another question; the old yes is spent by nothing, and running it again tries nothing."""
    asked = desk.ask(100)
    desk.approvals.approve(asked.id, approver=BOSS, seen=desk.seen(asked))
    do, reason = CHANGES[change]
    do(desk)
    told = desk.settle()
    assert desk.ran == []
    if reason:
        assert reason in told
    else:
        assert [one.status for one in desk.approvals.list()] == ["pending"]
        assert desk.approvals.list()[0].id != asked.id
        [old] = desk.events("approval.superseded")
        assert (old["approval"], old["approval_state"]["by"]) == (asked.id, desk.approvals.list()[0].id)
    desk.settle()
    assert desk.ran == []
    assert desk.status(asked) in {"superseded", "approved"}
    assert desk.status(asked) == "superseded" or change in {
        "session-without-its-fact",
        "session-without-its-role",
        "policy-forbids",
    }


def test_a_yes_that_fails_today_is_on_record(desk: Office) -> None:
    """Which version it was given under, which one it failed under; the same call proposed anew asks the right people."""
    asked = desk.ask(100)
    desk.approvals.approve(asked.id, approver=BOSS)
    policy(desk, "by: [boss]", "by: [owner]")
    desk.settle()
    [event] = desk.events("approval.revalidation_failed")
    assert event["approval"] == asked.id
    assert event["revalidation"]["policy_then"] == asked.policy != event["revalidation"]["policy_now"]
    again = desk.propose(100, call="c2").outcomes[0]
    assert again.status == "held"
    assert desk.approvals.show(again.approval).by == ("owner",)


@pytest.mark.parametrize(("change", "changed"), [(None, []), ("by: [boss, owner]", ["policy"])], ids=["same", "changed"])
def test_a_run_says_under_which_policy_people_were_asked(desk: Office, change: str | None, changed: list[str]) -> None:
    """In the record of its start, beside the policy in force, and whether that is another one."""
    asked = desk.ask(100)
    desk.approvals.approve(asked.id, approver=BOSS)
    if change:
        policy(desk, "by: [boss]", change)
    desk.settle()
    [event] = desk.events("call.begin")
    told = event["revalidation"]
    assert (told["policy_then"], told["policy_now"]) == (asked.policy, event["decision"]["policy"])
    assert told["changed"] == changed
    assert (told["policy_then"] != told["policy_now"]) == bool(changed)


def test_the_role_of_a_person_named_by_the_policy(tmp_path: Path) -> None:
    """A vote at the terminal counts while the policy calls that user a boss."""
    with office(tmp_path, "sqlite") as desk:
        asked = desk.ask(100)
        pat = Session(principal="p1", roles=("boss",))
        desk.approvals.approve(asked.id, approver=pat, via="cli", assurance="os-user")
        policy(desk, "{principal: p1, roles: [boss]}", "{principal: p1, roles: [staff]}")
        assert "approval_invalid" in desk.settle()
        assert desk.ran == []


def test_a_role_that_a_rule_gave_and_takes(tmp_path: Path) -> None:
    """Roles that rules derive are looked up again: who lost theirs by a line of the policy has not approved anything."""
    with office(tmp_path, "sqlite") as desk:
        (desk.folder / "rules.csv").write_text("g, m1, boss, default\n")
        desk.restart()
        asked = desk.ask(100)
        assert desk.approvals.approve(asked.id, approver=Session(principal="m1")).status == "approved"
        (desk.folder / "rules.csv").write_text("g, m2, boss, default\n")
        desk.restart()
        assert "approval_invalid" in desk.settle()
        assert desk.ran == []


@pytest.mark.parametrize("what", ["deciding", "running"])
def test_of_two_votes_one_whose_right_is_gone(tmp_path: Path, what: str) -> None:
    """Every vote is judged again by the second one, and all of them right before the run."""
    with office(tmp_path, "sqlite", ", need: 2") as desk:
        desk.guard.session(known)
        asked = desk.ask(100)
        desk.approvals.approve(asked.id, approver=BOSS)
        if what == "running":
            desk.approvals.approve(asked.id, approver=OTHER)
        people(desk, "b0")
        if what == "deciding":
            assert desk.approvals.approve(asked.id, approver=OTHER).status == "pending"
            assert desk.approvals.approve(asked.id, approver=BOSSES[2]).status == "approved"
            desk.settle()
            assert len(desk.ran) == 1
        else:
            assert "approval_invalid" in desk.settle()
            assert desk.ran == []


GROUNDED = """
tools:
  look: {kind: read, allow: [staff]}
  pay:
    kind: action
    allow: [staff]
    ground: {amount: {returned_by: look.owed, latest: true}}
    approve: {by: [boss]}
limits: {run: {calls: 100}}
"""


def test_the_grounding_result_changed(tmp_path: Path) -> None:
    """The look-up that the amount came from was made again and says something else: the approved call is refused as not grounded."""
    (tmp_path / "tools.yaml").write_text(GROUNDED)
    owed, ran = [100], []

    def look() -> dict[str, int]:
        """What is owed."""
        return {"owed": owed[0]}

    def pay(amount: int) -> None:
        """Pay."""
        ran.append(amount)

    with Guard.load(tmp_path, tools=[look, pay], store="memory://") as guard:
        chat = guard.open(ANN, wire="openai-chat", conversation="c")
        chat.user("Please.")
        chat.handle(message("openai-chat", ("c1", "look", "{}")))
        turn = chat.handle(message("openai-chat", ("c2", "pay", '{"amount": 100}')))
        guard.approvals.approve(turn.pending[0].id, approver=BOSS)
        owed[0] = 70
        chat.handle(message("openai-chat", ("c3", "look", "{}")))
        assert "not_grounded" in str(chat.settled())
        assert guard.approvals.show(turn.pending[0].id).status == "approved"
    assert ran == []


HIDDEN = """
tools:
  find: {kind: read, allow: [staff], result: {handle: {mail: email}}}
  send: {kind: action, allow: [staff], handles: {to: email}, approve: {by: [boss]}}
limits: {run: {calls: 100}}
"""


def test_the_value_behind_a_handle_changed(tmp_path: Path) -> None:
    """The approver saw the value; where another one stands behind the handle by then, the yes is for another call."""
    (tmp_path / "tools.yaml").write_text(HIDDEN)
    sent: list[str] = []

    def find() -> dict[str, str]:
        """Find."""
        return {"mail": "kim@example.com"}

    def send(to: str) -> None:
        """Send."""
        sent.append(to)

    with Guard.load(tmp_path, tools=[find, send], store=f"sqlite:///{tmp_path}/guard.db") as guard:
        chat = guard.open(ANN, wire="openai-chat", conversation="c")
        chat.user("Please.")
        found = chat.handle(message("openai-chat", ("c1", "find", "{}")))
        handle = str(found.outcomes[0].content).split('"mail":"')[1].split('"')[0]
        turn = chat.handle(message("openai-chat", ("c2", "send", f'{{"to": "{handle}"}}')))
        [asked] = turn.pending
        assert asked.arguments == {"to": "kim@example.com"}
        guard.approvals.approve(asked.id, approver=BOSS)
        with sqlite3.connect(tmp_path / "guard.db") as connection:
            connection.execute("UPDATE payloads SET body = replace(body, 'kim@', 'eve@') WHERE kind LIKE '%handle%'")
        chat.settled()
    assert "eve@example.com" not in sent


VOTERS: dict[str, tuple[Session, str]] = {
    "stranger": (STRANGER, "not_found"),
    "cross-tenant": (replace(BOSS, tenant="other"), "not_found"),
    "requester": (ANN, "own"),
    "requester-with-the-role": (replace(ANN, roles=("staff", "boss")), "own"),
    "the-agent's-own": (Session(principal="agent", roles=("staff",)), "not_found"),
    "a-role-of-that-spelling": (Session(principal="b8", roles=("Boss",)), "not_found"),
}


@pytest.mark.parametrize("voter", VOTERS)
@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_vote_of_somebody_else(desk: Office, voter: str, verb: str) -> None:
    """Refused on either side of yes and no, on record as an attempt, and the question waits on."""
    who, expected = VOTERS[voter]
    asked = desk.ask(100)
    assert code(getattr(desk.approvals, verb), asked.id, approver=who) == expected
    assert (desk.status(asked), desk.approvals.show(asked.id).votes) == ("pending", ())
    [event] = desk.events("approval.vote")
    assert (event["actor"]["ref"], event["approval_state"]["why"]) == (who.principal, expected)


@pytest.mark.parametrize("given", [None, "b0", {"principal": "b0"}, True], ids=str)
def test_a_forged_identity(desk: Office, given: Any) -> None:
    """Nothing but a session counts as a person, whatever it claims."""
    asked = desk.ask(100)
    assert code(desk.approvals.approve, asked.id, approver=given) == "not_entitled"
    assert desk.status(asked) == "pending"


def test_a_replayed_form(desk: Office) -> None:
    """The same form sent again: after a decision it is too late, about another question it is stale, in another conversation as well."""
    first, second = desk.ask(100), desk.ask(200, call="c2")
    form: Seen = desk.seen(first)
    assert code(desk.approvals.approve, second.id, approver=BOSS, seen=form) == "stale"
    other = desk.guard.open(replace(ANN, principal="u2"), wire="openai-chat", conversation="d")
    turn = other.handle(message("openai-chat", ("c1", "pay", '{"amount": 100, "to": "Bob"}')))
    assert code(desk.approvals.approve, turn.pending[0].id, approver=BOSS, seen=form) == "stale"
    desk.approvals.approve(first.id, approver=BOSS, seen=form)
    assert code(desk.approvals.approve, first.id, approver=BOSS, seen=form) == "already_decided"
    desk.settle()
    assert code(desk.approvals.approve, first.id, approver=BOSS, seen=form) == "already_decided"
    assert len(desk.ran) == 1
    desk.settle()
    assert len(desk.ran) == 1
