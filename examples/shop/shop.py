"""A shop's assistant: customers look up, cancel and refund their own orders, under `examples/shop/policies/`.

    python examples/shop/shop.py

Plays a few calls without a model, so that every decision can be seen. A real loop hands replies to `chat.handle`, as in
`examples/travel_expense.py`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

from guard import Guard, Outcome, Session, ToolCall

FOLDER = Path(__file__).parent / "policies"


@dataclass
class Order:
    """One order in the shop's books."""

    order_id: str
    customer_id: str
    status: str
    total: Decimal


class Shop:
    """The shop's books, and the three things that its assistant can do."""

    def __init__(self) -> None:
        orders = [
            Order("A17", "c_123", "placed", Decimal("120.00")),
            Order("A18", "c_123", "delivered", Decimal("59.90")),
            Order("B4", "c_999", "placed", Decimal("10.00")),
        ]
        self.orders = {order.order_id: order for order in orders}
        self.refunds: list[tuple[str, Decimal]] = []

    def load(self, order_id: str) -> dict[str, object] | None:
        """The record that a call touches, for the policy's `resource:`."""
        order = self.orders.get(order_id)
        return None if order is None else asdict(order)

    def order_status(self, order_id: str) -> dict[str, object]:
        """Status and total of one order."""
        order = self.orders[order_id]
        return {"order_id": order_id, "status": order.status, "total": order.total}

    def cancel_order(self, order_id: str) -> dict[str, object]:
        """Cancel an order that has not left the house."""
        self.orders[order_id].status = "cancelled"
        return {"order_id": order_id, "status": "cancelled"}

    def refund(self, order_id: str, amount: Decimal) -> dict[str, object]:
        """Pay money back for an order."""
        self.refunds.append((order_id, amount))
        return {"order_id": order_id, "refunded": amount}


def open_shop(store: str = "memory://") -> tuple[Shop, Guard]:
    """A shop and its guard."""
    shop = Shop()
    guard = Guard.load(FOLDER, tools=[shop.order_status, shop.cancel_order, shop.refund], store=store)
    guard.resource("order")(shop.load)
    return shop, guard


def main() -> None:
    """Play a customer's afternoon and print what was decided."""
    _, guard = open_shop()
    customer = Session(principal="c_123", roles=("customer",))
    support = Session(principal="s_9", roles=("support",))
    plan = [
        ("order_status", {"order_id": "B4"}),  # somebody else's
        ("refund", {"order_id": "A18", "amount": 10}),  # nobody has looked the total up yet
        ("order_status", {"order_id": "A18"}),
        ("refund", {"order_id": "A18", "amount": 60}),  # more than the order's total
        ("refund", {"order_id": "A18", "amount": 55}),  # over 50: support must agree
        ("refund", {"order_id": "A18", "amount": 10}),  # together more than the total
    ]
    for number, (tool, arguments) in enumerate(plan):
        outcome = guard.call(ToolCall(f"call_{number}", tool, arguments), customer, conversation="afternoon")
        show(outcome, arguments)
    [approval] = guard.approvals.list()
    guard.approvals.approve(approval.id, approver=support)
    outcome = guard.call(ToolCall("call_9", approval.tool, approval.arguments), customer, conversation="afternoon")
    show(outcome, approval.arguments)


def show(outcome: Outcome, arguments: dict[str, object]) -> None:
    """One line for one decision."""
    shown = ", ".join(f"{name}={value}" for name, value in arguments.items())
    print(f"{outcome.tool}({shown}): {outcome.status}" + (f", {outcome.reason}" if outcome.reason else ""))


if __name__ == "__main__":
    main()
