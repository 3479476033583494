"""The promises about acting, as properties over random plots, processes and failures, on both drivers.

An approval is one exact execution, and actions run at most once. The promises about judging are in `test_promises`, those about what leaves
and stays in `test_promises_records`.
"""

from __future__ import annotations

import copy
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores_kit import Clock, url_of
from world_parts import (
    APPROVE,
    EMPLOYEE,
    OPEN,
    Place,
    fields,
    helds,
    of_kind,
    place,
    play,
    plots,
    policies,
    scripts,
    sessions,
    simple_calls,
    some,
    steps,
    wires,
)
from worlds import BOSS, Faulty, World

from guard import Session, ToolCall
from guard.core import ports as p
from guard.core.values import JsonObject
from guard.stores import open_store

colours = pytest.mark.parametrize("colour", ["sync", "async"])


def seconds(event: JsonObject) -> float:
    return datetime.fromisoformat(event["ts"]).timestamp()


# -- 6: an approval is one exact execution -----------------------------------------------------------------------------

acting = st.lists(
    st.one_of(
        st.lists(simple_calls, min_size=1, max_size=4).map(lambda found: ("turn", found)),
        st.tuples(
            st.just("vote"), st.sampled_from(["approve", "approve", "approve", "reject"]), st.sampled_from([BOSS, BOSS, EMPLOYEE])
        ),
        st.just(("settle",)),
        st.just(("settle",)),
        steps,
    ),
    min_size=2,
    max_size=12,
)
by_rules = st.fixed_dictionaries(
    {"act": st.sampled_from(APPROVE), "pay": st.sampled_from([rule for rule in APPROVE if rule != "never"])}
)


def asking(rules: dict[str, Any]) -> dict[str, Any]:
    """OPEN with these approval rules."""
    policy = copy.deepcopy(OPEN)
    for name, rule in rules.items():
        policy["tools"][name]["approve"] = rule
    return policy


@colours
@some
@given(by_rules, acting, scripts, helds, wires)
def test_an_approval_is_spent_once_by_the_call_it_is_for(
    colour: str, rules: Any, plot: Any, script: Any, held: str, wire: str
) -> None:
    """What runs under an approval was approved by somebody entitled, before it expired, and runs under it once."""
    with World(colour, asking(rules), EMPLOYEE, script=script, held=held, wire=wire) as world:
        play(world, plot)

        events = world.audit()
        approvals = {approval.id: approval for approval in world.store.approvals()}
        spent = [event for event in of_kind(events, "call.begin") if "approval" in event]
        assert len({event["approval"] for event in spent}) == len(spent)
        for event in spent:
            approval = approvals[event["approval"]]
            votes = [e for e in of_kind(events, "approval.resolved") if e["approval"] == approval.id and e["seq"] < event["seq"]]
            assert [vote["approval_state"]["status"] for vote in votes] == ["approved"]
            who = votes[0]["actor"]["ref"]
            assert approval.by_self if who == approval.requester else (who == BOSS.principal and "boss" in approval.by)
            assert seconds(event) <= approval.expires_at
            assert approval.status == "consumed"
        asked = {"pay"} | {name for name, rule in rules.items() if rule != "never"}
        assert len([name for name, _ in world.ran if name in asked]) <= len(spent)


@colours
@some
@given(st.sampled_from(["approve", "reject"]), st.data())
def test_a_vote_that_does_not_count_changes_nothing(colour: str, word: str, data: Any) -> None:
    """The requester, a stranger, another tenant, another conversation's person: the call stays pending and nothing runs."""
    who = data.draw(
        st.sampled_from(
            [
                EMPLOYEE,
                Session(principal="E1", roles=("boss",)),
                Session(principal="B9", roles=("boss",), tenant="other"),
                Session(principal="boss"),
                Session(principal="X", roles=("clerk",)),
            ]
        )
    )
    with World(colour, OPEN, EMPLOYEE) as world:
        world.turn([("c1", "pay", {"n": 1})])
        assert world.vote(word, who) == ["ApprovalError"]
        assert (world.settle(), world.ran) == ([], [])
        assert [approval.status for approval in world.store.approvals()] == ["pending"]


@colours
@some
@given(by_rules, acting, helds)
def test_equal_calls_share_one_question(colour: str, rules: Any, plot: Any, held: str) -> None:
    """However often it is proposed: as long as it waits or may still run, one exact call has one approval."""
    with World(colour, asking(rules), EMPLOYEE, held=held) as world:
        for step in plot:
            play(world, [step])
            alive = [a.fingerprint for a in world.store.approvals() if a.status in {"pending", "approved"}]
            assert len(set(alive)) == len(alive)


