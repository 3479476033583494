"""Limit: the sixth room. `AuthorizedCall` → the budgets that it draws on, or a refusal where a budget of the run is used up.

Reserved once per call before anybody is asked, committed at claim, else released; what a person takes to decide costs no time. What
cannot be measured refuses. Comes after authorize and before approve, so that a model cannot flood the approver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from types import MappingProxyType

from guard.core.budgets_of_people import person_scope
from guard.core.lasting import lasting
from guard.core.model import AuthorizedCall, CallKey, Refusal, Usage, ValidCall
from guard.core.paths import Path
from guard.core.ports import Charge, Ledger, Opened
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.core.rules import Limits, Source, SumLimit, WindowLimit
from guard.core.sources import echoes, records
from guard.core.values import canonical, digest, is_number, summable

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


_MEASURED = frozenset({"steps", "seconds", "tokens", "cost"})
"""What a run or conversation uses up by itself; calls are counted one by one."""


def exhausted(opened: Opened, limits: Limits) -> tuple[Refusal | None, tuple[str, ...]]:
    """Whether the run or conversation may go on at all: steps, seconds, tokens, cost; and what shadow limits would have refused."""
    run, whole = limits.run, limits.conversation
    if _MEASURED.isdisjoint(run) and _MEASURED.isdisjoint(whole):
        return None, ()
    measured = (
        ("steps", "run", run, Decimal(opened.steps)),
        ("seconds", "run", run, Decimal(repr(opened.seconds))),
        ("tokens", "run", run, Decimal(opened.tokens) if opened.tokens_known else None),
        ("cost", "run", run, opened.cost),
        ("tokens", "conversation", whole, Decimal(opened.total_tokens) if opened.total_known else None),
        ("cost", "conversation", whole, opened.total_cost),
    )
    shadowed: list[str] = []
    for name, table, limits_of, amount in measured:
        most = limits_of.get(name)
        if most is None or (amount is not None and amount <= most):
            continue
        if f"{table}.{name}" in limits.shadow:
            shadowed.append(f"limit {table}.{name}" + (" (unknown)" if amount is None else ""))
            continue
        return _over(name, most, known=amount is not None), tuple(shadowed)
    return None, tuple(shadowed)


def _over(name: str, most: Decimal, *, known: bool) -> Refusal:
    rules = (f"limit {name}",)
    if not known:
        return Refusal(reason=Reason.LIMIT_UNKNOWN, detail=f"The {name} of this reply are not known.", rules=rules)
    return Refusal(reason=Reason.LIMIT_REACHED, detail=f"The limit on {name} is {most}.", rules=rules, stop=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What a call draws, and which shadow limits could not even be measured."""

    charges: tuple[Charge, ...] = ()
    shadowed: tuple[str, ...] = ()


_NOTHING = Drawn()


def charges(call: AuthorizedCall, limits: Limits, key: CallKey, run: int, ledger: Ledger) -> Drawn | Refusal:
    """Every budget that this call draws on, each with its limit. `run` counts how often the user has spoken."""
    valid = call.valid
    grounded = call.grounded
    if not (limits.counted or valid.tool.limits.any or grounded.evidence or grounded.trial):
        return _NOTHING
    found = _counted(valid, limits, key, run)
    shadowed: list[str] = []
    rules: list[SumLimit | WindowLimit] = [*valid.tool.limits.sums, *valid.tool.limits.windows, *limits.windows]
    for rule in rules:
        charge = _measured(rule, valid, key, ledger)
        if isinstance(charge, str):
            shadowed.append(charge)
        elif isinstance(charge, Refusal):
            return charge
        else:
            found.append(charge)
    return Drawn(charges=tuple(_distinct([*found, *_once(call, key)])), shadowed=tuple(shadowed))


