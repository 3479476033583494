"""What led to each record of a call: told on the timeline, by kind and order, on a walk through everything."""

from __future__ import annotations

from typing import Any

from record_walk_kit import Walk

from guard.auditing.causes import LED_TO
from guard.auditing.timeline import Place, life


def lives(walk: Walk) -> list[list[dict[str, Any]]]:
    turns = {one["turn"] for one in walk.bodies() if "turn" in one}
    return [life(walk.guard.store, Place("default", "c", turn, 0)).json()["steps"] for turn in sorted(turns)]


def test_every_record_of_a_call_but_its_proposal_has_a_cause(walk: Walk) -> None:
    """One that stands before it in the same life, of a kind that can have led there."""
    for steps in lives(walk):
        seen: dict[str, str] = {}
        for one in steps:
            if one["kind"] not in ("call.proposed", "payload.erased"):
                assert seen[one["cause"]] in LED_TO[one["kind"]], one["kind"]
            seen[one["id"]] = one["kind"]


def test_what_led_to_what_of_a_call_that_two_people_let_run(walk: Walk) -> None:
    """The run goes back over the decision to the second yes, and that to the question."""
    [steps] = [steps for steps in lives(walk) if any(one["kind"] == "approval.vote" for one in steps)][:1]
    of = {one["id"]: one for one in steps}
    chain, here = [], next(one for one in steps if one["kind"] == "call.end")
    while here["cause"]:
        here = of[here["cause"]]
        chain.append(here["kind"])
    assert chain == ["call.begin", "call.decided", "approval.resolved", "approval.requested", "call.proposed"]


def test_the_timeline_tells_what_helps_people(walk: Walk) -> None:
    """How long it took to decide, for how long the call was taken, by which key, and in which trace it was asked for."""
    told = {name for steps in lives(walk) for one in steps for name, _ in one["facts"]}
    assert told >= {
        "decided within",
        "taken for",
        "digest of the key",
        "caller's trace",
        "from the address",
        "changed since it was asked",
    }


def test_a_life_names_the_kinds_that_it_is_made_of() -> None:
    """Each cause is a kind that has one itself, or the proposal: every chain ends at what the model wrote."""
    assert {cause for causes in LED_TO.values() for cause in causes} <= {*LED_TO, "call.proposed"}
