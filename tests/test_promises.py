"""The promises about judging, as properties over random policies, sessions, turns, tools and failures, on both drivers.

One outcome a call, default deny, the session's fields, one value, forbidden beats held beats allowed, refusals that teach. The promises about
acting and recording are in `test_promises_acts`.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_rules import check_anthropic, check_openai
from stages import ACTIONS
from wire_helpers import answers, stored_ids
from world_parts import (
    APPROVE,
    DENIES,
    EMPLOYEE,
    OPEN,
    PLANTED,
    TIGHTER,
    arguments,
    helds,
    play,
    plots,
    policies,
    scripts,
    sessions,
    some,
    turns,
    wires,
)
from worlds import Faulty, Silent, World

from guard import Outcome, Reason, Session
from guard.core import ports as p
from guard.core.commitments import commitment
from guard.core.reasons import SENTENCE
from guard.core.values import canonical, equal
from guard.stores import open_store

colours = pytest.mark.parametrize("colour", ["sync", "async"])


def check_request(wire: str, messages: list[Any]) -> None:
    """The provider would take this history."""
    check_openai({"messages": messages}) if wire == "openai-chat" else check_anthropic({"messages": messages, "max_tokens": 9})


# -- 1: one outcome per proposed call ----------------------------------------------------------------------------------


@colours
@some
@given(policies(), sessions, plots, scripts, wires, helds, st.sets(st.integers(1, 25), max_size=3))
def test_one_outcome_per_proposed_call_in_call_order(
    colour: str, policy: Any, session: Session, plot: Any, script: Any, wire: str, held: str, faults: set[int]
) -> None:
    """Whatever is proposed, raised or down: each call has one outcome, in order, and the provider takes the next request."""
    store = Faulty(open_store("memory://", clock=lambda: 1.8e9), faults)
    plot = [step for step in plot if step[0] in {"turn", "again"}]
    with World(colour, policy, session, script=script, wire=wire, held=held, store=store) as world:
        for step, turn in zip(plot, play(world, plot), strict=True):
            if turn is None:
                continue
            assert step[0] == "again" or len(turn.outcomes) == len(step[1])
            if turn.stop == "held":
                assert (turn.messages, turn.append) == ([], [])
                continue
            assert [found for found, _ in answers(wire, turn.messages)] == stored_ids(wire, turn.append[0])
            assert all(outcome.content for outcome in turn.outcomes)
            check_request(wire, world.messages)


# -- 2: default deny ---------------------------------------------------------------------------------------------------


def entry(**more: Any) -> dict[str, Any]:
    """OPEN with these keys in every tool."""
    return {**OPEN, "tools": {name: {**tool, **more} for name, tool in OPEN["tools"].items()}}


DENIED: dict[str, tuple[Reason, dict[str, Any]]] = {
    "no policy entry": (Reason.NO_POLICY, {"tool": "ghost"}),
    "unknown tool": (Reason.UNKNOWN_TOOL, {"tool": "act2"}),
    "no role": (Reason.NOT_AUTHORIZED, {"session": Session(principal="E1")}),
    "another role": (Reason.NOT_AUTHORIZED, {"session": Session(principal="E1", roles=("clerk",))}),
    "missing session fact": (Reason.SESSION_FACT_MISSING, {"policy": entry(bind={"user_id": "session.badge"})}),
    "failing check": (Reason.CHECK_FAILED, {"policy": entry(checks=["broken"])}),
    "unavailable record": (Reason.FACT_UNAVAILABLE, {"policy": entry(resource={"thing": "n"}), "arguments": {"n": 3}}),
    "failing policy": (Reason.POLICY_FAILED, {"authorizer": Silent()}),
}


@colours
@pytest.mark.parametrize("case", DENIED, ids=str)
@some
@given(data=st.data(), wire=wires)
def test_default_deny(colour: str, case: str, data: Any, wire: str) -> None:
    """Whatever is missing or broken refuses with its own reason, and nothing runs."""
    reason, given_ = DENIED[case]
    made = {"n": 1, "q": "a"} | given_.get("arguments", {})
    tool = given_.get("tool") or data.draw(st.sampled_from(sorted(OPEN["tools"])))
    session = given_.get("session", Session(principal="E1", roles=("employee",)))
    with World(colour, given_.get("policy", OPEN), session, wire=wire, authorizer=given_.get("authorizer")) as world:
        turn = world.turn([("c1", tool, made)])

        assert [(outcome.status, outcome.reason) for outcome in turn.outcomes] == [("refused", reason)]
        assert (world.ran, world.guard.store.approvals()) == ([], ())


@colours
@some
@given(policies(), turns, st.integers(1, 8), st.booleans())
def test_a_store_fault_before_execution_means_no_execution(colour: str, policy: Any, calls: Any, first: int, after: bool) -> None:
    """From the first operation on that a store fails at, nothing starts and nothing is said to be done."""
    store = Faulty(open_store("memory://", clock=lambda: 1.8e9), range(first, 500), after=after)
    with World(colour, policy, EMPLOYEE, store=store) as world:
        turn = world.turn(calls)

        operations = [command for command in world.trace if not isinstance(command, p.Execute)]
        asked = {id(command) for command in operations[: first - 1]}
        begun = [command.row.key for command in operations if isinstance(command, p.Claim) and id(command) in asked]
        recorded = any(isinstance(command, p.Record) and id(command) in asked for command in operations)
        assert {command.key for command in world.executed if command.tool.acts} <= set(begun)
        assert recorded or not world.executed
        if first == 1:
            assert {outcome.reason for outcome in turn.outcomes} == {Reason.STORE_UNAVAILABLE}
        closed = {
            (row.key.turn, row.key.position)
            for command in operations
            if isinstance(command, p.Finish) and id(command) in asked
            for row in command.rows
        }
        for outcome in turn.outcomes:
            if outcome.status == "done" and not outcome.replayed:
                assert (outcome.turn, outcome.position) in closed


# -- 3: the session owns its fields ------------------------------------------------------------------------------------


@colours
@some
@given(policies(), plots, wires)
def test_a_bound_field_always_equals_the_sessions_value(colour: str, policy: Any, plot: Any, wire: str) -> None:
    """Whatever was sent for it: what is judged, shown, executed and recorded is the session's value, and an attempt is noted."""
    for tool in policy["tools"].values():
        tool["bind"] = {"user_id": "session.principal"}
    with World(colour, policy, EMPLOYEE, wire=wire) as world:
        play(world, plot)

        assert {ran["user_id"] for _, ran in world.ran} <= {"E1"}
        assert {command.arguments["user_id"] for command in world.executed} <= {"E1"}
        assert {approval.arguments["user_id"] for approval in world.store.approvals()} <= {"E1"}
        assert {outcome.arguments["user_id"] for outcome in world.outcomes if outcome.arguments} <= {"E1"}
        assert "user_id" not in json.dumps(world.chat.tools)


