"""Ports: what the core needs from outside: a compiled policy, a store, a redactor. The commands they serve are in `commands` and `acting`.

Comes after the model and commands, before the rooms; imports no room. Re-exports the commands, so that one import gives the whole edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from guard.core import redactor as _redactor
from guard.core.acting import (
    Claim,
    ClaimAnswer,
    Conflict,
    Execute,
    Executed,
    Finish,
    InDoubt,
    Join,
    Joined,
    Lapse,
    Late,
    LoadHandles,
    Probe,
    Probed,
    Replay,
    Together,
    UnresolvedStore,
    Vaulted,
    Won,
)
from guard.core.approval import BALLOT, Ballot, Ending
from guard.core.ceilings import CEILINGS, Ceilings
from guard.core.commands import (
    Again,
    AskApproval,
    CallRow,
    Charge,
    Command,
    Event,
    Facts,
    FindTwins,
    Flow,
    HaltedError,
    Ledger,
    LoadFacts,
    LoadLedger,
    Opened,
    OpenTurn,
    Recall,
    Record,
    Shadowed,
    TakeQuota,
    Told,
    Void,
    ask,
)
from guard.core.granting import GrantStore
from guard.core.killing import KillStore
from guard.core.kills import Killed
from guard.core.log import Log, Sealed
from guard.core.model import Approval, CallKey, ConversationRef, Session
from guard.core.outright import Begin, Outright, OutrightStore, Stood
from guard.core.redaction import REDACTION, Redaction
from guard.core.rules import Limits, Tool
from guard.core.searching import SearchStore, Sought
from guard.core.values import Json

__all__ = [
    "Again",
    "AskApproval",
    "Authorizer",
    "Begin",
    "CallRow",
    "Charge",
    "Claim",
    "ClaimAnswer",
    "Command",
    "Conflict",
    "Event",
    "Execute",
    "Executed",
    "Facts",
    "FindTwins",
    "Finish",
    "Flow",
    "HaltedError",
    "InDoubt",
    "Join",
    "Joined",
    "Lapse",
    "Late",
    "Ledger",
    "LoadFacts",
    "LoadHandles",
    "LoadLedger",
    "Log",
    "OpenTurn",
    "Opened",
    "Outright",
    "Policy",
    "Probe",
    "Probed",
    "Recall",
    "Record",
    "Redactor",
    "Replay",
    "Sealed",
    "Shadowed",
    "Sought",
    "Stood",
    "Store",
    "TakeQuota",
    "Together",
    "Vaulted",
    "Verdict",
    "Void",
    "Won",
    "ask",
]

Redactor: TypeAlias = _redactor.Redactor

# -- the policy, as the core sees it ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Casbin's answer: whether some rule allows and none denies, whether one denies, and the rules that decided."""

    allowed: bool
    denied: bool = False
    rules: tuple[str, ...] = ()


class Authorizer(Protocol):
    """Who may do what to which tool. Raising means refusal."""

    @property
    def scoped(self) -> bool:
        """Whether some rule reads more than names: arguments, session attributes or records. If not, `scope` changes nothing."""

    def decide(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None = None) -> Verdict:
        """Judge `act` (`call` or `approve`) on `tool`.

        `scope` holds what policies can name: `arguments`, `session`, `resource`, `resolved`. None: there is no call yet; then what reads
        anything but the session may be true for a rule that allows and may be false for one that denies.
        """

    def would_deny(self, session: Session, tool: str, scope: Mapping[str, Json] | None = None) -> tuple[str, ...]:
        """Denials on trial that would have refused a call of `tool`, as texts. They decide nothing."""

    def roles(self, session: Session) -> frozenset[str]:
        """Every role that the session holds: its own and those that rules derive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A compiled policy folder: frozen, with a version that stands in every decision."""

    version: str
    tools: Mapping[str, Tool]
    authorizer: Authorizer
    limits: Limits
    ceilings: Ceilings = CEILINGS
    redaction: Redaction = REDACTION  # what is hidden besides what always is
    unlisted: frozenset[str] = frozenset()  # registered tools without a policy entry
    people: Mapping[str, Session] = field(default_factory=dict)  # operating-system user → who that is
    types: frozenset[str] = frozenset()  # of values that some tool hides behind handles, or is given back


# -- what the host brings --------------------------------------------------------------------------------------------


