"""Compensation: what would take an unknown call back is proposed as a call of its own, once, and waits for a person.

The policy names it (`effect: {compensate: other_tool}`); nothing runs here: the proposal walks the whole path, and the policy loader has made
sure that somebody must approve it. A handle that the model wrote stays one: the walk puts its value back only where the policy of that tool says so. As a flow, for both drivers. Used by `chat` and `aftermath`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from guard.core import ports as p
from guard.core.handles import Signs, kinds_in, leaves
from guard.core.model import CallKey, Outcome, ToolCall
from guard.core.values import JsonObject
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
    written = _written(row.call, chat.in_force.policy.types)
    if written is None:
        return None
    arguments = {name: value for name, value in (row.arguments | written).items() if name in names and name in row.arguments}
    return ToolCall(f"compensation_{row.key.turn}_{row.key.position}", other.name, arguments)


def compensation_key(key: CallKey) -> str:
    """The guard's own key for the compensation of the call at this place: no model can write it."""
    return f"compensation:{key.turn}.{key.position}"


def _written(call: ToolCall, types: Collection[str]) -> JsonObject | None:
    """The arguments in which the model wrote a handle, as it wrote them; None where that cannot be told any more.

    Types that today's policy no longer knows count as well: what stood behind a handle then is no less hidden now.
    """
    raw = call.arguments
    try:
        found = json.loads(raw or "{}", parse_float=Decimal) if isinstance(raw, str) else dict(raw or {})
    except (ValueError, RecursionError, ArithmeticError, TypeError):
        return None
    if not isinstance(found, dict):
        return None
    texts = {name: [text for _, text, _, _ in leaves(value)] for name, value in found.items()}
    known = frozenset(types).union(*(kinds_in(text) for below in texts.values() for text in below))
    signs = Signs(types=known)
    return {name: found[name] for name, below in texts.items() if any(sign.handle for text in below for sign in signs.find(text))}
