"""Reported failures: a guard that is broken, slow, misspelt or bypassed, and the tool runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, STRANGER, Desk, error, outcome, start, states, write

from guard import ApprovalError, Guard, GuardError, PolicyError

BASH = """
    tools:
      bash:
        kind: action
        allow: [staff]
        approve: never
        checks: [sentry, second]
"""


def bash(cmd: str) -> str:
    return f"ran {cmd}"


def passes(arguments: dict[str, Any]) -> None:
    return None


def guarded(tmp_path: Path, wire: str, sentry: Any, store: str = "memory", second: Any = passes) -> Desk:
    return start(tmp_path, wire, BASH, {"bash": bash}, checks={"sentry": sentry, "second": second}, store=store)


@BOTH
@pytest.mark.parametrize(
    "failure", [RuntimeError, KeyError, RecursionError, AssertionError, StopIteration, TimeoutError, MemoryError]
)
def test_a_check_that_raises_br_116(tmp_path: Path, wire: str, failure: type[Exception]) -> None:
    """A check that breaks refuses; the refusal names the check and holds none of its error's text."""

    def sentry(arguments: dict[str, Any]) -> None:
        raise failure("rules at /etc/sentry are gone")

    desk = guarded(tmp_path, wire, sentry, "sqlite")
    turn = desk.propose(("c1", "bash", {"cmd": "id"}))
    told = error(outcome(turn, "c1"))
    assert told["code"] == "check_failed"
    assert "sentry" in told["message"]
    assert "/etc/sentry" not in desk.everything()
    assert not desk.ran
    desk.closed()


@BOTH
def test_a_record_loader_that_raises_br_116b(tmp_path: Path, wire: str) -> None:
    """A record that cannot be looked up, or for which no loader exists, refuses."""
    policy = """
        tools:
          show: {kind: read, allow: [staff], resource: {order: order_id, owner: user}}
          other: {kind: read, allow: [staff], resource: {parcel: parcel_id}}
    """
    desk = start(tmp_path, wire, policy, {"show": lambda order_id: "it", "other": lambda parcel_id: "it"})

    @desk.guard.resource("order")
    def order(name: str) -> dict[str, str]:
        raise ConnectionError("db.internal.example is down")

    turn = desk.propose(("c1", "show", {"order_id": "o1"}), ("c2", "other", {"parcel_id": "p1"}))
    assert [error(one)["code"] for one in turn.outcomes] == ["fact_unavailable"] * 2
    assert "db.internal" not in desk.everything()
    assert not desk.ran
    desk.closed()


@BOTH
def test_a_check_out_of_time_br_117(tmp_path: Path, wire: str) -> None:
    """A check that gives up waiting refuses, the record tells that from a yes, and no other check is skipped for it."""
    asked: list[str] = []

    def sentry(arguments: dict[str, Any]) -> None:
        raise TimeoutError

    def second(arguments: dict[str, Any]) -> None:
        asked.append(arguments["cmd"])

    desk = guarded(tmp_path, wire, second, second=sentry)
    turn = desk.propose(("c1", "bash", {"cmd": "id"}))
    assert states(turn) == ["refused"]
    assert asked == ["id"]
    assert desk.decision("c1")["decision"]["verdict"] == "refuse"
    assert "TimeoutError" in desk.decision("c1")["decision"]["note"]
    assert not desk.ran
    desk.closed()


@BOTH
def test_a_slow_check_is_waited_for_br_117b(tmp_path: Path, wire: str) -> None:
    """However long a check takes, the tool does not start before its answer."""
    order: list[str] = []

    def sentry(arguments: dict[str, Any]) -> None:
        time.sleep(0.2)
        order.append("answered")

    tools = {"bash": lambda cmd: order.append("ran") or "ok"}
    desk = start(tmp_path, wire, BASH, tools, checks={"sentry": sentry, "second": passes})
    desk.propose(("c1", "bash", {"cmd": "id"}))
    assert order == ["answered", "ran"]
    desk.closed()


