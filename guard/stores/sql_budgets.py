"""The part of the SQL tables that keeps what calls draw on budgets. Holds no rule. Comes after `sql_approvals` and before `sql_tables`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal

from guard.core.ports import Charge
from guard.core.values import digest
from guard.stores import rows, sql
from guard.stores.budget_tables import SUM, ZERO, Budget, Draw, Span
from guard.stores.rows import name_of
from guard.stores.sql_approvals import SqlApprovals
from guard.stores.tables import Home, Place


class SqlBudgets(SqlApprovals):
    """Totals and draws in tables."""

    def budget(self, charge: Charge) -> Budget:
        """A digest: a scope may name the value that a sum is counted per."""
        return digest(charge.scope, charge.name)

    def expect(self, budgets: Collection[Budget]) -> None:
        """Nobody else is at the totals."""

    def meter(self, budget: Budget) -> tuple[Decimal, float]:
        """What is drawn in all, and the budget's own time."""
        row = self.one(sql.METER, budget)
        return (ZERO, 0.0) if row is None else rows.meter(row)

    def totals(self, changed: dict[Budget, Decimal]) -> None:
        """Keep new totals."""
        for budget, total in changed.items():
            self.run(sql.SET_TOTAL, budget, str(total))

    def pace(self, budget: Budget, at: float) -> None:
        """Keep a budget's own time."""
        self.run(sql.PACE, at, budget)

    def holds(self, home: Home, place: Place) -> bool:
        """Whether a call holds anything."""
        return self.one(sql.HOLDS, name_of(home), *place) is not None

    def hold(self, home: Home, place: Place, charges: Sequence[tuple[Charge, float | None]], *, more: bool = False) -> None:
        """Keep what a call holds."""
        call = (name_of(home), *place)
        last = self.one(sql.LAST_DRAW, *call) if more or any(at is not None for _, at in charges) else None
        first = 0 if last is None or last[0] is None else int(last[0]) + 1
        for number, (charge, at) in enumerate(charges, first):
            due = None if at is None or charge.window is None else at + charge.window
            summed = charge.name.startswith(SUM)
            self.run(sql.DRAW, *call, number, self.budget(charge), str(charge.amount), summed, at, due)

    def draws(self, home: Home, place: Place, *, sums_only: bool) -> tuple[Draw, ...]:
        """What a call holds."""
        found = self.all(sql.DRAWS, (name_of(home), *place, int(sums_only)))
        return tuple(Draw(budget, rows.number(amount), bool(window)) for budget, amount, window in found)

    def drop(self, home: Home, place: Place, *, sums_only: bool) -> None:
        """Forget what `draws` gives."""
        self.run(sql.DROP, name_of(home), *place, int(sums_only))

    # windows

    def due(self, budget: Budget, until: float) -> tuple[Span, ...]:
        """Draws to be looked at."""
        return tuple(map(rows.span_row, self.all(sql.DUE, (budget, until))))

    def postpone(self, budget: Budget, span: Span, until: float) -> None:  # noqa: ARG002 - the span's name says which
        """Look at a draw later."""
        self.run(sql.POSTPONE, until, *span.name)

    def leave(self, budget: Budget, until: float) -> None:
        """Forget draws."""
        self.run(sql.LEAVE, budget, until)

    def leaving(self, budget: Budget, most: int) -> tuple[tuple[Decimal, float], ...]:
        """Amounts of draws whose calls are not open."""
        return tuple(map(rows.meter, self.all(sql.LEAVING, (budget, most))))