# -- 7: actions run at most once ---------------------------------------------------------------------------------------


def check_at_most_once(events: list[JsonObject], repeating: set[str]) -> None:
    """From the audit alone: no place is begun twice, and no action is begun while an equal one is under way, in doubt or just done."""
    begun: set[Place] = set()
    state: dict[Any, tuple[str, int]] = {}
    content: dict[Place, Any] = {}
    run = 0
    for event in events:
        if event["kind"] == "user.said":
            run += 1
        elif event["kind"] == "call.begin":
            same = content[place(event)] = (event["tool"]["name"], event["args"]["digest"])
            assert place(event) not in begun, "the same call was begun twice"
            begun.add(place(event))
            status, when = state.get(same, ("", -1))
            assert status not in {"begun", "unknown"}, "an equal call has no known outcome"
            assert status != "ok" or when != run or same[0] in repeating, "an equal call was just done"
            state[same] = ("begun", run)
        elif event["kind"] in {"call.end", "call.unknown"} and place(event) in content and "exec" in event:
            state[content[place(event)]] = (event["exec"]["status"], run)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@colours
@some
@given(
    by_rules,
    st.lists(acting, min_size=1, max_size=3),
    scripts,
    st.booleans(),
    st.lists(st.tuples(st.sets(st.integers(1, 40), max_size=4), st.booleans()), min_size=3, max_size=3),
)
def test_actions_run_at_most_once_across_processes(
    kind: str, colour: str, rules: Any, plots_: list[Any], script: Any, again: bool, faults: Any
) -> None:
    """Over turns, repeats, votes, store failures and new processes on one file: each action is begun at most once."""
    policy = asking(rules)
    if again:
        policy["tools"]["act"]["repeat"] = "allow"
    clock, ran = Clock(), 0
    with tempfile.TemporaryDirectory() as folder, url_of(kind, Path(folder)) as url:
        for plot, (at, after) in zip(plots_, faults, strict=False):
            inner = open_store(url, clock=clock)
            store = Faulty(inner, at, after=after)
            with World(colour, policy, EMPLOYEE, store=store, script=script, clock=clock) as world:
                safe = [step for step in plot if step[0] in {"turn", "again", "vote"}] if at else plot
                play(world, safe)
                ran += len([name for name, _ in world.ran if name in {"act", "pay"}])
                events = world.audit()
            inner.close()
    check_at_most_once(events, {"act"} if again else set())
    assert ran <= len(of_kind(events, "call.begin"))
    assert verify_bodies(events)


def verify_bodies(events: list[JsonObject]) -> bool:
    """In every chain there is every number, once and in order."""
    chains: dict[int, list[int]] = {}
    for event in events:
        chains.setdefault(event["chain"], []).append(event["seq"])
    return all(found == list(range(1, len(found) + 1)) for found in chains.values())


@colours
@some
@given(st.lists(simple_calls.filter(lambda call: call[1] == "act"), min_size=1, max_size=4), st.data())
def test_a_hosts_own_key_names_one_content(colour: str, found: Any, data: Any) -> None:
    """The same key and content gives the recorded outcome, other content is a conflict, and nothing runs twice."""
    first = found[0]
    with World(colour, OPEN, EMPLOYEE) as world:
        outcomes = [
            world.run(world.guard.call(ToolCall("c", tool, sent), EMPLOYEE, conversation="conv", key="k"))
            for _, tool, sent in found
        ]
        for (_, _, sent), outcome in zip(found, outcomes, strict=True):
            assert outcome.status == ("done" if sent == first[2] else "refused")
            assert outcome.replayed == (sent == first[2] and outcome is not outcomes[0])
        assert len(world.ran) == 1


@colours
@some
@given(policies(), sessions, plots, scripts)
def test_no_execute_before_its_record_and_claim(colour: str, policy: Any, session: Session, plot: Any, script: Any) -> None:
    """In the trace each execution comes after the durable decision, and an action also after its claim."""
    with World(colour, policy, session, script=script) as world:
        play(world, plot)

        recorded: set[Place] = set()
        claimed: set[Place] = set()
        for command in world.trace:
            if isinstance(command, p.Record):
                recorded |= {place(event) for event in of_kind([*map(fields, command.events)], "call.decided")}
            elif isinstance(command, p.Claim):
                at = (command.row.key.turn, command.row.key.position)
                assert at in recorded
                claimed.add(at)
            elif isinstance(command, p.Execute):
                at = (command.key.turn, command.key.position)
                assert at in (claimed if command.tool.acts else recorded)
                claimed.discard(at)
