"""Aftermath: what a chat does after its turns: follow held calls up, and close a history after a crash. As flows, for both drivers.

Outcomes come from the ledger, never from the history that a client sends. May run what was approved meanwhile, through the same walk as
everything else. Comes after `chat`; used by `conversation`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from guard.core import audit
from guard.core import ports as p
from guard.core.answer import refused, unknown
from guard.core.model import CallKey, Outcome, Refusal, ToolCall
from guard.core.pipeline import settle_calls
from guard.core.reasons import Reason
from guard.core.values import JsonObject
from guard.runner.chat import Chat, digest_of
from guard.runner.compensation import offering
from guard.runner.hands import Consult
from guard.wires import Reply
from guard.wires.texts import FOLLOW_UP, followed

_OPEN = frozenset({"held", "started"})
_APPROVAL = re.compile(r"ap_[0-9a-f]{20}")
_FOLLOWED = re.compile(followed(f"({_APPROVAL.pattern})") + r"\)")
_LOST = Refusal(reason=Reason.INTERRUPTED, note="in the history, not in the ledger")


def settling(chat: Chat, history: Sequence[JsonObject] = ()) -> p.Flow[list[JsonObject]]:
    """Run or close what has been decided since, and say so to the model once; what `history` proves not to have been told is told again."""
    rows = yield from p.ask(Consult(question=lambda store: _decided(chat, store, history)))
    waiting = [row for row in rows if row.status in _OPEN]
    ready = {row.key: row.outcome for row in rows if row.status not in _OPEN and row.outcome is not None}
    if waiting:
        walked = yield from settle_calls(waiting, chat.context())
        ready |= {row.key: outcome for row, outcome in zip(waiting, walked.outcomes, strict=True) if outcome.status != "held"}
    yield from offering(chat)
    gone = yield from p.ask(Consult(question=lambda store: _gone(chat, store, history)))
    if not ready and not gone:
        return []
    told = [*(ready[row.key] for row in rows if row.key in ready), *gone]
    rows_now = yield from p.ask(Consult(question=lambda store: store.rows(chat.ref)))
    marked = tuple(
        replace(row, settled=True) for row in rows_now if row.key in ready and not row.settled and _was_told(row, ready[row.key])
    )
    if marked:
        yield from p.ask(p.Record(rows=marked, events=()))
    return chat.wire.follow_up([outcome for outcome in told if outcome is not None])


def _untold(history: Sequence[JsonObject]) -> frozenset[str]:
    """The approvals that a history says are waited for, and never says how they ended: the follow-up was lost on its way."""
    texts = [json.dumps(message, default=str) for message in history]
    held = {found for text in texts if Reason.HELD_FOR_APPROVAL in text for found in _APPROVAL.findall(text)}
    told = {found for text in texts if FOLLOW_UP[:40] in text for found in _FOLLOWED.findall(text)}
    return frozenset(held - told)


def _gone(chat: Chat, store: p.Store, history: Sequence[JsonObject]) -> list[Outcome]:
    """For each approval that a history waits for and this conversation knows nothing of: nothing will follow, so that nobody waits for ever."""
    found: list[Outcome] = []
    for name in sorted(_untold(history)):
        approval = store.approval(name)
        if approval is None or (approval.tenant, approval.conversation) != (chat.ref.tenant, chat.ref.conversation):
            call = ToolCall("of a lost record", "a held call")
            found.append(unknown(call, CallKey(chat.ref, 0, 0), None, "No more will be known here about its approval.", name))
    return found


def _was_told(row: p.CallRow, told: Outcome | None) -> bool:
    """Whether the row still says what was told; what was found out since about an unknown call is told next time."""
    return told is None or told.status != "unknown" or row.status in {"unknown", "started"}


def _branch(chat: Chat, store: p.Store) -> list[p.CallRow]:
    return [row for row in store.rows(chat.ref) if row.key.ref.branch == chat.ref.branch]


def _decided(chat: Chat, store: p.Store, history: Sequence[JsonObject]) -> tuple[p.CallRow, ...]:
    """Held calls that somebody has decided about, finished ones, and those that were started and lost."""
    found: list[p.CallRow] = []
    untold = _untold(history)
    for row in _branch(chat, store):
        if row.settled and row.approval not in untold:
            continue
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
    started = yield from p.ask(Consult(question=lambda store: [row for row in _branch(chat, store) if row.status == "started"]))
    if started:
        yield from settle_calls(started, chat.context())
    history, unseen = yield from p.ask(Consult(question=lambda store: _closing(chat, store, messages)))
    if unseen:
        yield from p.ask(p.Record(rows=(), events=tuple(unseen)))
    history += yield from settling(chat, history)
    return history


def _closing(chat: Chat, store: p.Store, messages: Sequence[object]) -> tuple[list[JsonObject], list[p.Event]]:
    """The history with every open call closed, and records of the calls in it that the ledger does not know."""
    turns: dict[int, dict[int, p.CallRow]] = {}
    for row in store.rows(chat.ref):
        turns.setdefault(row.key.turn, {})[row.key.position] = row
    unseen: list[p.Event] = []

    def outcomes_of(read: Reply) -> Mapping[int, Outcome]:
        rows = turns.get(store.turn_of(chat.ref, digest_of(read.kept)) or 0, {})
        unseen.extend(_unseen(chat, i, call) for i, call in enumerate(read.calls) if i not in rows)
        return {i: _closed(chat, call, rows.get(i)) for i, call in enumerate(read.calls)}

    return chat.wire.close_all(chat.wire.dump(messages), outcomes_of), unseen


def _closed(chat: Chat, call: ToolCall, row: p.CallRow | None) -> Outcome:
    if row is None:
        return refused(call, CallKey(chat.ref, 0, 0), _LOST, None, chat.guard.redactor)
    if row.outcome is not None:
        return replace(row.outcome, call_id=call.id, replayed=True)
    return unknown(call, row.key, row.arguments, approval=row.approval, again=row.again)


def _unseen(chat: Chat, position: int, call: ToolCall) -> p.Event:
    """A call of a history that the ledger does not know: lost before it was handled, or written by somebody else."""
    version, redactor = chat.guard.policy.version, chat.guard.redactor
    return audit.decided(CallKey(chat.ref, 0, position), call, _LOST, None, version, redactor)