def _counted(valid: ValidCall, limits: Limits, key: CallKey, run: int) -> list[Charge]:
    """Counts since the user last spoke, in this turn, and in the whole conversation."""
    where = _where(key)
    whole, this_run, this_turn = f"conversation of {where}", f"run of {where}:{run}", f"turn of {where}:{key.turn}"
    own, tool, mark = valid.tool.limits, valid.tool.name, valid.fingerprint
    rows = (
        (this_turn, "calls", limits.turn_calls, "turn.calls"),
        (this_run, "calls", limits.run.get("calls"), "run.calls"),
        (whole, "calls", limits.conversation.get("calls"), "conversation.calls"),
        (this_run, f"equal:{mark}", limits.run.get("equal"), "run.equal"),
        (this_run, f"tool:{tool}", own.calls, ""),
        (this_run, f"equal:{mark}:tool", own.equal, ""),
        (this_run, f"tool:{tool}", own.shadow_calls, f"{tool}.calls"),
        (this_run, f"equal:{mark}:tool", own.shadow_equal, f"{tool}.equal"),
    )
    shadows = limits.shadow | {f"{tool}.calls", f"{tool}.equal"}
    return [
        _shadow(Charge(scope=scope, name=name, amount=_ONE, limit=Decimal(most), rule=f"limit {rule}"), rule in shadows)
        for scope, name, most, rule in rows
        if most is not None
    ]


def _where(key: CallKey) -> str:
    return canonical([key.ref.tenant, key.ref.conversation])


def _shadow(charge: Charge, shadow: bool) -> Charge:  # noqa: FBT001 - the rule's own flag
    """A shadow draws on a budget of its own, so that nobody else's total is touched."""
    return replace(charge, scope=f"shadow of {charge.scope}", shadow=True) if shadow else charge


def _distinct(found: list[Charge]) -> list[Charge]:
    """Two limits on one budget are one: the tighter."""
    tightest: dict[tuple[str, str], Charge] = {}
    for charge in found:
        known = tightest.get((charge.scope, charge.name))
        if known is None or charge.limit < known.limit:
            tightest[charge.scope, charge.name] = charge
    return list(tightest.values())


def _measured(rule: SumLimit | WindowLimit, valid: ValidCall, key: CallKey, ledger: Ledger) -> Charge | Refusal | str:
    """The draw on one limit; what a shadow cannot measure is only named."""
    name = rule.text if isinstance(rule, WindowLimit) else f"limit {valid.tool.name}.sum {rule.argument}"
    try:
        charge = _window(rule, valid, key, ledger) if isinstance(rule, WindowLimit) else _sum(rule, valid, key.ref.tenant, ledger)
    except Exception:
        if not rule.shadow:
            raise
        return f"{name} (error)"
    if isinstance(charge, Refusal):
        return f"{name} (unknown)" if rule.shadow else charge
    return _shadow(replace(charge, rule=name) if rule.shadow else charge, rule.shadow)


def _sum(rule: SumLimit, valid: ValidCall, tenant: str, ledger: Ledger) -> Charge | Refusal:
    name = f"sum:{valid.tool.name}:{rule.argument}"
    total, limit = _amount(rule.argument, valid, name), _most(rule, valid, ledger, name)
    if isinstance(total, Refusal):
        return total
    if isinstance(limit, Refusal):
        return limit
    place = digest(*(canonical(value) for path in rule.per for value in path.find(valid.arguments)))
    return Charge(scope=f"tenant of {canonical(tenant)}", name=f"{name}:{place}", amount=total, limit=limit)


def _window(rule: WindowLimit, valid: ValidCall, key: CallKey, ledger: Ledger) -> Charge | Refusal:
    total = _ONE if rule.argument is None else _amount(rule.argument, valid, rule.text)
    limit = _most(rule, valid, ledger, rule.text)
    if isinstance(total, Refusal):
        return total
    if isinstance(limit, Refusal):
        return limit
    tool, same = "" if rule.every else valid.tool.name, valid.digest if rule.counts == "equal" else ""
    places = [canonical([str(path), *path.find(valid.arguments)]) for path in rule.per]
    spot = digest(tool, str(rule.argument or ""), same, *places)
    kind = "sum" if rule.counts == "sum" else "window"
    return Charge(
        scope=_scope(rule.of, key),
        name=f"{kind}:{rule.counts}:{'every' if rule.every else 'tool'}:{rule.seconds!r}:{spot}",
        amount=total,
        limit=limit,
        window=rule.seconds,
        own=rule.of != "tenant",
        rule=rule.text,
    )


def _scope(of: str, key: CallKey) -> str:
    ref = key.ref
    if of == "conversation":
        return f"conversation of {_where(key)}"
    return f"tenant of {canonical(ref.tenant)}" if of == "tenant" else person_scope(ref.tenant, ref.principal)


