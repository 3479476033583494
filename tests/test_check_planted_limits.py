"""Planted mistakes in limits over windows and in ceilings: found as in test_check_planted; their neighbours stand in test_check_quiet."""

from __future__ import annotations

from pathlib import Path

import pytest
from review_check_kit import Edit, edited, found, is_told

M = "money.yaml"
AMOUNTS = "{calls: 3, sum: amount, per: order_id, at_most: 900}"
"""What the good folder limits."""

PLANTED: dict[str, tuple[Edit, str, int, str, str]] = {
    # name: (edit, file, line, code or "" for none, a part of the message)
    "window of nothing": (
        (M, "  run: {steps", "  windows: [{calls: 0, per: 1h}]\n  run: {steps"),
        M,
        25,
        "limit-zero",
        "limits.windows.calls",
    ),
    "window behind a longer one": (
        (M, AMOUNTS, f"[{AMOUNTS}, {{calls: 9, per: 1h}}, {{calls: 8, per: 24h}}]"),
        M,
        19,
        "window-unreached",
        "refund: limits.calls 9 per 1h is never reached: refund: limits.calls 8 per 24h",
    ),
    "window behind shorter ones": (
        (M, AMOUNTS, f"[{AMOUNTS}, {{calls: 2, per: 1h}}, {{calls: 100, per: 24h}}]"),
        M,
        19,
        "window-unreached",
        "limits.calls 100 per 24h is never reached",
    ),
    "window of a person behind the tenant's": (
        (M, AMOUNTS, f"[{AMOUNTS}, {{sum: amount, at_most: 50, per: 1h}}, {{sum: amount, at_most: 40, per: 2h, of: tenant}}]"),
        M,
        19,
        "window-unreached",
        "sum of amount 50 per 1h is never reached",
    ),
    "equal calls behind calls": (
        (M, AMOUNTS, f"[{AMOUNTS}, {{calls: 2, equal: 2, per: 1h}}]"),
        M,
        19,
        "window-unreached",
        "limits.equal 2 per 1h is never reached",
    ),
    "window behind a sum without end": (
        (M, AMOUNTS, f"[{AMOUNTS}, {{sum: amount, at_most: 1000, per: 30d, of: [principal, order_id]}}]"),
        M,
        19,
        "window-unreached",
        "sum of amount 1000 per 30d is never reached",
    ),
    "window above the conversation": (
        (M, AMOUNTS, f"[{AMOUNTS}, {{calls: 101, per: 24h, of: conversation}}]"),
        M,
        19,
        "window-unreached",
        "above limits.conversation.calls",
    ),
    "window of an unknown argument": (
        (M, AMOUNTS, f"[{AMOUNTS}, {{calls: 9, per: 1h, of: order}}]"),
        M,
        19,
        "",
        "no argument order",
    ),
    "window of a misspelt person": ((M, AMOUNTS, "{calls: 9, per: 1h, of: principle}"), M, 19, "", "did you mean principal?"),
    "window of a fact of the session": (
        (M, AMOUNTS, "{calls: 9, per: 1h, of: session.region}"),
        M,
        19,
        "",
        "no argument session.region",
    ),
    "window over all tools of an argument": (
        (M, "  run: {steps", "  windows: [{calls: 9, per: 1h, of: order_id}]\n  run: {steps"),
        M,
        25,
        "",
        "of: must be",
    ),
    "window of a sum of nothing": ((M, AMOUNTS, "{sum: amont, at_most: 9, per: 1h}"), M, 19, "", "no argument amont"),
    "sum up to what an unknown tool said": (
        (M, AMOUNTS, "{sum: amount, at_most: fnd_order.total, per: 24h}"),
        M,
        19,
        "",
        "fnd_order",
    ),
    "unknown ceiling": (
        (M, "limits:\n", "ceilings: {argument_bytes: 900}\nlimits:\n"),
        M,
        24,
        "",
        "did you mean arguments_bytes?",
    ),
    "ceiling of nothing": ((M, "limits:\n", "ceilings: {open_approvals: 0}\nlimits:\n"), M, 24, "", "refuses everything"),
    "ceiling below the least call": (
        (M, AMOUNTS, f"{AMOUNTS}\n    ceilings: {{arguments_bytes: 13}}"),
        M,
        20,
        "ceiling-zero",
        "at least 14",
    ),
    "ceiling of values below the least call": (
        (M, "limits:\n", "ceilings: {arguments_items: 1}\nlimits:\n"),
        M,
        24,
        "ceiling-zero",
        "the least call of refund",
    ),
    "ceiling that counts anyway": (
        (M, AMOUNTS, f"{AMOUNTS}\n    ceilings: {{arguments_depth: 64}}"),
        M,
        20,
        "ceiling-idle",
        "counts anyway",
    ),
    "ceiling above the turn's limit": (
        (M, "limits:\n", "ceilings: {message_calls: 17}\nlimits:\n  turn: {calls: 16}\n"),
        M,
        24,
        "ceiling-unreached",
        "limits.turn.calls",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, tmp_path: Path) -> None:
    """With its file, its line, its words and a cure; and nothing else is wrong."""
    edit, file, line, code, words = PLANTED[name]
    is_told(found(edited(tmp_path, edit)), (file, line), code, words)
