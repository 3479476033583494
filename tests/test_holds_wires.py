"""Held calls on every wire, in both renderings, across restarts: partial decisions, siblings, repeats, and every way in which an approval ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from votes_kit import BOSS, BOSSES, OTHER, Office, office
from wire_helpers import answers, message, spelled
from wire_talk import legal

from guard.wires import WIRES

EVERY = pytest.mark.parametrize(
    "wire", [pytest.param(one, marks=[] if one in ("openai-chat", "anthropic") else [pytest.mark.slow]) for one in sorted(WIRES)]
)
HELD = pytest.mark.parametrize("held", ["answer", "suspend"])
MORE = ", need: 2, use_within: 10m, edit: [amount]"
AMOUNTS = (1, 2, 3)


@pytest.fixture
def desk(tmp_path: Path, wire: str, held: str) -> Any:
    with office(tmp_path, "sqlite", MORE, wire=wire, held=held) as made:
        calls = [(f"c{amount}", "pay", spelled(wire, {"amount": amount, "to": "Bob"})) for amount in AMOUNTS]
        made.reply = message(wire, *calls)  # type: ignore[attr-defined]
        yield made


def yes(desk: Office, name: str, *people: Any) -> None:
    for who in people:
        desk.approvals.approve(name, approver=who, seen=desk.seen(name, who))


def approved(desk: Office, name: str) -> None:
    yes(desk, name, BOSS, OTHER)


def one_of_two(desk: Office, name: str) -> None:
    yes(desk, name, BOSS)


def edited(desk: Office, name: str) -> None:
    made = desk.approvals.edit(name, editor=BOSS, changes={"/amount": 40}, reason="r")
    yes(desk, made.id, OTHER, BOSSES[2])


def revoked(desk: Office, name: str) -> None:
    approved(desk, name)
    desk.approvals.revoke(name, by=OTHER, reason="r")


def used_late(desk: Office, name: str) -> None:
    approved(desk, name)
    desk.clock.now += 601


WAYS: dict[str, tuple[Any, str, str, list[int]]] = {
    "approved": (approved, "done", "", [2]),
    "one of two": (one_of_two, "held", "held_for_approval", []),
    "rejected": (lambda desk, name: desk.approvals.reject(name, approver=BOSS, reason="no"), "refused", "approval_rejected", []),
    "edited": (edited, "done", "A reviewer changed", [40]),
    "cancelled": (lambda desk, name: desk.approvals.cancel(name, by=BOSS, reason="r"), "refused", "withdrawn", []),
    "revoked": (revoked, "refused", "took that back", []),
    "expired": (lambda desk, name: setattr(desk.clock, "now", desk.clock.now + 1e6), "refused", "approval_expired", []),
    "used late": (used_late, "refused", "not used in time", []),
}


@EVERY
@HELD
@pytest.mark.parametrize("way", WAYS)
def test_each_end_in_each_rendering(desk: Any, wire: str, held: str, way: str) -> None:
    """One of three is decided, the process restarts: the host hears of that one alone, in legal messages, and the siblings wait on."""
    turn = desk.chat.handle(desk.reply, history=desk.history)
    names = [one.approval for one in turn.outcomes]
    assert (turn.stop, len(turn.messages) > 0) == (("held", False) if held == "suspend" else (None, True))
    if held == "answer":
        desk.history += turn.append
    do, status, text, ran = WAYS[way]
    do(desk, names[1])
    desk.restart()
    if held == "answer":
        told = desk.settle()
        legal(wire, desk.history)
        assert text in told or status == "held"
        assert told.count("(call c2,") == (0 if status == "held" else 1)
        alone = way != "expired"
        assert ("(call c1," in told, "(call c3," in told) == ((False, False) if alone else (True, True))
        assert desk.settle() == "[]"
    else:
        turn = desk.chat.handle(desk.reply, history=desk.history)
        states = [one.status for one in turn.outcomes]
        assert states == (["refused"] * 3 if way == "expired" else ["held", status, "held"])
        assert text in str(turn.outcomes[1].content)
    assert [one["amount"] for one in desk.ran] == ran


@EVERY
@HELD
def test_a_repeat_while_it_waits_is_the_same_question(desk: Any, wire: str, held: str) -> None:
    """Whatever its id, also with one yes of two: the same approval, and one run for all of them."""
    first = desk.propose(1)
    name = first.outcomes[0].approval
    one_of_two(desk, name)
    desk.restart()
    again = desk.propose(1, call="c8").outcomes[0]
    assert (again.status, again.approval) == ("held", name)
    yes(desk, name, OTHER)
    desk.propose(1, call="c9")
    desk.settle()
    assert [one["amount"] for one in desk.ran] == [1]


@EVERY
@pytest.mark.parametrize("held", ["suspend"])
def test_decided_one_after_the_other(desk: Any, wire: str, held: str) -> None:
    """Each decision shows at the next look; once nothing waits, one legal set of results goes back, each id once, in order."""
    turn = desk.chat.handle(desk.reply, history=desk.history)
    names = [one.approval for one in turn.outcomes]
    for name, do in ((names[2], approved), (names[0], revoked), (names[1], edited)):
        assert turn.stop == "held"
        do(desk, name)
        desk.restart()
        turn = desk.chat.handle(desk.reply, history=desk.history)
    assert [one.status for one in turn.outcomes] == ["refused", "done", "done"]
    desk.history += turn.append
    legal(wire, desk.history)
    assert len(answers(wire, turn.messages)) == len(AMOUNTS)
    assert sorted(one["amount"] for one in desk.ran) == [3, 40]


@EVERY
@pytest.mark.parametrize("held", ["answer"])
def test_settled_tells_in_call_order(desk: Any, wire: str, held: str) -> None:
    """Whatever the order of the decisions."""
    turn = desk.chat.handle(desk.reply, history=desk.history)
    desk.history += turn.append
    names = [one.approval for one in turn.outcomes]
    for name, do in ((names[2], revoked), (names[1], edited), (names[0], approved)):
        do(desk, name)
    told = desk.settle()
    places = [told.index(f"(call c{amount},") for amount in AMOUNTS]
    assert places == sorted(places)
    legal(wire, desk.history)
