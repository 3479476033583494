"""Scripted: what stands around a guard while a case is played: a clock that stands still, tools, checks and loaders that answer by script.

Nothing here decides. A tool's answer is found by the place of its call, so that refused siblings do not shift it. Used by `world`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from guard.core import ports as p
from guard.core.model import CallKey
from guard.core.values import Json, JsonObject, copy
from guard.errors import OutcomeUnknownError, ToolError
from guard.review.cases import FAIL, PASS, Proposal
from guard.runner.hands import Hands, Loader
from guard.tools import RegisteredTool

Place: TypeAlias = tuple[str, str, int, int]
"""Where a call stands: tenant, conversation, turn and position."""

UNKNOWN = "unknown"
"""What a tool `raises` when nobody can tell whether it took effect; any other text is what it says of its failure."""


@dataclass(slots=True)
class Clock:
    """Seconds since the epoch; moves only when it is told to."""

    now: float

    def __call__(self) -> float:
        """The time."""
        return self.now


@dataclass(slots=True)
class Script:
    """What each call returns: the proposals of the turn that is under way, and those of earlier turns by their place."""

    current: tuple[Proposal, ...] = ()
    earlier: dict[Place, Proposal] = field(default_factory=dict)
    ran: set[Place] = field(default_factory=set)

    def of(self, key: CallKey, tool: str) -> Proposal | None:
        """Who answers for the call at this place. An earlier call that runs again is answered by the one that had it run."""
        place = place_of(key)
        if place not in self.earlier:
            return self.current[key.position] if key.position < len(self.current) else None
        return next((one for one in self.current if one.tool == tool), self.earlier[place])


def place_of(key: CallKey) -> Place:
    """Where the call of a key stands."""
    return (key.ref.tenant, key.ref.conversation, key.turn, key.position)


@dataclass(slots=True, kw_only=True)
class ScriptedHands(Hands):
    """Hands whose tools answer by script. What runs, and with what, is decided as always."""

    script: Script
    answer: Proposal | None = None

    def prepare(self, command: p.Execute) -> Callable[[], Any] | p.Executed:
        """As always, having noted whose answer will be wanted."""
        self.answer = self.script.of(command.key, command.tool.name)
        self.script.ran.add(place_of(command.key))
        return Hands.prepare(self, command)

    def loader(self, name: str) -> Loader | None:
        """The loader of a resource; one that no case scripts is no news for a log."""
        return self.loaders.get(name)

    def run(self, _arguments: JsonObject, _key: str) -> Json:
        """What every tool does."""
        one = self.answer
        if one is None or one.raises is None:
            return None if one is None else copy(one.returns)
        if one.raises == UNKNOWN:
            raise OutcomeUnknownError
        raise ToolError(one.raises)


def stand_in(name: str, run: Callable[[JsonObject, str], Any]) -> RegisteredTool:
    """A tool that takes any arguments: what fits was decided before."""
    return RegisteredTool(
        name=name, description="", schema=None, parameters=None, accepts=None, origin="case", run=run, is_async=False
    )


def check(says: Mapping[str, str], name: str) -> Callable[[JsonObject], str | None]:
    """The named check as a case scripts it. One that no case speaks about refuses, as it does where no program is at hand."""
    return partial(_checked, says.get(name, f"The case does not say what the check {name} answers."))


def _checked(says: str, _arguments: JsonObject) -> str | None:
    if says == FAIL:
        raise ToolError(says)
    return None if says == PASS else says


def loader(records: Mapping[str, Json]) -> Loader:
    """The loader of one resource: a record by its id, None where the case has none."""

    def load(identity: Json) -> Json:
        return copy(records.get(str(identity)))

    return load
