"""Compensations of calls in which the model wrote a handle: its value reaches no tool, table or record that the policy does not name."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from guard import Guard, OutcomeUnknownError, PolicyError, Session

NEEDLE = "QX-77-NEEDLE"
CLERK, BOSS = Session(principal="kim", roles=("clerk",)), Session(principal="bo", roles=("boss",))
POLICY = """
tools:
  find: {{kind: read, allow: [clerk], result: {{handle: {{tax: taxid}}}}}}
  send: {{kind: action, allow: [clerk], approve: never, effect: {{compensate: undo}}, {send}}}
  undo: {{kind: action, allow: [clerk], approve: {{by: [boss]}}{undo}}}
limits: {{run: {{steps: 80, calls: 200}}}}
"""
BOTH = "handles: {to: taxid, body: taxid}"


def loaded(folder: Path, got: list[Any], send: str, undo: str) -> Guard:
    def lost(to: str, body: str = "") -> None:
        got.append(("send", to, body))
        raise OutcomeUnknownError

    def back(to: str, body: str = "") -> dict[str, str]:
        got.append(("undo", to, body))
        return {"undone": body}

    (folder / "tools.yaml").write_text(POLICY.format(send=send, undo=undo))
    tools = {"find": lambda: {"tax": NEEDLE}, "send": lost, "undo": back}
    return Guard.load(folder, tools=tools, store=f"sqlite:///{folder}/guard.db")


def reply(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}


def test_the_value_is_put_back_where_the_policy_says_so_and_stands_nowhere_else(tmp_path: Path) -> None:
    """The tool that takes the call back gets the value; the model gets the handle; no table but the payloads holds the value."""
    got: list[Any] = []
    with loaded(tmp_path, got, BOTH, f", {BOTH}") as guard:
        chat = guard.open(CLERK, wire="openai-chat", conversation="c")
        handle = json.loads(str(chat.handle(reply("find", {})).outcomes[0].content))["tax"]
        turn = chat.handle(reply("send", {"to": handle, "body": f"hi {handle}"}))
        (asked,) = guard.approvals.list()
        guard.approvals.approve(asked.id, approver=BOSS)
        told = str(chat.settled())
    assert got == [(name, NEEDLE, f"hi {NEEDLE}") for name in ("send", "undo")]
    assert NEEDLE not in f"{turn.append}{told}"
    assert handle in told
    base = sqlite3.connect(tmp_path / "guard.db")
    tables = [name for (name,) in base.execute("select name from sqlite_master where type = 'table'")]
    held = {name for name in tables if any(NEEDLE in repr(row) for row in base.execute(f"select * from {name}"))}  # noqa: S608
    base.close()
    assert held == {"payloads"}


REFUSED = {
    "no handles": (BOTH, "", "write handles: {body: taxid}"),
    "one argument only": (BOTH, ", handles: {to: taxid}", "write handles: {body: taxid}"),
    "another type": ("handles: {to: taxid}", ", handles: {to: email}", "write handles: {to: taxid}"),
    "no masks": ("masks: {body: allow}", "", "write masks: {body: allow}"),
}


@pytest.mark.parametrize(("send", "undo", "cure"), REFUSED.values(), ids=REFUSED)
def test_a_compensation_must_take_what_the_call_may_hold(tmp_path: Path, send: str, undo: str, cure: str) -> None:
    """Else the offer would be refused, or would tell a value to a tool that may not have it: the folder does not load."""
    with pytest.raises(PolicyError, match="compensate: undo gets") as caught:
        loaded(tmp_path, [], send, undo)
    assert cure in str(caught.value)
