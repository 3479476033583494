"""Whether a grant covers a call: what it says of the arguments, whose calls it reaches, and what they draw on it.

Judges by what stands in the grant alone; what today's policy says of it is `offered`. A value that is missing, doubled or no number is covered by
nothing. Comes after `grants` and before the model; pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Protocol

from guard.core.grants import ZERO, Grant, amount, path_of, rule_mark
from guard.core.offers import Offer
from guard.core.paths import Path
from guard.core.rules import ApprovalRule
from guard.core.values import Json, JsonObject, canonical, digest, equal, keyed, summable

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
    found = single(path_of(grant.constraint["field"]), arguments) if "field" in grant.constraint else ()
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
    most, found = amount(constraint["at_most"]), single(path_of(constraint["field"]), arguments)
    asked = amount(found[0]) if found else None
    if most is None or asked is None or not summable(asked) or not 0 <= asked <= most:
        return False
    held = [(single(path_of(name), arguments), value) for name, value in constraint["where"].items()]
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
