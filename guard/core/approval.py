"""Approval: a question to people about one exact call, the votes on it, and what a voter's form carried.

Data only, frozen; who may vote is judged in `approve`, what a status may become in the stores. Comes after values and before the model, which
re-exports it; imports no room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from guard.core import names
from guard.core.replacing import replace
from guard.core.values import JsonObject

ApprovalStatus: TypeAlias = Literal[
    "pending", "approved", "rejected", "expired", "consumed", "cancelled", "revoked", "superseded"
]
"""pending → approved, rejected, superseded, cancelled, expired; approved → consumed, revoked, expired, superseded, cancelled. The others are ends."""

Ending: TypeAlias = Literal["cancelled", "revoked", "superseded"]
"""How an approval is ended without a vote: withdrawn, a yes taken back, or a yes that does not hold any more."""

Assurance: TypeAlias = Literal["host", "token", "proxy", "oidc", "os-user", "client"]
"""Whose word it is who voted: the host program's, a token's, a proxy's header, an identity provider's, the operating system's, an MCP client's."""

Via: TypeAlias = Literal["program", "cli", "api", "console"]
"""By which way a vote came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a voter's form carried: the revision, the fingerprint and the digest of what was shown. A vote about anything else is stale."""

    revision: int
    fingerprint: str
    presented: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One person's yes or no, never changed. `at` in seconds since the epoch by the store's clock.

    `roles` are those that the host vouched for then; `presented` is empty where the voter's form did not say what it showed. The model may
    read `reason`; `note` is private.
    """

    number: int
    decision: Literal["approved", "rejected"]
    by: str
    roles: tuple[str, ...]
    at: float
    revision: int = 1
    fingerprint: str = ""
    presented: str = ""
    assurance: Assurance = "host"
    via: Via = "program"
    reason: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the model wrote beside a held call: no part of the call, never checked, and nothing is decided by it.

    `text` is redacted, cut where it was long, and empty once it was erased; `size` is how many characters there were. `digest` stands for
    the text in records and in what is presented; it is made under the call's salt, so that it says nothing once that is erased.
    """

    text: str = ""
    size: int = 0
    digest: str = field(default="", repr=False)


NO_WORDS = Words()


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question to people about one exact call. Times are seconds since the epoch by the store's clock.

    `arguments` are the final arguments in full, `origins` says where each came from. `by` holds the roles that may decide; `by_self`
    lets the requester decide. It must be decided by `expires_at`, and once approved it must be used by `use_by`.
    """

    id: str
    fingerprint: str
    status: ApprovalStatus
    tool: str
    definition: str
    kind: str
    arguments: JsonObject
    origins: Mapping[str, str]
    show: tuple[str, ...]
    requester: str
    tenant: str
    conversation: str
    branch: str
    turn: int
    position: int
    call_id: str
    by: tuple[str, ...]
    by_self: bool
    policy: str
    requested_at: float
    expires_at: float
    decided_by: str | None = None
    decided_at: float | None = None
    decided_roles: tuple[str, ...] = ()  # those that the host vouched for then
    reason: str | None = None
    revision: int = 1  # an edit makes the next one
    need: int = 1  # how many different people must say yes
    votes: tuple[Vote, ...] = ()
    use_within: float | None = None  # seconds from the yes in which it must be used; None: until `expires_at`
    use_by: float | None = None  # None until it was approved
    supersedes: str | None = None  # the approval of the last revision
    superseded_by: str | None = None
    editable: tuple[str, ...] = ()  # JSON pointers that an approver may edit
    edited_by: str | None = None  # who made this revision
    edited_why: str = ""  # the reason that they gave, for people alone
    authors: tuple[str, ...] = ()  # everybody who edited this call so far; an author's vote does not count
    secret: tuple[str, ...] = ()  # JSON pointers of what nobody is shown
    effect: str = ""  # the operator's one line, filled only from the final arguments
    why: tuple[str, ...] = ()  # what holds it: rules, in words safe for an approver
    on_message: Literal["keep", "cancel"] = "keep"  # what becomes of it when the user goes on talking
    escalate_at: float | None = None
    escalate_to: tuple[str, ...] = ()  # roles that may decide from then on, besides
    escalated_at: float | None = None
    rule: str = ""  # the mark of the alternative that asked, where it offers standing grants
    ended_by: str | None = None  # who cancelled or revoked it
    ended_at: float | None = None  # when it was cancelled, revoked or superseded
    kill: str = ""  # the id of the kill by which it ended
    veil: str = field(default="", repr=False)  # the key of everything that is shown as a digest, made with the store's secret
    words: Words = NO_WORDS  # what the model wrote beside the call

    @property
    def ends_at(self) -> float:
        """When it expires as it stands: decided by then while it is pending, used by then once it is approved."""
        return self.expires_at if self.status != "approved" or self.use_by is None else self.use_by

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who stands in it."""
        one = (self.requester, self.decided_by, self.edited_by, self.ended_by, *self.authors, *(vote.by for vote in self.votes))
        return tuple(dict.fromkeys(name for name in one if name))

    @property
    def counts(self) -> JsonObject:
        """How many people must say yes and did, and until when they may decide and the call may begin: as records say it."""
        found: JsonObject = {
            "need": self.need,
            "have": names.distinct(vote.by for vote in self.yes),
            "decide_by": self.expires_at,
        }
        return found if self.use_by is None else {**found, "use_by": self.use_by}

    def calling(self, change: Callable[[str], str]) -> Approval:
        """The same with each name in it changed."""
        votes = tuple(names.whole(vote, change, ("by",)) for vote in self.votes)
        made: Approval = names.whole(self, change, ("requester", "decided_by", "edited_by", "ended_by", "authors"))
        return replace(made, votes=votes)

    @property
    def yes(self) -> tuple[Vote, ...]:
        """The votes for it. One that was approved before votes were kept has the one of who decided it."""
        if self.votes or self.decided_by is None or self.status not in ("approved", "consumed"):
            return tuple(vote for vote in self.votes if vote.decision == "approved")
        return (
            Vote(
                number=1,
                decision="approved",
                by=self.decided_by,
                roles=self.decided_roles,
                at=self.decided_at or 0.0,
                revision=self.revision,
                fingerprint=self.fingerprint,
            ),
        )


def _counts(_approval: Approval, _vote: Vote) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """What a vote carries besides yes or no; the store compares it with the approval in the transaction that writes the vote.

    `fingerprint` and `revision` are those that the voter meant; empty and None: whatever stands. `counts` says of a stored vote, as of now,
    whether the one who gave it could give it still.
    """

    revision: int | None = None
    fingerprint: str = ""
    presented: str = ""
    assurance: Assurance = "host"
    via: Via = "program"
    note: str | None = None
    counts: Callable[[Approval, Vote], bool] = _counts

    def stale(self, approval: Approval) -> bool:
        """Whether the voter meant another revision or other content than what stands."""
        other = self.revision not in (None, approval.revision)
        return other or self.fingerprint not in ("", approval.fingerprint)


BALLOT = Ballot()
