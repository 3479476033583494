"""Grounds on values that the model never saw: masked, hashed, dropped, hidden by a detector, or cut away. They compare what the tool returned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reports import Desk, codes, outcome, start, states

from guard.wires import WIRES

ACCOUNT, TAX, PHONE, CODE = "ACC-7741-9928", "T-4471-99", "+1 415 555 2678", "pickup-7718"
POLICY = """
tools:
  find:
    kind: read
    allow: [staff]
    result:
      %s
  pay:
    kind: action
    allow: [staff]
    approve: never
    repeat: allow
    ground: {to: {returned_by: 'find.rows[*].secret'}, amount: {at_most: 'find.rows[*].total', same: [secret]}}
"""
RULES = {
    "masked": ("mask: {'rows[*].secret': last4}", ACCOUNT),
    "masked-whole": ("mask: {'rows[*].secret': fixed}", ACCOUNT),
    "initials": ("mask: {'rows[*].secret': initials}", "Kim Li"),
    "domain": ("mask: {'rows[*].secret': domain}", "kim@example.com"),
    "hashed": ("hash: ['rows[*].secret']", TAX),
    "dropped": ("drop: ['rows[*].secret']", CODE),
    "dropped-anywhere": ("drop: [..secret]", CODE),
    "not-kept": ("keep: ['rows[*].id']", CODE),
    "block-dropped": ("blocks: {structured: drop}", CODE),
    "detected": ("max_bytes: 8000", PHONE),
    "cut": ("max_bytes: 200", CODE),
}
"""What keeps a value from the model, and the value."""


def desk_of(tmp_path: Path, kind: str, wire: str = "openai-chat", store: str = "memory") -> tuple[Desk, str]:
    """A desk whose model has looked the rows up without being shown the value."""
    rule, value = RULES[kind]
    rows = [{"id": n, "note": "x" * 60, "secret": f"{value[:-1]}{n}" if n else value, "total": 10 + n} for n in range(6, -1, -1)]

    def find() -> Any:
        return {"rows": rows}

    def pay(to: str, amount: float, secret: str = "") -> str:
        return "paid"

    desk = start(tmp_path, wire, POLICY % rule, {"find": find, "pay": pay}, store=store)
    desk.propose(("f1", "find", {}))
    assert value not in desk.result("f1"), "the model must not have seen it"
    return desk, value


WIRED = [("openai-chat", kind) for kind in RULES] + [(wire, "masked") for wire in sorted(WIRES) if wire != "openai-chat"]


@pytest.mark.parametrize(("wire", "kind"), WIRED)
def test_a_ground_holds_on_what_the_model_did_not_see(tmp_path: Path, wire: str, kind: str) -> None:
    """The value itself is grounded, whoever told it to the model; one that the tool did not return is not."""
    desk, value = desk_of(tmp_path, kind, wire)
    good = desk.propose(("p1", "pay", {"to": value, "amount": 10, "secret": value}))
    assert states(good) == ["done"]
    other = value[:-1] + ("9" if value[-1] != "9" else "8")
    wrong = desk.propose(("p2", "pay", {"to": other, "amount": 1, "secret": value}))
    assert codes(wrong) == ["not_grounded"]
    assert desk.times("pay") == 1
    desk.closed()


@pytest.mark.parametrize("kind", RULES)
def test_a_bound_of_the_same_record_holds_by_a_field_that_is_not_shown(tmp_path: Path, kind: str) -> None:
    """`same` compares the record as it was returned: the bound of one row is none of another."""
    desk, value = desk_of(tmp_path, kind)
    over = desk.propose(("p1", "pay", {"to": value, "amount": 11, "secret": value}))
    assert codes(over) == ["not_grounded"]
    row = f"{value[:-1]}6"
    assert states(desk.propose(("p2", "pay", {"to": row, "amount": 16, "secret": row}))) == ["done"]
    desk.closed()


@pytest.mark.parametrize("kind", ["masked", "hashed", "dropped", "cut"])
def test_it_holds_after_a_restart_and_in_a_shortened_history(tmp_path: Path, kind: str) -> None:
    """The ledger is what is compared with, on disk as in memory; a history says nothing."""
    desk, value = desk_of(tmp_path, kind, store="sqlite")
    desk.history = desk.chat.trim(desk.history, 0)
    desk.restart()
    desk.say()
    assert codes(desk.propose(("p1", "pay", {"to": f"{value}x", "amount": 1, "secret": value}))) == ["not_grounded"]
    assert states(desk.propose(("p2", "pay", {"to": value, "amount": 10, "secret": value}))) == ["done"]
    desk.closed()


@pytest.mark.parametrize("kind", ["masked", "masked-whole", "initials", "domain", "hashed"])
def test_what_stands_in_its_place_is_no_value(tmp_path: Path, kind: str) -> None:
    """A mask or hash that the model copies refuses, and nothing of the value is told for it."""
    desk, value = desk_of(tmp_path, kind)
    shown = next(row["secret"] for row in json.loads(desk.result("f1"))["rows"] if row["id"] == 0)
    turn = desk.propose(("p1", "pay", {"to": shown, "amount": 1, "secret": shown}))
    assert states(turn) == ["refused"]
    assert value not in str(outcome(turn, "p1").content)
    assert desk.times("pay") == 0
    assert value not in desk.everything()
    desk.closed()