class Store(GrantStore, KillStore, OutrightStore, UnresolvedStore, Log, SearchStore, Protocol):
    """Where ledger, approvals, budgets and audit live. Synchronous; each method is one transaction, and raises StoreError for every outage."""

    blocking: bool  # whether calls may wait for a disk or network, so that async callers use a thread
    secret: bytes  # 32 random bytes, made with the store and the same for everybody who opens it

    @property
    def older(self) -> bool:
        """Whether it was found to be older than what was written to it: no action starts until a person has said so (`restored`)."""

    def open(self, ref: ConversationRef) -> None:
        """Create the conversation or check its owner. Raises ConversationError when it is somebody else's."""

    def say(self, ref: ConversationRef, text: str, event: Event, salt: str = "") -> None:
        """Record that the user spoke: a new run begins. `salt`, of the digest in the record, is kept with the words and erased with them."""

    def open_turn(self, command: OpenTurn) -> Opened:
        """See OpenTurn."""

    def load_ledger(self, command: LoadLedger) -> Ledger:
        """See LoadLedger."""

    def find_twins(self, command: FindTwins) -> Mapping[str, CallRow]:
        """See FindTwins."""

    def take(self, command: TakeQuota) -> tuple[Charge | Shadowed | None, ...]:
        """See TakeQuota."""

    def ask(self, command: AskApproval) -> Approval | None:
        """See AskApproval."""

    def record(self, rows: Sequence[CallRow], events: Sequence[Event], handles: Sequence[Vaulted] = ()) -> CallRow | None:
        """See Record and Finish."""

    def handles(self, command: LoadHandles) -> Mapping[str, Vaulted]:
        """See LoadHandles."""

    def hold(self, command: Record) -> tuple[Approval | None, ...] | Killed | None:
        """See Record, with asks."""

    def claim(self, command: Claim) -> ClaimAnswer:
        """See Claim."""

    def lapse(self, command: Lapse) -> CallRow:
        """See Lapse."""

    def renew(self, key: CallKey, attempt: int, lease: float, sign: str = "") -> bool:
        """Keep a started call for `lease` more seconds from now; False when this attempt of this process no longer has it."""

    def call(self, key: CallKey) -> CallRow | None:
        """One row; a started one that nobody can be at any more has a lease that is over."""

    def rows(self, ref: ConversationRef, *, turn: int | None = None) -> tuple[CallRow, ...]:
        """Rows of one turn, or of the whole conversation, all branches, in order."""

    def unsettled(self, ref: ConversationRef) -> tuple[CallRow, ...]:
        """Rows of all branches whose outcome was not told yet, in order."""

    def told(self, keys: Mapping[CallKey, str], events: Sequence[Event]) -> None:
        """Remember that outcomes with these statuses were told, each only where the call still has it; write `events`."""

    def turn_of(self, ref: ConversationRef, digest: str) -> int | None:
        """The newest turn of this branch with these calls; None where there is none."""

    def approvals(
        self, *, tenant: str | None = None, status: str | None = None, conversation: str | None = None
    ) -> tuple[Approval, ...]:
        """Approvals, oldest first; expiry is judged now."""

    def approval(self, approval_id: str) -> Approval | None:
        """One approval; expiry is judged now."""

    def due(self, most: int) -> tuple[str, ...]:
        """At most so many approvals of which nobody has written down yet that their window ended or others may decide: look at each."""

    def vote(
        self,
        approval_id: str,
        *,
        status: str,
        by: str,
        reason: str | None,
        event: Told,
        roles: tuple[str, ...] = (),
        ballot: Ballot = BALLOT,
    ) -> Approval:
        """Count a vote about a pending approval. Raises ApprovalError when it does not count. A rejection closes the held call."""

    def revise(
        self,
        approval_id: str,
        *,
        question: Approval,
        row: CallRow,
        charges: tuple[Charge, ...],
        event: Event,
        ballot: Ballot = BALLOT,
    ) -> Approval | Charge:
        """Put the question about a changed call in the place of a pending one, or say which charge does not fit. Raises ApprovalError."""

    def end(self, approval_id: str, *, status: Ending, by: str, event: Told) -> Approval:
        """End an approval that was not spent. Raises ApprovalError where there is nothing to end."""

    def doubtful(self, *, tenant: str | None = None) -> tuple[CallRow, ...]:
        """Actions that are unknown, or started and lost, of all conversations, oldest first."""

    def reconcile(self, row: CallRow, event: Event) -> CallRow:
        """Settle an unknown call by a person's word; `row` says how. Raises ApprovalError when it is not unknown any more."""

    def pick(self, *, grace: float, lease: float, limit: int) -> tuple[CallRow, ...]:
        """For a worker: calls approved, or answered by a grant, at least `grace` seconds ago, and lost ones; nobody else gets them for `lease` seconds."""

    def wait(self, seconds: float) -> None:
        """Come back when something may have been approved, or after so many seconds."""

    def restored(self, why: str, event: Event, doubt: Callable[[CallRow], tuple[CallRow, Event]]) -> int:
        """Begin a new epoch after a backup was put back, on record as `event`: what was approved or started is in doubt, as `doubt` writes it."""

    def now(self) -> float:
        """Seconds since the epoch by the store's clock."""

    def close(self) -> None:
        """Give back what the store holds open."""
