"""What the tests of explain, diff and the matrix share: one good policy, written down once, and edits of it."""

from __future__ import annotations

from pathlib import Path

from guard.policy import Loaded, load_policy

TOOLS = """
tools:
  order_status:
    kind: read
    allow: [customer, support]
    schema:
      type: object
      properties: {order_id: {type: string, maxLength: 10}, customer_id: {type: string}, detail: {enum: [short, long]}}
      required: [order_id]
    bind: {customer_id: session.principal}
    result: {keep: [order_id, status, total]}
    timeout: 5s
  refund:
    kind: action
    allow: [customer]
    schema:
      type: object
      properties: {order_id: {type: string}, amount: {type: number, maximum: 500}, note: {type: string}}
      required: [order_id, amount]
    ground: {amount: {at_most: order_status.total, same: [order_id]}}
    after: {tool: order_status, where: {status: {enum: [delivered, lost]}}, same: [order_id]}
    require: {amount: {exclusiveMinimum: 0}}
    refuse: [{when: {note: {pattern: ".*urgent.*"}}, say: Leave it.}]
    limits: {calls: 3, sum: amount, per: order_id, at_most: 600}
    effect: idempotent
    approve:
      - {when: {amount: {maximum: 50}}, by: self, expires: 1h}
      - {by: [support], expires: 24h, show: [order_id, amount]}
  close_account:
    kind: action
    allow: [support]
    schema: {type: object, properties: {account: {type: string}}, required: [account]}
    approve: {by: [boss]}
limits:
  run: {calls: 20, steps: 8}
  conversation: {calls: 200}
people:
  ann: {principal: E1, tenant: acme, roles: [boss]}
"""
RULES = """p, trainee, *, close_account, call, deny
p, user:E7, acme, close_account, call, allow
g, E9, support, acme
"""


def folder(path: Path, tools: str = TOOLS, rules: str = RULES) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "tools.yaml").write_text(tools, "utf-8")
    (path / "rules.csv").write_text(rules, "utf-8")
    return path


def loaded(path: Path, tools: str = TOOLS, rules: str = RULES) -> Loaded:
    return load_policy(folder(path, tools, rules))
