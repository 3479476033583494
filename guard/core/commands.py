"""Commands: what the walk asks of the world, and the shape of each answer.

A flow yields a `Command[T]` through `ask` and is sent a `T`; two short drivers in `guard.runner` obey. Frozen data. Comes after the model and
before ports and the pipeline; imports no room.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

from guard.core.kills import Killed, Stop
from guard.core.model import Approval, CallKey, ConversationRef, Evidence, Outcome, Session, ToolCall, Usage
from guard.core.reasons import Reason
from guard.core.rules import AGAIN, MOST_ATTEMPTS
from guard.core.values import Json, JsonObject
from guard.core.views import Revealed

T = TypeVar("T")
Event: TypeAlias = dict[str, Json] | str
"""One audit record before it is sealed: `kind` first, then fields of schema v1, as a dict or as the JSON text of its members without
the outer braces. The store adds v, id, ts, chain and seq."""

Told: TypeAlias = Event | Callable[[Approval], Event]
"""A record, or what makes it of the approval as it stands in the transaction that writes both."""

ERASED = "-"
"""The salt of a call whose raw values were erased."""


class HaltedError(Exception):
    """Thrown into the walk at Claim or Execute once the caller has been interrupted: nothing new starts, everything is closed."""


class Command(Generic[T]):
    """Something that the walk wants done; `T` is the type of the answer."""

    __slots__ = ()


Flow: TypeAlias = Generator[Command[Any], Any, T]


def ask(command: Command[T]) -> Flow[T]:
    """Yield a command and return its answer with the right type: the one place where the answer is untyped."""
    answer: T = yield command
    return answer


# -- the ledger ------------------------------------------------------------------------------------------------------


class Again(Enum):
    """Whether a handled message is the newest turn once more."""

    NEW = "new"
    AGAIN = "again"
    UNSURE = "unsure"  # no history to tell: an equal action replays, an equal read runs again


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One call in the ledger. `status`: allowed, held, refused, started, done, failed, unknown.

    `call` is the proposal, `arguments` the final ones, `value` the raw result of a finished call (for grounds), `outcome` what went back.
    """

    key: CallKey
    call: ToolCall
    status: str
    kind: str = ""
    fingerprint: str = ""
    mark: str = ""  # what makes two actions the same, whatever the tool's definition; empty: this row is nobody's twin
    arguments: JsonObject | None = None
    owned: frozenset[str] = frozenset()
    evidence: tuple[Evidence, ...] = ()
    approval: str | None = None
    value: Json = None
    outcome: Outcome | None = None
    run: int = 0
    repeat: bool = False
    settled: bool = False  # a held call whose outcome was delivered as a follow-up
    at: float = 0.0
    effect: str = ""  # the side-effect class that an action was taken with; see Effect
    attempt: int = 0  # how often an action was taken: 1, and more only where its class lets it be taken again
    lease: float | None = None  # until when whoever took the action is believed to be at it, by the store's clock
    idem: str = ""  # the guard's own key for the act, the same at every attempt
    executor: str = ""  # which process took the action
    edits: Mapping[str, Json] = field(default_factory=dict)  # what a person changed of what was proposed, by JSON Pointer
    target: str = field(default="", compare=False)  # the tag of what it acts on, while it may run or may have run; see Aim
    salt: str = (
        ""  # what the digests in this call's records are made with, kept with its raw values and gone with them; see `ERASED`
    )

    @property
    def erased(self) -> bool:
        """Whether its raw values were erased: it is known that the call was made and how it ended, nothing else."""
        return self.salt == ERASED

    @property
    def again(self) -> bool:
        """Whether an action that was taken and lost may be taken once more with its key, by the class that it was taken with."""
        ended = self.outcome is not None and self.outcome.reason is Reason.RESULT_INVALID  # another attempt would say the same
        return self.effect in AGAIN and bool(self.idem) and self.attempt < MOST_ATTEMPTS and not ended

    @property
    def safe(self) -> bool:
        """Whether proposing the very same call again gets it done, once: a probe may only be asked."""
        return self.again and self.effect == "idempotent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A turn as the ledger numbered it, and what limits need to know. Counts include this turn."""

    turn: int
    again: Again
    rows: Mapping[int, CallRow]  # position → row, for a turn handled before
    run: int  # how often the user has spoken
    steps: int  # turns since the user last spoke
    seconds: float  # since the user last spoke, waiting for people not counted
    tokens: int
    cost: Decimal | None  # None: some reply did not say
    tokens_known: bool
    total_tokens: int  # of the conversation
    total_cost: Decimal | None
    total_known: bool = True  # False once any reply of the conversation did not say its tokens
    stops: tuple[Stop, ...] = ()  # kills in force that may cover its calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What earlier turns of the conversation left: finished calls of the tools asked for, oldest first, and the user's words."""

    calls: tuple[CallRow, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What lookups gave. A missing key means that the fact is unavailable; `errors` says so for the audit."""

    resources: Mapping[tuple[str, str], Json] = field(default_factory=dict)  # (name, canonical id) → record
    resolved: Mapping[str, str] = field(default_factory=dict)  # file path → real path


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One draw on one budget: refused when the budget's total would exceed `limit`.

    With a `window` (seconds) only those draws count that were made or whose call ended within it, and those of calls that are held, under
    way or unknown. A `shadow` draws on a budget of its own and never refuses. `own`: nobody else draws on the budget, so that it may be
    told when it will fit again; `again` is that time, in the answer of a store that knows it. `rule` is what the record says. What lies
    in the scopes `also`, which are the same person's under other names, counts too.
    """

    scope: str
    name: str
    amount: Decimal
    limit: Decimal
    window: float | None = None
    shadow: bool = False
    own: bool = False
    rule: str = ""
    again: float | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shadowed:
    """Everything was drawn but what these shadow limits would have refused."""

    over: tuple[Charge, ...]


# -- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn(Command[Opened]):
    """Number the turn, or recognise it as the newest one handled again; a turn that gets a number records what `told` says of it.

    `digest` is over the calls. `answered` counts the messages with this digest whose results are in the history, `answered_all` all
    answered messages with calls; None where no history was given.
    """

    ref: ConversationRef
    digest: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    answered: int | None = None
    answered_all: int | None = None
    key: str = ""
    told: Callable[[int], tuple[Event, ...]] = lambda _: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Command[Mapping[int, CallRow]]):
    """What the ledger has of the calls of a turn that could not be opened, where it can still be read: position → row."""

    ref: ConversationRef
    digest: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFacts(Command[Facts]):
    """Look up records by (resource name, id) and resolve file paths. What cannot be had is simply missing in the answer."""

    resources: tuple[tuple[str, Json], ...]
    paths: tuple[str, ...]
    session: Session
    revealed: tuple[Revealed, ...] = ()  # values among them that stand behind handles: no log may hold them


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLedger(Command[Ledger]):
    """Read finished calls of `tools` from turns before `before`, and the user's words."""

    ref: ConversationRef
    tools: frozenset[str]
    before: int
    words: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FindTwins(Command[Mapping[str, CallRow]]):
    """Find, for each mark (see CallRow), the newest call of the conversation that is held, started, unknown or done."""

    ref: ConversationRef
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeQuota(Command[tuple[Charge | Shadowed | None, ...]]):
    """Reserve, call by call in order; the answer holds None, the first exceeded charge, or what shadow limits say. Once per call key.

    What left its window before the call ended is drawn again, and so is a window that the policy did not have then.

    With `whole` either every call gets its reservations or none does. `again`: these calls were walked before, so that they hold theirs already.
    """

    calls: tuple[tuple[CallKey, tuple[Charge, ...]], ...]
    whole: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskApproval(Command[Approval | None]):
    """Find the approval of this fingerprint in this conversation, or open `proposal` with its event. Expiry is judged now.

    Where it is not to be opened yet (`opens`), the proposal itself is the answer, and a `Record` opens it together with the decision.
    None, and nothing is opened, where so many questions (`most`) of this person wait for a decision in this tenant already. With the proposal
    the question `instead` ends, which the same call waited for when it was another one (its tool or its session has changed since). `also`
    are the other names of the person.
    """

    proposal: Approval
    event: Event | Callable[[], Event]  # made where it is needed: most questions are asked once and looked up often
    run: int  # a rejected approval counts until the user has spoken again
    most: int | None = None
    opens: bool = True
    instead: str = ""
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Command[tuple[Approval | None, ...] | Killed | None]):
    """Write rows and events in one transaction, durable when it returns. Refused rows release their reservations.

    With `asks` it opens their proposals first. Where something else answers one of them by now, nothing is written, and the answer holds the
    approval of each ask: its own proposal where it may still be opened, None where too many are open. Else there is none. With `take` it first
    reserves what the calls draw: where some of it has no room, nothing is written, and the answer is empty.

    `going` are the conversation and tool of each call that is allowed or held. Where a kill covers one of them by now, nothing is written, and the
    answer says which kill: only for records that may wait (`light`) nobody looks.
    """

    rows: tuple[CallRow, ...]
    events: tuple[Event, ...]
    asks: tuple[AskApproval, ...] = ()
    light: bool = False  # of allowed look-ups alone: where the host said so, it may be written a moment later
    going: tuple[tuple[ConversationRef, str], ...] = ()
    take: TakeQuota | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Void(Command[Approval]):
    """End an approved approval that today's policy, or today's call, does not bear out. Raises ApprovalError where it is not approved any more."""

    approval: str
    event: Told
