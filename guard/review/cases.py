"""Cases: what a policy's own test says, as data: who is signed in, what happened before, which call comes, and what must be decided.

Built by `reading` from `cases.yaml`, or by hand by whoever wants to play a call (`world`). Data only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from guard.core.model import Session, Usage
from guard.core.values import Json

Word: TypeAlias = Literal["approve", "reject"]
START = 1_768_467_600.0
"""When a case begins, unless it says so: 2026-01-15T09:00:00Z, in seconds since the epoch."""

FREE = Usage(cost=Decimal(0))
"""What a reply costs, unless the case says so."""

PASS, FAIL = "pass", "fail"
"""What a scripted check says besides the sentence that it refuses with: it passes, or it cannot answer."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is written: the file, relative to the policy folder, and the line. Of cases made by hand: nowhere."""

    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What a person says about a call that is held, `wait` seconds after it was: `by` is the name of a session."""

    word: Word
    by: str
    wait: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposed call. `returns` is what the tool gives if it runs, `raises` what it fails with instead (`unknown`: nobody knows).

    `arguments` is an object, or the text that the model wrote. `wanted` holds the keys that say what must come of it, as written; `spot`
    is where it stands.
    """

    tool: str
    arguments: str | Mapping[str, Json] = field(default_factory=dict)
    returns: Json = None
    raises: str | None = None
    vote: Vote | None = None
    wanted: Mapping[str, Json] = field(default_factory=dict)
    spot: Place = Place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Time goes by, the user speaks, then one message of the model proposes calls.

    `session` says who is signed in, `conversation` in which conversation of that person. `facts` are records that changed since.
    """

    session: str
    conversation: str = ""
    wait: float = 0.0
    words: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    usage: Usage = FREE
    facts: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    times: int = 1
    spot: Place = Place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case. The last step is what it is about, those before are its history.

    `checks` says for each named check what it answers, `facts` what each record's loader finds: resource name → id → record.
    """

    name: str
    sessions: Mapping[str, Session]
    steps: tuple[Step, ...]
    at: float = START
    checks: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    spot: Place = Place()
