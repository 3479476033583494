"""The part of the memory store that keeps what calls draw on budgets. Holds no rule. Comes after `memory_doubts` and before `memory`."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from guard.core.ports import CallRow, Charge
from guard.stores.budget_tables import SUM, ZERO, Budget, Draw, Span
from guard.stores.memory_doubts import Held, MemoryDoubts
from guard.stores.tables import OPEN, Home, Place


@dataclass(frozen=True, slots=True)
class _Spot:
    """One draw on a window: whose it is, and when it was made."""

    home: Home
    place: Place
    amount: Decimal
    at: float


class MemoryBudgets(MemoryDoubts):
    """Totals, and what each call holds of them. Draws on a window stand besides in a list, sorted by when they must be looked at."""

    def __init__(self) -> None:
        super().__init__()
        self._totals: dict[Budget, Decimal] = {}
        self._latest: dict[Budget, float] = {}
        self._due: dict[Budget, list[tuple[float, int]]] = {}
        self._spots: dict[int, _Spot] = {}
        self._dues: dict[int, float] = {}
        self._numbers = itertools.count()

    def budget(self, charge: Charge) -> Budget:
        """Scope and name."""
        return charge.scope, charge.name

    def expect(self, budgets: Collection[Budget]) -> None:
        """Nobody else is at the totals."""

    def meter(self, budget: Budget) -> tuple[Decimal, float]:
        """What is drawn in all, and the budget's own time."""
        return self._totals.get(budget, ZERO), self._latest.get(budget, 0.0)

    def totals(self, changed: dict[Budget, Decimal]) -> None:
        """Keep new totals."""
        for budget, total in changed.items():
            self._undo.put(self._totals, budget, total)

    def pace(self, budget: Budget, at: float) -> None:
        """Keep a budget's own time."""
        self._undo.put(self._latest, budget, at)

    def holds(self, home: Home, place: Place) -> bool:
        """Whether a call holds anything."""
        return bool(self._rooms[home].charges.get(place))

    def hold(self, home: Home, place: Place, charges: Sequence[tuple[Charge, float | None]], *, more: bool = False) -> None:  # noqa: ARG002 - it is added either way
        """Keep what a call holds."""
        held = self._rooms[home].charges
        new = tuple(self._held(home, place, charge, at) for charge, at in charges)
        self._undo.put(held, place, held.get(place, ()) + new)

    def _held(self, home: Home, place: Place, charge: Charge, at: float | None) -> Held:
        budget, summed = self.budget(charge), charge.name.startswith(SUM)
        if at is None or charge.window is None:
            return Held(Draw(budget, charge.amount), summed)
        number = next(self._numbers)
        self._undo.put(self._spots, number, _Spot(home, place, charge.amount, at))
        self._queue(budget, number, at + charge.window)
        return Held(Draw(budget, charge.amount, window=True), summed, number)

    def _queue(self, budget: Budget, number: int, due: float) -> None:
        self._undo.put(self._dues, number, due)
        self._undo.insert(self._due.setdefault(budget, []), (due, number))

    def _unqueue(self, budget: Budget, number: int) -> None:
        self._undo.remove(self._due[budget], (self._dues[number], number))

    def draws(self, home: Home, place: Place, *, sums_only: bool) -> tuple[Draw, ...]:
        """What a call holds."""
        charges = self._rooms[home].charges.get(place, ())
        return tuple(held.draw for held in charges if held.summed or not sums_only)

    def drop(self, home: Home, place: Place, *, sums_only: bool) -> None:
        """Forget what `draws` gives."""
        charges = self._rooms[home].charges
        held = charges.get(place, ())
        for one in held:
            if one.span is not None and (one.summed or not sums_only):
                self._forget(one.draw.budget, one.span)
        self._undo.put(charges, place, tuple(one for one in held if sums_only and not one.summed))

    def _forget(self, budget: Budget, number: int) -> None:
        self._unqueue(budget, number)
        self._undo.drop(self._dues, number)
        self._undo.drop(self._spots, number)

    # windows

    def due(self, budget: Budget, until: float) -> tuple[Span, ...]:
        """Draws to be looked at."""
        return tuple(self._span(number) for number in self._by(budget, until))

    def _by(self, budget: Budget, until: float) -> list[int]:
        queue = self._due.get(budget, [])
        return [number for _, number in queue[: bisect_right(queue, (until, float("inf")))]]

    def _span(self, number: int) -> Span:
        spot = self._spots[number]
        row, asked = self._row(spot), None
        if row is not None and row.approval is not None:
            asked = self._asked.get(row.approval)
        ended = self._rooms[spot.home].ended.get(spot.place)
        until = None if asked is None else asked.approval.ends_at
        return Span(number, spot.amount, spot.at, None if row is None else row.status, ended, until)

    def _row(self, spot: _Spot) -> CallRow | None:
        return self._rooms[spot.home].turns.get(spot.place[0], {}).get(spot.place[1])

    def postpone(self, budget: Budget, span: Span, until: float) -> None:
        """Look at a draw later."""
        self._unqueue(budget, span.name)
        self._queue(budget, span.name, until)

    def leave(self, budget: Budget, until: float) -> None:
        """Forget draws."""
        for number in self._by(budget, until):
            spot = self._spots[number]
            charges = self._rooms[spot.home].charges
            self._undo.put(charges, spot.place, tuple(held for held in charges.get(spot.place, ()) if held.span != number))
            self._forget(budget, number)

    def leaving(self, budget: Budget, most: int) -> tuple[tuple[Decimal, float], ...]:
        """Amounts of draws whose calls are not open."""
        found = []
        for due, number in self._due.get(budget, []):
            row = self._row(self._spots[number])
            if row is None or row.status not in OPEN:
                found.append((self._spots[number].amount, due))
            if len(found) == most:
                break
        return tuple(found)
