"""Reported failures: approvals that cover something else than what a person saw."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reports import BOSS, BOTH, Desk, codes, outcome, start, states

from guard import ApprovalError, Session
from guard.core.ports import AskApproval

OWNER = Session(principal="o1", roles=("owner",))
TRANSFER = """
    tools:
      transfer: {kind: action, allow: [staff], approve: {by: [boss]}}
"""


def transfer(amount: int, to: str = "A") -> dict[str, int]:
    return {"sent": amount}


@BOTH
def test_no_edit_reaches_another_tool_br_062(tmp_path: Path, wire: str) -> None:
    """A person says yes or no to the call as it stands; another tool under the same id is another call with its own approval."""
    policy = """
        tools:
          look: {kind: read, allow: [staff], approve: {by: [boss]}}
          drop_table: {kind: action, allow: [staff], approve: {by: [owner]}}
    """
    tools = {"look": lambda row: f"row {row}", "drop_table": lambda name: "dropped"}
    desk = start(tmp_path, wire, policy, tools, store="sqlite")
    turn = desk.propose(("c1", "look", {"row": 1}))
    desk.approve(turn, "c1")
    second = desk.propose(("c1", "drop_table", {"name": "t"}))
    assert states(second) == ["held"]
    desk.settle()
    assert desk.ran == [("look", {"row": 1})]
    assert [approval.tool for approval in desk.pending()] == ["drop_table"]
    with pytest.raises(ApprovalError, match="may not be changed") as raised:  # nobody may, unless the policy names what
        desk.guard.approvals.edit(desk.pending()[0].id, editor=OWNER, changes={"/name": "u"}, reason="no")
    assert raised.value.code == "not_editable"
    desk.closed()


@BOTH
def test_what_was_shown_is_what_runs_br_063(tmp_path: Path, wire: str) -> None:
    """Everything that changes arguments happens before the approval: the approver, the tool and the record hold the same value."""
    policy = TRANSFER.replace("approve", "coerce: lossless, bind: {to: session.account}, approve")
    session = Session(principal="u1", roles=("staff",), attributes={"account": "own"})
    desk = start(tmp_path, wire, policy, {"transfer": transfer}, session=session, store="sqlite")
    turn = desk.propose(("c1", "transfer", {"amount": "50", "to": "other"}))
    assert desk.pending()[0].arguments == {"amount": 50, "to": "own"}
    desk.approve(turn, "c1")
    desk.settle()
    assert desk.ran == [("transfer", {"amount": 50, "to": "own"})]
    assert {json.dumps(event["args"]["shown"], sort_keys=True) for event in desk.audit("call.decided")} == {
        '{"amount": 50, "to": "own"}'
    }
    begin = desk.audit("call.begin")[0]["args"]["digest"]
    assert begin == desk.decision("c1")["args"]["digest"]
    desk.closed()


@BOTH
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_values_changed_in_hand_change_nothing_br_063b(tmp_path: Path, wire: str, store: str) -> None:
    """Writing into the objects that the guard gave out never runs another value: where the store shares them, the yes is void."""

    def meddle(arguments: dict[str, Any]) -> None:
        arguments["amount"] = 999

    def spend(amount: int, to: list[str]) -> str:
        to.append("thief")
        return "sent"

    policy = TRANSFER.replace("approve", "checks: [meddle], approve")
    desk = start(tmp_path, wire, policy, {"transfer": spend}, store=store, checks={"meddle": meddle})
    turn = desk.propose(("c1", "transfer", {"amount": 100, "to": ["A"]}))
    approval = turn.pending[0]
    desk.guard.approvals.show(approval.id).arguments["amount"] = 999
    approval.arguments["to"].append("thief")
    outcome(turn, "c1").arguments["amount"] = 999  # type: ignore[index]
    desk.approve(turn, "c1")
    desk.settle()
    assert {arguments["amount"] for _, arguments in desk.ran} <= {100}
    assert [desk.times("transfer"), len(desk.audit("call.end"))] == ([0, 0] if store == "memory" else [1, 1])
    assert desk.decision("c1")["args"]["shown"] == {"amount": 100, "to": ["A"]}
    desk.closed()


def rewrite(tmp_path: Path, kind: str, old: str, new: str) -> int:
    """Write into the store behind the guard's back."""
    connection = sqlite3.connect(tmp_path / "guard.db")
    with connection:
        found = connection.execute("UPDATE payloads SET body = replace(body, ?, ?) WHERE kind = ?", (old, new, kind)).rowcount
    connection.close()
    return found