@BOTH
def test_a_broken_check_keeps_refusing_br_118(tmp_path: Path, wire: str) -> None:
    """Failures are not counted: a broken check refuses the fourth call as the first, until it works again."""
    broken = [True]

    def sentry(arguments: dict[str, Any]) -> None:
        if broken[0]:
            raise RuntimeError

    desk = guarded(tmp_path, wire, sentry)
    for number in range(6):
        assert states(desk.propose((f"c{number}", "bash", {"cmd": f"id {number}"}))) == ["refused"]
    assert not desk.ran
    notes = [event["decision"]["note"] for event in desk.audit("call.decided")]
    assert notes == ["sentry raised RuntimeError"] * 6
    broken[0] = False
    assert states(desk.propose(("c9", "bash", {"cmd": "id 9"}))) == ["done"]
    desk.closed()


MISTAKES = {
    "misspelt-key": ("aprove: {by: [boss]}", "aprove"),
    "misspelt-inner-key": ("approve: {bye: [boss]}", "bye"),
    "empty-list": ("approve: {by: []}", "by"),
    "no-rule": ("description: Delete it.", "approves"),
    "not-a-rule": ("approve: yes", "approval"),
    "off": ("approve: false", "approval"),
    "null": ("approve:", "approval"),
    "unknown-check": ("approve: never\n        checks: [sentri]", "sentri"),
    "no-roles": ("approve: never\n        allow: []", "allow"),
}


