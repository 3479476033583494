"""What the tests of `guard check` share: a policy folder in which nothing is wrong, and what is found in it after an edit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from guard.errors import Problem
from guard.policy import Declared, survey_policy
from guard.review.lints import lint

GOOD = {
    "people.yaml": """people:
  ann: {principal: E1, tenant: acme, roles: [manager]}
  bob: {principal: E2, tenant: globex, roles: [clerk], attributes: {region: north}}
""",
    "rules.csv": """p, role:auditor, *, find_order, call, allow
p, role:auditor, acme, list_orders, call, allow
p, role:trainee, *, refund, call, deny
p, user:E7, *, cancel_order, call, deny
g, role:manager, role:clerk, *
g, E9, role:manager, acme
""",
    "tools.yaml": """tools:
  find_order:
    kind: read
    description: Look one order up by its number.
    allow: [clerk]
    schema:
      type: object
      properties:
        order_id: {type: string, minLength: 3, maxLength: 12, pattern: "^[A-Z][0-9]+$"}
        detail: {type: string, enum: [short, full], default: short}
      required: [order_id]
    result: {keep: [order_id, total, status]}
  list_orders:
    kind: read
    description: Show the newest orders of the region.
    allow: [clerk]
    schema:
      type: object
      properties:
        region: {type: string}
        most: {type: integer, minimum: 1, maximum: 50, default: 10}
    bind: {region: session.region}
  cancel_order:
    kind: action
    description: Stop an order that was not sent yet.
    allow: [clerk]
    schema:
      type: object
      properties: {order_id: {type: string}, reason: {type: string, maxLength: 200}}
      required: [order_id]
    ground: {order_id: {returned_by: find_order.order_id}}
    after: {tool: find_order, same: [order_id], where: {status: {enum: [placed, packed]}}}
    approve: {by: self}
""",
    "money.yaml": """tools:
  refund:
    kind: action
    description: Pay money back to whoever bought.
    allow: [clerk]
    schema:
      type: object
      properties:
        order_id: {type: string}
        amount: {type: number, minimum: 1, maximum: 1000}
        region: {type: string}
        urgent: {type: boolean}
        channel: {type: string, enum: [bank, card]}
      required: [order_id, amount]
    bind: {region: session.region}
    ground: {order_id: {returned_by: find_order.order_id}}
    require: {amount: {maximum: 500}}
    refuse: [{when: {channel: bank}}]
    limits: {calls: 3, sum: amount, per: order_id, at_most: 900}
    approve:
      - {when: {amount: {maximum: 20}}, by: self}
      - {when: {amount: {maximum: 100}}, by: [clerk]}
      - {by: [manager], expires: 24h}
limits:
  run: {steps: 8, calls: 20}
  conversation: {calls: 100}
""",
}
"""The name of each file and its text."""

Edit = tuple[str, str, str]
"""File, what stands there, and what stands there afterwards."""


def edited(path: Path, *edits: Edit) -> Path:
    """The good folder with these edits; an empty old text appends."""
    files = dict(GOOD)
    for name, old, new in edits:
        assert old in files.get(name, ""), f"{name} does not hold {old!r}"
        files[name] = files[name].replace(old, new, 1) if old else files.get(name, "") + new
    for name, text in files.items():
        (path / name).write_text(text, "utf-8")
    return path


def is_told(told: Sequence[Problem], place: tuple[str, int | None], code: str, words: str, echoes: Sequence[str] = ()) -> None:
    """What was planted is said at its place with a cure, and nothing else is wrong but for problems of these codes."""
    hits = [one for one in told if (one.file, one.line) == place and words in one.message + one.cure]

    assert hits, [str(one) for one in told]
    assert all(one.cure for one in hits)
    assert any(one.code.startswith(code) for one in hits), hits
    assert [str(one) for one in told if words not in one.message + one.cure and one.code not in echoes] == []


def found(folder: Path, declared: Sequence[Declared] | None = None) -> list[Problem]:
    """Everything that `guard check` says of the folder, errors and warnings."""
    survey = survey_policy(folder, declared)
    return [*survey.errors, *survey.warnings, *lint(survey)[0]]
