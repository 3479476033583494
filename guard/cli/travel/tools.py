"""Tools: the four functions that the travel assistant may call, over made-up company systems. They know nothing of the guard.

Amounts are Decimals and stay as they are. Each desk counts what really ran, which is how the demo proves what did not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field

from guard.core.values import JsonObject


class TravelDesk:
    """The company's systems for one run of the demo. `executions` counts by the policy's tool names."""

    def __init__(self, systems: JsonObject) -> None:
        self._systems = systems
        self._next = int(systems["supplements"]["first"])
        self.filed: dict[str, JsonObject] = {}
        self.executions: Counter[str] = Counter(
            dict.fromkeys(("queryExpense", "queryTravelPolicy", "calcAmountOver", "createExpenseSupplement"), 0)
        )

    @property
    def tools(self) -> list[Callable[..., Any]]:
        """What `Guard.load(…, tools=…)` takes."""
        return [self.query_expense, self.query_travel_policy, self.calc_amount_over, self.create_expense_supplement]

    def query_expense(self, user_id: str, status: Literal["submitted", "approved", "paid"] | None = None) -> JsonObject | None:
        """The newest expense report of the signed-in employee. It cannot look up older reports or other people's."""
        self.executions["queryExpense"] += 1
        report: JsonObject | None = self._systems["expenses"].get(user_id)
        return report if report is not None and status in (None, report["status"]) else None

    def query_travel_policy(self, job_level: str, city_tier: Literal["1", "2", "3", "other"]) -> JsonObject | None:
        """What a trip may cost for a job level and a tier of city: hotel, meals and total, in yuan."""
        self.executions["queryTravelPolicy"] += 1
        rows: list[JsonObject] = self._systems["standards"]
        return next((row for row in rows if (row["job_level"], row["city_tier"]) == (job_level, city_tier)), None)

    def calc_amount_over(self, actual_amount: Decimal, limit_amount: Decimal) -> JsonObject:
        """How far an amount lies over a limit, in yuan and as a ratio."""
        self.executions["calcAmountOver"] += 1
        over = max(actual_amount - limit_amount, Decimal("0.00"))
        ratio = (over / limit_amount).quantize(Decimal("0.0001")) if limit_amount > 0 else None
        return {"ok": True, "over_amount": over, "over_ratio": ratio, "is_over": over > 0}

    def create_expense_supplement(
        self, expense_id: str, over_amount: Decimal, reason: Annotated[str, Field(max_length=50)]
    ) -> JsonObject:
        """File a supplement for a report that is over its limit. The result holds the ticket number."""
        self.executions["createExpenseSupplement"] += 1
        rule: JsonObject = self._systems["supplements"]
        ticket = f"{rule['prefix']}{self._next:04d}"
        self.filed[ticket] = {"expense_id": expense_id, "over_amount": over_amount, "reason": reason}
        self._next += 1
        return {"supplement_id": ticket, "status": "submitted", "created_at": rule["created_at"]}