@colours
@some
@given(arguments.filter(lambda found: isinstance(found, dict)))
def test_a_spoof_attempt_is_recorded(colour: str, sent: Any) -> None:
    """The audit names a bound field exactly when the model sent another value for it."""
    with World(colour, entry(bind={"user_id": "session.principal"}), EMPLOYEE) as world:
        world.turn([("c1", "look", sent)])

        noted = [event.get("spoof") for event in world.audit() if event["kind"] == "call.decided"]
        assert noted == [["user_id"] if sent.get("user_id", "E1") != "E1" else None]


# -- 4: one value ------------------------------------------------------------------------------------------------------


@colours
@some
@given(policies(), plots, scripts, wires)
def test_executed_shown_recorded_and_answered_are_one_value(colour: str, policy: Any, plot: Any, script: Any, wire: str) -> None:
    """The arguments that ran equal those of the outcome, the approval and the audit's digest."""
    with World(colour, policy, EMPLOYEE, script=script, wire=wire) as world:
        play(world, plot)

        rows = {row.key: row for row in world.store.rows(world.chat.ref)}
        decisions = [event for event in world.audit() if event["kind"] == "call.decided" and "args" in event]
        decided = {(event["turn"], event["position"]): event["args"]["digest"] for event in decisions}
        approvals = {approval.id: approval for approval in world.store.approvals()}
        for command, (name, ran) in zip(world.executed, world.ran, strict=True):
            row = rows[command.key]
            assert name == command.tool.name
            assert all(equal(ran[field], value) for field, value in command.arguments.items())
            assert canonical(command.arguments) == command.canonical
            assert equal(row.arguments, command.arguments)
            assert row.outcome is not None
            assert equal(row.outcome.arguments, command.arguments)
            assert decided[command.key.turn, command.key.position] == commitment(row.salt, command.canonical)
            if row.approval:
                assert equal(approvals[row.approval].arguments, command.arguments)


