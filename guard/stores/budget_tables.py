"""What budgets need of a place that keeps data: the part of `Tables` about what calls draw on them. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow, Underflow
from typing import Any, Protocol, TypeAlias

from guard.core.ports import Charge

Budget: TypeAlias = str | tuple[str, str]
"""One budget: scope and name, or a digest of them."""

SUM = "sum:"
"""How the names of budgets begin that count a sum over an argument: a failed call gives these back."""

ZERO = Decimal(0)
EXACT = Context(prec=200, traps=[Inexact, InvalidOperation, Overflow, Underflow])
"""Sums are exact: where one would need rounding, an ArithmeticError says so."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What one call holds of one budget. `window`: whether it leaves the budget by itself some time after the call ended."""

    budget: Budget
    amount: Decimal
    window: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """One draw on a budget over a window, found again by `name`, drawn `at`; and what became of its call, None where nothing was recorded."""

    name: Any
    amount: Decimal
    at: float
    status: str | None = None
    ended: float | None = None
    held_until: float | None = None


class BudgetTables(Protocol):
    """Totals, and what each call holds of them."""

    def budget(self, charge: Charge) -> Budget:
        """The name of a charge's budget in these tables."""

    def expect(self, budgets: Collection[Budget]) -> None:
        """These totals are asked for next. A hint: whoever locks them does so in one order."""

    def meter(self, budget: Budget) -> tuple[Decimal, float]:
        """What is drawn on a budget in all, and the latest time that it has seen (0 for one that counts over no window)."""

    def totals(self, changed: dict[Budget, Decimal]) -> None:
        """Keep new totals."""

    def pace(self, budget: Budget, at: float) -> None:
        """Keep the latest time that a budget has seen."""

    def holds(self, home: tuple[str, str], place: tuple[int, int]) -> bool:
        """Whether a call holds anything."""

    def hold(
        self, home: tuple[str, str], place: tuple[int, int], charges: Sequence[tuple[Charge, float | None]], *, more: bool = False
    ) -> None:
        """Keep what a call holds, besides what it held (`more`: it may hold some); each with the time at which it was drawn if it counts over a window."""

    def draws(self, home: tuple[str, str], place: tuple[int, int], *, sums_only: bool) -> tuple[Draw, ...]:
        """What a call holds, or what of it belongs to sums over arguments."""

    def drop(self, home: tuple[str, str], place: tuple[int, int], *, sums_only: bool) -> None:
        """Forget what `draws` gives."""

    def due(self, budget: Budget, until: float) -> tuple[Span, ...]:
        """Draws on a window that must be looked at by this time, since they may have left it."""

    def postpone(self, budget: Budget, span: Span, until: float) -> None:
        """Look at a draw later."""

    def leave(self, budget: Budget, until: float) -> None:
        """Forget every draw that must be looked at by this time."""

    def leaving(self, budget: Budget, most: int) -> tuple[tuple[Decimal, float], ...]:
        """The amounts of so many draws on a window whose calls are not open, and when each must be looked at, the first ones first."""
