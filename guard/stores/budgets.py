"""Budgets: what calls draw on quotas. Reserved once per call, kept when it ran, given back when it did not.

Sums are exact: a sum that would need rounding counts as exceeded, and so does an amount below zero, which would refill a budget. Shared
by every store; may only ask the tables. Comes after `tables` and before `ledger`.
"""

from __future__ import annotations

from decimal import Decimal

from guard.core.ports import Charge, TakeQuota
from guard.stores.tables import EXACT, Budget, Home, Place, Tables, owned


class _Plan:
    """What a command would draw, before anything is written."""

    __slots__ = ("charges", "tables", "totals")

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.totals: dict[Budget, Decimal] = {}
        self.charges: dict[tuple[Home, Place], tuple[Charge, ...]] = {}

    def holds(self, home: Home, place: Place) -> bool:
        return (home, place) in self.charges or self.tables.holds(home, place)

    def add(self, home: Home, place: Place, charges: tuple[Charge, ...]) -> Charge | None:
        """Draw everything, or nothing and say which charge was too much."""
        changed: dict[Budget, Decimal] = {}
        for charge in charges:
            budget = self.tables.budget(charge)
            before = changed.get(budget, self.totals.get(budget))
            total = _fits(self.tables.total(budget) if before is None else before, charge)
            if total is None:
                return charge
            changed[budget] = total
        self.totals.update(changed)
        if charges:
            self.charges[home, place] = charges
        return None

    def write(self) -> None:
        if self.charges:
            self.tables.totals(self.totals)
            for (home, place), charges in self.charges.items():
                self.tables.hold(home, place, charges)


def _fits(total: Decimal, charge: Charge) -> Decimal | None:
    """The new total, or None when the charge does not fit."""
    try:
        new = EXACT.add(total, charge.amount)
        return new if total <= new <= charge.limit else None
    except ArithmeticError:
        return None


def take(tables: Tables, command: TakeQuota) -> tuple[Charge | None, ...]:
    """Reserve call by call, in order. See TakeQuota."""
    owned(tables, [key.ref for key, _ in command.calls])
    tables.expect({tables.budget(charge) for _, charges in command.calls for charge in charges})
    plan = _Plan(tables)
    answers: list[Charge | None] = []
    fresh: list[bool] = []
    for key, charges in command.calls:
        home, place = (key.ref.tenant, key.ref.conversation), (key.turn, key.position)
        earlier = plan.holds(home, place)
        fresh.append(not earlier)
        answers.append(None if earlier else plan.add(home, place, charges))
    exceeded = next((answer for answer in answers if answer is not None), None)
    if command.whole and exceeded is not None:
        return tuple(exceeded if new else None for new in fresh)
    plan.write()
    return tuple(answers)


def release(tables: Tables, home: Home, place: Place, *, sums_only: bool = False) -> None:
    """Give back what a call holds, or only what it holds of sums over arguments."""
    totals: dict[Budget, Decimal] = {}
    draws = tables.draws(home, place, sums_only=sums_only)
    tables.expect({draw.budget for draw in draws})
    for draw in draws:
        total = totals.get(draw.budget)
        totals[draw.budget] = EXACT.subtract(tables.total(draw.budget) if total is None else total, draw.amount)
    if totals:
        tables.totals(totals)
        tables.drop(home, place, sums_only=sums_only)
