"""The scenarios that must come to the same on every way into a guard: policy, tools, calls and what must come of them. Data only.

Played by `conformance`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wire_helpers import PNG

from guard import Image, Session, ToolError

POLICY = """
tools:
  look: {kind: read, allow: [staff]}
  act: {kind: action, allow: [staff], approve: never}
  crm.find: {kind: read, allow: [staff]}
  mine: {kind: read, allow: [staff], bind: {user: session.principal}}
  strict: {kind: read, allow: [staff], bind: {user: {from: session.principal, strict: true}}}
  level: {kind: read, allow: [staff], bind: {level: session.job_level}}
  odd: {kind: read, allow: [staff], checks: [is_odd]}
  torn: {kind: read, allow: [staff], checks: [breaks]}
  order: {kind: read, allow: [staff], resource: {order: order, owner: owner}}
  price: {kind: read, allow: [staff]}
  pay: {kind: action, allow: [staff], approve: never, ground: {total: {returned_by: price.total}}}
  after: {kind: read, allow: [staff], after: {tool: price}}
  closed: {kind: read, allow: [boss]}
  capped: {kind: read, allow: [staff], require: {n: {maximum: 5}}}
  small: {kind: read, allow: [staff], ceilings: {arguments_bytes: 20}}
  twice: {kind: read, allow: [staff], limits: {calls: 2}}
  held: {kind: action, allow: [staff], approve: {by: [boss], expires: 1h}}
  fails: {kind: read, allow: [staff]}
  says: {kind: read, allow: [staff]}
  slow: {kind: read, allow: [staff], timeout: 50ms}
  sent: {kind: action, allow: [staff], approve: never, timeout: 50ms}
  private: {kind: read, allow: [staff]}
  shot: {kind: read, allow: [staff]}
  paper: {kind: read, allow: [staff]}
  none: {kind: read, allow: [staff]}
  write: {kind: read, allow: [staff], handles: {to: email}}
  spend: {kind: action, allow: [staff], approve: never, limits: {sum: n, at_most: price.total}}
  brief: {kind: action, allow: [staff], approve: {by: [boss], expires: 1s}}
  book: {kind: action, allow: [staff], approve: never, timeout: 50ms, unknown: {target: [room]}}
  long: {kind: read, allow: [staff]}
  stopped: {kind: read, allow: [staff]}
  formed: {kind: read, allow: [staff], result: {schema: {type: object, required: [n]}}}
limits: {run: {calls: 60, equal: 3}}
ceilings: {result_text: 5000}
"""
STAFF = Session(principal="E1", roles=("staff",))
BOSS = Session(principal="B1", roles=("boss",))


def _fails() -> None:
    raise LookupError("row 17 of table people")


def _says() -> None:
    raise ToolError("no order 17 of ann@example.com")


def _waits() -> str:
    threading.Event().wait(3.0)  # far longer than its time-out, also where much else goes on
    return "late"


PAPER = Image(data="JVBERi0xLjcgAAE=", media_type="application/pdf")  # a document of which no policy here speaks

TOOLS: dict[str, Callable[..., Any]] = {
    **{
        name: lambda n=0: {"n": n}
        for name in (
            "look",
            "act",
            "crm.find",
            "odd",
            "torn",
            "after",
            "closed",
            "capped",
            "twice",
            "held",
            "spend",
            "brief",
            "stopped",
        )
    },
    **{name: lambda user: {"user": user} for name in ("mine", "strict")},
    "level": lambda level: level,
    "order": lambda order: {"order": order},
    "price": lambda n=0: {"total": 12.5},
    "pay": lambda total: {"paid": total},
    "small": lambda text="": text,
    "fails": _fails,
    "says": _says,
    "slow": _waits,
    "sent": _waits,
    "private": lambda: {"mail": "ann@example.com", "rows": [{"iban": "DE89370400440532013000"}], "n": 3},
    "shot": lambda: ["the page", PNG, "end"],
    "paper": lambda: ["the page", PAPER, "end"],
    "none": lambda: None,
    "book": lambda room, n=0: _waits(),
    "long": lambda: {"mail": "ann@example.com", "note": "x" * 6_000},
    "write": lambda to, note="": {"to": to},
    "formed": lambda: {"m": "17"},
    "unlisted": lambda: "never",
}


def is_odd(arguments: dict[str, Any]) -> str | None:
    return None if arguments["n"] % 2 else "Only odd numbers."


def breaks(arguments: dict[str, Any]) -> str | None:
    raise RuntimeError("no")


Call = tuple[Any, str, str]
"""Id, tool, arguments as JSON text (broken where the scenario is about that)."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One thing that happens. `then` are statuses and reasons in call order; `text`: only where arguments are text; `turn`: only in a turn. `stop`: an operator stops the tool before; `decide`: what a person does, or `expire` where nobody does anything."""

    calls: tuple[Call, ...]
    then: tuple[tuple[str, str | None], ...]
    before: tuple[Call, ...] = ()
    cut: bool = False
    text: bool = False
    turn: bool = False
    stop: bool = False
    decide: str = ""
    after: tuple[tuple[str, str | None], ...] = ()


def one(tool: str, status: str, reason: str | None = None, arguments: str = "{}", **more: Any) -> Scenario:
    """A scenario of one call."""
    return Scenario(calls=(("c1", tool, arguments),), then=((status, reason),), **more)


