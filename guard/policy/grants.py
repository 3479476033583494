"""Grants: `grants:` under an alternative of `approve:`: which standing permissions may be given from an approval, compiled.

Without the key none may be. A bare word offers the scope without any bound of its own, which is a warning; an amount names its number and the most of
one call. Comes after grounds and before approvals.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from guard.core.offers import SCOPES, Offer, Scope
from guard.core.paths import ANY, Path
from guard.policy import language
from guard.policy.fields import kinds
from guard.policy.grounds import Context
from guard.policy.problems import Problems, meant
from guard.policy.source import Item

UNBOUNDED = "grant-without-bound"
_CURE = "write same_call, tool_here or {amount: argument, at_most: 500, sum: 2000, same: [argument], until: 7d}"
_BOUNDS = "add uses: 10 or until: 1d"
_OF_AMOUNT = ("at_most", "sum", "same")


def grant_offers(item: Item | None, context: Context) -> tuple[Offer, ...]:
    """Every offer, in order."""
    if item is None:
        return ()
    found = [_offer(one, context) for one in language.sequence(item, context.problems, "grants")]
    return tuple(offer for offer in found if offer is not None)


def _offer(item: Item, context: Context) -> Offer | None:
    problems = context.problems
    read = offer(item, problems)
    if read is None:
        return None
    fields = item.fields
    for key, path in (("amount", read.field), *(("same", path) for path in read.same)):
        if path is not None:
            _check(path, fields[key], key, context)
    if read.endless:
        cure = "add sum: or uses:" if read.scope == "amount" else _BOUNDS
        problems.warn(item, f"grants: {read.scope} without a bound: it says {read.endless} it may be used", cure, code=UNBOUNDED)
    return read


def _check(path: Path, item: Item, key: str, context: Context) -> None:
    """Report an argument that the schema does not have, or that is not one value of the kind that is needed."""
    context.known(path, item)
    if ANY in path.steps:
        context.problems.error(item, f"grants: {key}: {path} may be many values", "name an argument that holds one value")
    possible = kinds(context.schema, path.steps)
    if key == "amount" and possible is not None and not possible & {"number", "integer"}:
        context.problems.error(item, f"grants: {path} is no number in the schema", "name a number")


def offer(item: Item, problems: Problems) -> Offer | None:
    """One offer as it is written, whatever the tool's arguments are. None where it cannot be read."""
    if isinstance(item.value, str):
        scope = _scope(item, problems, item.value)
        return None if scope is None else Offer(scope=scope)
    fields = language.mapping(item, "grant", problems)
    if not fields:
        return None
    uses, until = language.whole(fields.get("uses"), problems, "uses"), language.duration(fields.get("until"), problems, "until")
    if uses == 0:
        problems.error(fields["uses"], "uses: 0 permits nothing", "leave the grant out, or write uses: 1")
    if "amount" in fields:
        return _amount(item, fields, uses, until, problems)
    stray = next((key for key in _OF_AMOUNT if key in fields), None)
    if stray is not None:
        problems.error(fields[stray], f"grants: {stray} belongs to an amount", "add amount: argument")
    spot = fields.get("scope")
    scope = _scope(spot or item, problems, spot.value if spot else None)
    return None if scope is None else Offer(scope=scope, uses=uses, until=until)


def _scope(item: Item, problems: Problems, value: object) -> Scope | None:
    for scope in SCOPES[:2]:
        if value == scope:
            return scope
    near = meant(value, SCOPES[:2]) if isinstance(value, str) else ""
    told = (
        "an amount needs its argument" if value == "amount" else "a scope is missing" if value is None else f"{value} is no scope"
    )
    problems.error(item, f"grants: {told}", near or _CURE)
    return None


def _amount(item: Item, fields: Mapping[str, Item], uses: int | None, until: float | None, problems: Problems) -> Offer | None:
    spot = fields["amount"]
    if "scope" in fields and fields["scope"].value != "amount":
        problems.error(fields["scope"], "grants: with amount there is no other scope", "leave scope out")
    spelled = language.text(spot, problems, "amount")
    field = language.path(spelled, "arguments", spot, problems) if spelled else None
    most, total = _number(fields.get("at_most"), problems, "at_most"), _number(fields.get("sum"), problems, "sum")
    if most is None and "at_most" not in fields:
        problems.error(item, "grants: an amount says how much at most", "add at_most: 500")
    if most is not None and total is not None and total < most:
        problems.error(fields["sum"], f"grants: sum {total} is less than at_most {most}", "lower at_most")
    same = (
        [(language.text(one, problems, "same"), one) for one in language.sequence(fields["same"], problems, "same")]
        if "same" in fields
        else []
    )
    paths = [language.path(name, "arguments", one, problems) for name, one in same if name]
    if field is None or most is None:
        return None
    tied = tuple(path for path in paths if path is not None)
    return Offer(scope="amount", field=field, at_most=most, sum=total, same=tied, uses=uses, until=until)


def _number(item: Item | None, problems: Problems, what: str) -> Decimal | None:
    found = language.number(item, problems, what)
    if item is not None and found == 0:
        problems.error(item, f"{what}: 0 permits nothing", "write a number above 0")
    return found