# -- 5: forbidden beats held beats allowed -----------------------------------------------------------------------------

tightenings = st.one_of(
    st.sampled_from([(name, value) for name, options in TIGHTER.items() for value in options]),
    st.sampled_from([("approve", value) for value in APPROVE if value != "never"]),
    st.sampled_from([("deny", text) for text in DENIES]),
)


@colours
@some
@given(policies(), turns, st.tuples(st.sampled_from(["look", "sums", *ACTIONS]), arguments), tightenings)
def test_tightening_never_turns_a_refusal_into_an_allow(
    colour: str, policy: Any, before: Any, call: tuple[str, Any], tighter: tuple[str, Any]
) -> None:
    """The same call after the same history: with a check, deny rule, limit, ground or approval more it is never better off."""
    tool, sent = call
    name, value = tighter
    strict, csv = copy.deepcopy(policy), ""
    if name == "deny":
        csv = value.format(tool=tool)
    elif strict["tools"][tool].get(name, "never") == "never":
        strict["tools"][tool][name] = value
    found: list[Outcome] = []
    for last, rules in ((policy, ""), (strict, csv)):
        with World(colour, policy, EMPLOYEE) as earlier:
            earlier.turn(before)
            earlier.say()
        with World(colour, last, EMPLOYEE, csv=rules, store=earlier.store) as world:
            world.messages = earlier.messages
            found += world.turn([("c1", tool, sent)]).outcomes
    order = ("refused", "failed", "unknown", "held", "done")
    assert order.index(found[1].status) <= order.index(found[0].status) or found[0].status in {"failed", "unknown"}
    if name == "deny" and found[1].reason is not Reason.LIMIT_REACHED:
        assert found[1].status == "refused"


@colours
@some
@given(policies(), sessions, plots, scripts)
def test_nobody_is_asked_about_a_refused_call(colour: str, policy: Any, session: Session, plot: Any, script: Any) -> None:
    """Every question to a person belongs to a call that the policy holds, and to no other."""
    with World(colour, policy, session, script=script) as world:
        play(world, plot)

        events = world.audit()
        asked = {(e["turn"], e["position"]) for e in events if e["kind"] == "approval.requested"}
        held = {(e["turn"], e["position"]) for e in events if e["kind"] == "call.decided" and e["decision"]["verdict"] == "hold"}
        assert asked <= held
        assert len(world.store.approvals()) == len([e for e in events if e["kind"] == "approval.requested"])


# -- 10: a refusal teaches ---------------------------------------------------------------------------------------------

INTERNALS = (
    "employee",
    "boss",
    "casbin",
    " p, ",
    '"p, ',
    "inner detail",
    "LookupError",
    "RuntimeError",
    "[a-m]",
    ".yaml",
    "Traceback",
    *PLANTED,
)


@colours
@some
@given(policies(), sessions, plots, scripts, st.sets(st.integers(1, 25), max_size=2))
def test_a_refusal_teaches_and_tells_nothing_else(
    colour: str, policy: Any, session: Session, plot: Any, script: Any, faults: set[int]
) -> None:
    """Code, sentence and whether a retry helps; never the policy's internals, an exception's text or planted data."""
    plot = [step for step in plot if step[0] in {"turn", "again"}]
    store = Faulty(open_store("memory://", clock=lambda: 1.8e9), faults)
    with World(colour, policy, session, script=script, store=store) as world:
        play(world, plot)

        for outcome in world.outcomes:
            if outcome.status in {"refused", "held", "unknown"}:
                told = json.loads(str(outcome.content))
                assert told["ok"] is False
                assert told["error"]["code"] == outcome.reason
                assert outcome.reason is not None
                assert told["error"]["message"].startswith(SENTENCE[outcome.reason])
                assert isinstance(told["error"]["retry"], bool)
                assert [part for part in INTERNALS if part in str(outcome.content)] == []
            assert (outcome.reason is None) == (outcome.status == "done")
