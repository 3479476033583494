"""Attempts to make more of a grant than was given: each runs nothing that it does not cover, and counts nothing wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from grants_kit import BOSS, U1, code_of, desk, granted, states, tried
from reports import Desk

from guard import ApprovalError, Guard
from guard.core.covering import constrained, fits
from guard.core.grants import Giver, Grant
from guard.core.offers import Offer
from guard.core.paths import parse_path

LOOSE = """
    tools:
      pay:
        kind: action
        allow: [staff]
        repeat: allow
        schema: {type: object, properties: {amount: {}, payee: {}, order: {}, note: {type: string}}}
        approve: {by: [boss], grants: [{amount: amount, at_most: 500, sum: 900, same: [payee]}]}
"""
NESTED = LOOSE.replace(
    "{amount: amount, at_most: 500, sum: 900, same: [payee]}",
    "{amount: order.total, at_most: 500, sum: 900, same: [order.to.id]}",
)
TOOLS: dict[str, Callable[..., Any]] = {"pay": lambda **_: "paid"}


def raw(here: Desk, text: str) -> str:
    """What becomes of a call with exactly these arguments, as the model wrote them."""
    return states(here.propose(("raw", "pay", text)))[0]


SPELLINGS: list[tuple[str, str, str | None]] = [
    ("a text", '"5"', None),
    ("a text that is a number in another alphabet", '"\\u0665"', None),
    ("a flag", "true", None),
    ("nothing", "null", None),
    ("a list", "[5]", None),
    ("an object", '{"amount": 5}', None),
    ("below zero", "-1", None),
    ("a hair below zero", "-1e-400", None),
    ("a hair above", "500.000000000000000000000000000000000000001", None),
    ("endlessly much", "1e400", None),
    ("not a number", "NaN", None),
    ("infinity", "Infinity", None),
    ("minus infinity", "-Infinity", None),
    ("more digits than a sum can hold", "0." + "1" * 300, None),
    ("an exponent beyond every sum", "1e-999999", None),
    ("in powers of ten", "5e2", "500"),
    ("with zeros behind", "500.000", "500"),
    ("minus nothing", "-0", "0"),
    ("a cent", "0.01", "0.01"),
]


@pytest.mark.parametrize(("amount", "drawn"), [row[1:] for row in SPELLINGS], ids=[row[0] for row in SPELLINGS])
def test_an_amount_is_a_number_that_is_compared_exactly(tmp_path: Path, amount: str, drawn: str | None) -> None:
    """However it is spelled: what is no number, or not within, is asked about or refused; what is, is summed to the last digit."""
    here = desk(tmp_path, LOOSE, tools=TOOLS)
    grant = granted(here, "amount", arguments={"amount": 100, "payee": "A"})
    state = raw(here, f'{{"amount": {amount}, "payee": "A"}}')
    after = here.guard.grants.show(grant)

    assert (state == "done") == (drawn is not None)
    assert here.times("pay") == 1 + (drawn is not None)
    assert (after.used, after.summed) == (int(drawn is not None), Decimal(drawn or 0))


def test_cents_add_up_without_a_rest(tmp_path: Path) -> None:
    """Nine hundred times what no binary fraction holds is the sum that was given, and one cent more is asked about."""
    here = desk(tmp_path, LOOSE.replace("at_most: 500, sum: 900", "at_most: 0.3, sum: 0.3"), tools=TOOLS)
    grant = granted(here, "amount", arguments={"amount": 0.1, "payee": "A"})
    assert [raw(here, f'{{"amount": 0.1, "payee": "A", "note": "{number}"}}') for number in range(4)] == ["done"] * 3 + ["held"]
    assert here.guard.grants.show(grant).summed == Decimal("0.3")


TIES: list[tuple[str, str, bool]] = [
    ("the same", '{"amount": 1, "payee": "A"}', True),
    ("no such argument", '{"amount": 1}', False),
    ("null", '{"amount": 1, "payee": null}', False),
    ("empty", '{"amount": 1, "payee": ""}', False),
    ("in a list", '{"amount": 1, "payee": ["A"]}', False),
    ("in an object", '{"amount": 1, "payee": {"payee": "A"}}', False),
    ("another case", '{"amount": 1, "payee": "a"}', False),
    ("with a blank", '{"amount": 1, "payee": "A "}', False),
    ("with what nobody sees", '{"amount": 1, "payee": "A\\u200b"}', False),
    ("twice, the second is another", '{"amount": 1, "payee": "A", "payee": "B"}', False),
    ("under a dotted name", '{"amount": 1, "payee.x": "A"}', False),
    ("no arguments at all", "{}", False),
    ("none given", "", False),
]


@pytest.mark.parametrize(("arguments", "covered"), [row[1:] for row in TIES], ids=[row[0] for row in TIES])
def test_what_must_be_the_same_is_there_and_is_the_same(tmp_path: Path, arguments: str, covered: bool) -> None:
    """A missing value is no value: it never means any."""
    here = desk(tmp_path, LOOSE, tools=TOOLS)
    granted(here, "amount", arguments={"amount": 100, "payee": "A"})

    assert (raw(here, arguments) == "done") == covered
    assert here.times("pay") == 1 + covered


DEEP: list[tuple[str, str, bool]] = [
    ("the same", '{"total": 5, "to": {"id": "A"}}', True),
    ("with more beside", '{"total": 5, "to": {"id": "A", "name": "B"}, "x": 1}', True),
    ("the amount elsewhere", '{"to": {"id": "A"}}', False),
    ("a list of orders", '[{"total": 5, "to": {"id": "A"}}]', False),
    ("a list of payees", '{"total": 5, "to": [{"id": "A"}]}', False),
    ("a text that looks like it", '"{\\"total\\": 5, \\"to\\": {\\"id\\": \\"A\\"}}"', False),
    ("another below", '{"total": 5, "to": {"id": {"id": "A"}}}', False),
    ("dotted", '{"total": 5, "to.id": "A"}', False),
]


@pytest.mark.parametrize(("order", "covered"), [row[1:] for row in DEEP], ids=[row[0] for row in DEEP])
def test_nested_arguments_are_found_where_the_offer_says(tmp_path: Path, order: str, covered: bool) -> None:
    """At exactly that place, once; and the words say that what else stands there is free."""
    here = desk(tmp_path, NESTED, tools=TOOLS)
    grant = granted(here, "amount", arguments={"order": {"total": 1, "to": {"id": "A"}}})
    assert "what else stands in order" in "\n".join(here.guard.grants.words(grant))
    assert "payee" not in "\n".join(here.guard.grants.words(grant))

    assert (raw(here, f'{{"order": {order}}}') == "done") == covered


def test_a_tie_to_nothing_is_not_given_and_one_to_null_is_to_null(tmp_path: Path) -> None:
    """Where the approved call has no value at a place there is nothing to hold to, so that nothing is given; null is a value like any other."""
    here = desk(tmp_path, LOOSE, tools=TOOLS)
    turn = here.propose(("c1", "pay", {"amount": 1}))
    here.approve(turn, "c1")
    with pytest.raises(ApprovalError, match="no single value") as error:
        here.guard.grants.give(here.waiting(turn, "c1"), by=BOSS, scope="amount")
    assert code_of(error) == "not_offered"
    assert here.guard.grants.list(status=None) == ()
    here.settle()
    here.say("Again.")
    granted(here, "amount", arguments={"amount": 1, "payee": None})
    calls = ['{"amount": 2, "payee": null}', '{"amount": 2}', '{"amount": 2, "payee": "A"}', '{"amount": 2, "payee": []}']
    assert [raw(here, text) for text in calls] == ["done", "held", "held", "held"]


def test_a_constraint_that_says_too_little_fits_nothing() -> None:
    """Whatever stands in a stored constraint: without each of its parts it is met by no call."""
    giver = Giver(by="b1", roles=("boss",), at=1.0)
    offer = Offer(scope="amount", field=parse_path("n", "arguments"), at_most=Decimal(5), same=(parse_path("to", "arguments"),))
    whole = constrained(offer, {"n": 1, "to": "A"}, "f")
    assert whole is not None
    arguments: Any = {"n": 1, "to": "A"}

    def grant(scope: Any, constraint: Any) -> Grant:
        return Grant(
            id="g", tenant="t", principal="p", conversation=None, tool="pay", definition="d", kind="action", rule="r",
            scope=scope, constraint=constraint, policy="v", approval="a", givers=(giver,), at=1.0,
        )  # fmt: skip

    assert fits(grant("amount", whole), arguments, "f")
    for name in ("field", "at_most", "where"):
        assert not fits(grant("amount", {key: value for key, value in whole.items() if key != name}), arguments, "f")
    for scope in ("amount", "same_call", "tool_here"):
        for constraint in ({"erased": True}, {"where": {}}, {"arguments": None}):
            assert not fits(grant(scope, constraint), arguments, "f")
    assert not fits(grant("amount", {}), arguments, "f")
    assert not fits(grant("same_call", {}), arguments, "f")


class Between:
    """A store in which somebody takes the grant back right before, or right after, a call is taken under it."""

    def __init__(self, inner: Any, revoke: Callable[[], object], *, first: bool) -> None:
        self.inner, self.revoke, self.first = inner, revoke, first

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def claim(self, command: Any) -> Any:
        if self.first:
            self.revoke()
            return self.inner.claim(command)
        won = self.inner.claim(command)
        self.revoke()
        return won


def over(here: Desk, store: Any) -> Any:
    """The conversation, as a program over this store has it."""
    known = here.guard
    guard = Guard(policy=known.policy, store=store, tools=known.hands.tools, redactor=known.redactor)
    return guard.open(**here.opening)


@pytest.mark.parametrize("first", [True, False], ids=["before the claim", "after it"])
def test_it_is_taken_back_between_yes_and_run(tmp_path: Path, first: bool) -> None:
    """Before the claim nothing runs: a new call is refused, one that a person is asked about waits on. Behind it the call has begun and goes on."""
    here = desk(tmp_path)
    held = here.propose(("w", "pay", {"amount": 7, "payee": "Z"}))
    question = here.waiting(held, "w")
    grant = granted(here, "tool_here")
    here.say("Again.")
    ran = here.times("pay")
    grants = here.guard.grants
    back: list[object] = []
    between = Between(here.guard.store, lambda: back or back.append(grants.revoke(grant, by=BOSS)), first=first)
    state = tried(here, {"amount": 3, "payee": "Y"}, chat=over(here, between))

    assert back
    assert state == ["refused" if first else "done"]
    assert here.times("pay") == ran + (not first)
    assert here.guard.approvals.show(question).status in ("pending", "cancelled")


def test_a_held_call_waits_on_where_its_grant_is_taken_back(tmp_path: Path) -> None:
    """Its question stays open and may still be answered; nothing is refused for it."""
    here = desk(tmp_path)
    first = here.propose(("c1", "pay", {"amount": 1, "payee": "A"}), ("c2", "pay", {"amount": 7, "payee": "Z"}))
    question = here.waiting(first, "c2")
    here.approve(first, "c1")
    grants = here.guard.grants
    grant = grants.give(here.waiting(first, "c1"), by=BOSS, scope="tool_here")
    back: list[object] = []

    class Late(Between):
        def claim(self, command: Any) -> Any:
            return super().claim(command) if command.grant is not None else self.inner.claim(command)

    late = Late(here.guard.store, lambda: back or back.append(grants.revoke(grant, by=BOSS)), first=True)
    over(here, late).settled()
    assert (len(back), here.times("pay")) == (1, 1)
    assert here.guard.approvals.show(question).status == "pending"
    here.guard.approvals.approve(question, approver=BOSS)
    here.settle()
    assert here.times("pay") == 2


def test_roles_that_the_session_lost_and_sessions_of_others(tmp_path: Path) -> None:
    """A grant gives nobody a right: without the role, in another tenant or as another person the call is refused or asked about."""
    here = desk(tmp_path)
    granted(here, "amount")
    sessions = [(replace(U1, roles=()), "refused"), (replace(U1, tenant="acme"), "held"), (replace(U1, principal="u7"), "held")]
    for number, (session, expected) in enumerate(sessions):
        chat = here.guard.open(session, wire="openai-chat", conversation=f"other-{number}")
        assert tried(here, {"amount": 5, "payee": "A"}, chat=chat) == [expected]


def test_a_clock_that_steps(tmp_path: Path) -> None:
    """Forward over its end it covers nothing; back before its giving it covers nothing either: nobody knows how long it has been."""
    here = desk(tmp_path)
    grant = granted(here, "amount")
    begun = here.clock.now
    here.clock.now = begun - 3600
    assert tried(here, {"amount": 5, "payee": "A"}) == ["held"]
    here.clock.now = begun + 1
    assert tried(here, {"amount": 6, "payee": "A"}) == ["done"]
    here.clock.now = grant.until
    assert tried(here, {"amount": 7, "payee": "A"}) == ["held"]
