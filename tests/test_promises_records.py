"""The promises about what leaves and what stays on record, as properties over random plots and failures, on both drivers.

Nothing leaves unredacted, no record no action, and both drivers give the same commands and outcomes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stages import Break, Give
from world_parts import (
    CARD,
    MAIL,
    PLANTED,
    fields,
    helds,
    judged,
    of_kind,
    place,
    play,
    plots,
    policies,
    scripts,
    sessions,
    some,
    wires,
)
from worlds import World

from guard import Session
from guard.core import ports as p
from guard.stores.chain import verify

colours = pytest.mark.parametrize("colour", ["sync", "async"])

# -- 8: nothing leaves unredacted --------------------------------------------------------------------------------------

leaks = st.sampled_from(
    [Give({"mail": MAIL}), Give(f"card {CARD}"), Give([{MAIL: [MAIL]}]), Break(ValueError), Break(SystemExit)]
)


@colours
@some
@given(policies(), sessions, plots, st.lists(leaks, max_size=9), wires)
def test_planted_secrets_never_leave(colour: str, policy: Any, session: Session, plot: Any, script: Any, wire: str) -> None:
    """In no result, error, refusal, follow-up or audit record, whoever planted them: the model, the tool or an exception."""
    with World(colour, policy, session, script=script, wire=wire) as world:
        told = [answer for step, answer in zip(plot, play(world, plot), strict=True) if step[0] == "settle"]

        sent = [message for turn in world.turns for message in turn.messages]
        for text in (json.dumps(sent), json.dumps(told), *(record.body for record in world.store.audit())):
            assert [secret for secret in PLANTED if secret in text] == []


# -- 9: no record, no action -------------------------------------------------------------------------------------------


@colours
@some
@given(policies(), sessions, plots, scripts, wires)
def test_every_proposal_decision_and_outcome_is_recorded(
    colour: str, policy: Any, session: Session, plot: Any, script: Any, wire: str
) -> None:
    """Each call has its proposal and its decision or delivery, each execution one end, and the chain verifies."""
    with World(colour, policy, session, script=script, wire=wire) as world:
        play(world, plot)

        events = world.audit()
        proposed = [place(event) for event in of_kind(events, "call.proposed")]
        judged = {place(event) for event in of_kind(events, "call.decided", "result.delivered")}
        assert len(set(proposed)) == len(proposed)
        for outcome in world.outcomes:
            assert (outcome.turn, outcome.position) in judged
            assert (outcome.turn, outcome.position) in proposed
        ended = [place(event) for event in of_kind(events, "call.end", "call.unknown") if "ms" in event["exec"]]
        assert sorted(set(ended)) == sorted({(command.key.turn, command.key.position) for command in world.executed})
        begun = [place(event) for event in of_kind(events, "call.begin")]
        assert sorted(begun) == sorted((c.key.turn, c.key.position) for c in world.executed if c.tool.acts)
        assert verify(world.store.audit()).ok


# -- both drivers ------------------------------------------------------------------------------------------------------


def told(command: p.Command[Any]) -> Any:
    """Type and key fields of a command."""
    match command:
        case p.Execute():
            return "Execute", command.tool.name, command.canonical, command.key, command.idempotency_key
        case p.Claim():
            return "Claim", command.row.key, command.row.fingerprint, command.approval
        case p.Record() | p.Finish():
            rows = [(row.key, row.status, row.outcome) for row in command.rows]
            return type(command).__name__, rows, [fields(event)["kind"] for event in command.events]
        case p.AskApproval():
            return "AskApproval", command.proposal
        case p.OpenTurn():
            return "OpenTurn", command.ref, command.digest, command.answered, command.key
        case p.LoadLedger() | p.FindTwins() | p.TakeQuota():
            return command
    return type(command).__name__


@some
@given(policies(), sessions, plots, scripts, wires, helds)
def test_both_drivers_give_the_same_commands_and_outcomes(
    policy: Any, session: Session, plot: Any, script: Any, wire: str, held: str
) -> None:
    """The same plot in plain and in asyncio form: the same commands, turns, executions, rows and audit events."""
    found = []
    for colour in ("sync", "async"):
        with World(colour, policy, session, script=script, wire=wire, held=held) as world:
            answers = play(world, plot)
            events = [(event["kind"], event.get("turn"), judged(event)) for event in world.audit()]
            found.append((repr(answers), [repr(told(command)) for command in world.trace], repr(world.ran), events))
    assert found[0] == found[1]