@pytest.mark.parametrize(("line", "names"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_slip_in_a_rule_stops_loading_br_119(tmp_path: Path, line: str, names: str) -> None:
    """A rule that would be without effect stops loading with its file, its line and the key's name."""
    allow = "" if "allow:" in line else "allow: [staff]"
    policy = f"""
    tools:
      delete_db:
        kind: action
        {allow}
        {line}
    """
    with pytest.raises(PolicyError) as raised:
        Guard.load(write(tmp_path, policy), tools={"delete_db": lambda: "gone"}, store="memory://", checks={"sentry": passes})
    assert any(names in problem.message for problem in raised.value.problems), str(raised.value)
    assert all(problem.line for problem in raised.value.problems)


def test_a_rule_for_an_unknown_tool_stops_loading_br_119b(tmp_path: Path) -> None:
    """A rule that matches no registered tool is a mistake that names the nearest one, in YAML as in CSV."""
    policy = "tools: {delete_dbs: {kind: action, allow: [staff], approve: never}}"
    with pytest.raises(PolicyError) as raised:
        Guard.load(write(tmp_path, policy), tools={"delete_db": lambda: "gone"}, store="memory://")
    assert "delete_db" in raised.value.problems[0].cure
    policy = "tools: {delete_db: {kind: action, allow: [staff], approve: never}}"
    folder = write(tmp_path, policy, {"rules.csv": "p, staff, *, delete_dbs, call, deny\n"})
    with pytest.raises(PolicyError, match=r"rules\.csv:1"):
        Guard.load(folder, tools={"delete_db": lambda: "gone"}, store="memory://")


@BOTH
def test_nothing_starts_beside_a_check_br_121(tmp_path: Path, wire: str) -> None:
    """All checks of a turn have answered before its first action starts, even one of an earlier call of the turn."""
    order: list[str] = []

    def sentry(arguments: dict[str, Any]) -> str | None:
        time.sleep(0.05)
        order.append(f"checked {arguments['to']}")
        return "This looks like spam." if arguments["to"].endswith("test") else None

    policy = "tools: {mail: {kind: action, allow: [staff], approve: never, checks: [sentry]}}"
    desk = start(tmp_path, wire, policy, {"mail": lambda to: order.append(f"sent {to}") or "sent"}, checks={"sentry": sentry})
    turn = desk.propose(("c1", "mail", {"to": "a@example.com"}), ("c2", "mail", {"to": "a@example.test"}))
    assert states(turn) == ["done", "refused"]
    assert order == ["checked a@example.com", "checked a@example.test", "sent a@example.com"]
    assert "spam" in error(outcome(turn, "c2"))["message"]
    desk.closed()


@BOTH
@pytest.mark.parametrize(
    "answer",
    [{"permission": "deny"}, {"allow": True}, True, False, 0, (), "", b"", {"decision": "allow"}, object(), NotImplemented],
    ids=lambda answer: type(answer).__name__ + repr(answer).partition(" at 0x")[0][:24].replace(" ", ""),
)
def test_an_answer_of_another_shape_br_123(tmp_path: Path, wire: str, answer: Any) -> None:
    """Only None lets a call pass; whatever else a check gives back refuses, and its type is on record."""
    desk = guarded(tmp_path, wire, lambda arguments: answer)
    turn = desk.propose(("c1", "bash", {"cmd": "ls"}))
    assert states(turn) == ["refused"]
    assert error(outcome(turn, "c1"))["code"] in {"check_failed", "check_refused"}
    if not isinstance(answer, str):
        assert type(answer).__name__ in desk.decision("c1")["decision"]["note"]
    assert not desk.ran
    desk.closed()


WIPE = "tools: {wipe: {kind: action, allow: [staff], approve: {by: [boss]}}}"


@BOTH
def test_what_is_given_away_is_never_the_function_br_124(tmp_path: Path, wire: str) -> None:
    """What the host hands on (schemas, turns, approvals) holds no function, and with nobody to approve nothing ever runs."""
    desk = start(tmp_path, wire, WIPE, {"wipe": lambda: "wiped"})
    turn = desk.propose(("c1", "wipe", {}))
    assert states(turn) == ["held"]
    shown = [desk.chat.tools, turn, desk.guard.approvals.list()]
    assert not [value for value in shown if "function <" in repr(value)]
    assert not callable(desk.guard.policy.tools["wipe"])
    for approver in (STRANGER, desk.chat.session):
        with pytest.raises(ApprovalError):
            desk.approve(turn, "c1", approver=approver)
    desk.settle()
    assert not desk.ran
    desk.closed()


def test_an_async_function_is_not_run_unawaited_br_124b(tmp_path: Path) -> None:
    """A tool that the plain guard could only half run is refused when the guard is built."""

    async def wipe() -> str:
        return "wiped"

    policy = WIPE + "\nlimits: {run: {calls: 9}}"
    with pytest.raises(GuardError, match="wipe"):
        Guard.load(write(tmp_path, policy), tools=[wipe], store="memory://")


PAY = """
    tools:
      pay:
        kind: action
        allow: [staff]
        refuse: {when: {amount: {exclusiveMinimum: 1000}}, say: "Never above 1000."}
        approve: [{when: {amount: {exclusiveMinimum: 100}}, by: [boss]}, never]
"""


@BOTH
@pytest.mark.parametrize(
    ("amount", "status"), [(5000, "refused"), (1001, "refused"), (1000, "held"), (101, "held"), (100, "done"), (-1, "done")]
)
def test_forbidden_beats_ask_br_126(tmp_path: Path, wire: str, amount: int, status: str) -> None:
    """Nobody is asked about what is forbidden, and at the edges each amount falls to its own rule."""
    desk = start(tmp_path, wire, PAY, {"pay": lambda amount: "paid"}, store="sqlite")
    turn = desk.propose(("c1", "pay", {"amount": amount}))
    assert states(turn) == [status]
    assert len(desk.pending()) == (status == "held")
    assert desk.times("pay") == (status == "done")
    desk.closed()


@BOTH
def test_forbidden_once_more_before_the_act_br_126b(tmp_path: Path, wire: str) -> None:
    """A check that says no by the time of the act wins over the yes of a person."""
    answers: list[str | None] = [None, "Frozen since noon."]
    policy = PAY.replace("kind: action", "kind: action\n        checks: [account]")
    desk = start(
        tmp_path, wire, policy, {"pay": lambda amount: "paid"}, checks={"account": lambda given: answers.pop(0)}, store="sqlite"
    )
    turn = desk.propose(("c1", "pay", {"amount": 500}))
    desk.approve(turn, "c1")
    assert "Frozen" in desk.settle()
    assert not desk.ran
    desk.closed()


@BOTH
@pytest.mark.parametrize("sent", ["u2", "u1"])
def test_a_step_that_gives_nothing_back_br_128(tmp_path: Path, wire: str, sent: str) -> None:
    """A check that only looks, or tries to change what it is shown, loses nothing: the session's value runs and is recorded."""

    def logs(arguments: dict[str, Any]) -> None:
        arguments["user_id"] = "u2"

    policy = "tools: {rows: {kind: read, allow: [staff], bind: {user_id: session.principal}, checks: [logs]}}"
    desk = start(tmp_path, wire, policy, {"rows": lambda user_id: [user_id]}, checks={"logs": logs})
    turn = desk.propose(("c1", "rows", {"user_id": sent}))
    assert states(turn) == ["done"]
    assert desk.ran == [("rows", {"user_id": "u1"})]
    assert desk.decision("c1")["args"]["shown"] == {"user_id": "u1"}
    desk.closed()
