"""Windows lint: limits over windows that another limit always reaches first, so that whoever reads them believes in something that is never felt.

A limit is compared with those that count everything that it counts: over the same time or longer, or so short a time that it adds up to less. Sums are of
amounts of zero or more; anything else a call of a limited tool is refused for. Comes after limits_lint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf

from guard.core.values import is_number
from guard.errors import Problem
from guard.policy import language
from guard.policy.problems import Problems
from guard.policy.source import Item
from guard.policy.windows import OF
from guard.review.limits_lint import over_a_window
from guard.review.view import View, finding

_WIDTH = {"conversation": 0, "principal": 1, "tenant": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """One limit that counts over time. `counts` is `calls`, `equal` or `sum` and the argument; `every`: of all tools together."""

    counts: str
    most: Decimal
    seconds: float
    of: str
    per: frozenset[str]
    text: str
    spot: Item
    every: bool = False

    def within(self, other: _Limit) -> bool:
        """Whether the other counts everything that this one counts, as long as its time goes."""
        same = self.counts == other.counts or (self.counts == "equal" and other.counts == "calls")
        return same and self.per >= other.per and _WIDTH[self.of] <= _WIDTH[other.of] and (other.every or not self.every)

    def unreached(self, other: _Limit) -> bool:
        """Whether the other refuses whatever this one would."""
        if not self.within(other) or (self.seconds, self.of, self.per, self.counts, self.every) == other.place:
            return False
        if self.seconds <= other.seconds:
            return self.most >= other.most
        return other.seconds > 0 and self.seconds < inf and self.most >= other.most * (int(self.seconds // other.seconds) + 2)

    @property
    def place(self) -> tuple[float, str, frozenset[str], str, bool]:
        """What makes two limits one; the tighter counts then, and the load says so."""
        return (self.seconds, self.of, self.per, self.counts, self.every)


def windows_lint(view: View) -> Iterator[Problem]:
    """Each limit over a window beside all others that may be felt first."""
    tables = {key: item for block in view.survey.limits for key, item in block.fields.items()}
    whole = [replace(one, every=True) for spot in _entries(tables.get("windows")) for one in _read(spot, "limits.windows")]
    talk = tables["conversation"].fields.get("calls") if "conversation" in tables else None
    for name, entry in view.entries.items():
        own = [one for spot in _entries(entry.fields.get("limits")) for one in _read(spot, f"{name}: limits")]
        yield from _unreached(own, [*own, *whole], talk)
    yield from _unreached(whole, whole, talk)


def _entries(item: Item | None) -> list[Item]:
    found = [] if item is None else item.items or [item]
    return [one for one in found if "enforce" not in one.fields]  # what refuses nothing is felt by nobody


def _unreached(found: list[_Limit], others: list[_Limit], talk: Item | None) -> Iterator[Problem]:
    for one in found:
        if one.seconds == inf:
            continue
        first = next((other for other in others if one.unreached(other)), None)
        if first is not None:
            message = f"{one.text} is never reached: {first.text} is reached first"
            yield finding(one.spot, "window-unreached", message, "write a smaller number, or leave it out")
        elif one.of == "conversation" and not one.counts.startswith("sum") and _is_below(talk, one.most):
            message = f"{one.text} is above limits.conversation.calls, so it is never reached"
            yield finding(one.spot, "window-unreached", message, "write a smaller number, or leave it out")


def _is_below(item: Item | None, most: Decimal) -> bool:
    return item is not None and is_number(item.value) and item.value < most


def _read(item: Item, what: str) -> Iterator[_Limit]:
    """What one entry limits over time: over a window, or a sum without end. Mistakes are the load's to report."""
    fields, quiet = item.fields, Problems()
    per = fields.get("per")
    timed = over_a_window(item)
    seconds = (language.duration(per, quiet, "per") if timed else None) or (None if timed else inf)
    if seconds is None or (not timed and "sum" not in fields):
        return
    named = _texts(fields.get("of") if timed else per)
    words = [name for name in named if name in OF]
    base = _Limit(
        counts="",
        most=Decimal(0),
        seconds=seconds,
        of=words[0] if words else "principal" if timed and not named else "tenant",
        per=frozenset(named) - frozenset(OF),
        text="",
        spot=item,
    )
    time = f" per {per.value}" if timed and per is not None else ""
    for key in ("calls", "equal", "at_most"):
        below = fields.get(key)
        if below is None or not is_number(below.value) or (key != "at_most" and not timed):
            continue
        total = fields["sum"].value if key == "at_most" and "sum" in fields else ""
        counts = f"sum {total}" if total else key
        if counts != "at_most":
            text = f"{what}.{f'sum of {total}' if total else key} {below.value}{time}"
            yield replace(base, counts=counts, most=Decimal(str(below.value)), text=text, spot=below)


def _texts(item: Item | None) -> list[str]:
    if item is None:
        return []
    return [str(one.value) for one in item.items or [item]]
