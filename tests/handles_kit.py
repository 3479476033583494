"""What the tests of handles share: a desk that looks customers up and writes to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reports import Desk, outcome, start

NAME, MAIL, PHONE, TAX = "Kim Ypsilon", "Kim@Example.com", "+1 415 555 2671", "T-998877-Q"
POLICY = """
    tools:
      find:
        kind: read
        allow: [staff]
        result:
          keep: ["people[*].id", "people[*].name", "people[*].mail", "people[*].tax", "people[*].phone"]
          mask: {"people[*].phone": last4}
          hash: ["people[*].tax"]
          handle: {"people[*].mail": email, "people[*].name": name}
      send:
        kind: action
        allow: [staff]
        approve: never
        handles: {to: email, "cc[*]": [email], body: [email, name]}
        masks: {subject: allow}
        ground: {to: {returned_by: "find.people[*].mail"}}
      ask:
        kind: action
        allow: [staff]
        approve: {by: [boss]}
        handles: {to: email, body: name}
      note:
        kind: action
        allow: [staff]
        approve: never
"""


def find(q: str = "") -> dict[str, Any]:
    """A record with more than anybody may see."""
    return {"people": [{"id": 7, "name": NAME, "mail": MAIL, "tax": TAX, "phone": PHONE, "notes": "owes us"}]}


def send(to: str, body: str = "", subject: str = "", cc: list[str] | None = None, more: Any = None) -> dict[str, Any]:
    """Says what it was given, in all the ways in which tools do."""
    return {"sent_to": to, "log": f"to {to.upper()} and {cc}: {body}", to: {"again": [to]}}


def ask(to: str, body: str = "") -> str:
    """A text that repeats what it was given."""
    return f"asked {to}: {body}"


def note(text: str = "", more: Any = None) -> str:
    """Takes whatever there is."""
    return "noted"


TOOLS = {"find": find, "send": send, "ask": ask, "note": note}


def a_desk(tmp_path: Path, wire: str = "openai-chat", **more: Any) -> Desk:
    """A desk with an own folder below this one."""
    tmp_path.mkdir(exist_ok=True)
    return start(tmp_path, wire, more.pop("policy", POLICY), more.pop("tools", TOOLS), **more)


def look(desk: Desk, call_id: str = "f1", chat: Any = None) -> dict[str, Any]:
    """Look the customer up; what the model sees of them."""
    turn = desk.propose((call_id, "find", {"q": call_id}), chat=chat)
    person: dict[str, Any] = json.loads(str(outcome(turn, call_id).content))["people"][0]
    return person
