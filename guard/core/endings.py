"""Endings: what an executed call means for the model, the ledger and the audit. Used by the pipeline after execute; pure.

A failure is never data, an action that may have happened is `unknown`, and a success stays a success even when its result must be
withheld.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from guard.core import answer, audit
from guard.core.board import Board, Context, at, followers, row_of
from guard.core.model import Allow, CallKey, Content, Outcome, Refusal, ValidCall
from guard.core.ports import CallRow, Event, Executed
from guard.core.reasons import Reason
from guard.core.redact import Shown, redact
from guard.core.values import copy, digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one call ended, and what the ledger and audit keep of it."""

    outcome: Outcome | None = None
    rows: tuple[CallRow, ...] = ()
    events: tuple[Event, ...] = ()


def ended(board: Board, index: int, allow: Allow, ran: Executed) -> Ended:
    """Redact what came back, and say what goes to the model, the ledger and the audit."""
    item, key = board.items[index], board.keys[index]
    outcome, labels = _outcome(board.context, allow, ran, key)
    outcome = at(outcome, item.key)
    value = copy(ran.value) if outcome.status == "done" else None  # a tool may go on changing what it returned
    own = replace(row_of(board, index, outcome, outcome.status, key), value=value)
    rows = (own,) if key == item.key else (own, row_of(board, index, outcome, "alias"))
    return Ended(outcome=outcome, rows=rows, events=(audit.ended(key, item.call, outcome, ran, labels),))


def _outcome(context: Context, allow: Allow, ran: Executed, key: CallKey) -> tuple[Outcome, tuple[str, ...]]:
    valid = allow.call.valid
    spent = allow.approval.id if allow.approval else None
    if not ran.started:
        reason = Reason.INTERRUPTED if ran.interrupted else Reason.INTERNAL_ERROR
        return answer.refused(valid.call, Refusal(reason=reason), valid.arguments, context.detect), ()
    if ran.interrupted or ran.timed_out:
        return _unfinished(valid, ran, spent), ()
    if ran.error is not None:
        return _broken(context, valid, ran, spent, key), ()
    try:
        shown = redact(ran, valid.tool, context.detect)
    except Exception as error:  # noqa: BLE001 - what cannot be made safe is withheld, whatever went wrong
        return answer.withheld(valid, approval=spent), ("withheld", type(error).__name__)
    return _finished(valid, ran, shown.content, spent), _labels(shown)


def _unfinished(valid: ValidCall, ran: Executed, spent: str | None) -> Outcome:
    if valid.tool.acts:
        detail = "It did not answer in time." if ran.timed_out else "It was interrupted."
        return answer.unknown(valid.call, valid.arguments, detail, spent)
    return answer.failed(valid, Reason.TOOL_TIMED_OUT if ran.timed_out else Reason.INTERRUPTED, "")


def _broken(context: Context, valid: ValidCall, ran: Executed, spent: str | None, key: CallKey) -> Outcome:
    reference = digest("guard-reference", key.ref.conversation, str(key.turn), str(key.position), key.key)[:8]
    detail = context.detect(None, ran.safe)[0] if ran.safe else ""
    return answer.failed(valid, Reason.TOOL_FAILED, detail, approval=spent, reference=reference)


def _finished(valid: ValidCall, ran: Executed, content: Content, spent: str | None) -> Outcome:
    """A tool that says itself that it failed is an error on every wire, in the tool's own words where they say so already."""
    if ran.failed and not (isinstance(ran.value, dict) and ran.value.get("ok") is False):
        words = content if isinstance(content, str) else " ".join(block for block in content if isinstance(block, str))
        return answer.failed(valid, Reason.TOOL_FAILED, words, approval=spent)
    return Outcome(
        call_id=valid.call.id,
        tool=valid.call.tool,
        status="failed" if ran.failed else "done",
        reason=Reason.TOOL_FAILED if ran.failed else None,
        arguments=valid.arguments,
        content=content,
        approval=spent,
    )


def _labels(shown: Shown) -> tuple[str, ...]:
    return (*shown.hidden, *(("cut",) if shown.cut else ()), *(("keep matched nothing",) if shown.dropped else ()))


def share(board: Board) -> Ended | None:
    """Give every follower its leader's outcome."""
    rows: list[CallRow] = []
    events: list[Event] = []
    for index, leader in followers(board.states):
        found, item = board.states[leader], board.items[index]
        if isinstance(found, Outcome):
            board.states[index] = outcome = at(replace(found, call_id=item.call.id, replayed=True), item.key)
            rows.append(row_of(board, index, outcome, "alias"))
            events.append(audit.delivered(item.key, item.call, outcome))
    return Ended(rows=tuple(rows), events=tuple(events)) if rows else None
