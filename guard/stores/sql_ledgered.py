"""The part of the SQL tables that shows rows of calls, counters and budgets to who verifies: as they stand, without using them. Holds no rule.

Read also where a row as a whole could not be used. Comes before `sql_log`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from guard.core.commands import ERASED
from guard.core.log import Counted, Rowed
from guard.core.values import encode, keyed
from guard.errors import StoreError
from guard.stores import rows
from guard.stores.budget_tables import EXACT, ZERO
from guard.stores.locks import Lock
from guard.stores.sql_segments import SqlSegments
from guard.stores.stamp import time_text

_SAYS = (
    "fingerprint",
    "mark",
    "target",
    "run",
    "idem",
    "executor",
    "approval",
    "name",
    "branch",
    "owned",
    "lease",
    "at",
    "ended",
    "erased",
    "payload",
)
_CLAIM = ("fingerprint", "approval", "at")
_CALLS = (
    "SELECT c.conversation, c.turn, c.position, t.tenant, t.conversation, c.status, c.attempt, CASE WHEN k.conversation IS NULL THEN 0 ELSE 1 END, c.outcome, p.body,"  # noqa: S608 - our own names
    f" c.kind, c.effect, c.tool, {', '.join(f'c.{name}' for name in _SAYS)}, {', '.join(f'k.{name}' for name in _CLAIM)}"
    " FROM calls c JOIN conversations t ON t.id = c.conversation LEFT JOIN payloads p ON p.id = c.payload"
    " LEFT JOIN claims k ON k.conversation = c.conversation AND k.turn = c.turn AND k.position = c.position"
    " WHERE (c.conversation, c.turn, c.position) > (?, ?, ?) ORDER BY c.conversation, c.turn, c.position LIMIT ?"
)
_COUNTERS = ("steps", "tokens", "total_tokens", "known", "total_known", "cost", "total_cost", "started")
_TALKS = (
    f"SELECT id, tenant, conversation, turns, words, run, principal, {', '.join(_COUNTERS)}"  # noqa: S608 - our own names
    " FROM conversations WHERE id > ? ORDER BY id LIMIT ?"
)
_DRAWS = (
    "SELECT conversation, turn, position, number, budget, amount FROM draws WHERE (conversation, turn, position, number) > (?, ?, ?, ?)"
    " ORDER BY conversation, turn, position, number LIMIT ?"
)
_TOTALS = "SELECT id, total FROM budgets WHERE id > ? ORDER BY id LIMIT ?"
_PAGE = 5000


class SqlLedgered(SqlSegments):
    """Rows as they stand."""

    def ledgered(self, after: tuple[Any, ...], limit: int) -> tuple[tuple[Any, ...], tuple[Rowed, ...]]:
        """Calls behind a place, and the place of the last one."""
        found = self.all(_CALLS, (*(after or ("", 0, 0)), limit))
        return (tuple(found[-1][:3]) if found else ()), tuple(_rowed(row, self.lock) for row in found)

    def counted(self, after: str, limit: int) -> tuple[str, tuple[Counted, ...]]:
        """Counters of conversations behind one, and the last one."""
        found = self.all(_TALKS, (after, limit))
        return (str(found[-1][0]) if found else ""), tuple(map(_counted, found))

    def overdrawn(self) -> tuple[str, ...]:
        """Budgets whose total is not the sum of what calls hold of them."""
        sums: dict[str, Decimal] = {}
        after: tuple[Any, ...] = ("", -1, -1, -1)
        while page := self.all(_DRAWS, (*after, _PAGE)):
            for *place, budget, amount in page:
                sums[str(budget)] = EXACT.add(sums.get(str(budget), ZERO), _amount(amount))
                after = tuple(place)
        odd, last = [], ""
        while page := self.all(_TOTALS, (last, _PAGE)):
            odd += [
                f"{name} says {total}, and {own} is drawn"
                for name, total in page
                if _amount(total) != (own := sums.pop(str(name), ZERO))
            ]
            last = page[-1][0]
        return (*odd, *(f"{name} is missing, and {own} is drawn" for name, own in sums.items() if own))


def _counted(row: Sequence[Any]) -> Counted:
    name, tenant, conversation, turns, words, runs, principal, *counters = row
    says = dict(zip(_COUNTERS, counters, strict=True))
    says |= {"started": _moment(says["started"])} | {one: _cost(says[one]) for one in ("cost", "total_cost")}
    says |= {"id": name, "principal": principal}
    return Counted(tenant=tenant, conversation=conversation, turns=turns, words=words, runs=runs, says=says)


def _rowed(row: Sequence[Any], lock: Lock) -> Rowed:
    name, turn, position, tenant, conversation, status, attempt, claimed, outcome, body, kind, effect, tool, *more = row
    own = f"call:{name}:{turn}:{position}"
    says: dict[str, Any] = dict(zip((*_SAYS, *(f"claim_{one}" for one in _CLAIM)), more, strict=True))
    says |= {one: _moment(says[one]) for one in ("at", "ended", "claim_at")} | {"own": own}
    return Rowed(
        tenant=str(tenant),
        conversation=str(conversation),
        turn=turn,
        position=position,
        status=str(status),
        attempt=attempt,
        claimed=bool(claimed),
        digest=_digest(own, outcome, body, lock),
        kind=str(kind),
        effect=str(effect),
        tool=None if tool is None else str(tool),
        says=says,
    )


def _moment(value: Any) -> Any:
    """A time as records write it; what is none stays as it is."""
    try:
        return time_text(value) if isinstance(value, int | float) else value
    except (ValueError, OverflowError):
        return repr(value)


def _cost(value: Any) -> Any:
    return None if value is None else _amount(value)


def _digest(name: str, outcome: Any, body: Any, lock: Lock) -> str | None:
    """The digest of what went back, as its record has it; None where that cannot be told, as without the key of the payloads or once it was erased."""
    try:
        kept: Any = rows.load(lock.open(name, body)) if isinstance(body, str) else []
        salt = next((one for one in kept[6:] if isinstance(one, str)), "") if isinstance(kept, list) else ""
        shown: Any = rows.load(outcome) if salt not in ("", ERASED) and isinstance(outcome, str) else []
        if not shown:
            return None
        content = rows.content_of(shown[2])
    except (StoreError, TypeError, ValueError, KeyError, IndexError):
        return None
    return keyed(salt.encode(), content if isinstance(content, str) else encode([str(block) for block in content]))


def _amount(text: Any) -> Decimal:
    try:
        return Decimal(text)
    except (InvalidOperation, TypeError, ValueError):
        return Decimal("NaN")  # equal to nothing
