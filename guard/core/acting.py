"""Acting: the commands about running a call: taking it, waiting for who took it, asking a probe, executing it, writing down how it ended.

Frozen data, like the other commands. Comes after `commands` and before `ports`; imports no room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, TypeAlias

from guard.core.commands import CallRow, Command, Event, Flow
from guard.core.grants import Use
from guard.core.kills import Killed
from guard.core.model import Block, CallKey, ConversationRef
from guard.core.rules import Tool
from guard.core.targets import Aim
from guard.core.values import Json, JsonObject
from guard.core.views import Revealed


@dataclass(frozen=True, slots=True, kw_only=True)
class Won:
    """The call is taken: this process, and no other, may run it until `lease` seconds from when it asked are over.

    `attempt` counts from 1; `idem` is the guard's key for the act, the same at every attempt. `asked` is the driver's reading of a clock
    that never stands still, from before it asked.
    """

    at: float
    attempt: int = 1
    idem: str = ""
    lease: float = inf
    asked: float = 0.0
    sign: str = ""  # the driver's own, by which it knows this claim again


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The same call has finished; here is its row."""

    row: CallRow


@dataclass(frozen=True, slots=True, kw_only=True)
class InDoubt:
    """The same call was started and has no outcome. `lost`: nobody can be at it any more."""

    row: CallRow
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The key was used with other content, or the approval cannot be spent, or the grant not used. `why` is for the audit.

    `waits`: only the grant does not answer, so that a question about the call which is open stays so.
    """

    why: str
    approval: bool = False
    waits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A call of the same tool on the same target was started and nobody knows how it ended: `row`. A person must settle it first."""

    row: CallRow


ClaimAnswer: TypeAlias = Won | Replay | InDoubt | Conflict | Blocked | Killed


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Command[ClaimAnswer]):
    """Take the call by an insert with a unique key, spend the approval and write `event`: one durable transaction.

    `lease` is how many seconds the taker may be at it. `again`: a call that was taken before, with the same class, and has been lost, may be
    taken once more; its approval stays the one that was spent then.
    """

    row: CallRow  # with status "started"; `executor` is the driver's sign of this very claim
    approval: str | None
    event: Event | Callable[[int], Event]  # of an attempt, where its number belongs in
    lease: float = inf
    again: bool = False
    grant: Use | None = None  # what it draws on a grant, instead of spending an approval
    aim: Aim | None = None  # what it acts on: it starts only while no call on the same is unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class FindBlocked(Command[CallRow | None]):
    """Whether a call that is not in the ledger yet could not start for an unresolved one on the same target, which is the answer."""

    aim: Aim


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The row of a call that was waited for. `lost`: it is started still, and nobody can be at it any more."""

    row: CallRow
    lost: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Command[Joined]):
    """Wait for the one who took this call, until it is no longer started, or is lost, or the driver's patience ends."""

    row: CallRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapse(Command[CallRow]):
    """Write down that a started call was lost: `row` (status unknown) and `event`, only where that attempt has no outcome and is lost.

    The answer is the row as it stands then.
    """

    row: CallRow
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What the host's probe found about a started call: it took effect (with its result), it did not, or None: nobody knows."""

    happened: bool | None
    value: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(Command[Probed]):
    """Ask the host's probe of this tool whether the act with this key took effect. Never raises."""

    tool: Tool
    arguments: JsonObject
    idempotency_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What a tool did. Exactly one of: a value; `error` (its exception's class), `safe` (text the model may read); a time-out."""

    value: Json = None
    content: tuple[Block, ...] | None = None  # text and pictures, when the tool returned blocks
    error: str | None = None
    safe: str | None = None
    failed: bool = False  # the tool said so itself
    timed_out: bool = False
    interrupted: bool = False  # cancelled or stopped while running
    unclear: bool = False  # the tool itself cannot tell whether it took effect
    started: bool = True
    lapsed: bool = False  # not started: too little of the lease was left
    probed: bool = False  # not run here: the host's probe found that an earlier attempt took effect
    late: bool = False  # it ended after it was given up
    ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vaulted:
    """A value behind a handle. `kind` is its type, `digest` a keyed digest of its normal spelling, `tool` and `path` say where it came from."""

    handle: str
    kind: str
    digest: str
    value: Json
    tool: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadHandles(Command[Mapping[str, Vaulted]]):
    """Read the values behind these handles of the conversation. One that it never gave out, or that is too old, is missing in the answer."""

    ref: ConversationRef
    handles: tuple[str, ...]


Late: TypeAlias = Callable[[Executed], "Finish"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute(Command[Executed]):
    """Run the registered implementation with a copy of these arguments. Never raises for what the tool does."""

    tool: Tool
    arguments: JsonObject
    canonical: str
    key: CallKey
    idempotency_key: str
    taken: Won | None = None  # an action's claim: without enough of its lease left nothing starts
    late: Late | None = None  # what to write down when it ends after it was given up
    revealed: tuple[Revealed, ...] = ()  # values among the arguments that stand behind handles: no log may hold them


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish(Command[CallRow | None]):
    """Write outcomes and their events in one transaction, durable when it returns; commit or release reservations.

    The answer is the row of a taken call as it stands, where the ledger knows better how it ended: another attempt, or a person, was first.
    """

    rows: tuple[CallRow, ...]
    events: tuple[Event, ...]
    later: bool = False  # the store is down: written when it is back, and nobody waits
    handles: tuple[Vaulted, ...] = ()  # what went back as handles, for the conversation's vault
    light: bool = False  # as in Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Together(Command[tuple[Any, ...]]):
    """Run these flows, overlapping where the driver can, and answer with their results in order."""

    flows: tuple[Flow[Any], ...]


class UnresolvedStore(Protocol):
    """What a store says of calls that nobody knows the outcome of."""

    def blocked(self, command: FindBlocked) -> CallRow | None:
        """See FindBlocked."""
