"""Closing: what a chat does after a crash: every open call id of a saved history gets its result. As a flow, for both drivers.

Outcomes come from the ledger, never from the history that a client sends; what the model is told there is written down first. Then held
calls are followed up. Comes after `chat` and `aftermath`; used by `conversation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.core import audit
from guard.core import ports as p
from guard.core.answer import refused, unknown
from guard.core.endings import as_now
from guard.core.model import CallKey, Outcome, Refusal, ToolCall
from guard.core.pipeline import settle_calls
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.core.values import JsonObject
from guard.runner.aftermath import branch, settling
from guard.runner.chat import Chat
from guard.runner.hands import Consult
from guard.runner.proposed import digest_of
from guard.runner.report import idle
from guard.wires import Reply

_LOST = Refusal(reason=Reason.INTERRUPTED, note="in the history, not in the ledger")


def resuming(chat: Chat, messages: Sequence[object]) -> p.Flow[list[JsonObject]]:
    """Close every open id of a history from the ledger, then add what was settled and is not in it yet.

    What is under way elsewhere is waited for; what was lost is unknown from now on, or runs again where its class lets it.
    """
    _, never = yield from p.ask(Consult(question=lambda store: _closing(chat, store, messages)))
    if never:
        rows = yield from p.ask(Consult(question=lambda store: _ended_here(chat, never, store.now())))
        yield from p.ask(p.Record(rows=rows, events=tuple(_unseen(chat, key, call) for key, call in never)))
    started = yield from p.ask(Consult(question=lambda store: [row for row in branch(chat, store) if row.status == "started"]))
    if started:
        context = yield from chat.measured()
        walked = yield from settle_calls(started, context)
        idle(walked.idle, chat.in_force.hands.told)
    history, _ = yield from p.ask(Consult(question=lambda store: _closing(chat, store, messages)))
    history += yield from settling(chat, history)
    return history


def _closing(chat: Chat, store: p.Store, messages: Sequence[object]) -> tuple[list[JsonObject], list[tuple[CallKey, ToolCall]]]:
    """The history with every open call closed, and the calls in it that the ledger does not know, with their places (turn 0: nowhere)."""
    turns: dict[int, dict[int, p.CallRow]] = {}
    for row in store.rows(chat.ref):
        turns.setdefault(row.key.turn, {})[row.key.position] = row
    unseen: list[tuple[CallKey, ToolCall]] = []

    def outcomes_of(read: Reply) -> Mapping[int, Outcome]:
        turn = store.turn_of(chat.ref, digest_of(read.kept)) or 0
        rows = turns.get(turn, {})
        calls = chat.proposed(read)
        unseen.extend((CallKey(chat.ref, turn, i), call) for i, call in enumerate(calls) if i not in rows)
        return {i: _closed(chat, call, rows.get(i)) for i, call in enumerate(calls)}

    return chat.wire.close_all(chat.wire.dump(messages), outcomes_of), unseen


def _ended_here(chat: Chat, never: Sequence[tuple[CallKey, ToolCall]], at: float) -> tuple[p.CallRow, ...]:
    """Rows that end the actions of an opened turn that were never taken: the model is told so, and nobody may start them any more.

    Where somebody has got further with one of them by now, the store keeps that.
    """
    rows: list[p.CallRow] = []
    for key, call in never:
        tool = chat.in_force.policy.tools.get(call.tool)
        if key.turn and tool is not None and tool.acts:
            outcome = refused(call, key, _LOST, None, chat.guard.redactor)
            rows.append(p.CallRow(key=key, call=call, status="refused", outcome=outcome, settled=True, at=at))
    return tuple(rows)


def _closed(chat: Chat, call: ToolCall, row: p.CallRow | None) -> Outcome:
    if row is None:
        return refused(call, CallKey(chat.ref, 0, 0), _LOST, None, chat.guard.redactor)
    if row.outcome is not None:
        return as_now(replace(row.outcome, call_id=call.id, replayed=True), chat.context())
    return unknown(call, row.key, row.arguments, approval=row.approval, again=row.safe)


def _unseen(chat: Chat, key: CallKey, call: ToolCall) -> p.Event:
    """A call of a history that the ledger does not know: lost before it was handled, or written by somebody else."""
    return audit.decided(key, call, _LOST, None, chat.in_force.policy.version, chat.guard.redactor)
