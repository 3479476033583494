"""Detectors change, so that one person may stand under the plain name and under a reference: they are one person all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from persons_kit import Home, living
from votes_kit import LASTING
from wire_helpers import message

from guard import Session
from guard.core.names import Name, alike, distinct

POLICY = """
limits: {run: {steps: 50, calls: 50}}
tools:
  pay:
    kind: action
    allow: [staff]
    repeat: allow
    approve: {by: [boss], need: 2, grants: [{scope: tool_here, uses: 5, until: 1d}]}
  spend:
    kind: action
    allow: [staff]
    approve: never
    repeat: allow
    limits: [{sum: amount, at_most: 100, per: 24h}]
"""
NUMBERS = POLICY + "redact: {detectors: {employee_no: {pattern: '\\bE[0-9]{6}\\b'}}}\n"
STAFF = Session(principal="u1", roles=("staff",))
KIM = Session(principal="E100009", roles=("staff",))
ANN, BOB, CAROL, DAVE = (Session(principal=f"E10000{number}", roles=("boss",)) for number in range(1, 5))
REF, OTHER = "person_" + "a" * 40, "person_" + "b" * 40


class House(Home):
    """A guard whose policy finds the numbers of employees, or does not."""

    def __init__(self, folder: Path, url: str) -> None:
        self.count = 0
        super().__init__(folder, url, POLICY, {"pay": self.pay, "spend": self.pay})

    def finds(self, *, numbers: bool) -> None:
        """From now on the policy finds the numbers of employees, or does not."""
        self.write(NUMBERS if numbers else POLICY)
        self.guard.reload()

    def pay(self, amount: int) -> str:
        return "paid"

    def call(self, who: Session, conversation: str, tool: str, amount: int, guard: Any = None) -> Any:
        self.count += 1
        chat = (guard or self.guard).open(who, wire="openai-chat", conversation=conversation)
        chat.user(f"go {self.count}")
        [outcome] = chat.handle(message("openai-chat", (f"k{self.count}", tool, f'{{"amount": {amount}}}'))).outcomes
        return outcome

    def approved(self) -> Any:
        self.call(STAFF, "c", "pay", 1)
        [question] = self.guard.approvals.list()
        for one in (ANN, BOB):
            question = self.guard.approvals.approve(question, approver=one)
        return question


@pytest.fixture(params=LASTING)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    yield from living(request.param, tmp_path, House)


@pytest.mark.parametrize("numbers", [True, False], ids=["a detector comes", "a detector goes"])
def test_one_giver_is_one_person(house: House, *, numbers: bool) -> None:
    """Whoever gives a grant before and after a change of detectors gave it once; another person makes it two."""
    house.finds(numbers=not numbers)
    question, grants = house.approved(), house.guard.grants
    grants.give(question, by=CAROL, scope="tool_here")
    house.finds(numbers=numbers)
    found = grants.give(question, by=CAROL, scope="tool_here")
    assert (found.status(house.guard.store.now()), len(found.givers), grants.stands(found)) == ("proposed", 1, False)
    found = grants.give(question, by=DAVE, scope="tool_here")
    assert (found.status(house.guard.store.now()), len(found.givers), grants.stands(found)) == ("live", 2, True)


def test_one_giver_by_two_programs(house: House) -> None:
    """Two programs with other detectors on one store do not make two people of one either."""
    house.finds(numbers=True)
    other = house.blind()
    question = house.approved()
    for guard in (other, house.guard, other):
        found = guard.grants.give(question, by=CAROL, scope="tool_here")
        assert (found.status(guard.store.now()), guard.grants.stands(found)) == ("proposed", False)


def test_a_quota_is_of_the_person(house: House) -> None:
    """What was drawn under one name counts under the other, in every order, and leaves with its window; nobody else's does."""
    said = [house.call(KIM, "a", "spend", 60).status]
    house.finds(numbers=True)
    said += [house.call(KIM, place, "spend", amount).status for place, amount in (("b", 41), ("b", 30), ("c", 11), ("a", 11))]
    assert said == ["done", "refused", "done", "refused", "refused"]
    house.finds(numbers=False)
    assert [house.call(KIM, "d", "spend", amount).status for amount in (11, 10, 1)] == ["refused", "done", "refused"]
    assert house.call(STAFF, "e", "spend", 100).status == "done"
    house.clock.now += 86_401
    assert [house.call(KIM, place, "spend", 50).status for place in "abc"] == ["done", "done", "refused"]


def test_a_quota_says_when_it_fits_again(house: House) -> None:
    """The time at which a call may fit looks at what leaves under each of the names."""
    house.call(KIM, "a", "spend", 60)
    house.clock.now += 3600
    house.finds(numbers=True)
    house.call(KIM, "b", "spend", 40)
    first = house.call(KIM, "b", "spend", 60)
    house.clock.now += 82_801
    assert (first.status, house.call(KIM, "b", "spend", 60).status) == ("refused", "done")
    assert "may fit again from" in json.dumps(first.content)


def test_questions_of_a_person_are_counted_together(house: House) -> None:
    """Not more questions of one person are open than may be, under all of their names together."""
    for number in range(15):
        house.call(KIM, f"a{number}", "pay", 1)
    house.finds(numbers=True)
    found = [house.call(KIM, f"b{number}", "pay", 1).status for number in range(7)]
    assert found == ["held"] * 5 + ["refused"] * 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("kim", "kim", True),
        ("kim", "ann", False),
        (Name(REF, "kim"), "kim", True),
        (Name(REF, "kim"), REF, True),
        (Name(REF, "kim"), Name(OTHER, "ann"), False),
        (Name(REF, "kim"), Name(OTHER, "kim"), True),
        (Name(OTHER, REF), REF, False),
        (Name(OTHER, REF), Name(REF, "kim"), False),
        (None, "kim", False),
    ],
    ids=str,
)
def test_names_that_are_alike(one: str | None, other: str | None, *, same: bool) -> None:
    """A name is its own reference's person, and nobody is one whom the reference of another is called like."""
    assert alike(one, other) is alike(other, one) is same
    if one is not None and other is not None:
        assert distinct((one, other)) == 2 - same


def test_people_are_counted_through_all_of_their_names() -> None:
    """A reference that knows whom it means joins the name and the bare reference."""
    assert distinct((REF, "kim", "ann", Name(REF, "kim"), OTHER)) == 3
    assert distinct(()) == 0
