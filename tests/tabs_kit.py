"""What tests of tabs, forms and batches share: two tools that wait for people, and how an approval stands."""

from __future__ import annotations

from typing import Any

from console_kit import Console

POLICY = """
    tools:
      pay:
        kind: action
        allow: [clerk]
        schema:
          type: object
          properties:
            payee: {type: string}
            amount: {type: number, minimum: 0}
            memo: {type: string, default: ''}
            lines: {type: array, items: {type: object, properties: {n: {type: integer}, 'a/b': {type: string}}}, default: []}
          required: [payee, amount]
          additionalProperties: false
        require: {amount: {maximum: 1000}}
        approve: {by: [treasury, audit], need: 2, expires: 20m, use_within: 15m, edit: [amount, memo, lines]}
      draw: {kind: action, allow: [clerk], approve: {by: [boss], expires: 20m, use_within: 15m}}
"""
MINUTE = 60.0


def pay(**_: Any) -> str:
    return "paid"


def draw(name: str) -> str:
    return f"drew {name}"


def state(running: Console, approval: str) -> tuple[str, int]:
    found = running.show(approval)
    return found.status, len(found.votes)
