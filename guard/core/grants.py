"""Grants: standing permissions that a person gave from an approval.

A grant is an object of its own, with its own bounds, and never a looser approval: it is bound to tenant, person, tool and definition, to the approval rule
that it comes from, to a conversation where its scope says so, and to what its constraint says of the arguments. It can only answer a question that a
person would be asked; nothing here allows a call. Comes after rules and before `covering`, which says whether one covers a call; pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from guard.core import names
from guard.core.approval import Assurance
from guard.core.offers import Offer, Scope
from guard.core.paths import Path, parse_path
from guard.core.replacing import replace
from guard.core.rules import ApprovalRule
from guard.core.values import Json, JsonObject, canonical, digest, is_number

GrantStatus: TypeAlias = Literal["proposed", "live", "spent", "expired", "revoked"]
ZERO = Decimal(0)
SLACK = 60.0
"""Seconds by which a clock may be set back: before the giving nobody knows how long a grant has been, so that it covers nothing."""
ERASED: JsonObject = {"erased": True}
"""What stands in the place of a constraint that was erased. It is met by no call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Giver:
    """One person who gave a grant, with the roles that the host vouched for then, and when; `assurance` is whose word it is who that was."""

    by: str
    roles: tuple[str, ...]
    at: float
    assurance: Assurance = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A standing permission. Times are seconds since the epoch by the store's clock.

    `principal` is the person whose calls it covers, `conversation` the one conversation in which it does (None: any of theirs), with `branch`: a
    child's grant does not cover its parent. `constraint` is what it says of the arguments: their digest and the call's fingerprint
    (`same_call`), nothing (`tool_here`: any arguments), or field, at_most, sum and where, with the names of the others that the call had (`amount`). `uses` is how many calls it covers (None: any
    number), `policy` the version under which it was given, `rule` the alternative of `approve:`, which needs `need` people. `used` and `summed` are what
    calls have drawn on it so far.
    """

    id: str
    tenant: str
    principal: str
    conversation: str | None
    branch: str = ""
    tool: str
    definition: str
    kind: str
    rule: str
    need: int = 1
    scope: Scope
    constraint: JsonObject
    uses: int | None = None
    until: float | None = None
    policy: str
    approval: str
    givers: tuple[Giver, ...]
    at: float
    secret: tuple[str, ...] = ()  # names in `where` whose values nobody is shown
    veil: str = field(default="", compare=False, repr=False)  # the key of the masks over them
    salt: str = ""  # of the digest of its terms; kept with the constraint and erased with it
    reason: str | None = None
    revoked_by: str | None = None
    revoked_at: float | None = None
    revoked_why: str | None = None
    used: int = field(default=0, compare=False)
    summed: Decimal = field(default=ZERO, compare=False)

    @property
    def by(self) -> str:
        """Who gave it first."""
        return self.givers[0].by

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who stands in it."""
        return tuple(filter(None, (self.principal, self.revoked_by, *(giver.by for giver in self.givers))))

    def calling(self, change: Callable[[str], str]) -> Grant:
        """The same with each name in it changed."""
        givers = tuple(names.whole(giver, change, ("by",)) for giver in self.givers)
        made: Grant = names.whole(self, change, ("principal", "revoked_by"))
        return replace(made, givers=givers)

    @property
    def terms(self) -> str:
        """One digest of everything that it permits: never another one, once it is given."""
        bounds = [self.constraint, self.uses, None if self.until is None else repr(self.until), self.need]
        names = [self.tenant, self.principal, self.conversation, self.branch, self.tool, self.definition, self.kind]
        parts = (self.id, canonical(names), self.rule, self.scope, canonical(bounds), self.policy, repr(self.at))
        return digest("guard-grant-v1", *parts, *([self.salt] if self.salt else ()))

    @property
    def erased(self) -> bool:
        """Whether its constraint is gone: then it covers nothing, for good."""
        return self.constraint == ERASED

    @property
    def sum(self) -> Decimal | None:
        """The most that may be drawn in all."""
        return amount(self.constraint.get("sum"))

    def status(self, now: float) -> GrantStatus:
        """How it stands, whatever today's policy says of it."""
        if self.revoked_at is not None:
            return "revoked"
        people = len(self.givers) if self.need == 1 else names.distinct(giver.by for giver in self.givers)
        if people < self.need:
            return "proposed"
        if now < self.at - SLACK or (self.until is not None and now >= self.until):
            return "expired"
        over = self.sum is not None and self.sum <= self.summed and self.sum > 0
        if over or (self.uses is not None and self.used >= self.uses):
            return "spent"
        return "expired" if self.erased else "live"

    def bounds(self) -> Offer:
        """What it permits, as an offer to be compared with today's."""
        given = self.constraint
        return Offer(
            scope=self.scope,
            field=path_of(given["field"]) if "field" in given else None,
            at_most=amount(given.get("at_most")),
            sum=self.sum,
            same=tuple(path_of(name) for name in given.get("where", {})),
            uses=self.uses,
            until=None if self.until is None else self.until - self.at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What the claim of a call draws on a grant: judged by these terms, for a tool of this definition. `event` makes the record of the use."""

    grant: str
    terms: str
    definition: str
    event: Callable[[Grant], Any]


@lru_cache(maxsize=1024)
def path_of(text: str) -> Path:
    """The path to an argument that a constraint names."""
    return parse_path(text, "arguments")


def rule_mark(rule: ApprovalRule) -> str:
    """What makes an alternative of `approve:` the same one: who decides, how many, and about which calls."""
    when = None if rule.when is None else rule.when.text
    return digest("guard-rule-v1", canonical([sorted(rule.by), rule.self_, when, rule.assurance, rule.need]))


def amount(value: Json) -> Decimal | None:
    """A number as an exact decimal; None for anything else."""
    if not is_number(value):
        return None
    found = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return found if found.is_finite() else None


def shown(grant: Grant, mask: Callable[[Json, str], Json]) -> JsonObject:
    """The constraint as it may be shown: a mask in the place of what is secret, and no digest of arguments."""
    told = {name: value for name, value in grant.constraint.items() if name != "arguments"}  # the fingerprint says which they are
    where = told.get("where")
    if where is None:
        return told
    return {
        **told,
        "where": {name: mask(value, grant.veil) if name in grant.secret else value for name, value in where.items()},
    }


def used(grant: Grant, calls: int, summed: Decimal) -> Grant:
    """The grant with what was drawn on it."""
    return replace(grant, used=calls, summed=summed)