DONE = ("done", None)
HELD = ("held", "held_for_approval")
SCENARIOS: dict[str, Scenario] = {
    "allow": one("look", "done", None, '{"n": 1}'),
    "allow an action": one("act", "done", None, '{"n": 1}'),
    "a name that no provider takes": one("crm.find", "done", None, '{"n": 1}'),
    "overwrite": one("mine", "done", None, '{"user": "E9"}'),
    "refuse: an unknown tool": one("lok", "refused", "unknown_tool"),
    "refuse: no policy": one("unlisted", "refused", "no_policy"),
    "refuse: cut off": one("act", "refused", "truncated_reply", '{"n": 1}', cut=True, turn=True),
    "refuse: broken JSON": one("act", "refused", "malformed_arguments", '{"n": 1', text=True),
    "refuse: a repeated key": one("act", "refused", "malformed_arguments", '{"n": 1, "n": 2}', text=True),
    "refuse: no object": one("act", "refused", "malformed_arguments", "[1]", text=True),
    "refuse: too large": one("small", "refused", "arguments_too_large", '{"text": "xxxxxxxxxxxxxxxxxxxx"}'),
    "refuse: a fact of the session is missing": one("level", "refused", "session_fact_missing"),
    "refuse: a field of the session was sent": one("strict", "refused", "bound_field_sent", '{"user": "E9"}'),
    "refuse: a handle that nobody gave out": one("write", "refused", "handle_unknown", '{"to": "email_CF1V9QX3HFX"}'),
    "refuse: a handle elsewhere": one("write", "refused", "handle_not_allowed", '{"to": "x", "note": "email_CF1V9QX3HFX"}'),
    "refuse: a mask": one("small", "refused", "masked_value", '{"text": "[email]"}'),
    "refuse: against the schema": one("look", "refused", "invalid_arguments", '{"n": "1", "m": 2}'),
    "refuse: a check": one("odd", "refused", "check_refused", '{"n": 2}'),
    "refuse: a check that fails": one("torn", "refused", "check_failed", '{"n": 1}'),
    "refuse: a fact that cannot be had": one("order", "refused", "fact_unavailable", '{"order": "none"}'),
    "refuse: not the owner": one("order", "refused", "not_owner", '{"order": "E9"}'),
    "refuse: not grounded": one("pay", "refused", "not_grounded", '{"total": 12.5}'),
    "refuse: a prerequisite": one("after", "refused", "prerequisite_missing"),
    "refuse: not permitted": one("closed", "refused", "not_authorized"),
    "refuse: a rule": one("capped", "refused", "rule_refused", '{"n": 6}'),
    "refuse: stopped by an operator": one("stopped", "refused", "killed", stop=True),
    "refuse: a limit that cannot be measured": one("spend", "refused", "limit_unknown", '{"n": 1}'),
    "grounded": one("pay", "done", None, '{"total": 12.5}', before=(("p1", "price", "{}"),)),
    "after another": one("after", "done", None, before=(("p1", "price", "{}"),)),
    "limit": one("twice", "refused", "limit_reached", '{"n": 3}', before=(("p1", "twice", '{"n": 1}'), ("p2", "twice", '{"n": 2}'))),
    "equal calls": one("look", "refused", "repeated_call", '{"n": 1}', before=tuple((f"p{n}", "look", '{"n": 1}') for n in range(3))),
    "hold": one("held", "held", "held_for_approval", '{"n": 1}'),
    "hold, approved": one("held", "held", "held_for_approval", '{"n": 1}', decide="approve", after=(DONE,)),
    "hold, declined": one("held", "held", "held_for_approval", '{"n": 1}', decide="reject", after=(("refused", "approval_rejected"),)),
    "hold, nobody decides": one("brief", "held", "held_for_approval", '{"n": 1}', decide="expire", after=(("refused", "approval_expired"),)),
    "mix": Scenario(
        calls=(("a", "look", '{"n": 1}'), ("b", "held", '{"n": 2}'), ("c", "closed", "{}"), ("d", "act", '{"n": 4}'), ("e", "fails", "{}")),
        then=(DONE, HELD, ("refused", "not_authorized"), DONE, ("failed", "tool_failed")),
    ),
    "failure": one("fails", "failed", "tool_failed"),
    "failure in its own words": one("says", "failed", "tool_failed"),
    "a result in another form": one("formed", "failed", "result_invalid"),
    "time-out of a look-up": one("slow", "failed", "tool_timed_out"),
    "time-out of an action": one("sent", "unknown", "outcome_unknown"),
    "an earlier one is unknown": Scenario(
        calls=(("a", "book", '{"room": "7", "n": 1}'), ("b", "book", '{"room": "7", "n": 2}')),
        then=(("unknown", "outcome_unknown"), ("refused", "earlier_unknown")),
    ),
    "a result that is too long to be looked through": one("long", "failed", "result_withheld"),
    "one id twice": Scenario(calls=(("x", "act", '{"n": 1}'), ("x", "act", '{"n": 2}')), then=(DONE, DONE)),
    "empty ids": Scenario(calls=(("", "act", '{"n": 1}'), ("", "look", '{"n": 2}')), then=(DONE, DONE)),
    "redaction": one("private", "done"),
    "text and picture": one("shot", "done"),
    "text and document": one("paper", "done"),
    "nothing": one("none", "done"),
}  # fmt: skip
APART: dict[str, str] = {
    "not_offered": "test_framework_langchain.py",  # a child conversation
    "policy_failed": "test_promises.py",
    "approval_invalid": "test_reports_approval_binding.py",
    "conflict": "test_effects_ways.py",
    "did_not_happen": "test_truth.py",
    "interrupted": "test_conformance.py",
    "lease_over": "test_leases.py",
    "store_unavailable": "test_promises.py",
    "store_restored": "test_stores_restored.py",
    "internal_error": "test_stores_rows.py",  # nothing is known that brings it about
}
"""Reasons that no call brings about by what it is: outages, cancelling, what people and other programs did meanwhile. Each with the test that has it."""
