"""Standing grants: what each scope covers, how it is counted and summed, and everything that ends it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from grants_kit import BOSS, OFFERS, U1, code_of, desk, granted, look, outcome, pay, policy, states, tried
from reports import U2, Desk

from guard import ApprovalError, Session
from guard.core.covering import constrained
from guard.core.offers import Offer
from guard.core.paths import parse_path

BOTH_STORES = pytest.mark.parametrize("store", ["memory", "sqlite"])
OTHER_BOSS = Session(principal="b2", roles=("boss",))
STAFF = Session(principal="s1", roles=("staff",))
A = {"amount": 100, "payee": "A"}

COVERS: list[tuple[str, str, dict[str, Any], str]] = [
    ("the same call again", "same_call", A, "done"),
    ("the same call, spelled otherwise", "same_call", {"payee": "A", "amount": 100.0}, "done"),
    ("the default written out is the same call", "same_call", {**A, "note": ""}, "done"),
    ("one argument more", "same_call", {**A, "note": "x"}, "held"),
    ("another amount", "same_call", {"amount": 101, "payee": "A"}, "held"),
    ("any arguments here", "tool_here", {"amount": 7000, "payee": "Z", "note": "n"}, "done"),
    ("an amount within", "amount", {"amount": 500, "payee": "A", "note": "n"}, "done"),
    ("an amount above", "amount", {"amount": 500.01, "payee": "A"}, "held"),
    ("an amount of nothing", "amount", {"amount": 0, "payee": "A"}, "done"),
    ("an amount below zero", "amount", {"amount": -1, "payee": "A"}, "held"),
    ("another payee", "amount", {"amount": 1, "payee": "B"}, "held"),
    ("a payee that looks alike", "amount", {"amount": 1, "payee": "\u0410"}, "held"),
]


@pytest.mark.parametrize(("scope", "arguments", "expected"), [row[1:] for row in COVERS], ids=[row[0] for row in COVERS])
@BOTH_STORES
def test_a_grant_covers_what_its_scope_says(
    tmp_path: Path, store: str, scope: str, arguments: dict[str, Any], expected: str
) -> None:
    """Each scope lets run what it spells out, without a question, and everything else is asked about as before."""
    here = desk(tmp_path, store=store)
    granted(here, scope)

    assert tried(here, arguments) == [expected]
    assert here.times("pay") == 1 + (expected == "done")
    here.closed()


def test_no_arguments_given_is_not_any_arguments_br_069(tmp_path: Path) -> None:
    """A grant for a call without arguments covers that call and no other set of arguments."""
    text = "tools: {restart: {kind: action, allow: [staff], repeat: allow, approve: {by: [boss], grants: [{scope: same_call, uses: 9}]}}}"
    here = desk(tmp_path, text, tools={"restart": lambda target="": "ok"})
    granted(here, "same_call", tool="restart", arguments={})

    assert tried(here, {}, tool="restart") == ["done"]
    assert tried(here, {"target": "db"}, tool="restart") == ["held"]
    assert here.ran == [("restart", {"target": ""})] * 2
    here.closed()


def test_a_grant_tied_to_a_missing_argument_is_not_given() -> None:
    """`same:` on an argument that the approved call lacks would tie to nothing, which would mean anything: there is no such grant."""
    offer = Offer(
        scope="amount", field=parse_path("n", "arguments"), at_most=Decimal(5), same=(parse_path("to.id", "arguments"),)
    )
    calls: list[dict[str, Any]] = [{"n": 1}, {"n": 1, "to": {}}, {"n": 1, "to": None}, {"n": 1, "to": "x"}]

    assert [constrained(offer, arguments, "f") for arguments in calls] == [None] * 4
    made = constrained(offer, {"n": 1, "to": {"id": "x"}}, "f")
    assert made is not None
    assert made["where"] == {"to.id": "x"}


@BOTH_STORES
def test_uses_and_sums_are_counted_exactly(tmp_path: Path, store: str) -> None:
    """No use and no cent more than given, across messages and within one; what would exceed it is asked about."""
    here = desk(tmp_path, store=store)
    twice = granted(here, "same_call")
    assert tried(here, A) == ["done"]
    here.say("Again.")
    assert tried(here, A) == ["done"]
    here.say("Again.")
    assert tried(here, A) == ["held"]
    total = granted(here, "amount", arguments={"amount": 1, "payee": "A"})
    assert tried(here, {"amount": 400.1, "payee": "A"}, {"amount": 399.9, "payee": "A"}, {"amount": 0.01, "payee": "A"}) == [
        *("done", "done", "held")
    ]

    show = here.guard.grants.show
    assert (show(twice).used, show(twice).status(here.clock.now)) == (2, "spent")
    assert (str(show(total).summed), show(total).used) == ("900.0", 3)  # with the call that waited
    used = [event["grant"] for event in here.audit("grant.used")]
    assert [one.get("left", one.get("sum_left")) for one in used[:2]] == [1, 0]
    assert [one["sum_left"] for one in used[2:]] == [800, 399.9, 0.0]
    here.closed()


@BOTH_STORES
def test_an_action_that_failed_gives_back_its_sum_and_no_use(tmp_path: Path, store: str) -> None:
    """The rule of every sum: what a failed action summed comes back, that it was used does not."""
    here = desk(tmp_path, policy("[{amount: amount, at_most: 500, sum: 900, same: [payee], uses: 3}]"), store=store)
    grant = granted(here, "amount")

    assert tried(here, {"amount": 500, "payee": "A", "note": "broken"}) == ["failed"]
    assert (here.guard.grants.show(grant).used, here.guard.grants.show(grant).summed) == (1, 0)
    assert tried(here, {"amount": 500, "payee": "A"}, {"amount": 400, "payee": "A"}) == ["done", "done"]
    assert here.guard.grants.show(grant).status(here.clock.now) == "spent"
    here.closed()


@BOTH_STORES
def test_a_look_up_uses_its_grant_and_gives_nothing_back(tmp_path: Path, store: str) -> None:
    """Look-ups need no claim and are counted all the same, durable before they run; one that fails has used it."""
    here = desk(tmp_path, store=store)
    grant = granted(here, "tool_here", tool="look")

    assert tried(here, {"x": -1}, {"x": 2}, {"x": 3}, tool="look") == ["failed", "done", "held"]
    assert here.guard.grants.show(grant).used == 2
    kinds = [event["kind"] for event in here.audit()]
    assert kinds.index("grant.used") < len(kinds) - kinds[::-1].index("call.end")
    here.closed()


@BOTH_STORES
def test_time_and_revocation_end_a_grant(tmp_path: Path, store: str) -> None:
    """Behind its end, or once it was taken back, the next call is asked about; taking it back again says who did it and when."""
    here = desk(tmp_path, store=store)
    ending, revoked = granted(here, "amount"), granted(here, "tool_here", arguments={"amount": 9, "payee": "Q"})
    here.clock.now += 86_400 - 1
    assert tried(here, {"amount": 7, "payee": "Z"}) == ["done"]
    after = here.guard.grants.revoke(revoked, by=BOSS, reason="left")
    assert (after.revoked_by, after.revoked_why) == ("b1", "left")
    assert tried(here, {"amount": 8, "payee": "Z"}) == ["held"]
    assert tried(here, {"amount": 8, "payee": "A"}) == ["done"]
    here.clock.now = ending.until
    assert tried(here, {"amount": 6, "payee": "A"}) == ["held"]

    with pytest.raises(ApprovalError, match="already revoked by b1") as error:
        here.guard.grants.revoke(revoked, by=BOSS)
    assert code_of(error) == "already_decided"
    assert [event["grant"]["reason"] for event in here.audit("grant.revoked")] == ["left"]
    here.closed()


POLICIES = [
    ("the same policy with another tool", lambda text: text.replace("look:", "peek:"), {"pay": pay, "peek": look}, "done"),
    ("the offer is gone", lambda text: text.replace(OFFERS, "[{scope: same_call, uses: 2}]"), None, "held"),
    ("the offer is narrower than what was given", lambda text: text.replace("sum: 900", "sum: 899"), None, "held"),
    ("the offer is wider", lambda text: text.replace("sum: 900", "sum: 5000"), None, "done"),
    ("the offer lasts shorter", lambda text: text.replace("until: 7d", "until: 6d"), None, "held"),
    ("another rule asks", lambda text: text.replace("{by: [boss], grants: [{scope: same", "{by: [boss, chief], grants: [{scope: same"), None, "held"),
    ("more people must say yes", lambda text: text.replace("{by: [boss], grants: [{scope: same", "{by: [boss], need: 2, grants: [{scope: same"), None, "held"),
    ("the policy refuses", lambda text: text.replace("repeat: allow", "refuse: [{when: {amount: {minimum: 5}}}]"), None, "refused"),
    ("the person may no longer call it", lambda text: text.replace("allow: [staff]", "allow: [other]", 1), None, "refused"),
    ("a limit is reached", lambda text: text.replace("repeat: allow", "limits: {calls: 0}"), None, "refused"),
    ("nobody is asked any more", lambda text: text.replace("{by: [boss], grants: " + OFFERS + "}", "never"), None, "done"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "tools", "expected"), [row[1:] for row in POLICIES], ids=[row[0] for row in POLICIES])
def test_todays_policy_judges_a_grant_anew(tmp_path: Path, change: Any, tools: Any, expected: str) -> None:
    """A grant of an earlier version lives only where today's rule is the same one and would let it be given; and it never beats a refusal."""
    here = desk(tmp_path, store="sqlite")
    granted(here, "amount")
    (tmp_path / "policies" / "tools.yaml").write_text(change((tmp_path / "policies" / "tools.yaml").read_text()))
    here.given = {**here.given, **({"tools": [*_wrapped(here, tools)]} if tools else {})}
    here.restart()

    assert tried(here, {"amount": 10, "payee": "A"}) == [expected]
    here.guard.close()