@BOTH
@pytest.mark.parametrize("held", ["answer", "suspend"])
@pytest.mark.parametrize("kind", ["approval", "call"])
def test_a_second_record_with_another_amount_br_065(tmp_path: Path, wire: str, held: str, kind: str) -> None:
    """When the stored approval or the stored call is changed by another party, the yes of a person runs neither version."""
    desk = start(tmp_path, wire, TRANSFER, {"transfer": transfer}, store="sqlite", held=held)
    turn = desk.propose(("c1", "transfer", {"amount": 100}))
    assert rewrite(tmp_path, kind, "100", "999") > 0
    desk.approve(turn, "c1")
    if held == "suspend" and kind == "approval":
        assert codes(desk.propose(("c1", "transfer", {"amount": 100}))) == ["approval_invalid"]
    elif held == "answer":
        desk.settle()
        assert not desk.ran
    assert all(arguments["amount"] == 100 for _, arguments in desk.ran)
    if kind == "approval":
        assert not desk.ran
        assert desk.decision("c1")["decision"]["code"] == "approval_invalid"
    desk.seen = desk.seen[:1]
    desk.closed()


@BOTH
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_second_approval_for_the_same_call_br_065d(tmp_path: Path, wire: str, store: str) -> None:
    """When another party opens a second approval at the place of a held call, a yes to either runs nothing."""
    desk = start(tmp_path, wire, TRANSFER, {"transfer": transfer}, store=store)
    turn = desk.propose(("c1", "transfer", {"amount": 100}))
    true = desk.pending()[0]
    forged = replace(true, id="ap_forged", fingerprint="0" * 64, arguments={"amount": 999})
    asked = next(one for one in desk.audit() if one["kind"] == "approval.requested")
    written = {name: value for name, value in asked.items() if name not in ("v", "id", "ts", "mono", "writer", "chain", "seq")}
    desk.guard.store.ask(AskApproval(proposal=forged, event={**written, "approval": "ap_forged"}, run=1))
    for name in (true.id, forged.id):
        desk.guard.approvals.approve(name, approver=BOSS)
    assert "approval_invalid" in desk.settle()
    assert not desk.ran
    assert outcome(turn, "c1").status == "held"
    desk.closed()


@BOTH
def test_another_amount_under_the_same_id_br_065b(tmp_path: Path, wire: str) -> None:
    """A later proposal with the approved call's id and another amount is a call of its own."""
    desk = start(tmp_path, wire, TRANSFER, {"transfer": transfer})
    first = desk.propose(("c1", "transfer", {"amount": 100}))
    desk.approve(first, "c1")
    second = desk.propose(("c1", "transfer", {"amount": 999}))
    assert states(second) == ["held"]
    desk.settle()
    assert desk.ran == [("transfer", {"amount": 100, "to": "A"})]  # the default that was shown, too
    desk.closed()


@BOTH
@pytest.mark.parametrize(
    ("path", "status"), [("ROOT/a", "held"), ("/etc/a", "refused"), ("ROOT/../etc/a", "refused"), ("ROOT/link/a", "refused")]
)
def test_the_final_path_is_what_is_judged_br_067(tmp_path: Path, wire: str, path: str, status: str) -> None:
    """No step comes after the rules: the path that would be written is judged as it will be, before anybody is asked."""
    root = tmp_path / "w"
    root.mkdir()
    (root / "link").symlink_to("/etc")
    policy = f"""
        tools:
          write:
            kind: action
            allow: [staff]
            approve: {{by: [boss]}}
            require: {{path: {{path: {{inside: {root}}}}}}}
    """
    desk = start(tmp_path, wire, policy, {"write": lambda path: "written"})
    turn = desk.propose(("c1", "write", {"path": path.replace("ROOT", str(root))}))
    assert states(turn) == [status]
    assert len(desk.pending()) == (status == "held")
    assert not desk.ran
    desk.closed()


@BOTH
def test_a_link_that_moves_between_yes_and_act_br_067b(tmp_path: Path, wire: str) -> None:
    """The rules are asked again right before the act, so a path that leads elsewhere by then is refused."""
    root = tmp_path / "w"
    (root / "sub").mkdir(parents=True)
    policy = f"""
        tools:
          write: {{kind: action, allow: [staff], approve: {{by: [boss]}}, require: {{path: {{path: {{inside: {root}}}}}}}}}
    """
    desk = start(tmp_path, wire, policy, {"write": lambda path: "written"}, store="sqlite")
    turn = desk.propose(("c1", "write", {"path": f"{root}/sub/f"}))
    desk.approve(turn, "c1")
    (root / "sub").rmdir()
    (root / "sub").symlink_to("/etc")
    assert "rule_refused" in desk.settle()
    assert not desk.ran
    desk.closed()