def _amount(argument: Path, valid: ValidCall, name: str) -> Decimal | Refusal:
    """The sum of every amount at an argument."""
    reach = argument.reach(valid.arguments)
    amounts = [amount for amount, _ in reach.spots]
    if not amounts or reach.missing or reach.blocked or not all(is_number(amount) and amount >= 0 for amount in amounts):
        return Refusal(
            reason=Reason.LIMIT_UNKNOWN, detail=f"{argument} must be given as a number of zero or more.", rules=(name,)
        )
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, Decimal(str(amount)))  # rounding raises, and what raises refuses
    if not summable(total):
        return Refusal(reason=Reason.LIMIT_UNKNOWN, detail=f"{argument} has more digits than can be counted.", rules=(name,))
    return total


def _most(rule: SumLimit | WindowLimit, valid: ValidCall, ledger: Ledger, name: str) -> Decimal | Refusal:
    """The limit, a number or what an earlier result says."""
    if isinstance(rule.at_most, Decimal):
        return rule.at_most
    found = _recorded(rule.at_most, valid.arguments, ledger)
    said = f"{rule.at_most.tool}.{rule.at_most.path}"
    unknown = Refusal(reason=Reason.LIMIT_UNKNOWN, detail=f"First look up {said}, in an earlier turn.", rules=(name,))
    return unknown if found is None else found


def _recorded(source: Source, arguments: Mapping[str, object], ledger: Ledger) -> Decimal | None:
    for row, values in records(source, arguments, ledger):
        for value in values:
            if is_number(value) and (source.verified or not echoes(value, row)):
                return Decimal(str(value))
    return None


def _once(call: AuthorizedCall, key: CallKey) -> list[Charge]:
    """Evidence that may be used only once is a budget of one: taken with the call, so that two calls cannot both have it."""
    used = [(item, False) for item in call.grounded.evidence if item.once] + [(item, True) for item in call.grounded.trial]
    if not used:
        return []
    scope, name = f"conversation of {_where(key)}", "sum:once"  # whatever tool uses it
    return [
        _shadow(
            Charge(scope=scope, name=f"{name}:{item.turn}.{item.position}", amount=_ONE, limit=_ONE, rule="once"),
            shadow,
        )
        for item, shadow in used
    ]


OVER: Mapping[str, str] = MappingProxyType(
    {
        "turn": " in one turn",
        "run": " since the user last spoke",
        "conversation": " in one conversation",
    }
)
"""What a count goes over, in words, by the beginning of its budget's name; the rest of that name is whose it is, and told to nobody."""


def exceeded(charge: Charge) -> Refusal:
    """The refusal for a budget that would be overdrawn. Says which, never what others have used."""
    kind = charge.name.split(":", 1)[0]
    if charge.name.startswith("sum:once:"):
        return Refusal(
            reason=Reason.PREREQUISITE_MISSING, detail="What this call relies on has been used already.", rules=("once",)
        )
    if charge.window is not None:
        return _passed(charge, charge.window)
    if kind == "equal":
        return Refusal(reason=Reason.REPEATED_CALL, rules=("limit equal",))
    what = {"sum": "the sum of amounts", "tool": "calls of this tool"}.get(kind, "calls")
    over = OVER.get(charge.scope.partition(" of ")[0], "")
    return Refusal(reason=Reason.LIMIT_REACHED, detail=f"The limit on {what}{over}.", rules=(f"limit {kind}",))


def _passed(charge: Charge, window: float) -> Refusal:
    """The refusal for a window. When it may fit again is told only where nobody else draws on it."""
    _, counts, tools, *_ = charge.name.split(":")
    what = {"sum": "the sum of amounts", "equal": "equal calls"}.get(counts, "calls") + (
        " of this tool" if tools == "tool" else ""
    )
    detail = f"The limit on {what} within {lasting(window)}."
    extra: dict[str, object] = {}
    if charge.again is not None:
        when = _moment(charge.again)
        detail += f" The same may fit again from {when} on."
        extra = {"not_before": when}
    return Refusal(reason=Reason.LIMIT_REACHED, detail=detail, rules=(charge.rule,), extra=extra)


def _moment(at: float) -> str:
    """A time in UTC, to the next full second."""
    return datetime.fromtimestamp(math.ceil(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