def _wrapped(here: Desk, tools: Any) -> list[Any]:
    from guard import tool

    return [tool(name=name)(function) for name, function in tools.items()]


def test_a_changed_definition_kills_a_grant(tmp_path: Path) -> None:
    """Another description or signature is another tool, and it is asked about."""
    here = desk(tmp_path, store="sqlite")
    grant = granted(here, "tool_here")
    path = tmp_path / "policies" / "tools.yaml"
    path.write_text(path.read_text().replace("repeat: allow", "repeat: allow\n    description: Pay somebody."))
    here.restart()

    assert not here.guard.grants.stands(grant)
    assert tried(here, {"amount": 10, "payee": "A"}) == ["held"]
    here.guard.close()


@BOTH_STORES
def test_a_grant_is_for_one_person_tenant_and_conversation(tmp_path: Path, store: str) -> None:
    """Nobody else's calls are covered; another conversation only where the scope says so."""
    here = desk(tmp_path, store=store)
    granted(here, "amount")
    granted(here, "tool_here", arguments={"amount": 3, "payee": "Q"})
    own, other = {"amount": 5, "payee": "A"}, {"amount": 5, "payee": "B"}

    def there(session: Session, name: str) -> Any:
        return here.guard.open(session, wire="openai-chat", conversation=name)

    assert tried(here, own, chat=there(U1, "elsewhere")) == ["done"]
    assert tried(here, other, chat=there(U1, "elsewhere")) == ["held"]
    assert tried(here, own, chat=there(U2, "theirs")) == ["held"]
    assert tried(here, own, chat=there(replace(U1, tenant="acme"), "elsewhere")) == ["held"]
    here.guard.close()


