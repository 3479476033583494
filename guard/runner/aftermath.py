"""Aftermath: what a chat does after its turns: it follows up calls that were held or in doubt. As a flow, for both drivers.

Outcomes come from the ledger, never from the history that a client sends. May run what was approved meanwhile, through the same walk as
everything else. Comes after `chat`; used by `conversation`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from guard.core import audit_ends
from guard.core import ports as p
from guard.core.answer import unknown
from guard.core.endings import as_now
from guard.core.model import CallKey, Outcome, ToolCall
from guard.core.pipeline import settle_calls
from guard.core.reasons import Reason
from guard.core.values import JsonObject
from guard.runner.chat import Chat
from guard.runner.compensation import offering
from guard.runner.grants import Grants
from guard.runner.hands import Consult
from guard.runner.report import idle
from guard.wires.texts import FOLLOW_UP, followed

_REVISIONS = 100  # no call is edited that often
_OPEN = frozenset({"held", "started"})
_APPROVAL = re.compile(r"ap_[0-9a-f]{20}")
_FOLLOWED = re.compile(followed(f"({_APPROVAL.pattern})") + r"\)")


def settling(chat: Chat, history: Sequence[JsonObject] = ()) -> p.Flow[list[JsonObject]]:
    """Run or close what has been decided since, and say so to the model once; what `history` proves not to have been told is told again."""
    rows = yield from p.ask(Consult(question=lambda store: _decided(chat, store, history)))
    waiting = [row for row in rows if row.status in _OPEN]
    ready = {row.key: row.outcome for row in rows if row.status not in _OPEN and row.outcome is not None}
    if ready:
        now = chat.context()
        ready = {key: as_now(outcome, now) for key, outcome in ready.items()}
    if waiting:
        context = yield from chat.measured()
        walked = yield from settle_calls(waiting, context)
        idle(walked.idle, chat.in_force.hands.told)
        ready |= {row.key: outcome for row, outcome in zip(waiting, walked.outcomes, strict=True) if outcome.status != "held"}
    yield from offering(chat)
    gone = (yield from p.ask(Consult(question=lambda store: _gone(chat, store, history)))) if history else []
    if not ready and not gone:
        return []
    told = [*(ready[row.key] for row in rows if row.key in ready), *gone]
    marked = {row.key: outcome.status for row in rows if (outcome := ready.get(row.key)) is not None and not row.settled}
    again = [(row, row.outcome) for row in rows if row.settled and row.outcome is not None]
    first = [(row, outcome) for row in rows if row.key in marked and (outcome := ready.get(row.key)) is not None]
    redactor = chat.guard.redactor
    events = (
        *(audit_ends.delivered(row.key, row.call, outcome, redactor) for row, outcome in again),
        *(audit_ends.delivered(row.key, row.call, outcome, redactor, again=False) for row, outcome in first),
    )
    if marked or events:
        yield from p.ask(Consult(question=lambda store: store.told(marked, events)))
    return chat.wire.follow_up([outcome for outcome in told if outcome is not None])


def _untold(history: Sequence[JsonObject], store: p.Store) -> frozenset[str]:
    """The approvals that a history says are waited for, and never says how they ended: the follow-up was lost on its way.

    Where a person changed the call since, it is told under the name of the newest revision.
    """
    texts = [json.dumps(message, default=str) for message in history]
    held = {found for text in texts if Reason.HELD_FOR_APPROVAL in text for found in _APPROVAL.findall(text)}
    told = {found for text in texts if FOLLOW_UP[:40] in text for found in _FOLLOWED.findall(text)}
    return frozenset(newest for name in held - told if (newest := _newest(name, store)) not in told)


def _newest(name: str, store: p.Store) -> str:
    """The approval that stands in the place of one that was edited, or that one itself."""
    for _ in range(_REVISIONS):
        approval = store.approval(name)
        if approval is None or approval.superseded_by is None:
            return name
        name = approval.superseded_by
    return name


def _gone(chat: Chat, store: p.Store, history: Sequence[JsonObject]) -> list[Outcome]:
    """For each approval that a history waits for and this conversation knows nothing of: nothing will follow, so that nobody waits for ever."""
    found: list[Outcome] = []
    for name in sorted(_untold(history, store)):
        approval = store.approval(name)
        if approval is None or (approval.tenant, approval.conversation) != (chat.ref.tenant, chat.ref.conversation):
            call = ToolCall("of a lost record", "a held call")
            found.append(unknown(call, CallKey(chat.ref, 0, 0), None, "No more will be known here about its approval.", name))
    return found


def branch(chat: Chat, store: p.Store, *, unsettled: bool = False) -> list[p.CallRow]:
    """The calls of this chat's own branch, or those of them whose outcome was not told yet, in order."""
    rows = store.unsettled(chat.ref) if unsettled else store.rows(chat.ref)
    return [row for row in rows if row.key.ref.branch == chat.ref.branch]


def _decided(chat: Chat, store: p.Store, history: Sequence[JsonObject]) -> tuple[p.CallRow, ...]:
    """Held calls that somebody has decided about, or that a grant answers by now, finished ones, and those that were started and lost."""
    found: list[p.CallRow] = []
    rows = branch(chat, store, unsettled=not history)
    untold = _untold(history, store) - {row.approval for row in rows if _ended_as_another(row)} if history else frozenset()
    for row in rows:
        if row.settled and row.approval not in untold:
            continue
        approval = store.approval(row.approval) if row.status == "held" and row.approval else None
        asks = approval is None or (approval.status == "pending" and not Grants(chat.guard).answers(approval))
        waits = row.status == "held" and asks
        runs = row.status == "started" and row.lease is not None and row.lease > store.now()
        if not (waits or runs or row.status == "alias"):
            found.append(row)
    return tuple(found)


def _ended_as_another(row: p.CallRow) -> bool:
    """Whether the end of a held call was told as the outcome of an equal one that was proposed later."""
    return row.status == "alias" and row.outcome is not None and row.outcome.status != "held"
