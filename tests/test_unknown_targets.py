"""While an action is unknown, no further one of the tool on the same target starts, whoever asks in the tenant, until that is settled."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from stores_kit import STORES, Clock, a_store, records
from wire_helpers import message

from guard import Outcome, PolicyWarning, Session
from guard.compose import Plan
from guard.core.ports import Store
from guard.errors import OutcomeUnknownError
from guard.redactors import REDACTOR
from guard.runner.guard import Guard
from guard.tools import registry

POLICY = """
tools:
  pay:
    kind: action
    allow: [clerk]
    schema: {{type: object, properties: {{to: {{}}, amount: {{type: integer}}, note: {{type: string}}}}, required: [to, amount]}}
    approve: never
    {key}
limits: {{run: {{calls: 500}}}}
"""
ANN, BEN = Session(principal="E1", tenant="acme", roles=("clerk",)), Session(principal="E2", tenant="acme", roles=("clerk",))
FAR = Session(principal="E1", tenant="globex", roles=("clerk",))
BLOCKED, UNKNOWN, DONE = ("refused", "earlier_unknown"), ("unknown", "outcome_unknown"), ("done", None)
BY_TO = "unknown: {target: [to]}"


BANKS: list[Bank] = []
"""Whose tools run now: policies are compiled once for all tests."""


def pay(to: Any, amount: int, note: str = "", *, idempotency_key: str = "") -> dict[str, int]:
    bank = BANKS[-1]
    bank.ran.append((to, amount))
    if str(to) in bank.lost:
        raise OutcomeUnknownError
    return {"paid": amount}


@lru_cache(maxsize=32)
def compiled(text: str) -> Any:
    """The policy of this text with its tool, through the real loader."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        Path(folder, "tools.yaml").write_text(text)
        plan = Plan(folders=(folder,), tools=registry([pay]), checks={}, probes={}, awaits=False)
        return plan.build(plan.read(ask=True))


class Bank:
    """One store; payments to whom is `lost` are made or not: nobody knows."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lost: set[Any] = {"bob"}
        self.ran: list[tuple[Any, int]] = []

    def guard(self, key: str = BY_TO) -> Guard:
        """A program on the store."""
        built = compiled(POLICY.format(key=key))
        return Guard(policy=built.policy, store=self.store, tools=built.tools, redactor=REDACTOR)

    def pay(
        self, guard: Guard, to: Any, amount: int, who: Session = ANN, conversation: str = "c", **more: Any
    ) -> tuple[str, str | None]:
        """How a payment ended."""
        return said(self.outcome(guard, to, amount, who, conversation, **more))

    def outcome(self, guard: Guard, to: Any, amount: int, who: Session = ANN, conversation: str = "c", **more: Any) -> Outcome:
        chat = guard.open(who, wire="openai-chat", conversation=f"{who.tenant}-{who.principal}-{conversation}")
        text = json.dumps({"to": to, "amount": amount, **more})
        turn = chat.handle(message("openai-chat", (f"c{amount}", "pay", text)))
        return turn.outcomes[0]

    def settle(self, guard: Guard, *, happened: bool, who: Session = ANN) -> None:
        [doubt] = guard.unknown.list(tenant="acme")
        guard.unknown.resolve(doubt, happened=happened, approver=who, reason="asked the bank")


def said(one: Outcome) -> tuple[str, str | None]:
    return one.status, None if one.reason is None else str(one.reason)


@pytest.fixture(params=STORES)
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bank]:
    for store in a_store(request.param, tmp_path, Clock()):
        BANKS.append(Bank(store))
        yield BANKS[-1]
        BANKS.pop()


@pytest.mark.parametrize(
    ("who", "conversation"), [(ANN, "c"), (ANN, "d"), (BEN, "c")], ids=["here", "elsewhere", "somebody else"]
)
def test_the_same_target_waits_and_others_do_not(bank: Bank, who: Session, conversation: str) -> None:
    """Another amount to the same payee is refused in every conversation of the tenant; another payee and another tenant are not."""
    guard = bank.guard()
    assert bank.pay(guard, "bob", 1) == UNKNOWN
    told = bank.outcome(guard, "bob", 2, who, conversation)
    assert said(told) == BLOCKED
    error = json.loads(str(told.content))["error"]
    assert (error["retry"], "may or may not have taken effect" in error["message"], "to" in error["message"]) == (
        False,
        True,
        True,
    )
    assert "bob" not in error["message"]
    assert bank.pay(guard, "eve", 3, who, conversation) == DONE
    assert bank.pay(guard, "bob", 4, FAR) == UNKNOWN  # its own tenant's
    assert bank.ran == [("bob", 1), ("eve", 3), ("bob", 4)]
    [one] = [record.body for record in records(bank.store) if '"unresolved: un_' in record.body]
    assert guard.unknown.list(tenant="acme")[0].id in one


@pytest.mark.parametrize("happened", [True, False])
def test_a_persons_word_frees_the_target(bank: Bank, happened: bool) -> None:
    """Once it is settled, whatever was found, a further call starts."""
    guard = bank.guard()
    bank.pay(guard, "bob", 1)
    bank.lost.clear()
    assert bank.pay(guard, "bob", 2, BEN) == BLOCKED
    bank.settle(guard, happened=happened)
    assert bank.pay(guard, "bob", 2, BEN) == DONE


KEYS = {
    "no key": ("", DONE, DONE),
    "call": ("unknown: {blocks: call}", DONE, DONE),
    "tool": ("unknown: {blocks: tool}", BLOCKED, BLOCKED),
    "one argument": (BY_TO, BLOCKED, DONE),
    "two arguments": ("unknown: {target: [to, note]}", DONE, DONE),
    "an argument that both leave out": ("unknown: {target: note}", BLOCKED, BLOCKED),
}


@pytest.mark.parametrize("case", KEYS)
def test_what_blocks_is_the_policys_to_say(bank: Bank, case: str) -> None:
    """Without the key only the same call of the conversation is not run again, as ever."""
    key, same, other = KEYS[case]
    guard = bank.guard(key)
    assert bank.pay(guard, "bob", 1, **({"note": "a"} if "two" in case else {})) == UNKNOWN
    bank.lost.clear()
    assert bank.pay(guard, "bob", 2, **({"note": "b"} if "two" in case else {})) == same
    assert bank.pay(guard, "eve", 3) == other


SPELLINGS = {
    "a number": (17, 17.0),
    "zero": (0, -0.0),
    "an object": ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1, "c": None}),
    "text": ("1", "1"),
    "a number and its text": (17, "17.0"),
    "case": ("DE17x", "de17X"),
    "blanks": ("Bob", " bob\n"),
    "one letter and two": ("\u00e9", "e\u0301"),
    "wide letters": ("AB1", "\uff21\uff22\uff11"),
    "sharp s": ("Stra\u00dfe", "STRASSE"),
}


@pytest.mark.parametrize("case", SPELLINGS)
def test_a_target_is_a_value_not_its_spelling(bank: Bank, case: str) -> None:
    """What a person may take for the same account is the same; another value is another one."""
    one, same = SPELLINGS[case]
    bank.lost = {str(one)}
    guard = bank.guard()
    assert bank.pay(guard, one, 1) == UNKNOWN
    bank.lost.clear()
    assert bank.pay(guard, same, 2) == BLOCKED
    assert bank.pay(guard, "18", 3) == DONE
