"""The model: a call on its way from proposal to outcome, and the words that go with it.

Each proof type says one thing more than the one before and is built in exactly one room:
`ToolCall` → `ParsedCall` → `BoundCall` → `ValidCall` → `GroundedCall` → `AuthorizedCall`. Data only, frozen. Comes after values, reasons and
rules; imports no room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Literal, NoReturn, TypeAlias

from guard.core import approval as _approval
from guard.core import blocks as _blocks
from guard.core.grants import Grant
from guard.core.reasons import Reason
from guard.core.rules import ApprovalRule, Issue, Tool
from guard.core.values import Json, JsonObject, copy
from guard.core.views import Revealed
from guard.core.ways import PROGRAM, Way

Approval: TypeAlias = _approval.Approval
ApprovalStatus: TypeAlias = _approval.ApprovalStatus
Image: TypeAlias = _blocks.Image
Block: TypeAlias = _blocks.Block
Content: TypeAlias = _blocks.Content
PDF = _blocks.PDF
Status: TypeAlias = Literal["done", "refused", "held", "failed", "unknown"]
Origin: TypeAlias = Literal["model", "session", "default", "result", "bounded", "user", "handle", "edit"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as proposed: untrusted. `arguments` is JSON text, or the object that the wire already decoded."""

    id: str
    tool: str
    arguments: str | Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who is signed in: from the host, trusted, immutable, passed explicitly.

    `principal` is the person, `tenant` the organisation, `attributes` further facts (`job_level`). `within` is set by the guard for a
    child conversation: both sessions must be permitted, so a child is never wider than its parent. So is `names`: what stands for the person in
    everything that is kept, the newest first (`persons`). `way` says how the person came here, where a server or a command line knows: it is for the
    audit, and no policy sees it.
    """

    principal: str
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)
    tenant: str = "default"
    within: Session | None = None
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)
    way: Way = field(default=PROGRAM, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.principal, str) or not self.principal:
            raise ValueError("a session needs a principal: the id of the signed-in person, a non-empty text")
        if not isinstance(self.tenant, str) or not self.tenant:
            raise ValueError("a session needs a tenant: a non-empty text, or leave it out for the default one")
        given: object = self.roles
        if isinstance(given, str):
            raise ValueError(f"roles is a tuple of names; write roles=({given!r},)")
        roles = given if type(given) is tuple else tuple(given) if isinstance(given, Iterable) else (given,)
        if not all(isinstance(role, str) for role in roles):
            raise ValueError("roles is a tuple of names, each a text")
        object.__setattr__(self, "roles", roles)
        object.__setattr__(self, "attributes", MappingProxyType({key: copy(value) for key, value in self.attributes.items()}))

    @property
    def who(self) -> str:
        """What stands for the person in everything that is kept: the principal, or a reference to it."""
        return self.names[0] if self.names else self.principal

    def means(self, name: str | None) -> bool:
        """Whether a name that is kept stands for this person."""
        return name in self.names if self.names else name == self.principal

    def facts(self) -> dict[str, Json]:
        """What `session.x` in a policy can name: the attributes, then principal, tenant and roles, which win."""
        return {**self.attributes, "principal": self.principal, "tenant": self.tenant, "roles": list(self.roles)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRef:
    """Which conversation: unique in a tenant, owned by one principal. `branch` tells a child's turns from its parent's."""

    tenant: str
    principal: str
    conversation: str
    branch: str = ""


@dataclass(frozen=True, slots=True)
class CallKey:
    """The identity of a call: its place, never the provider's id. `key` is the host's own key for calls without a wire."""

    ref: ConversationRef
    turn: int
    position: int
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCall:
    """Proven: the arguments are one strict JSON object, within bounds, for a tool that the policy knows."""

    call: ToolCall
    tool: Tool
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCall:
    """Proven besides: fields that the session owns hold the session's values. `spoofed` names those that the model sent differently."""

    call: ToolCall
    tool: Tool
    arguments: JsonObject
    spoofed: tuple[str, ...] = ()
    revealed: tuple[Revealed, ...] = ()  # values that were put back in the place of handles


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidCall:
    """Proven besides: the arguments fit the schema and passed the checks. They are final from here on.

    `canonical` is their one text by meaning and `digest` its SHA-256, `fingerprint` binds tool, definition, arguments, person, tenant and conversation.
    `origins` says for each top-level argument where it came from.
    """

    call: ToolCall
    tool: Tool
    arguments: JsonObject
    spoofed: tuple[str, ...]
    origins: Mapping[str, Origin]
    canonical: str
    digest: str
    fingerprint: str
    mark: str = ""  # for actions: what makes two of them the same, whatever the tool's definition
    shadowed: tuple[str, ...] = ()  # shadow rules that would have refused so far
    revealed: tuple[Revealed, ...] = ()
    veil: str = field(default="", repr=False)  # the key of masks over what nobody is shown, where people may be asked about it


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One earlier call (its turn and position) that a ground or prerequisite of this call relied on."""

    turn: int
    position: int
    once: bool = False  # may be relied on by one call only


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundedCall:
    """Proven besides: values come from where they must. `owned` are the arguments that were bound or grounded."""

    valid: ValidCall
    origins: Mapping[str, Origin]
    owned: frozenset[str]
    evidence: tuple[Evidence, ...] = ()
    shadowed: tuple[str, ...] = ()  # shadow rules that would have refused so far
    trial: tuple[Evidence, ...] = ()  # what shadow rules relied on that may be used once only


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedCall:
    """Proven besides: this person, in this tenant, may call this tool with these arguments. `rules` decided it."""

    grounded: GroundedCall
    rules: tuple[str, ...]
    approval: ApprovalRule | None = None  # whom to ask, when somebody must be asked
    shadowed: tuple[str, ...] = ()  # shadow rules that would have refused so far

    @property
    def valid(self) -> ValidCall:
        """The validated call inside."""
        return self.grounded.valid


class _NoTruth:
    """A decision has no truth value: `if decision:` would hide the third answer."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError("a decision has no truth value; match on Allow, Hold or Refusal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal(_NoTruth):
    """The call does not run, and why. `detail` is for the model (its own input only); `note` is for the audit alone."""

    reason: Reason
    detail: str = ""
    issues: tuple[Issue, ...] = ()
    rules: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)  # further fields of the error that the model gets
    note: str = ""
    stop: bool = False  # a budget of the run or conversation is used up: the loop should end


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(_NoTruth):
    """The call waits for a person; `approval` is pending."""

    call: AuthorizedCall
    approval: Approval


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow(_NoTruth):
    """The call may be claimed. `approval` is the approved one that the claim will spend, or `grant` the use of a grant, if one was needed.

    `otherwise`: the call waits on where a person is asked about it already and the grant that answers is used up by others meanwhile.
    """

    call: AuthorizedCall
    approval: Approval | None = None
    grant: Grant | None = None
    otherwise: Hold | None = None


Decision: TypeAlias = Allow | Hold | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What goes back for one call id. `reason` is None exactly when `status` is `done`.

    `arguments` are the final arguments (None when the call did not get that far), `content` is what the model may see, `approval` the
    id of the approval that the call waits for or was run under, `replayed` says that a recorded outcome is repeated, `view` by which rules it shows a result.
    """

    call_id: str
    tool: str
    status: Status
    reason: Reason | None
    arguments: JsonObject | None
    content: Content
    replayed: bool = False
    approval: str | None = None
    turn: int = 0
    position: int = 0
    view: str = field(default="", compare=False)

    @property
    def error(self) -> bool:
        """Whether the wire's error flag is set: for everything but `done`."""
        return self.status != "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a reply cost: tokens in and out, the model's name, and the price when the provider states one."""

    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    cost: Decimal | None = None
    known: bool = True  # False: the reply did not say
