"""Amounts that no store could add up exactly: they bring no budget and no grant to a halt for everybody who comes later."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from reports import BOSS, BOTH, codes, start, states

from guard.core.values import summable

NUMBERS = {
    "0": True,
    "59.90": True,
    "1E+20": True,
    "9" * 90: True,
    "1" + "0" * 90: False,
    "1E-90": True,
    "1E-91": False,
    "1E-4000": False,
    "1E+4000": False,
    "NaN": False,
    "Infinity": False,
}


@pytest.mark.parametrize("text", NUMBERS)
def test_which_numbers_can_be_summed(text: str) -> None:
    """Ninety digits on either side of the point."""
    assert summable(Decimal(text)) is NUMBERS[text]


@pytest.mark.parametrize("tiny", ["1e-4000", "1e-91", "0." + "0" * 95 + "1"])
def test_a_tiny_number_spoils_no_limit(tmp_path: Path, tiny: str) -> None:
    """It is refused itself, and the next call is counted as if it had never been."""
    policy = "tools: {pay: {kind: action, allow: [staff], approve: never, repeat: allow, limits: {sum: x, at_most: 900}}}"
    desk = start(tmp_path, "openai-chat", policy, {"pay": lambda x: "paid"}, store="sqlite", watched=False)
    found = [codes(desk.propose((f"c{n}", "pay", f'{{"x": {x}}}')))[0] for n, x in enumerate((tiny, 2, 890, 9))]
    assert found[1:] == [None, None, "limit_reached"]
    assert found[0] in {"limit_unknown", "invalid_arguments", "malformed_arguments"}


@BOTH
def test_a_tiny_number_spoils_no_grant(tmp_path: Path, wire: str) -> None:
    """A person is asked about it; what the grant covers goes on."""
    policy = """
        tools:
          pay:
            kind: action
            allow: [staff]
            repeat: allow
            approve: {by: [boss], grants: [{amount: x, at_most: 500, sum: 900, until: 7d}]}
    """
    desk = start(tmp_path, wire, policy, {"pay": lambda x: "paid"}, store="sqlite", watched=False)
    assert states(desk.propose(("c1", "pay", '{"x": 1}'))) == ["held"]
    [asked] = desk.pending()
    desk.guard.approvals.approve(asked.id, approver=BOSS)
    desk.guard.grants.give(asked.id, by=BOSS, scope="amount", sum=900)
    found = [states(desk.propose((f"d{n}", "pay", f'{{"x": {x}}}')))[0] for n, x in enumerate((2, "1e-200", 3))]
    assert found == ["done", "held", "done"]
