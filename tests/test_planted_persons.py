"""Planted secrets and personal values in the names of people and in what people write: in nothing that leaves or is kept, the encrypted payloads excepted.

Every kind of the shared cases is a requester's, approver's, editor's, canceller's and giver's name, the name of a conversation, of a child and of a key,
and stands in reasons and notes; looked for as `test_planted` does.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cli_kit import guard
from corpora import needed
from reports import start
from sinks_kit import QUICK, follower
from test_outlets import FOUND, heard
from test_payload_keys import KEYS
from test_planted import found_in, planted
from test_sinks_otel import Seen

from guard import OutcomeUnknownError, Session, ToolCall
from guard.errors import ApprovalError, ConversationError

POLICY = """
    tools:
      look: {kind: read, allow: [staff], bind: {user: session.principal}}
      pay:
        kind: action
        allow: [staff]
        approve: {by: [boss], need: 2, edit: [amount], grants: [{scope: tool_here, uses: 5, until: 1d}]}
      lose: {kind: action, allow: [staff], approve: {by: [boss]}}
"""
MAIL, CARD = "kim.doe@example.com", "4111 1111 1111 1111"


def look(user: str) -> Any:
    return {"user": user}


def pay(amount: int) -> str:
    return "paid"


def lose(amount: int) -> str:
    raise OutcomeUnknownError


TOOLS = {"look": look, "pay": pay, "lose": lose}


def boss(name: str) -> Session:
    return Session(principal=name, roles=("boss",))


def live(made: Any, number: int, text: str, said: str, besides: str) -> None:
    """Everything that people do, by people who are called so and say this."""
    kim = Session(principal=text, roles=("staff",))
    chat = made.guard.open(kim, wire="openai-chat", conversation=f"{number} {text}")
    approvals, because, more = made.guard.approvals, f"because of {said}", f"since {besides}"
    chat.user(said)
    made.propose((f"l{number}", "look", {}), *((f"p{number}-{one}", "pay", {"amount": one}) for one in range(5)), chat=chat)
    made.propose((f"x{number}", "lose", {"amount": 1}), chat=chat.child(name=text.replace("/", " ")))
    every = approvals.list(conversation=f"{number} {text}")
    asked, [lost] = [one for one in every if one.tool == "pay"], [one for one in every if one.tool == "lose"]
    first, second = boss(f"{text} 1"), boss(f"2 {text}")
    approvals.view(asked[0], first)
    approvals.approve(asked[0], approver=first, reason=because)
    approvals.approve(asked[0], approver=second, reason=because)
    with suppress(ApprovalError):
        approvals.approve(asked[0], approver=kim)
    made.guard.grants.give(asked[0], by=first, scope="tool_here", reason=because)
    [grant] = made.guard.grants.list(status=None, principal=text)
    made.guard.grants.revoke(grant, by=kim, reason=because)
    approvals.reject(asked[1], approver=second, reason=because, note=f"note {besides}")
    changed = approvals.edit(asked[2], editor=first, changes={"/amount": 40}, reason=more)
    with suppress(ApprovalError):
        approvals.approve(changed, approver=first)
    approvals.cancel(asked[3], by=kim, reason=more)
    for who in (first, second):
        approvals.approve(asked[4], approver=who)
    approvals.revoke(asked[4], by=first, reason=more)
    chat.settled()
    made.guard.call(ToolCall("k", "look", {}), kim, conversation=f"{number} {text}", key=f"key {text}")
    approvals.approve(lost, approver=first)
    with suppress(ConversationError):
        made.guard.open(Session(principal=f"no {text}"), wire="openai-chat", conversation=f"{number} {text}")


def played(folder: Path, cases: list[tuple[str, str, str]], **given: Any) -> tuple[dict[str, bytes], bytes]:
    """The outlets after all cases, and the bytes of the store."""
    with heard() as told:
        made = start(folder, "openai-chat", POLICY, TOOLS, store="sqlite")
        made.guard.close()
        made.guard = made.load(**given)
        for number, (one, other) in enumerate(zip(cases[::2], [*cases[1::2], cases[0]], strict=False)):
            live(made, number, f"{one[1]} {other[1]}", one[1], other[1])
        seen = Seen(arguments=True)
        follower(made.guard.store, seen.sink, QUICK).step()
        spans = "".join([*(one.to_json() for one in seen.spans()), *(one.to_json() for one in seen.logs_of.get_finished_logs())])
        kept = b"".join(path.read_bytes() for path in sorted(folder.glob("guard.db*")))
        made.guard.close()
    commands = ("audit --json", "audit --csv", "audit", "audit report --month 2027-01")
    shown = [guard(*command.split(), cwd=folder) for command in commands]
    outlets = {"log": told.getvalue().encode(), "spans": spans.encode()}
    for command, one in zip(commands, shown, strict=True):
        outlets |= {command: one.out.encode(), f"error of {command}": one.err.encode()}
    return outlets, kept


@needed("redaction")
@pytest.mark.slow
def test_every_kind_as_somebodys_name(tmp_path: Path) -> None:
    """In no outlet, and in no byte of a store whose payloads are encrypted."""
    cases = list(planted())
    outlets, kept = played(tmp_path, cases, payload_key=KEYS)
    assert not found_in({**outlets, "file": kept}, {kind: value for kind, _, value in cases})


@pytest.mark.parametrize("key", [None, KEYS], ids=["plain", "encrypted"])
def test_a_few_kinds_and_where_they_stand(tmp_path: Path, key: Any) -> None:
    """The same with three kinds; without a key the payloads hold the names, so the search finds what is there."""
    cases = [("mail", MAIL, MAIL), ("token", f"token {FOUND}", FOUND), ("card", CARD, CARD)]
    outlets, kept = played(tmp_path, cases, payload_key=key)
    values = {kind: value for kind, _, value in cases}
    assert not found_in(outlets, values)
    assert bool(found_in({"file": kept}, values)) == (key is None)
    assert all(len(data) > 200 for name, data in outlets.items() if name.startswith(("audit", "spans"))), "each said something"
