"""Budgets: what calls draw on quotas. Reserved once per call, kept when it ran, given back when it did not.

Sums are exact: a sum that would need rounding counts as exceeded, and so does an amount below zero, which would refill a budget. What
counts over a window is in `spans`. Shared by every store; may only ask the tables. Comes after `spans` and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from guard.core.ports import Charge, Shadowed, TakeQuota
from guard.core.replacing import replace
from guard.stores.budget_tables import EXACT, ZERO, Budget
from guard.stores.owners import owned, visible
from guard.stores.spans import fits_again, tidy
from guard.stores.tables import Home, Place, Tables


class _Plan:
    """What a command would draw, before anything is written."""

    __slots__ = ("beside", "charges", "tables", "times", "totals")

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.totals: dict[Budget, Decimal] = {}
        self.times: dict[Budget, float] = {}  # of budgets over a window: the time that counts for them
        self.charges: dict[tuple[Home, Place], list[Charge]] = {}
        self.beside: dict[Budget, Decimal] = {}  # what lies under other names of a person, who draws under one of them at a time

    def missing(self, home: Home, place: Place, charges: tuple[Charge, ...]) -> tuple[bool, tuple[Charge, ...]]:
        """Whether the call holds nothing yet, and what it has yet to draw."""
        windows = [charge for charge in charges if charge.window is not None]
        for charge in windows:
            self._tidied(charge)
        planned = self.charges.get((home, place))
        if not windows:
            fresh = planned is None and not self.tables.holds(home, place)
            return fresh, charges if fresh else ()
        held = {draw.budget for draw in self.tables.draws(home, place, sums_only=False)}
        held |= {self.tables.budget(charge) for charge in planned or ()}
        return not held, tuple(charge for charge in windows if self.tables.budget(charge) not in held) if held else charges

    def _tidied(self, charge: Charge) -> None:
        budget = self.tables.budget(charge)
        if budget not in self.times and charge.window is not None:
            self.times[budget] = tidy(self.tables, budget, charge.window)

    def add(self, home: Home, place: Place, charges: tuple[Charge, ...]) -> Charge | Shadowed | None:
        """Draw everything, or nothing and say which charge was too much. What a shadow limit would refuse is only left out."""
        changed: dict[Budget, Decimal] = {}
        drawn: list[Charge] = []
        over: list[Charge] = []
        for charge in charges:
            budget = self.tables.budget(charge)
            before = changed.get(budget, self.totals.get(budget))
            found = self.tables.meter(budget)[0] if before is None else before
            others = _others(self.tables, charge) if charge.also else ()
            total = _fits(found, self._beside(others, charge), charge)
            if total is not None:
                changed[budget] = total
                drawn.append(charge)
            elif charge.shadow:
                over.append(charge)
            else:
                return self._refused(charge, (budget, *others), found)
        self.totals.update(changed)
        if drawn:
            self.charges.setdefault((home, place), []).extend(drawn)
        return Shadowed(tuple(over)) if over else None

    def _beside(self, others: Sequence[Budget], charge: Charge) -> Decimal:
        """What counts besides the budget itself."""
        found = ZERO
        for budget in others:
            if budget not in self.beside:
                drawn = self.tables.meter(budget)[0]
                if drawn and charge.window is not None:
                    tidy(self.tables, budget, charge.window)
                    drawn = self.tables.meter(budget)[0]
                self.beside[budget] = drawn
            found = EXACT.add(found, self.beside[budget])
        return found

    def _refused(self, charge: Charge, budgets: Sequence[Budget], found: Decimal) -> Charge:
        """A charge that is too much, with the time at which it fits again where nobody else draws on these budgets."""
        if not charge.own:
            return charge
        return replace(
            charge, again=fits_again(self.tables, budgets, charge, EXACT.add(found, self._beside(budgets[1:], charge)))
        )

    def write(self) -> None:
        if self.charges:
            self.tables.totals(self.totals)
            for budget in self.totals.keys() & self.times.keys():
                self.tables.pace(budget, self.times[budget])
            for (home, place), charges in self.charges.items():
                times = [(charge, self.times.get(self.tables.budget(charge))) for charge in charges]
                self.tables.hold(home, place, times)


def _others(tables: Tables, charge: Charge) -> tuple[Budget, ...]:
    """The same budget under the other names of a person."""
    return tuple(tables.budget(replace(charge, scope=scope)) for scope in charge.also)


def _fits(total: Decimal, beside: Decimal, charge: Charge) -> Decimal | None:
    """The new total, or None when the charge does not fit."""
    try:
        new = EXACT.add(total, charge.amount)
        return new if total <= new <= charge.limit and (not beside or EXACT.add(new, beside) <= charge.limit) else None
    except ArithmeticError:
        return None


def take(tables: Tables, command: TakeQuota) -> tuple[Charge | Shadowed | None, ...]:
    """Reserve call by call, in order. See TakeQuota."""
    owned(tables, [key.ref for key, _ in command.calls])
    every = [charge for _, charges in command.calls for charge in charges]
    tables.expect({budget for charge in every for budget in (tables.budget(charge), *_others(tables, charge))})
    plan = _Plan(tables)
    answers: list[Charge | Shadowed | None] = []
    fresh: list[bool] = []
    for key, charges in command.calls:
        home, place = (key.ref.tenant, key.ref.conversation), (key.turn, key.position)
        new, wanted = plan.missing(home, place, charges)
        fresh.append(new)
        answers.append(plan.add(home, place, wanted))
    exceeded = next((answer for answer in answers if isinstance(answer, Charge)), None)
    if command.whole and exceeded is not None:
        return tuple(exceeded if new or isinstance(own, Charge) else None for new, own in zip(fresh, answers, strict=True))
    plan.write()
    return tuple(answers)


def held(tables: Tables, command: TakeQuota) -> bool:
    """Whether every call holds what it draws, and none of it over a window: then `take` changes nothing, and answers None for each."""
    return all(
        visible(tables, key.ref)
        and all(charge.window is None for charge in charges)
        and tables.holds((key.ref.tenant, key.ref.conversation), (key.turn, key.position))
        for key, charges in command.calls
    )


def draw(tables: Tables, home: Home, place: Place, charges: Sequence[Charge]) -> None:
    """Draw for a call besides what it holds. Whether it fits was judged by whoever asks, who keeps others from drawing on the same."""
    tables.expect({tables.budget(charge) for charge in charges})
    totals = [(tables.budget(charge), tables.meter(tables.budget(charge))[0], charge.amount) for charge in charges]
    tables.totals({budget: EXACT.add(total, amount) for budget, total, amount in totals})
    tables.hold(home, place, [(charge, None) for charge in charges], more=True)


def release(tables: Tables, home: Home, place: Place, *, sums_only: bool = False) -> None:
    """Give back what a call holds, or only what it holds of sums over arguments."""
    release_all(tables, ((home, place),), sums_only=sums_only)


def release_all(tables: Tables, calls: Sequence[tuple[Home, Place]], *, sums_only: bool = False) -> None:
    """The same for many calls: each budget is locked, read and written once."""
    totals: dict[Budget, Decimal] = {}
    held = {call: draws for call in calls if (draws := tables.draws(*call, sums_only=sums_only))}
    if not held:
        return
    tables.expect({draw.budget for draws in held.values() for draw in draws})
    for call, draws in held.items():
        if any(draw.window for draw in draws):  # until its budget was locked, a draw may have left its window
            held[call] = tables.draws(*call, sums_only=sums_only)
    for draw in (draw for draws in held.values() for draw in draws):
        total = totals.get(draw.budget)
        totals[draw.budget] = EXACT.subtract(tables.meter(draw.budget)[0] if total is None else total, draw.amount)
    if totals:
        tables.totals(totals)
    for call in (call for call, draws in held.items() if draws):  # what has left its window meanwhile is gone
        tables.drop(*call, sums_only=sums_only)