@BOTH_STORES
def test_a_no_to_this_very_call_counts_more_than_a_grant(tmp_path: Path, store: str) -> None:
    """What a person rejected is not let through by a wider yes: not in this run, and in a later one it is asked about again."""
    here = desk(tmp_path, store=store)
    turn = here.propose(("c1", "pay", A), ("c2", "pay", {"amount": 1, "payee": "Z"}))
    here.reject(turn, "c2", "never Z")
    here.approve(turn, "c1")
    here.guard.grants.give(here.waiting(turn, "c1"), by=BOSS, scope="tool_here")
    here.settle()

    assert tried(here, {"amount": 1, "payee": "Z"}) == ["refused"]
    here.say("Please do.")
    assert tried(here, {"amount": 1, "payee": "Z"}) == ["held"]
    assert tried(here, {"amount": 2, "payee": "Z"}) == ["done"]
    here.closed()


@BOTH_STORES
def test_a_grant_answers_a_question_that_is_open_already(tmp_path: Path, store: str) -> None:
    """Calls that wait when it is given run as soon as the program goes on; their questions end in the same transaction, as answered by it."""
    here = desk(tmp_path, store=store)
    turn = here.propose(("c1", "pay", A), ("c2", "pay", {"amount": 1, "payee": "Z"}))
    second = here.waiting(turn, "c2")
    here.approve(turn, "c1")
    grant = here.guard.grants.give(here.waiting(turn, "c1"), by=BOSS, scope="tool_here")
    assert here.times("pay") == 0
    here.settle()

    assert [arguments["payee"] for _, arguments in here.ran] == ["A", "Z"]
    assert here.pending() == []
    assert here.guard.approvals.show(second).status == "cancelled"
    [ended] = here.audit("approval.cancelled")
    assert (ended["approval"], ended["grant"]["id"]) == (second, grant.id)
    assert here.guard.grants.show(grant).used == 1
    here.closed()


