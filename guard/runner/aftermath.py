"""Aftermath: what a chat does after its turns: follow held calls up, and close a history after a crash. As flows, for both drivers.

Outcomes come from the ledger, never from the history that a client sends. May run what was approved meanwhile, through the same walk as
everything else. Comes after `chat`; used by `conversation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from guard.core import audit
from guard.core import ports as p
from guard.core.answer import refused, unknown
from guard.core.model import CallKey, Outcome, Refusal, ToolCall
from guard.core.pipeline import settle_calls
from guard.core.reasons import Reason
from guard.core.rules import AGAIN
from guard.core.values import JsonObject
from guard.runner.chat import Chat, digest_of
from guard.runner.compensation import offering
from guard.runner.hands import Consult
from guard.wires import Reply

_OPEN = frozenset({"held", "started"})
_NOT_ENDED = _OPEN | {"alias"}
_WORD = 16  # characters: longer than any role or type
_LOST = Refusal(reason=Reason.INTERRUPTED, note="in the history, not in the ledger")


def settling(chat: Chat) -> p.Flow[list[JsonObject]]:
    """Run or close what has been decided since, and say so to the model once."""
    rows = yield from p.ask(Consult(question=lambda store: _decided(chat, store)))
    waiting = [row for row in rows if row.status in _OPEN]
    ready = {row.key: row.outcome for row in rows if row.status not in _OPEN and row.outcome is not None}
    if waiting:
        walked = yield from settle_calls(waiting, chat.context())
        ready |= {row.key: outcome for row, outcome in zip(waiting, walked.outcomes, strict=True) if outcome.status != "held"}
    yield from offering(chat)
    if not ready:
        return []
    told = [ready[row.key] for row in rows if row.key in ready]
    rows_now = yield from p.ask(Consult(question=lambda store: store.rows(chat.ref)))
    marked = tuple(replace(row, settled=True) for row in rows_now if row.key in ready)
    yield from p.ask(p.Record(rows=marked, events=()))
    return chat.wire.follow_up([outcome for outcome in told if outcome is not None])


def _mine(chat: Chat, store: p.Store) -> list[p.CallRow]:
    """Calls of this branch whose outcome was not told yet."""
    return [row for row in _branch(chat, store) if not row.settled]


def _branch(chat: Chat, store: p.Store) -> list[p.CallRow]:
    return [row for row in store.rows(chat.ref) if row.key.ref.branch == chat.ref.branch]


def _decided(chat: Chat, store: p.Store) -> tuple[p.CallRow, ...]:
    """Held calls that somebody has decided about, finished ones, and those that were started and lost."""
    found: list[p.CallRow] = []
    for row in _mine(chat, store):
        approval = store.approval(row.approval) if row.status == "held" and row.approval else None
        waits = row.status == "held" and (approval is None or approval.status == "pending")
        runs = row.status == "started" and row.lease is not None and row.lease > store.now()
        if not (waits or runs or row.status == "alias"):
            found.append(row)
    return tuple(found)


def resuming(chat: Chat, messages: Sequence[object]) -> p.Flow[list[JsonObject]]:
    """Close every open id of a history from the ledger, then add what was settled and is not in it yet.

    What is under way elsewhere is waited for; what was lost is unknown from now on, or runs again where its class lets it.
    """
    _, never = yield from p.ask(Consult(question=lambda store: _closing(chat, store, messages)))
    if never:
        rows = yield from p.ask(Consult(question=lambda store: _ended_here(chat, never, store.now())))
        yield from p.ask(p.Record(rows=rows, events=tuple(_unseen(chat, key, call) for key, call in never)))
    started = yield from p.ask(Consult(question=lambda store: [row for row in _branch(chat, store) if row.status == "started"]))
    if started:
        yield from settle_calls(started, chat.context())
    history, _ = yield from p.ask(Consult(question=lambda store: _closing(chat, store, messages)))
    missed = yield from p.ask(Consult(question=lambda store: _missed(chat, store, history)))
    if missed:
        told = tuple(audit.delivered(row.key, row.call, outcome, chat.guard.redactor) for row, outcome in missed)
        yield from p.ask(p.Record(rows=(), events=told))
    history += chat.wire.follow_up([outcome for _, outcome in missed])
    history += yield from settling(chat)
    return history


def _missed(chat: Chat, store: p.Store, history: Sequence[JsonObject]) -> list[tuple[p.CallRow, Outcome]]:
    """What was followed up and did not get into this history: it knows the call as held, and nothing says what became of it.

    A follow-up is marked as told before it is handed out; a host that dies before it has kept it would never tell the model.
    """
    texts = list(_texts(history))
    rows = _branch(chat, store)
    elsewhere = {
        row.approval for row in rows if row.status == "alias" and row.outcome is not None and row.outcome.status != "held"
    }
    found: list[tuple[p.CallRow, Outcome]] = []
    for row in rows:
        if (
            row.outcome is None
            or not row.settled
            or row.status in _NOT_ENDED
            or row.approval is None
            or row.approval in elsewhere
        ):
            continue
        line = next(_texts(chat.wire.follow_up([row.outcome])), "").split("\n")[1]  # which call, and how it ended
        held = any(row.approval in text and Reason.HELD_FOR_APPROVAL in text for text in texts)
        if held and not any(line in text for text in texts):
            found.append((row, row.outcome))
    return found


def _texts(value: object) -> Iterator[str]:
    """The texts in a message that are long enough to say something; its roles and types are none."""
    if isinstance(value, str):
        if len(value) > _WORD:
            yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def _closing(chat: Chat, store: p.Store, messages: Sequence[object]) -> tuple[list[JsonObject], list[tuple[CallKey, ToolCall]]]:
    """The history with every open call closed, and the calls in it that the ledger does not know, with their places (turn 0: nowhere)."""
    turns: dict[int, dict[int, p.CallRow]] = {}
    for row in store.rows(chat.ref):
        turns.setdefault(row.key.turn, {})[row.key.position] = row
    unseen: list[tuple[CallKey, ToolCall]] = []

    def outcomes_of(read: Reply) -> Mapping[int, Outcome]:
        turn = store.turn_of(chat.ref, digest_of(read.kept)) or 0
        rows = turns.get(turn, {})
        unseen.extend((CallKey(chat.ref, turn, i), call) for i, call in enumerate(read.calls) if i not in rows)
        return {i: _closed(chat, call, rows.get(i)) for i, call in enumerate(read.calls)}

    return chat.wire.close_all(chat.wire.dump(messages), outcomes_of), unseen


def _ended_here(chat: Chat, never: Sequence[tuple[CallKey, ToolCall]], at: float) -> tuple[p.CallRow, ...]:
    """Rows that end the actions of an opened turn that were never taken: the model is told so, and nobody may start them any more.

    Where somebody has got further with one of them by now, the store keeps that.
    """
    rows: list[p.CallRow] = []
    for key, call in never:
        tool = chat.guard.policy.tools.get(call.tool)
        if key.turn and tool is not None and tool.acts:
            outcome = refused(call, key, _LOST, None, chat.guard.redactor)
            rows.append(p.CallRow(key=key, call=call, status="refused", outcome=outcome, settled=True, at=at))
    return tuple(rows)


def _closed(chat: Chat, call: ToolCall, row: p.CallRow | None) -> Outcome:
    if row is None:
        return refused(call, CallKey(chat.ref, 0, 0), _LOST, None, chat.guard.redactor)
    if row.outcome is not None:
        return replace(row.outcome, call_id=call.id, replayed=True)
    return unknown(call, row.key, row.arguments, approval=row.approval, again=row.effect in AGAIN)


def _unseen(chat: Chat, key: CallKey, call: ToolCall) -> p.Event:
    """A call of a history that the ledger does not know: lost before it was handled, or written by somebody else."""
    return audit.decided(key, call, _LOST, None, chat.guard.policy.version, chat.guard.redactor)
