"""Telling: the demo as a person reads it: each note, each decision and why, and the question to the supervisor.

Only prints; every text that a model or a tool wrote is spelled. `Quiet` prints nothing, for a program that wants JSON.
"""

from __future__ import annotations

from guard.cli import show
from guard.cli.records import entries
from guard.cli.tables import pairs
from guard.cli.travel.play import Round
from guard.cli.travel.report import Decided, decision, proposed
from guard.cli.travel.stage import Stage
from guard.cli.views import argument_lines
from guard.core.model import Outcome, Session
from guard.core.values import JsonObject


class Quiet:
    """Shows nothing."""

    def round(self, played: Round) -> None:
        """A reply was handled."""

    def decided(self, played: Round) -> None:
        """A held turn was handled again."""


class Aloud:
    """Shows everything on standard output."""

    def __init__(self, stage: Stage, conversation: str) -> None:
        self._stage, self._conversation = stage, conversation

    def begin(self, question: str) -> None:
        """Who asks what."""
        print(f"The travel-expense assistant, against a scripted model on {self._stage.server.url}")
        print(f"Signed in: {person(self._stage.session)}")
        print(f"Question:  {show.spell(question)}")

    def round(self, played: Round) -> None:
        """A reply was handled."""
        print(f"\nRound {played.number}: {played.sent} messages sent")
        note = played.message.get("content")
        if note:
            print(f"  {'the model notes' if played.outcomes else 'the model answers'}: {show.spell(note)}")
        self._calls(played)

    def decided(self, played: Round) -> None:
        """A held turn was handled again."""
        print(f"\nRound {played.number}, handled again after the decision")
        self._calls(played)

    def _calls(self, played: Round) -> None:
        records, _ = entries(self._stage.guard.store)
        for call, outcome in played.proposals():
            for line in call_lines(call, outcome, decision(records, self._conversation, outcome)):
                print(line)


def person(session: Session) -> str:
    """A session in one line."""
    facts = "".join(f", {name} {show.value(value)}" for name, value in session.attributes.items())
    return f"{show.spell(session.principal)} (tenant {show.spell(session.tenant)}, {', '.join(map(show.spell, session.roles))}{facts})"


def call_lines(call: JsonObject, outcome: Outcome, decided: Decided) -> list[str]:
    """One call: what was proposed, what was decided and why, and what went back."""
    told = [f"  {show.spell(outcome.tool)} [{show.spell(outcome.call_id)}]", f"    proposed  {show.value(proposed(call))}"]
    if outcome.arguments is not None:
        told += ["    final", *argument_lines(outcome.arguments, decided.origins, indent="      ")]
    reason = "" if outcome.reason is None else f" ({outcome.reason})"
    facts = [("decision", f"{decided.verdict or outcome.status}, {outcome.status}{reason}")]
    facts += [("because", show.spell("; ".join(decided.rules)))] if decided.rules else []
    facts += [("spoofed", f"{show.spell(', '.join(decided.spoofed))} (the session's value was used)")] if decided.spoofed else []
    return [*told, *pairs([*facts, ("goes back", _back(outcome))], indent="    ")]


def _back(outcome: Outcome) -> str:
    """What the model gets; a suspended call gets nothing yet."""
    if outcome.status == "held":
        return "nothing, until a person has decided"
    return show.spell(outcome.content) if isinstance(outcome.content, str) else "text and pictures"
