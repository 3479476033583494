"""Cases: everything that the policy language says can be said in a case, and a case that says otherwise fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases_kit import failures, folder, played, read

from guard.policy import load_policy
from guard.review.judging import ROWS
from guard.review.keys import EXPECTATIONS
from guard.review.suite import verify

ANN = "  - name: n\n    session: ann\n"
HELD = ANN + "    call: {send: {to: kim, n: 6}}\n"
RIGHT = {
    "the model sees kept fields, redacted, digits as they are": ANN
    + "    call: {find: {x: 1}}\n    returns: {id: A, amount: 100.10, mail: kim@example.com, key: k}\n    expect: allow\n"
    "    result: {id: A, amount: 100.10, mail: '[email]'}\n",
    "nothing found has its own words": ANN + "    call: find\n    expect: allow\n    result: no such thing\n",
    "a tool's own failure": ANN
    + "    call: find\n    raises: not today\n    expect: allow\n    reason: tool_failed\n    says: not today\n",
    "unknown, with an offer to take it back": ANN
    + "    call: {lose: {id: A}}\n    raises: unknown\n    expect: allow\n    reason: outcome_unknown\n    offers: [regain]\n",
    "a stranger": "  - {name: n, session: stranger, call: find, expect: refuse, reason: not_authorized}\n",
    "a deny line": "  - {name: n, session: trainee, call: {send: {to: kim}}, expect: refuse, rules: ['p, trainee, *, send, call, deny']}\n",
    "a strict binding": ANN + "    call: {send: {to: kim, by: E2}}\n    expect: refuse\n    reason: bound_field_sent\n",
    "arguments and where they come from": ANN
    + "    call: {send: {to: kim, n: 5}}\n    expect: allow\n    arguments: {to: kim, n: 5.0, by: E1}\n    origins: {to: model, by: session}\n",
    "text that is no JSON": ANN + "    call: {send: '{\"to\": '}\n    expect: refuse\n    reason: malformed_arguments\n",
    "text that is JSON": ANN
    + '    call: {send: \'{"to": "kim", "n": 1}\'}\n    expect: allow\n    arguments: {to: kim, n: 1, by: E1}\n',
    "a schema": ANN + "    call: {send: {n: 1}}\n    expect: refuse\n    reason: invalid_arguments\n",
    "a check that refuses": ANN
    + "    checks: {hours: Closed.}\n    call: {send: {to: kim}}\n    expect: refuse\n    reason: check_refused\n    says: Closed.\n",
    "a check that cannot answer": ANN
    + "    checks: {hours: fail}\n    call: {send: {to: kim}}\n    expect: refuse\n    reason: check_failed\n",
    "an argument that must be small": ANN
    + "    call: {send: {to: kim, n: 101}}\n    expect: refuse\n    rules: ['send.require[0]']\n",
    "an argument that may not be, and what is said": ANN
    + "    call: {send: {to: a@evil, n: 1}}\n    expect: refuse\n    reason: rule_refused\n    says: Not there.\n",
    "who is asked, how long, about what": HELD + "    expect: hold\n    approvers: [boss]\n    expires: 1h\n    show: [to]\n",
    "approved by one who may": HELD + "    approve: boss\n    returns: sent\n    expect: allow\n    result: sent\n",
    "not by one who may not": HELD + "    approve: barred\n    expect: hold\n",
    "nor by the requester": HELD + "    approve: ann\n    expect: hold\n",
    "rejected": HELD + "    reject: boss\n    expect: refuse\n    reason: approval_rejected\n",
    "too late": HELD + "    approve: {by: boss, wait: 61m}\n    expect: refuse\n    reason: approval_expired\n",
    "one's own record": ANN + "    call: {open: {id: D1}}\n    expect: allow\n",
    "somebody else's record": ANN + "    call: {open: {id: D2}}\n    expect: refuse\n    reason: not_owner\n",
    "a record that is there in this case only": ANN
    + "    facts: {door: {D9: {owner: E1}}}\n    call: {open: {id: D9}}\n    expect: allow\n",
    "a record that changed meanwhile": ANN
    + "    history: [{call: {open: {id: D1}}}, {facts: {door: {D1: {owner: E2}}}}]\n    call: {open: {id: D1}}\n    expect: refuse\n",
    "a value from an earlier turn, and a shadow rule that would refuse": ANN
    + "    history: [{call: find, returns: {id: A, amount: 9}}]\n    call: {pay: {id: B, n: 9}}\n    expect: hold\n    shadow: [ground id]\n",
    "a value of the session": ANN + "    call: {pay: {id: B, n: 7}}\n    expect: hold\n",
    "a value that the user wrote": ANN
    + "    user: [Hello., Pay 12 please.]\n    call: {pay: {id: B, n: 12}}\n    expect: hold\n",
    "what another person looked up counts for nothing": ANN
    + "    history: [{session: trainee, call: find, returns: {id: A, amount: 9}}]\n    call: {pay: {id: A, n: 9}}\n    expect: refuse\n",
    "a sum over persons and conversations": ANN
    + "    user: Pay 150.\n    history: [{call: {pay: {id: A, n: 150}}, approve: ann}, {session: trainee, user: Pay 51.}]\n"
    "    conversation: other\n    calls:\n      - {call: {pay: {id: B, n: 7}}, expect: hold}\n",
    "calls of a tool": ANN
    + "    history: [{call: {open: {id: D1}}, times: 2}]\n    call: {open: {id: D1}}\n    expect: refuse\n    reason: limit_reached\n",
    "steps, which a word of the user begins anew": ANN
    + "    history: [{call: find, times: 9}, {call: find, expect: refuse}, {user: on}]\n    call: find\n    expect: allow\n",
    "seconds": ANN + "    user: go\n    history: [{wait: 61s}]\n    call: find\n    expect: refuse\n    rules: [limit seconds]\n",
    "tokens": ANN + "    usage: {in: 600, out: 401, cost: 0}\n    call: find\n    expect: refuse\n    rules: [limit tokens]\n",
    "cost by the price of a model": ANN
    + "    usage: {model: m, in: 501, out: 500}\n    call: find\n    expect: refuse\n    reason: limit_reached\n",
    "cost of a model without a price": ANN
    + "    usage: {model: other, in: 1}\n    call: find\n    expect: refuse\n    reason: limit_unknown\n",
    "calls of one message": ANN
    + "    calls:\n      - {call: find, times: 3, expect: allow}\n      - {call: find, expect: refuse, reason: limit_reached}\n",
    "an equal action is not run again": ANN
    + "    history: [{call: {send: {to: kim, n: 1}}, returns: first}]\n    call: {send: {to: kim, n: 1}}\n    returns: second\n    expect: replay\n    result: first\n",
    "where the tool says so it is": ANN
    + "    history: [{call: {open: {id: D1}}, returns: first}]\n    call: {open: {id: D1}}\n    returns: second\n    expect: allow\n    result: second\n",
    "an unknown tool": ANN + "    call: {fnid: {}}\n    expect: refuse\n    reason: unknown_tool\n",
    "a history in which something was held and refused": ANN
    + "    history: [{call: {send: {to: kim, n: 6}}, expect: hold}, {call: {send: {}}, expect: refuse}]\n    call: find\n    expect: allow\n",
    "a person of the policy": "  - {name: n, session: boss, call: find, expect: refuse, reason: not_authorized}\n",
}
WRONG = {
    "another decision": (ANN + "    call: find\n    expect: refuse\n", "expected refuse, came allow"),
    "a refusal says why": (
        ANN + "    call: {open: {id: D2}}\n    expect: allow\n",
        "expected allow, came refuse, not_owner (The record",
    ),
    "another reason": (
        ANN + "    call: {open: {id: D2}}\n    expect: refuse\n    reason: not_grounded\n",
        'reason: expected "not_grounded", came "not_owner"',
    ),
    "an argument more": (ANN + "    call: {send: {to: a, n: 1}}\n    expect: allow\n    arguments: {to: a, n: 1}\n", '"by":"E1"'),
    "a field less": (
        ANN + "    call: find\n    returns: {id: 1, amount: 100.10}\n    expect: allow\n    result: {id: 1}\n",
        '"amount":100.10}',
    ),
    "a rule that did not decide": (
        ANN + "    call: {open: {id: D2}}\n    expect: refuse\n    rules: [resource gate]\n",
        "resource door",
    ),
    "other approvers": (
        HELD + "    expect: hold\n    approvers: [boss, self]\n",
        'approvers: expected ["boss","self"], came ["boss"]',
    ),
    "another time": (HELD + "    expect: hold\n    expires: 2h\n", "expires: expected 7200.0, came 3600.0"),
    "nothing is spoofed": (
        ANN + "    call: {find: {x: 1}}\n    expect: allow\n    spoofed: [x]\n",
        'spoofed: expected ["x"], came []',
    ),
    "a broken history": (
        ANN + "    history: [{call: {open: {id: D2}}}]\n    call: find\n    expect: allow\n",
        "its history is broken: open: expected allow, came refuse, not_owner",
    ),
    "a check that says a word too many": (
        ANN + "    checks: {hours: pass please}\n    call: {send: {to: kim, n: 1}}\n    expect: allow\n",
        "check_refused",
    ),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT.keys())
def test_everything_that_a_policy_says_can_be_said_in_a_case(tmp_path: Path, text: str) -> None:
    """The case passes: the real guard decides what the case says."""
    assert failures(tmp_path, text) == []


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG.keys())
def test_a_case_that_says_otherwise_fails_and_tells_what_came(tmp_path: Path, text: str, told: str) -> None:
    """What was expected and what came stand in one line."""
    [found] = failures(tmp_path, text)

    assert told in found


def test_a_broken_history_is_no_failed_expectation(tmp_path: Path) -> None:
    """The case is told apart, with the line of the step that went otherwise."""
    [result] = played(
        tmp_path, ANN + "    history:\n      - call: find\n      - call: {open: {id: D2}}\n    call: find\n    expect: allow\n"
    )

    assert result.broken
    assert result.differences[0].spot.line == 14


def test_a_case_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    """Equal cases give equal outcomes, ids of approvals and times included."""
    one, two = played(tmp_path, HELD + "    expect: hold\n" + HELD.replace("name: n", "name: m") + "    expect: hold\n")

    assert one.played.steps[0].calls[0].outcome == two.played.steps[0].calls[0].outcome
    first, second = (result.played.steps[0].calls[0].decided for result in (one, two))
    for name in ("approval", "ts"):
        assert first[name] == second[name]
    took = {"ms": 0}  # by a clock that nobody sets
    assert {**first["decision"], **took} == {**second["decision"], **took}
    salted = {"digest": ""}  # made with a salt of each call's own
    assert {**first["args"], **salted} == {**second["args"], **salted}


def test_an_unscripted_check_refuses(tmp_path: Path) -> None:
    """Nobody knows what it would answer; a case must say it."""
    path = folder(
        tmp_path,
        "sessions: {ann: {principal: E1, roles: [clerk]}}\ncases:\n" + ANN + "    call: {send: {to: kim}}\n    expect: allow\n",
    )
    [problem] = verify(load_policy(path), path)

    assert "The case does not say what the check hours answers." in problem.message


def test_verify_gives_each_difference_as_a_problem(tmp_path: Path) -> None:
    """For whoever is about to use a policy: file, line, the case and what came; nothing where all pass or there are none."""
    path = folder(tmp_path, "sessions: {ann: {principal: E1}}\ncases:\n" + ANN + "    call: find\n    expect: allow\n")
    [problem] = verify(load_policy(path), path)
    assert (problem.file, problem.line) == ("cases.yaml", 3)
    assert "the case 'n': expected allow, came refuse, not_authorized" in problem.message
    (path / "cases.yaml").write_text("cases: {nme: x}\n")
    assert "unknown key nme" in verify(load_policy(path), path)[0].message
    (path / "cases.yaml").unlink()
    assert verify(load_policy(path), path) == []


def test_cases_change_no_version(tmp_path: Path) -> None:
    """They decide nothing, so that what was approved under a policy stays approved when a case is added; and no file of them is skipped with a word."""
    path = folder(tmp_path, "cases: []\n")
    before = load_policy(path)
    (path / "cases.yaml").write_text("anything")
    (path / "cases-more.yaml").write_text("at all")
    after = load_policy(path)

    assert before.policy.version == after.policy.version
    assert before.warnings == after.warnings
    (path / "casestudy.yaml").write_text("x")
    assert any("casestudy.yaml" in one.message for one in load_policy(path).warnings)


def test_every_expectation_has_a_row() -> None:
    """What can be read can be judged."""
    assert tuple(ROWS) == EXPECTATIONS


def test_several_files_share_their_sessions(tmp_path: Path) -> None:
    """A folder may split its cases."""
    path = folder(tmp_path, "sessions: {ann: {principal: E1, roles: [clerk]}}\n")
    (path / "cases-find.yaml").write_text("cases:\n" + ANN + "    call: find\n    expect: allow\n")
    loaded, cases, errors = read(path)

    assert (len(cases), errors) == (1, [])
    assert verify(loaded, path) == []
