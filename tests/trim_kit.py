"""Random guarded conversations, for the tests of shortened histories: parallel calls, held ones, failures, pictures, texts of others."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

from reports import BOSS, Desk, start
from results_kit import PICTURE
from wire_helpers import message

from guard.wires import WIRES

POLICY = """
tools:
  orders: {kind: read, allow: [staff]}
  page: {kind: read, allow: [staff], trust: untrusted}
  shot: {kind: read, allow: [staff]}
  fails: {kind: read, allow: [staff]}
  note: {kind: action, allow: [staff], approve: never}
  refund:
    kind: action
    allow: [staff]
    ground: {amount: {at_most: 'orders.rows[*].total', same: [order_id]}}
    approve: {by: [boss]}
limits: {run: {steps: 1000}}
"""


def rows(n: int) -> list[dict[str, Any]]:
    """Orders, each with what a refund is compared with."""
    return [{"order_id": f"A{at}", "total": Decimal(f"{at}.10"), "note": "as ordered " * (at % 4)} for at in range(1, n + 1)]


def tools(rng: random.Random) -> dict[str, Any]:
    """What the tools return, small or large."""

    def orders(n: int) -> Any:
        return {"rows": rows(n), "page": 1, "remark": "remark " * rng.choice([1, 300])}

    def page(n: int) -> Any:
        text = "Words of \u200bothers, 12345. " * n
        return rng.choice([text, {"text": text, "rank": n}, [text] * 3, [text, PICTURE]])

    def shot(n: int) -> Any:
        return [f"picture {n}", *([PICTURE] * rng.randint(1, 2))]

    def fails(n: int) -> Any:
        raise RuntimeError(n)

    return {
        "orders": orders,
        "page": page,
        "shot": shot,
        "fails": fails,
        "note": lambda n: {"noted": n},
        "refund": lambda order_id, amount: {"refunded": amount, "receipt": "line " * 200},
    }


def said(wire: str) -> list[Any]:
    """What a model that calls nothing adds to a history."""
    reply = message(wire)
    return list(reply["output"]) if wire == "openai-responses" else [without_calls(reply)]


def without_calls(reply: dict[str, Any]) -> dict[str, Any]:
    """A message of the model whose list of calls is left out where it is empty."""
    return {name: item for name, item in reply.items() if name != "tool_calls" or item}


def plain(wire: str, messages: list[Any]) -> list[dict[str, Any]]:
    """The messages without bytes, so that they can be weighed."""
    return WIRES[wire].dump(messages)


def conversation(tmp_path: Path, wire: str, seed: int) -> Desk:
    """A desk with a random history; its last message holds results or an answer of the model."""
    rng = random.Random(seed)
    desk = start(tmp_path, wire, POLICY, tools(rng))
    for turn in range(rng.randint(1, 6)):
        names = [rng.choice(["orders", "page", "shot", "fails", "note"]) for _ in range(rng.randint(1, 4))]
        calls: list[Any] = [(f"c{turn}_{at}", name, {"n": rng.choice([1, 5, 60])}) for at, name in enumerate(names)]
        if turn:
            calls.append((f"r{turn}", "refund", {"order_id": "A1", "amount": 1}))
        desk.propose(*calls)
        if rng.random() < 0.3 and desk.pending():
            desk.guard.approvals.approve(desk.pending()[0].id, approver=BOSS)
            desk.settle()
        if rng.random() < 0.5:
            desk.history += said(wire)
            desk.say("And now?")
    return desk
