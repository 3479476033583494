"""Scene: the policy, the people, and which calls the model proposes. Everything follows from the seed and a number, so a new process goes on alike."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from wire_helpers import message

from guard import Session

WIRE = "openai-chat"
EMPLOYEE = Session(principal="E1", roles=("employee",))
BOSS = Session(principal="B9", roles=("boss",))
PROCESSES = 6
TURNS = 3
POLICY = """
tools:
  look: {kind: read, allow: [employee]}
  once: {kind: action, allow: [employee], approve: never, lease: 300ms}
  once_timed: {kind: action, allow: [employee], approve: never, timeout: 150ms, lease: 400ms}
  once_asked: {kind: action, allow: [employee], approve: {by: [boss]}, lease: 300ms}
  same: {kind: action, allow: [employee], approve: never, effect: idempotent, lease: 300ms}
  same_timed: {kind: action, allow: [employee], approve: never, effect: idempotent, timeout: 150ms, lease: 400ms}
  same_asked: {kind: action, allow: [employee], approve: {by: [boss]}, effect: idempotent, lease: 300ms}
  probed: {kind: action, allow: [employee], approve: never, effect: {probe: {dedupes: true}}, lease: 300ms}
  probed_asked: {kind: action, allow: [employee], approve: {by: [boss]}, effect: {probe: {dedupes: true}}, lease: 300ms}
limits:
  run: {calls: 1000}
"""
CLASS = {
    "once": "once",
    "once_timed": "once",
    "once_asked": "once",
    "same": "idempotent",
    "same_timed": "idempotent",
    "same_asked": "idempotent",
    "probed": "probe",
    "probed_asked": "probe",
}
"""The side-effect class of each action."""
_OFTEN = (
    "once",
    "once",
    "once_timed",
    "once_asked",
    "same",
    "same_timed",
    "same_asked",
    "probed",
    "probed",
    "probed_asked",
    "look",
)


def calls_of(seed: int, talk: int, turn: int) -> list[tuple[str, str, int]]:
    """(call id, tool, number) of one turn; a number belongs to one call of the whole run."""
    dice = Random(f"{seed}:{talk}:{turn}")
    numbers = [talk * 100 + turn * 10 + position for position in range(4)]
    return [(f"c{number}", dice.choice(_OFTEN), number) for number in numbers]


def reply(calls: list[tuple[str, str, int]]) -> dict[str, Any]:
    """The model's message with these calls."""
    return message(WIRE, *((call_id, tool, json.dumps({"n": number})) for call_id, tool, number in calls))


def name_of(talk: int) -> str:
    """The name of a conversation."""
    return f"conv-{talk}"


def resumes(talk: int) -> bool:
    """Whether the host of this conversation closes its history after a crash, instead of handling the same reply again."""
    return talk % 4 == 3


@dataclass(slots=True)
class Talk:
    """What a host keeps of one conversation: its messages, and how far it got. Saved whole or not at all."""

    number: int
    turn: int = 0
    done: bool = False
    messages: list[dict[str, Any]] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Replace the file."""
        keep(folder / f"talk-{self.number}", [self.turn, self.done, self.messages])


def talk_at(folder: Path, number: int) -> Talk:
    """The conversation as it was last saved."""
    path = folder / f"talk-{number}"
    return Talk(number, *json.loads(path.read_text())) if path.exists() else Talk(number)


def keep(path: Path, value: Any) -> None:
    """Write a file so that a reader, and a restart, sees the old or the new one."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value))
    new.replace(path)