BASH = """
    tools:
      bash:
        kind: action
        allow: [staff]
        approve: [{when: {cmd: {not: {pattern: "rtk [a-z0-9 /.-]*"}}}, by: [boss]}, never]
"""


@BOTH
@pytest.mark.parametrize(
    ("cmd", "status"), [("rm -r /w", "held"), ("rtk status", "done"), ("rtk status; rm -r /w", "held"), ("xrtk status", "held")]
)
def test_a_permitted_prefix_is_never_added_br_068(tmp_path: Path, wire: str, cmd: str, status: str) -> None:
    """Nothing rewrites a command after it was proposed, so what is judged is what the model wrote."""
    desk = start(tmp_path, wire, BASH, {"bash": lambda cmd: "ok"})
    turn = desk.propose(("c1", "bash", {"cmd": cmd}))
    assert states(turn) == [status]
    assert [arguments["cmd"] for _, arguments in desk.ran] == ([cmd] if status == "done" else [])
    desk.closed()


@BOTH
@pytest.mark.parametrize("later", [{"target": "db"}, {"target": ""}])
def test_a_yes_without_arguments_covers_no_others_br_069(tmp_path: Path, wire: str, later: dict[str, str]) -> None:
    """An approval of a call without arguments is for that one call; with any arguments it is another call."""
    policy = "tools: {restart: {kind: action, allow: [staff], approve: {by: [boss]}}}"

    def restart(target: str = "all") -> str:
        return "restarted"

    desk = start(tmp_path, wire, policy, {"restart": restart})
    first = desk.propose(("c1", "restart", {}))
    desk.approve(first, "c1")
    desk.settle()
    second = desk.propose(("c2", "restart", later))
    assert states(second) == ["held"]
    assert desk.ran == [("restart", {"target": "all"})]  # the default that was shown
    desk.say("Once more, please.")
    assert states(desk.propose(("c3", "restart", {}))) == ["held"]
    desk.closed()


def repeated(desk: Desk) -> list[str]:
    return states(desk.propose(("c2", "transfer", {"amount": 100})))


@BOTH
def test_an_approved_call_again_br_071(tmp_path: Path, wire: str) -> None:
    """A result says which arguments ran; the same call proposed again in the run is that result, later a call with its own approval."""
    desk = start(tmp_path, wire, TRANSFER, {"transfer": transfer}, store="sqlite")
    first = desk.propose(("c1", "transfer", {"amount": 100}))
    desk.approve(first, "c1")
    assert '"sent' in desk.settle()
    assert repeated(desk) == ["done"]
    assert desk.seen[-1].outcomes[0].replayed
    desk.say("Send it a second time.")
    assert repeated(desk) == ["held"]
    assert desk.times("transfer") == 1
    desk.closed()


@BOTH
def test_a_yes_is_spent_once_br_065c(tmp_path: Path, wire: str) -> None:
    """Deciding twice is refused, and settling twice runs once."""
    desk = start(tmp_path, wire, TRANSFER, {"transfer": transfer}, store="sqlite")
    turn = desk.propose(("c1", "transfer", {"amount": 100}))
    desk.approve(turn, "c1")
    with pytest.raises(ApprovalError) as raised:
        desk.guard.approvals.reject(desk.waiting(turn, "c1"), approver=BOSS)
    assert raised.value.code == "already_decided"
    assert "sent" in desk.settle()
    assert desk.settle() == "[]"
    assert desk.times("transfer") == 1
    desk.closed()


@BOTH
@pytest.mark.parametrize(("old", "new"), [("by: [boss]", "by: [owner]"), ("{kind", "{description: Abroad., kind")])
def test_policy_of_the_moment_wins_br_062b(tmp_path: Path, wire: str, old: str, new: str) -> None:
    """A yes given under an earlier policy runs nothing when today's asks for another approver, or describes another tool."""
    desk = start(tmp_path, wire, TRANSFER, {"transfer": transfer}, store="sqlite")
    turn = desk.propose(("c1", "transfer", {"amount": 100}))
    desk.approve(turn, "c1")
    desk.closed()
    later = start(tmp_path, wire, TRANSFER.replace(old, new), {"transfer": transfer}, store="sqlite")
    told = later.settle()
    assert "approval_invalid" in told if "owner" in new else told == "[]"
    assert len(later.pending()) == ("owner" not in new)
    assert not later.ran
    later.closed()
