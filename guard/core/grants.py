"""Grants: standing permissions that a person gave from an approval, and whether one of them covers a call.

A grant is an object of its own, with its own bounds, and never a looser approval: it is bound to tenant, person, tool and definition, to the approval rule
that it comes from, to a conversation where its scope says so, and to what its constraint says of the arguments. It can only answer a question that a
person would be asked; nothing here allows a call. Comes after rules and before the model; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias

from guard.core import names
from guard.core.approval import Assurance
from guard.core.offers import Offer, Scope
from guard.core.paths import Path, parse_path
from guard.core.replacing import replace
from guard.core.rules import ApprovalRule
from guard.core.values import Json, JsonObject, canonical, digest, equal, is_number, keyed, summable

GrantStatus: TypeAlias = Literal["proposed", "live", "spent", "expired", "revoked"]
ZERO = Decimal(0)
SLACK = 60.0
"""Seconds by which a clock may be set back: before the giving nobody knows how long a grant has been, so that it covers nothing."""
ERASED: JsonObject = {"erased": True}
"""What stands in the place of a constraint that was erased. It is met by no call."""
_EXACT = Context(prec=5_000, traps=[Inexact, InvalidOperation, Overflow])


class Whose(Protocol):
    """Whose call it is, and where: a `ConversationRef`."""

    @property
    def tenant(self) -> str:
        """The organisation."""

    @property
    def principal(self) -> str:
        """The person."""

    @property
    def conversation(self) -> str:
        """The conversation."""

    @property
    def branch(self) -> str:
        """Which child of it."""


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
            field=_path(given["field"]) if "field" in given else None,
            at_most=amount(given.get("at_most")),
            sum=self.sum,
            same=tuple(_path(name) for name in given.get("where", {})),
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
def _path(text: str) -> Path:
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


def single(path: Path, arguments: Mapping[str, Json]) -> tuple[Json, ...]:
    """The one value at a path, in a tuple; empty where there is none or more than one."""
    reach = path.reach(arguments)
    return (reach.spots[0][0],) if len(reach.spots) == 1 and not (reach.missing or reach.blocked) else ()


def constrained(offer: Offer, arguments: JsonObject, fingerprint: str, veil: str = "") -> JsonObject | None:
    """What a grant by this offer says of the arguments, made from the call that was approved. None where the call lacks a value that it must hold to.

    `veil` is the approval's key: under it stands the digest of the arguments.
    """
    if offer.scope == "same_call":
        return _whole(arguments, fingerprint, veil)
    if offer.scope == "tool_here" or offer.field is None:
        return {} if offer.scope == "tool_here" else None
    found = {str(path): single(path, arguments) for path in offer.same}
    if not all(found.values()):
        return None
    where = {name: value for name, (value,) in found.items()}
    tied = {path.steps[0] for path in (offer.field, *offer.same)}
    others: list[Json] = [name for name in arguments if name not in tied]
    return {"field": str(offer.field), "at_most": offer.at_most, "sum": offer.sum, "where": where, "others": others}


def _whole(arguments: JsonObject, fingerprint: str, veil: str) -> JsonObject:
    """One set of arguments, by digest: under a key; without one, as grants were once given, whoever sees it can try values."""
    plain = digest(canonical(arguments))
    return {"arguments": keyed(bytes.fromhex(veil), plain) if veil else plain, "fingerprint": fingerprint}


def drawn(grant: Grant, arguments: Mapping[str, Json]) -> Decimal:
    """What a call draws on the sum of a grant that covers it."""
    found = single(_path(grant.constraint["field"]), arguments) if "field" in grant.constraint else ()
    return (amount(found[0]) if found else None) or ZERO


def fits(grant: Grant, arguments: JsonObject, fingerprint: str) -> bool:
    """Whether the arguments meet the constraint. That there are none is one set of arguments like any other."""
    if grant.erased:
        return False
    match grant.scope:
        case "same_call":
            return grant.constraint in (_whole(arguments, fingerprint, grant.veil), _whole(arguments, fingerprint, ""))
        case "tool_here":
            return grant.constraint == {}
        case "amount":
            return _fits_amount(grant.constraint, arguments)


def _fits_amount(constraint: JsonObject, arguments: JsonObject) -> bool:
    if not {"field", "at_most", "where"} <= constraint.keys():
        return False
    most, found = amount(constraint["at_most"]), single(_path(constraint["field"]), arguments)
    asked = amount(found[0]) if found else None
    if most is None or asked is None or not summable(asked) or not 0 <= asked <= most:
        return False
    held = [(single(_path(name), arguments), value) for name, value in constraint["where"].items()]
    return all(bool(one) and equal(one[0], value) for one, value in held)


def reaches(grant: Grant, ref: Whose, tool: str, definition: str) -> bool:
    """Whether it is about calls of this person, here, of this tool as it is defined."""
    whose = (grant.tenant, grant.principal) == (ref.tenant, ref.principal)
    here = grant.conversation is None or (grant.conversation == ref.conversation and _below(ref.branch, grant.branch))
    return whose and here and (grant.tool, grant.definition) == (tool, definition)


def _below(branch: str, above: str) -> bool:
    """Whether a branch of a conversation is this one, or a child below it."""
    return branch == above or branch.startswith(f"{above}/")


def room(grant: Grant, asked: Decimal, calls: int = 0, summed: Decimal = ZERO) -> bool:
    """Whether one call more may draw so much, beside what is drawn and `calls` that are about to draw `summed`."""
    if grant.uses is not None and grant.used + calls >= grant.uses:
        return False
    try:
        return grant.sum is None or _EXACT.add(_EXACT.add(grant.summed, summed), asked) <= grant.sum
    except ArithmeticError:
        return False


def covers(grant: Grant, ref: Whose, named: tuple[str, str], arguments: JsonObject, fingerprint: str, now: float) -> bool:
    """Whether it is live and has room for this call of a tool (name and definition), whatever today's policy says of it."""
    about = grant.status(now) == "live" and reaches(grant, ref, *named) and fits(grant, arguments, fingerprint)
    return about and room(grant, drawn(grant, arguments))


def offered(grant: Grant, rule: ApprovalRule) -> bool:
    """Whether this approval rule, as it is today, would let such a grant be given: it is the same rule, and some offer of it is no narrower."""
    return grant.rule == rule_mark(rule) and any(offer.covers(grant.bounds()) for offer in rule.grants)


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
