"""Spans: which draws on a budget still count over its window, by the time of the store's clock.

A draw counts while its call is held, under way or unknown, and for one window after that. It is looked at when it may have left, so a budget
costs the same however many draws stand in it. Each budget has its own time, which never goes back: where the clock does, that time
stands still, and nothing leaves. Shared by every store; may only ask the tables. Comes after `tables` and before `budgets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from guard.core.ports import Charge
from guard.stores.budget_tables import EXACT, ZERO, Budget, Span
from guard.stores.tables import Tables

UNDER_WAY = 900.0
"""Seconds that a call which was let through, and of which nothing was recorded yet, counts beyond its window: its process may be gone."""

LOOK = 30.0
"""Seconds until an open call is looked at again, at most: so much longer than its window it may count after it ended."""

_OPEN = frozenset({"started", "unknown"})
_MOST = 1_000  # draws that are looked through for the time at which a charge fits again


def tidy(tables: Tables, budget: Budget, window: float) -> float:
    """Let go what has left the window of a budget. Gives the budget's time."""
    total, latest = tables.meter(budget)
    now = max(tables.now, latest)
    spans = tables.due(budget, now)
    gone = ZERO
    for span in spans:
        until = _until(span, window, tables.now, now)
        if until > now:
            tables.postpone(budget, span, until)
        else:
            gone = EXACT.add(gone, span.amount)
    if spans:
        tables.leave(budget, now)
        tables.totals({budget: EXACT.subtract(total, gone)})
        tables.pace(budget, now)
    return now


def _until(span: Span, window: float, clock: float, now: float) -> float:
    """When a draw is to be looked at next; one that has left says a time in the past."""
    if span.status in _OPEN or (span.status == "held" and (span.held_until is None or span.held_until > clock)):
        return now + min(window, LOOK)
    if span.status is None:
        return span.at + window + UNDER_WAY
    return max(span.at, span.ended or span.at) + window


def fits_again(tables: Tables, budgets: Sequence[Budget], charge: Charge, total: Decimal) -> float | None:
    """When a charge that is too much now would fit, if nothing else were drawn; None where that cannot be told."""
    left = total
    try:
        found = [one for budget in budgets for one in tables.leaving(budget, _MOST)]
        for amount, due in sorted(found, key=lambda one: one[1]):
            left = EXACT.subtract(left, amount)
            if EXACT.add(left, charge.amount) <= charge.limit:
                return due
    except ArithmeticError:  # an amount that cannot be added never fits
        return None
    return None
