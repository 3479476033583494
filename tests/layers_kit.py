"""Layered policy folders for tests: an organisation's folder that uses every key, and what narrower folders add to it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guard import Guard, PolicyWarning, Session, ToolCall
from guard.policy import Declared, Loaded, load_policy

ORG = """tools:
  look:
    kind: read
    allow: [staff]
    schema: {type: object, properties: {order_id: {type: string}}, required: [order_id]}
    result: {keep: [order_id, "lines[*].price", customer], empty: no such order, max_bytes: 5000}
    timeout: 10s
  pay:
    kind: action
    description: Pay an order back.
    allow: [staff]
    schema:
      type: object
      properties: {order_id: {type: string}, amount: {type: number}, note: {type: string}, by: {type: string}, desk: {type: string}}
      required: [order_id, amount]
    bind:
      by: {from: session.principal, strict: true}
    checks: [office_hours]
    timeout: 20s
    effect: idempotent
    lease: 1m
    unknown: {target: [order_id, amount]}
    ground:
      order_id: {returned_by: look.order_id}
    after: {tool: look, same: [order_id]}
    resource: {order: order_id, owner: customer_id}
    require: {amount: {maximum: 100}}
    refuse:
      - when: {note: {pattern: ".*urgent.*"}}
    limits:
      - {calls: 5, equal: 2}
      - {sum: amount, per: order_id, at_most: 200}
      - {calls: 10, per: 24h}
    ceilings: {arguments_bytes: 4000}
    approve: {by: [lead, boss], expires: 2h, show: [order_id, amount]}
  ping: {kind: compute, allow: ["*"]}
limits:
  turn: {calls: 4, whole: true}
  run: {steps: 8, calls: 20, cost: 2}
  conversation: {calls: 100}
  windows: [{calls: 500, per: 1h}]
ceilings: {result_bytes: 8000, approval_expires: 5h}
prices:
  small: {in: 1, out: 2}
people:
  root: {principal: E1, roles: [lead]}
"""
LINES = """p, role:trainee, *, pay, call, deny
g, E7, lead, default
g, senior, lead, default
"""
KEYED = Declared(
    name="pay", schema=None, parameters=frozenset({"order_id", "amount", "note", "by", "desk", "idempotency_key"}), keyed=True
)
DECLARED = (Declared(name="look"), KEYED, Declared(name="ping"), Declared(name="extra"))
CHECKS = {"office_hours": lambda _: None, "fraud": lambda _: None}

Files = Mapping[str, str] | str


def write(place: Path, files: Files) -> Path:
    """A folder with these files; a text is tools.yaml."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in ({"tools.yaml": files} if isinstance(files, str) else files).items():
        (place / name).write_text(text, "utf-8")
    return place


def folders(tmp_path: Path, *layers: Files) -> list[Path]:
    """One folder for each layer, called org, team and app."""
    return [write(tmp_path / name, files) for name, files in zip(("org", "team", "app"), layers, strict=False)]


def loaded(places: Sequence[Path], declared: Any = DECLARED) -> Loaded:
    """The layers, compiled."""
    return load_policy(places, declared, checks=CHECKS)


def org() -> dict[str, str]:
    """The organisation's folder."""
    return {"tools.yaml": ORG, "rules.csv": LINES}


def line(marker: str, text: str = ORG) -> int:
    """In which line the organisation's folder says this."""
    lines = text.splitlines()
    return lines.index(marker) + 1 if marker in lines else next(n for n, one in enumerate(lines, 1) if marker in one)


def pay(lines: str) -> str:
    """A narrower folder's entry for `pay`."""
    return f"tools:\n  pay:\n    {lines}\n"


def look(lines: str) -> str:
    """A narrower folder's entry for `look`."""
    return f"tools:\n  look:\n    {lines}\n"


def guard(places: Any, tools: Any, **options: Any) -> Guard:
    """A guard over layers with a store in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return Guard.load(places, tools=tools, store="memory://", **options)


def verdict(guard: Guard, tool: str, arguments: Mapping[str, Any], *, conversation: str = "c", **session: Any) -> str:
    """Whether a call is allowed, held or refused."""
    who = Session(**{"principal": "E9", "roles": ("staff",), **session})
    status = guard.call(ToolCall("1", tool, dict(arguments)), who, conversation=conversation).status
    return {"done": "allow", "failed": "allow", "held": "hold"}.get(status, "refuse")
