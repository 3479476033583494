"""Rules: what a policy folder says about one tool, compiled. Data only; no executable of a tool is in here.

`guard.policy` builds these once, at load; the rooms read them. Frozen: a published policy never changes. Comes after values,
paths and conditions and before the model; imports no room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from guard.core import asking as _asking
from guard.core.ceilings import CEILINGS, Ceilings
from guard.core.conditions import Condition
from guard.core.endpoints import Endpoint
from guard.core.paths import Path
from guard.core.targets import Target
from guard.core.values import Json, JsonObject
from guard.core.views import Reveal, Room, Rules, Views

ApprovalRule: TypeAlias = _asking.ApprovalRule
Kind: TypeAlias = Literal["read", "compute", "action"]
Effect: TypeAlias = Literal["read", "once", "idempotent", "probe", "compensate"]
"""What may be done about a call that was started and has no outcome: run it again (read), leave it to a person (once), run it again with the
same key (idempotent), ask the host's probe, or leave it to a person and offer a compensation."""

AGAIN: frozenset[str] = frozenset({"idempotent", "probe"})
"""Classes of actions that may be taken once more after they were lost, with the same key."""

MOST_ATTEMPTS = 10
"""A call that ends its process each time is left to a person after so many attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One thing wrong with the arguments: path, rule, and what would fit. Never the offending value."""

    path: str
    rule: str
    message: str
    allowed: tuple[Json, ...] = ()
    nearest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Arguments after null-as-absent and lossless conversion, with the top-level fields that a default filled."""

    arguments: JsonObject
    defaulted: tuple[str, ...] = ()
    converted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A field that the session owns: argument `field` always equals the session value at `source`."""

    field: str
    source: Path
    strict: bool = False  # refuse a call that sends another value, instead of overwriting and recording it
    vouches: bool = True  # False: a narrower layer added it, so it makes no evidence of what would be none without that layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A named check that the host registers. It returns None to pass, or a sentence for the model to refuse."""

    name: str
    run: Callable[[JsonObject], str | None]
    shadow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One place from which a grounded value may come."""

    origin: Literal["tool", "user", "session"]
    text: str
    tool: str = ""
    path: Path | None = None  # root "result" or "session"; None for the user's words
    relation: Literal["equals", "at_most", "at_least"] = "equals"
    same: tuple[Path, ...] = ()  # fields (root "arguments") that must agree between the earlier record and this call
    latest: bool = False
    once: bool = False
    verified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Every value at `argument` must come from one of `sources`."""

    argument: Path
    sources: tuple[Source, ...]
    shadow: bool = False
    vouches: bool = True  # as of a binding


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """This tool may run only after `tool` finished in an earlier turn with a result that meets `where`."""

    tool: str
    text: str
    where: Condition | None = None
    same: tuple[Path, ...] = ()
    latest: bool = True
    once: bool = False
    verified: bool = False  # a result counts although it may only repeat what the model sent in that call
    shadow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRule:
    """The record that a call touches: each id at `argument` is loaded, and its `owner` field must be the principal."""

    name: str
    argument: Path
    owner: Path | None = None  # root "resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRule:
    """`require` must surely hold; `refuse` must surely not (it refuses where it maybe holds)."""

    id: str
    effect: Literal["require", "refuse"]
    when: Condition
    say: str | None = None
    shadow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SumLimit:
    """The sum of `argument` over all calls of the tool with the same `per` stays at or below the limit."""

    argument: Path
    per: tuple[Path, ...]
    at_most: Decimal | Source
    shadow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLimit:
    """What is counted (`calls`, `equal` ones, or the `sum` of `argument`) stays at or below `at_most` within any `seconds`.

    `of` says whose calls count together: those of a person, of a tenant or of a conversation; `per` that only calls with the same values
    at these arguments do. `text` is the rule as the record names it.
    """

    counts: Literal["calls", "equal", "sum"]
    at_most: Decimal | Source
    seconds: float
    text: str
    of: Literal["principal", "tenant", "conversation"] = "principal"
    per: tuple[Path, ...] = ()
    argument: Path | None = None
    every: bool = False  # over all tools
    shadow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """Limits of one tool. `calls` and `equal` count since the user last spoke; what a shadow would permit stands beside."""

    calls: int | None = None
    equal: int | None = None
    shadow_calls: int | None = None
    shadow_equal: int | None = None
    sums: tuple[SumLimit, ...] = ()
    windows: tuple[WindowLimit, ...] = ()

    @property
    def any(self) -> bool:
        """Whether there is any limit."""
        counts = (self.calls, self.equal, self.shadow_calls, self.shadow_equal)
        return bool(self.sums or self.windows) or any(count is not None for count in counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits over all tools. `run` counts since the user last spoke, `conversation` from its beginning."""

    turn_calls: int | None = None
    whole_turn: bool = False  # a turn over a call budget is refused as a whole instead of being cut
    run: Mapping[str, Decimal] = field(default_factory=dict)  # steps, calls, seconds, tokens, cost, equal
    conversation: Mapping[str, Decimal] = field(default_factory=dict)  # calls, tokens, cost
    prices: Mapping[str, tuple[Decimal, Decimal]] = field(default_factory=dict)  # model → cost of a million tokens in, out
    windows: tuple[WindowLimit, ...] = ()  # over all tools
    turn_room: Room = field(default_factory=Room)  # for the results of one assistant message
    conversation_room: Room = field(default_factory=Room)
    shadow: frozenset[str] = frozenset()  # which of the above are shadows: `run.calls`, `turn.calls`, …

    @property
    def counted(self) -> bool:
        """Whether single calls draw on any budget."""
        return bool(self.run or self.conversation or self.windows) or self.turn_calls is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRule:
    """What of a result goes back to the model. `rules` are those for everybody, `roles` those of the roles that are named."""

    rules: Rules = field(default_factory=Rules)
    roles: Mapping[str, Rules] = field(default_factory=dict)
    empty: str | None = None
    max_bytes: int = 200_000
    max_tokens: int | None = None
    shape: Json = None  # the JSON Schema that it must fit, as written
    fits: Callable[[Json], bool] | None = None  # the judge of it; raising means no
    units: tuple[tuple[Path, str], ...] = ()  # fields (root "result") and the unit that they count in
    views: Views = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "views", Views(everybody=self.rules, roles=self.roles))

    @property
    def keep(self) -> tuple[Path, ...] | None:
        """What is kept for everybody."""
        return self.rules.keep


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as the policy knows it. `definition` is the digest that approvals are bound to."""

    name: str
    kind: Kind
    definition: str
    description: str
    schema: Mapping[str, Json]  # full, bound fields included
    visible: Mapping[str, Json]  # what the model sees
    validate: Callable[[JsonObject], tuple[Issue, ...]]
    prepare: Callable[[JsonObject], Prepared]
    checks: tuple[Check, ...] = ()
    bindings: tuple[Binding, ...] = ()
    supplied: tuple[
        str, ...
    ] = ()  # fields that the guard itself fills when the tool runs: what the model sends there is discarded
    grounds: tuple[Ground, ...] = ()
    after: tuple[After, ...] = ()
    resources: tuple[ResourceRule, ...] = ()
    rules: tuple[ArgumentRule, ...] = ()
    resolves: tuple[Path, ...] = ()  # arguments that are file paths to be resolved before rules are read
    limits: ToolLimits = ToolLimits()
    approval: tuple[ApprovalRule, ...] = ()  # empty: nobody is asked
    result: ResultRule = ResultRule()
    endpoint: Endpoint | None = None  # what stands behind the tool, where it is no function of the host
    reveals: tuple[Reveal, ...] = ()  # arguments in which a handle stands for its value; nowhere else does it
    masks: tuple[Path, ...] = ()  # arguments in which a mask may stand
    ceilings: Ceilings = CEILINGS
    timeout: float | None = None  # seconds
    effect: Effect = "once"
    dedupes: bool = False  # what stands behind a tool of the class `probe` takes the same key once only
    compensation: str = ""  # the tool that a `compensate` offers
    lease: float | None = None  # seconds that whoever took a call is believed to be at it, at least; never less than the time-out
    target: Target | None = None  # while a call is unknown, none with the same target starts; None: only the very same one
    repeat: bool = False  # an equal call after `done` runs again
    untrusted: bool = False  # what it returns was written by others: data, never instructions
    unwrap: bool = False  # arguments that are JSON text inside JSON text are opened exactly once

    @property
    def acts(self) -> bool:
        """Whether a call of this tool is an action: claimed durably, never repeated by itself."""
        return self.kind == "action"
