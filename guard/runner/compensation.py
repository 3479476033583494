"""Compensation: what would take an unknown call back is proposed as a call of its own, once, and waits for a person.

The policy names it (`effect: {compensate: other_tool}`); nothing runs here: the proposal walks the whole path, and the policy loader has made
sure that somebody must approve it. As a flow, for both drivers. Used by `chat` and `aftermath`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from guard.core import ports as p
from guard.core.model import CallKey, Outcome, ToolCall
from guard.runner.hands import Consult

if TYPE_CHECKING:
    from guard.runner.chat import Chat


def offering(chat: Chat) -> p.Flow[tuple[Outcome, ...]]:
    """Propose the compensation of each unknown call of this branch that names one and has none yet."""
    if not any(tool.compensation for tool in chat.in_force.policy.tools.values()):
        return ()
    rows = yield from p.ask(Consult(question=lambda store: _branch(chat, store)))
    known = {row.key.key for row in rows}
    offered: list[Outcome] = []
    for row in rows:
        key = compensation_key(row.key)
        call = compensation(chat, row) if row.status == "unknown" and key not in known else None
        if call is not None:
            offered.append((yield from chat.single(call, key)))
    return tuple(offered)


def _branch(chat: Chat, store: p.Store) -> list[p.CallRow]:
    return [row for row in store.rows(chat.ref) if row.key.ref.branch == chat.ref.branch]


def compensation(chat: Chat, row: p.CallRow) -> ToolCall | None:
    """The call that would take an unknown one back: the arguments that both tools have under one name."""
    tools = chat.in_force.policy.tools
    tool = tools.get(row.call.tool)
    other = tools.get(tool.compensation) if tool is not None and row.effect == "compensate" else None
    if other is None or row.arguments is None:
        return None
    fields = other.visible.get("properties")
    names = set(fields) if isinstance(fields, Mapping) else set()
    arguments = {name: value for name, value in row.arguments.items() if name in names}
    return ToolCall(f"compensation_{row.key.turn}_{row.key.position}", other.name, arguments)


def compensation_key(key: CallKey) -> str:
    """The guard's own key for the compensation of the call at this place: no model can write it."""
    return f"compensation:{key.turn}.{key.position}"
