"""What the tests of grants share: a policy that offers every scope, a desk with one approved call, and short ways to give and to look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports import BOSS, U1, Desk, outcome, start, states

from guard import ApprovalError, Session, Turn
from guard.core.grants import Grant

OFFERS = "[{scope: same_call, uses: 2, until: 1d}, {scope: tool_here, uses: 3, until: 1d}, {amount: amount, at_most: 500, sum: 900, same: [payee], until: 7d}]"
POLICY = """
    tools:
      pay:
        kind: action
        allow: [staff]
        repeat: allow
        approve: {{by: [boss], grants: {offers}}}
      look:
        kind: read
        allow: [staff]
        approve: {{by: [boss], grants: [{{scope: tool_here, uses: 2}}]}}
"""


def pay(amount: float, payee: str, note: str = "") -> str:
    if note == "broken":
        raise RuntimeError("no money")
    return "paid"


def look(x: int) -> str:
    if x < 0:
        raise RuntimeError("nothing there")
    return "seen"


TOOLS = {"pay": pay, "look": look}


def policy(offers: str = OFFERS) -> str:
    return POLICY.format(offers=offers)


def desk(folder: Path, text: str | None = None, *, store: str = "memory", **given: Any) -> Desk:
    """An assistant under this policy."""
    return start(folder, "openai-chat", text or policy(), given.pop("tools", TOOLS), store=store, **given)


def granted(here: Desk, scope: str, *, tool: str = "pay", by: Session = BOSS, **more: Any) -> Grant:
    """A grant that was given from an approved call, which has run: 100 to A, or a look at 1."""
    first = {"amount": 100, "payee": "A"} if tool == "pay" else {"x": 1}
    turn = here.propose(("first", tool, more.pop("arguments", first)))
    here.approve(turn, "first", by)
    made: Grant = here.guard.grants.give(here.waiting(turn, "first"), by=by, scope=scope, **more)
    here.settle()
    here.say("Go on.")
    return made


def tried(here: Desk, *calls: dict[str, Any], tool: str = "pay", chat: Any = None) -> list[str]:
    """What becomes of calls of one message."""
    turn: Turn = here.propose(*((f"t{number}", tool, arguments) for number, arguments in enumerate(calls)), chat=chat)
    return states(turn)


def code_of(error: Any) -> str:
    assert isinstance(error.value, ApprovalError)
    return error.value.code


__all__ = ["BOSS", "OFFERS", "TOOLS", "U1", "code_of", "desk", "granted", "outcome", "pay", "policy", "states", "tried"]
