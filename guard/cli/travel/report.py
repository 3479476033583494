"""Report: rounds of a conversation as JSON, and the decision about each call as the audit recorded it.

What was proposed is the model's text, parsed where it parses; what was final is null where nothing ran. Pure. Comes after `play`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from guard.cli.records import Entry, of_conversation
from guard.cli.travel.play import Round
from guard.core.model import Outcome
from guard.core.values import Json, JsonObject

RAN = ("done", "failed", "unknown")


def proposed(call: JsonObject) -> Json:
    """The arguments as the model wrote them: an object when the text is one, else the text."""
    text = call["function"].get("arguments")
    try:
        found = json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, TypeError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def final(outcome: Outcome) -> JsonObject | None:
    """The arguments that the call ran with."""
    return outcome.arguments if outcome.status in RAN else None


def call_json(call: JsonObject, outcome: Outcome) -> JsonObject:
    """One call of a round."""
    return {
        "id": outcome.call_id,
        "tool": outcome.tool,
        "proposed": proposed(call),
        "final": final(outcome),
        "status": outcome.status,
        "reason": None if outcome.reason is None else str(outcome.reason),
    }


def round_json(played: Round) -> JsonObject:
    """One round."""
    return {"messages_sent": played.sent, "calls": [call_json(call, outcome) for call, outcome in played.proposals()]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the audit says about the newest decision on one call."""

    verdict: str = ""
    rules: tuple[str, ...] = ()
    origins: JsonObject | None = None
    spoofed: tuple[str, ...] = ()


def decision(records: Iterable[Entry], conversation: str, outcome: Outcome) -> Decided:
    """The newest decision on the call of `outcome`; empty when none is recorded."""
    place = (outcome.turn, outcome.position)
    found = [
        entry
        for entry in of_conversation(records, conversation)
        if entry.at("kind") == "call.decided" and (entry.at("turn"), entry.at("position")) == place
    ]
    if not found:
        return Decided()
    newest = found[-1]
    return Decided(
        verdict=str(newest.at("decision", "verdict") or ""),
        rules=tuple(newest.at("decision", "rules") or ()),
        origins=newest.at("args", "labels"),
        spoofed=tuple(newest.at("spoof") or ()),
    )
