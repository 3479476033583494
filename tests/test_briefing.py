"""Briefing: what an approver is told is the stored call, whole, with origins, what changed, and what a yes means."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.core import facts
from guard.core.approval import Approval, Vote
from guard.core.briefing import Briefing, briefing, ended
from guard.core.facts import Part
from guard.core.presented import document, presented
from guard.core.values import read_json

NOW = 1_790_000_000.0
ASKED = Approval(
    id="ap_1",
    fingerprint="f" * 64,
    status="pending",
    tool="pay",
    definition="d" * 64,
    kind="action",
    arguments={"payee": "Ann", "amount": Decimal("1250.00")},
    origins={"payee": "result", "amount": "model"},
    show=("amount",),
    requester="c_1",
    tenant="acme",
    conversation="conv",
    branch="",
    turn=1,
    position=0,
    call_id="x",
    by=("boss",),
    by_self=False,
    policy="p" * 64,
    requested_at=NOW - 60,
    expires_at=NOW + 3600,
)


def told(approval: Approval = ASKED, before: Approval | None = None, **changed: Any) -> Briefing:
    now = replace(approval, **changed)
    return briefing(now, document(now, before), presented(now, before), NOW)


def text(parts: tuple[Part, ...] | None) -> str:
    return "".join(piece.text for _, pieces in parts or () for piece in pieces)


def marked(parts: tuple[Part, ...] | None) -> str:
    return "".join(piece.text for differs, pieces in parts or () for piece in pieces if differs)


def test_arguments_stand_in_full_with_their_origins() -> None:
    """Those that the policy names first come first; digits are as they are."""
    amount, payee = told().arguments

    assert (amount.key, amount.origin, text(amount.leaves[0].parts)) == ("amount", "written by the model", "1250.00")
    assert (payee.key, payee.origin, text(payee.leaves[0].parts)) == ("payee", "from an earlier result", "Ann")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1, max_size=6), JSON, max_size=4))
def test_no_value_is_left_out(arguments: Any) -> None:
    """Every single value of whatever is called with stands there once, whole, under its own place."""
    shown = told(arguments=arguments, origins={}).arguments
    leaves = [(leaf.pointer, text(leaf.parts)) for argument in shown for leaf in argument.leaves]
    expected = facts.flat(arguments) if arguments else {}

    assert len({pointer for pointer, _ in leaves}) == len(leaves) == len(expected)
    assert sorted(value for _, value in leaves) == sorted(facts.written(value) for value in expected.values())


@pytest.mark.parametrize(
    ("value", "kind", "note"),
    [
        ('"5"', "text that looks like a value", ""),
        ('"null"', "text that looks like a value", ""),
        ('"[]"', "text that looks like a value", ""),
        ('"Ann"', "text", ""),
        ('""', "empty text", ""),
        ("5", "number", ""),
        ("1250000", "number", "1,250,000"),
        ("-1250000.50", "number", "-1,250,000.50"),
        ("1e400", "number", ""),
        ("true", "yes or no", ""),
        ("null", "no value", ""),
        ("[]", "empty list", ""),
        ("{}", "no fields", ""),
        ('"a\\nb"', "text", "3 characters, 2 lines"),
        ('"' + "x" * 1500 + '"', "text", "1,500 characters"),
    ],
    ids=lambda value: value[:20],
)
def test_kinds_tell_values_apart_that_look_alike(value: str, kind: str, note: str) -> None:
    """A text `5` is no number, and nothing is no empty text; long texts and large numbers say how large they are."""
    [argument] = told(arguments={"x": read_json(value)}, origins={}).arguments
    [leaf] = argument.leaves

    assert (leaf.kind, leaf.note) == (kind, note)
    assert leaf.long == (len(value) > 1200)


@pytest.mark.parametrize(
    ("before", "after", "states", "marks"),
    [
        ({"a": 100}, {"a": 1000}, {"/a": "changed"}, ["1000"]),
        ({"a": "to Ann Meier"}, {"a": "to Ann Maier"}, {"/a": "changed"}, ["Maier"]),
        ({"a": "5"}, {"a": 5}, {"/a": "changed"}, ["5"]),
        ({}, {"a": 1}, {"/a": "added"}, [""]),
        ({"a": 1}, {}, {"/a": "removed"}, [""]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"/a/b": "same", "/a/c": "changed"}, ["", "3"]),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, {"/a/0": "same", "/a/1": "same", "/a/2": "added"}, ["", "", ""]),
        ({"a": [1, 2]}, {"a": [1]}, {"/a/0": "same", "/a/1": "removed"}, ["", ""]),
        ({"a": {"b": 1}}, {"a": 2}, {"/a": "added", "/a/b": "removed"}, ["", ""]),
        ({"a": 1}, {"a": 1}, {"/a": "same"}, [""]),
    ],
    ids=str,
)
def test_what_a_revision_changed(before: Any, after: Any, states: dict[str, str], marks: list[str]) -> None:
    """Each place says whether it is new, changed or gone, with what stood there; whole words and numbers are marked."""
    old = replace(ASKED, arguments=before)
    new = told(id="ap_2", revision=2, supersedes="ap_1", arguments=after, before=old)
    leaves = [leaf for argument in new.arguments for leaf in argument.leaves]

    assert {leaf.pointer: leaf.state for leaf in leaves} == states
    assert [marked(leaf.parts) for leaf in leaves] == marks
    for leaf in leaves:
        if leaf.state in ("changed", "removed"):
            assert text(leaf.was) == facts.written(facts.flat(before)[_way(leaf.pointer)])


def _way(pointer: str) -> tuple[str | int, ...]:
    return tuple(int(step) if step.isdigit() else step for step in pointer[1:].split("/"))


def test_what_is_secret_is_a_mask_with_length_and_digest() -> None:
    """The value stands nowhere in what is told."""
    shown = told(arguments={"token": "FAKE-TOKEN-0001"}, secret=("/token",))

    assert shown.arguments[0].leaves[0].kind == "secret"
    assert "15 characters" in text(shown.arguments[0].leaves[0].parts)
    assert "FAKE" not in repr(shown.arguments) + repr(shown.warnings)


def test_warnings_come_first() -> None:
    """Hidden characters are counted, look-alikes named, letters that run backwards said, in names and values alike."""
    shown = told(arguments={"a\u200b": "x\u202ey", "host": "p\u0430ypal.com", "n": "\u05d0"}, effect="Do it\u2060")

    assert [line[:12] for line in shown.warnings] == ["3 characters", "p\u0430ypal.com m", "letters that"]
    assert told().warnings == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ["may run once", "before the time", "runs nothing by itself"]),
        ({"use_within": 900.0}, ["within 15 minutes of the last yes"]),
        ({"need": 2}, ["2 different people"]),
    ],
    ids=str,
)
def test_what_a_yes_permits(changed: Any, said: list[str]) -> None:
    """One execution, until when, by how many people, and that a yes runs nothing."""
    words = " ".join(told(**changed).permits)
    assert all(one in words for one in said)


VOTE = Vote(number=1, decision="approved", by="b1", roles=("boss",), at=NOW)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        (
            {"status": "rejected", "decided_by": "b1", "decided_at": NOW, "reason": "wrong month"},
            "Rejected, does not run (by b1, 2026",
        ),
        ({"status": "cancelled", "ended_by": "c_1"}, "Cancelled, does not run (by c_1)"),
        ({"status": "expired"}, "Expired without a decision in time, does not run."),
        ({"status": "superseded", "superseded_by": "ap_2"}, "Replaced by a newer revision"),
    ],
    ids=str,
)
def test_how_it_ended(changed: Any, said: str) -> None:
    """Who, when and why; a time-out is nobody's rejection."""
    found = ended(replace(ASKED, votes=(VOTE,), **changed))
    assert found.startswith(said)
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(30, "30 s"), (900, "15 min"), (12_000, "3 h 20 min"), (7200, "2 h"), (180_000, "2 days 2 h"), (-5, "0 s")],
)
def test_stretches_of_time(seconds: float, said: str) -> None:
    """In words, two units at most."""
    assert facts.span(seconds) == said
