"""Offers: which standing permissions an alternative of `approve:` lets a person give, compiled from `grants:`.

An offer bounds what may be given; whoever gives a grant may only bound it further. Data and one comparison; no grant lives here. Comes after paths
and before rules; imports no room.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias, TypeVar

from guard.core.paths import Path

Scope: TypeAlias = Literal["same_call", "tool_here", "amount"]
"""What a grant lets run: exactly the same call again, any call of the tool in this conversation, or calls up to an amount."""
SCOPES: tuple[Scope, ...] = ("same_call", "tool_here", "amount")

_B = TypeVar("_B", int, float, Decimal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One kind of grant that may be given. `uses` is how many calls, `until` for how many seconds from the giving; None: no such bound.

    For `amount`: the number at `field` is at most `at_most` in one call and `sum` in all, and what stands at `same` is what stood there in
    the call that was approved.
    """

    scope: Scope
    field: Path | None = None
    at_most: Decimal | None = None
    sum: Decimal | None = None
    same: tuple[Path, ...] = ()
    uses: int | None = None
    until: float | None = None

    @property
    def endless(self) -> str:
        """Which bound is missing, in words; empty where how often and how long are both bounded."""
        often = self.uses is None and self.sum is None
        if often and self.until is None:
            return "neither how often nor how long"
        return "not how often" if often and self.scope == "amount" else ""

    def covers(self, other: Offer) -> bool:
        """Whether everything that `other` lets be given may be given by this one too."""
        alike = self.scope == other.scope and str(self.field) == str(other.field)
        tied = set(map(str, self.same)) <= set(map(str, other.same))
        lasting = _within(
            None if other.until is None else round(other.until, 3), self.until
        )  # seconds since an epoch have no more digits
        amounts = _within(other.at_most, self.at_most) and _within(other.sum, self.sum)
        return alike and tied and lasting and amounts and _within(other.uses, self.uses)


def _within(bound: _B | None, most: _B | None) -> bool:
    return most is None or (bound is not None and bound <= most)
