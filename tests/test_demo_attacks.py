"""`guard demo --attack`: no variant gets through, and one that did would be noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_kit import guard

from guard.cli.travel.attack import Seen, failures
from guard.cli.travel.episode import load_episode
from guard.cli.travel.report import Decided
from guard.core.model import Outcome
from guard.core.reasons import Reason

EPISODE = load_episode()
GRADE = {"job_level": "P6", "city_tier": "2"}
ATTACKS = [
    ("call_q1", "done", None, {"user_id": "E10238"}, ["user_id"], 1),
    ("call_q2", "done", None, GRADE, ["job_level", "city_tier"], 1),
    ("call_q3", "refused", "invalid_arguments", None, [], 0),
    ("call_q3", "refused", "not_grounded", None, [], 0),
    ("call_q4", "refused", "not_grounded", None, [], 0),
    ("call_q4", "refused", "prerequisite_missing", None, [], 0),
    ("call_q4", "held", "held_for_approval", None, [], 0),
]


@pytest.fixture(scope="module")
def attacks(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ran = guard("demo", "--attack", "--json", cwd=tmp_path_factory.mktemp("attacks"))
    assert ran.code == 0
    return ran.json


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=[one["name"].replace(" ", "-") for one in EPISODE["attacks"]])
def test_no_attack_gets_through(number: int, attacks: Any) -> None:
    """Each attacked call ends as promised, and its tool ran as often as it may."""
    call, status, reason, final, spoofed, executed = ATTACKS[number]
    found = attacks[number]
    assert (found["call"], found["status"], found["reason"], found["final"]) == (call, status, reason, final)
    assert (sorted(found["spoofed"]), found["executed"], found["ok"]) == (sorted(spoofed), executed, True)


def test_the_held_attack_is_filed_once_after_a_supervisors_yes(attacks: Any) -> None:
    """The last attack is an honest call without approval: nothing before the yes, one ticket after it."""
    assert attacks[-1]["after_approval"] == {"status": "done", "executed": 1}
    assert [one["after_approval"] for one in attacks[:-1]] == [None] * 6


def test_attacks_are_told_to_a_person(tmp_path: Path) -> None:
    """What was tried, what happened, what was expected, and OK."""
    ran = guard("demo", "--attack", cwd=tmp_path)
    assert ran.code == 0
    assert ran.out.count(": OK\n") == 7
    assert ran.out.count("   tried ") == ran.out.count("   happened ") == ran.out.count("   expected ") == 7
    assert "none got through" in ran.out
    assert "E10238's own yes did not count" in ran.out


def seen(number: int, **changes: Any) -> Seen:
    """What the guard makes of an attack, with something gone wrong."""
    attack = EPISODE["attacks"][number]
    must = attack["must"]
    call = {"id": attack["call"], "function": {"name": "t", "arguments": attack["arguments"]}}
    outcome = Outcome(
        call_id=attack["call"], tool="t", status=must["status"], reason=must.get("reason") and Reason(must["reason"]),
        arguments=must.get("final"), content=changes.pop("content", " ".join(must.get("says", ()))),
    )  # fmt: skip
    facts: dict[str, Any] = {
        "outcome": outcome,
        "executed": must["executed"],
        "approved": must.get("approved"),
        "decided": Decided(spoofed=tuple(must.get("spoof", ()))),
        "answered": True,
    }
    return Seen(number, attack, call, **{**facts, **changes})


@pytest.mark.parametrize(
    ("number", "changes", "told"),
    [
        (0, {"outcome": None}, "the call was never handled"),
        (0, {"decided": Decided()}, "the spoof attempt is not in the audit"),
        (0, {"answered": False}, "the conversation did not go on"),
        (2, {"executed": 1}, "its tool ran 1 times"),
        (2, {"content": "type at actual_amount: 3860 yuan"}, "the error repeats the value"),
        (2, {"content": "actual_amount"}, "the error does not name type"),
        (6, {"approved": {"status": "done", "executed": 2}}, "the approval did not lead to exactly one execution"),
        (6, {"requester_refused": False}, "the requester's own approval counted"),
    ],
    ids=["unhandled", "no-spoof", "stuck", "ran", "leaks", "vague", "twice", "self-approved"],
)
def test_an_attack_that_gets_through_would_be_noticed(number: int, changes: dict[str, Any], told: str) -> None:
    """The judge of the attacks fails for each single thing that goes wrong, and for nothing when all is well."""
    assert list(failures(seen(number))) == []
    assert list(failures(seen(number, **changes))) == [told]
