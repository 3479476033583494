"""What the model reads of a limit that is reached: which one, in words; never whose it is, nor what it is kept under."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, codes, error, outcome, start

from guard import Session

SOMEBODY = Session(principal="PERSON_5Q", tenant="TENANT_8Z", roles=("staff",))
CONVERSATION = "CONVERSATION_3K"
BASE = "tools:\n  pay: {kind: read, allow: [staff]%s}\n  other: {kind: read, allow: [staff]}\nlimits: {%s}\n"
KINDS: dict[str, tuple[str, str, str, str]] = {
    "turn": ("", "turn: {calls: 1}", "limit_reached", "The limit on calls in one turn."),
    "run": ("", "run: {calls: 1}", "limit_reached", "The limit on calls since the user last spoke."),
    "conversation": ("", "conversation: {calls: 1}", "limit_reached", "The limit on calls in one conversation."),
    "equal": ("", "run: {equal: 1, steps: 9}", "repeated_call", ""),
    "tool": (
        ", limits: {calls: 1}",
        "run: {steps: 9}",
        "limit_reached",
        "The limit on calls of this tool since the user last spoke.",
    ),
    "tool-equal": (", limits: {equal: 1}", "run: {steps: 9}", "repeated_call", ""),
    "sum": (", limits: {sum: amount, at_most: 5}", "run: {steps: 9}", "limit_reached", "The limit on the sum of amounts."),
    "sum-per": (
        ", limits: {sum: amount, per: account, at_most: 5}",
        "run: {steps: 9}",
        "limit_reached",
        "The limit on the sum of amounts.",
    ),
    "window": (
        ", limits: [{calls: 1, per: 1h}]",
        "run: {steps: 9}",
        "limit_reached",
        "The limit on calls of this tool within 1 hour.",
    ),
    "window-equal": (
        ", limits: [{equal: 1, per: 1h}]",
        "run: {steps: 9}",
        "limit_reached",
        "The limit on equal calls of this tool within 1 hour.",
    ),
    "window-sum": (
        ", limits: [{sum: amount, at_most: 5, per: 7d}]",
        "run: {steps: 9}",
        "limit_reached",
        "The limit on the sum of amounts of this tool within 7 days.",
    ),
    "window-tenant": (
        ", limits: [{calls: 1, per: 1h, of: tenant}]",
        "run: {steps: 9}",
        "limit_reached",
        "The limit on calls of this tool within 1 hour.",
    ),
    "window-conversation": (
        ", limits: [{calls: 1, per: 1h, of: conversation}]",
        "run: {steps: 9}",
        "limit_reached",
        "The limit on calls of this tool within 1 hour.",
    ),
    "window-argument": (
        ", limits: [{calls: 1, per: 1h, of: account}]",
        "run: {steps: 9}",
        "limit_reached",
        "The limit on calls of this tool within 1 hour.",
    ),
    "windows-of-all": (
        "",
        "windows: [{calls: 1, per: 90s}], run: {steps: 9}",
        "limit_reached",
        "The limit on calls within 90 seconds.",
    ),
    "whole": ("", "turn: {calls: 1, whole: true}", "limit_reached", "The limit on calls in one turn."),
    "unmeasured": (
        ", limits: {sum: missing, at_most: 5}",
        "run: {steps: 9}",
        "limit_unknown",
        "missing must be given as a number",
    ),
    "tokens-unknown": ("", "run: {tokens: 5}", "limit_unknown", "The tokens of this reply are not known."),
    "conversation-tokens": ("", "conversation: {tokens: 5}", "limit_unknown", "The tokens of this reply are not known."),
    "steps": ("", "run: {steps: 0}", "limit_reached", "The limit on steps is 0."),
}


def pay(amount: float, account: str, missing: float | None = None) -> str:
    return "paid"


def refusal(tmp_path: Path, kind: str, wire: str = "openai-chat") -> tuple[str, dict[str, Any], str, str]:
    """Two calls of which the second is refused, at the latest: its code, its error, everything that the model reads, and the text awaited."""
    tool, limits, code, text = KINDS[kind]
    given = {"pay": pay, "other": lambda: ""}
    desk = start(tmp_path, wire, BASE % (tool, limits), given, session=SOMEBODY, conversation=CONVERSATION)
    call = ("pay", {"amount": 4, "account": "ACCOUNT_6J"})
    turn = desk.propose(("c1", *call), ("c2", *call))
    found = error(outcome(turn, "c2"))
    read = str(desk.history)
    assert codes(turn)[1] == code
    desk.closed()
    return str(found["message"]), found, read.replace("ACCOUNT_6J'", ""), text


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_is_named_in_words_and_nobody_with_it(tmp_path: Path, kind: str) -> None:
    """What counts and over what; no tenant, person, conversation or key of a budget, and no internal spelling."""
    message, found, read, text = refusal(tmp_path, kind)
    assert text in message
    for word in ("TENANT_8Z", "PERSON_5Q", CONVERSATION):
        assert word not in read
    for sign in ('["', '"]', " of [", "run of", "turn of", "conversation of", "tenant of", "shadow of"):
        assert sign not in str(found)


@EVERY
def test_it_reads_the_same_on_every_wire(tmp_path: Path, wire: str) -> None:
    """The text is the room's, whatever form a wire gives it."""
    _, _, read, text = refusal(tmp_path, "tool", wire)
    assert text in read