def test_an_exact_yes_is_spent_before_a_grant_is_used(tmp_path: Path) -> None:
    """The call that was approved runs by its own approval; replays and aliases draw nothing."""
    here = desk(tmp_path, policy().replace("        repeat: allow\n", ""))
    grant = granted(here, "amount")
    assert here.guard.grants.show(grant).used == 0
    assert tried(here, {"amount": 5, "payee": "A"}, {"amount": 5, "payee": "A"}) == ["done", "done"]
    assert tried(here, {"amount": 5, "payee": "A"}) == ["done"]

    assert here.times("pay") == 2
    assert (here.guard.grants.show(grant).used, here.guard.grants.show(grant).summed) == (1, 5)
    here.closed()


def test_the_model_hears_nothing_of_a_grant(tmp_path: Path) -> None:
    """A result is a result: neither the grant nor its terms stand in what goes back, held or done."""
    here = desk(tmp_path)
    grant = granted(here, "amount")
    done = here.propose(("c1", "pay", {"amount": 5, "payee": "A"}))
    held = here.propose(("c2", "pay", {"amount": 501, "payee": "A"}))

    told = str([*done.messages, *held.messages])
    assert states(done) == ["done"]
    assert outcome(done, "c1").approval is None
    assert not [word for word in (grant.id, "grant", "500", "900") if word in told]


def test_what_stands_in_the_record_names_the_grant(tmp_path: Path) -> None:
    """Decision, use and start of a call name the grant; what was given and what is left can be read from the audit alone."""
    here = desk(tmp_path, store="sqlite")
    grant = granted(here, "amount", reason="the usual ones")
    tried(here, {"amount": 5, "payee": "A"})

    assert here.audit("call.decided")[-1]["grant"] == {"id": grant.id}
    assert here.audit("call.begin")[-1]["grant"] == {"id": grant.id}
    [made] = here.audit("grant.created")
    assert made["actor"] == {"type": "human", "ref": "b1", "assurance": "host"}
    assert (made["grant"]["at_most"], made["grant"]["where"], made["grant"]["reason"]) == (500, {"payee": "A"}, "the usual ones")
    [used] = here.audit("grant.used")
    assert (used["turn"], used["principal"], used["grant"]["sum_left"]) == (2, "u1", 895)
    kinds = [event["kind"] for event in here.audit()]
    assert kinds.index("grant.used") == len(kinds) - 1 - kinds[::-1].index("call.begin") - 1
    here.closed()
