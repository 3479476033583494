"""Limit: the sixth room. `AuthorizedCall` → the budgets that it draws on, or a refusal where a budget of the run is used up.

Reserved once per call before anybody is asked, committed at claim, else released; what a person takes to decide costs no time. What
cannot be measured refuses. Comes after authorize and before approve, so that a model cannot flood the approver.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow

from guard.core.model import AuthorizedCall, CallKey, Refusal, Usage, ValidCall
from guard.core.ports import Charge, Ledger, Opened
from guard.core.reasons import Reason
from guard.core.rules import Limits, Source, SumLimit
from guard.core.sources import echoes, records
from guard.core.values import canonical, digest, is_number

_ONE = Decimal(1)
_MILLION = Decimal(1_000_000)
_EXACT = Context(prec=5_000, traps=[Inexact, InvalidOperation, Overflow])  # the host's own decimal settings do not count here


def priced(usage: Usage, limits: Limits) -> Usage:
    """`usage` with its cost: the provider's own figure, else tokens by the price of the model, else unknown."""
    price = limits.prices.get(usage.model)
    if usage.cost is not None or price is None or not usage.known:
        return usage
    paid = _EXACT.add(_EXACT.multiply(Decimal(usage.tokens_in), price[0]), _EXACT.multiply(Decimal(usage.tokens_out), price[1]))
    cost = _EXACT.divide(paid, _MILLION)
    return Usage(tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, model=usage.model, cost=cost, known=True)


def exhausted(opened: Opened, limits: Limits) -> Refusal | None:
    """Whether the run or conversation may go on at all: steps, seconds, tokens, cost."""
    run, whole = limits.run, limits.conversation
    measured = (
        ("steps", run, Decimal(opened.steps)),
        ("seconds", run, Decimal(repr(opened.seconds))),
        ("tokens", run, Decimal(opened.tokens) if opened.tokens_known else None),
        ("cost", run, opened.cost),
        ("tokens", whole, Decimal(opened.total_tokens) if opened.total_known else None),
        ("cost", whole, opened.total_cost),
    )
    for name, limits_of, amount in measured:
        most = limits_of.get(name)
        if most is None:
            continue
        if amount is None:
            return Refusal(
                reason=Reason.LIMIT_UNKNOWN, detail=f"The {name} of this reply are not known.", rules=(f"limit {name}",)
            )
        if amount > most:
            return Refusal(
                reason=Reason.LIMIT_REACHED, detail=f"The limit on {name} is {most}.", rules=(f"limit {name}",), stop=True
            )
    return None


def charges(call: AuthorizedCall, limits: Limits, key: CallKey, run: int, ledger: Ledger) -> tuple[Charge, ...] | Refusal:
    """Every budget that this call draws on, each with its limit. `run` counts how often the user has spoken."""
    valid = call.valid
    if not (limits.counted or valid.tool.limits.any or call.grounded.evidence):
        return ()
    where = canonical([key.ref.tenant, key.ref.conversation])
    whole, this_run, this_turn = f"conversation of {where}", f"run of {where}:{run}", f"turn of {where}:{key.turn}"
    own = valid.tool.limits
    mark = valid.fingerprint
    counted = (
        (this_turn, "calls", limits.turn_calls),
        (this_run, "calls", limits.run.get("calls")),
        (whole, "calls", limits.conversation.get("calls")),
        (this_run, f"equal:{mark}", limits.run.get("equal")),
        (this_run, f"tool:{valid.tool.name}", own.calls),
        (this_run, f"equal:{mark}:tool", own.equal),
    )
    found = [
        Charge(scope=scope, name=name, amount=_ONE, limit=Decimal(most)) for scope, name, most in counted if most is not None
    ]
    for rule in own.sums:
        charge = _sum(rule, valid, key.ref.tenant, ledger)
        if isinstance(charge, Refusal):
            return charge
        found.append(charge)
    return (*found, *_once(call, whole))


def _sum(rule: SumLimit, valid: ValidCall, tenant: str, ledger: Ledger) -> Charge | Refusal:
    reach = rule.argument.reach(valid.arguments)
    amounts = [amount for amount, _ in reach.spots]
    name = f"sum:{valid.tool.name}:{rule.argument}"
    if not amounts or reach.missing or reach.blocked or not all(is_number(amount) and amount >= 0 for amount in amounts):
        return Refusal(
            reason=Reason.LIMIT_UNKNOWN, detail=f"{rule.argument} must be given as a number of zero or more.", rules=(name,)
        )
    limit = rule.at_most if isinstance(rule.at_most, Decimal) else _recorded(rule.at_most, valid.arguments, ledger)
    if limit is None:
        return Refusal(reason=Reason.LIMIT_UNKNOWN, detail=f"First look up {_said(rule)}, in an earlier turn.", rules=(name,))
    place = digest(*(canonical(value) for path in rule.per for value in path.find(valid.arguments)))
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, Decimal(str(amount)))  # rounding raises, and what raises refuses
    return Charge(scope=f"tenant of {canonical(tenant)}", name=f"{name}:{place}", amount=total, limit=limit)


def _said(rule: SumLimit) -> str:
    return f"{rule.at_most.tool}.{rule.at_most.path}" if isinstance(rule.at_most, Source) else str(rule.argument)


def _recorded(source: Source, arguments: Mapping[str, object], ledger: Ledger) -> Decimal | None:
    for row, values in records(source, arguments, ledger):
        for value in values:
            if is_number(value) and (source.verified or not echoes(value, row)):
                return Decimal(str(value))
    return None


def _once(call: AuthorizedCall, scope: str) -> list[Charge]:
    """Evidence that may be used only once is a budget of one: taken with the call, so that two calls cannot both have it."""
    name = "sum:once"  # whatever tool uses it
    used = [item for item in call.grounded.evidence if item.once]
    return [Charge(scope=scope, name=f"{name}:{item.turn}.{item.position}", amount=_ONE, limit=_ONE) for item in used]


def exceeded(charge: Charge) -> Refusal:
    """The refusal for a budget that would be overdrawn. Says which, never what others have used."""
    kind = charge.name.split(":", 1)[0]
    if charge.name.startswith("sum:once:"):
        return Refusal(
            reason=Reason.PREREQUISITE_MISSING, detail="What this call relies on has been used already.", rules=("once",)
        )
    if kind == "equal":
        return Refusal(reason=Reason.REPEATED_CALL, rules=("limit equal",))
    what = {"sum": "the sum of amounts", "tool": "calls of this tool", "calls": "calls"}.get(kind, kind)
    return Refusal(
        reason=Reason.LIMIT_REACHED, detail=f"The limit on {what} ({charge.scope.split(':')[0]}).", rules=(f"limit {kind}",)
    )
