"""Answer: what goes back for a call that did not simply succeed, in one shape for all wires.

`{"ok": false, "error": {"code", "message", "retry", …}}`: a stable code, what to change, and whether proposing again can help. Holds no
value of anybody, no policy text and no exception's text. Used by the pipeline after any room; pure.
"""

from __future__ import annotations

from guard.core.commands import ERASED
from guard.core.model import Approval, CallKey, Content, Outcome, Refusal, Status, ToolCall, ValidCall
from guard.core.ports import CallRow, Redactor
from guard.core.reasons import NOT_READABLE, RETRY, SAFE_AGAIN, SENTENCE, Reason
from guard.core.replacing import replace
from guard.core.rules import Issue
from guard.core.values import JsonObject, encode, whole

_LONGEST = 200  # characters of a field's path in a refusal


def error_text(
    reason: Reason, detail: str = "", *, retry: bool | None = None, extra: JsonObject | None = None, sentence: str = ""
) -> str:
    """The JSON text of an error. What tools and checks say may hold half a character, which no provider takes."""
    message = f"{sentence or SENTENCE[reason]} {detail}".rstrip()
    error: JsonObject = {"code": str(reason), "message": message, "retry": reason in RETRY if retry is None else retry}
    return whole(encode({"ok": False, "error": error | (extra or {})}))


def unstored(code: str) -> Refusal:
    """The refusal of a call that could not be written down: nothing runs without a record. `code` is the StoreError's."""
    restored = code == "restored"
    return Refusal(reason=Reason.STORE_RESTORED if restored else Reason.STORE_UNAVAILABLE, extra={"cause": code}, note=code)


def refused(call: ToolCall, key: CallKey, refusal: Refusal, arguments: JsonObject | None, redactor: Redactor) -> Outcome:
    """The outcome of a call that does not run."""
    extra: JsonObject = dict(refusal.extra)
    if refusal.issues:
        extra["problems"] = [_issue(issue, redactor) for issue in refusal.issues]
    detail = redactor.detect(None, refusal.detail)[0] if refusal.detail else ""
    content = error_text(refusal.reason, detail, extra=extra)
    return _outcome(call, key, "refused", refusal.reason, content, arguments, extra.get("approval"))


def held(valid: ValidCall, key: CallKey, approval: Approval, now: float) -> Outcome:
    """The outcome of a call that waits for a person."""
    extra: JsonObject = {
        "approval": approval.id,
        "executed": False,
        "decided_by": "the signed-in person" if approval.by_self and not approval.by else "another person",
        "expires_in_seconds": max(0, int(approval.expires_at - now)),
    }
    content = error_text(Reason.HELD_FOR_APPROVAL, extra=extra)
    return _outcome(valid.call, key, "held", Reason.HELD_FOR_APPROVAL, content, valid.arguments, approval.id)


def unknown(
    call: ToolCall,
    key: CallKey,
    arguments: JsonObject | None,
    detail: str = "",
    approval: str | None = None,
    *,
    again: bool = False,
) -> Outcome:
    """The outcome of an action that may or may not have taken effect. `again`: proposing the very same call once more does no harm."""
    sentence = SAFE_AGAIN if again else SENTENCE[Reason.OUTCOME_UNKNOWN]
    content = error_text(Reason.OUTCOME_UNKNOWN, detail, retry=again, extra={"executed": None}, sentence=sentence)
    return _outcome(call, key, "unknown", Reason.OUTCOME_UNKNOWN, content, arguments, approval)


def unreadable(valid: ValidCall, key: CallKey, approval: str | None) -> Outcome:
    """The outcome of a tool that ran and returned what its policy does not take for a result. An action is unknown: nobody may repeat it."""
    if not valid.tool.acts:
        return failed(valid, key, Reason.RESULT_INVALID, "", approval=approval)
    content = error_text(Reason.RESULT_INVALID, retry=False, extra={"executed": None}, sentence=NOT_READABLE)
    return _outcome(valid.call, key, "unknown", Reason.RESULT_INVALID, content, valid.arguments, approval)


def recorded(row: CallRow, call: ToolCall) -> Outcome | None:
    """What the ledger says of a call that was handled before, for this call id; None where it never got as far as running."""
    if row.outcome is not None and row.status not in {"refused", "started"}:
        return replace(row.outcome, call_id=call.id, tool=call.tool, replayed=True)
    return unknown(call, row.key, row.arguments, approval=row.approval, again=row.safe) if row.status == "started" else None


def found_out(
    call: ToolCall, key: CallKey, arguments: JsonObject | None, approval: str | None, *, happened: bool, reason: str
) -> Outcome:
    """The outcome of a call about which a person found out what became of it. `reason` is redacted already."""
    if happened:
        content = encode({"ok": True, "note": "A person found out that this call took effect.", "found": reason})
        return _outcome(call, key, "done", None, content, arguments, approval)
    content = error_text(Reason.DID_NOT_HAPPEN, f"Found: {reason}", extra={"executed": False})
    return _outcome(call, key, "failed", Reason.DID_NOT_HAPPEN, content, arguments, approval)


def failed(
    valid: ValidCall,
    key: CallKey,
    reason: Reason,
    detail: str,
    *,
    approval: str | None = None,
    reference: str = "",
    extra: JsonObject | None = None,
) -> Outcome:
    """The outcome of a tool that failed. A failed look-up may be tried again, a failed action only by a person's word."""
    more: JsonObject = {"tool": valid.tool.name, **({"reference": reference} if reference else {}), **(extra or {})}
    content = error_text(reason, detail, retry=not valid.tool.acts, extra=more)
    return _outcome(valid.call, key, "failed", reason, content, valid.arguments, approval)


def withheld(valid: ValidCall, key: CallKey, *, approval: str | None = None, detail: str = "") -> Outcome:
    """The outcome of a tool that ran and whose result may not be shown. An action stays done, so that nobody repeats it."""
    if not valid.tool.acts:
        return failed(valid, key, Reason.RESULT_WITHHELD, detail, approval=approval)
    content = encode({"ok": True, "note": "Done. Its result could not be made safe to show and is withheld."})
    return _outcome(valid.call, key, "done", None, content, valid.arguments, approval)


def shown(valid: ValidCall, key: CallKey, content: Content, *, failed: bool, approval: str | None) -> Outcome:
    """The outcome of a tool that ran, with what may be seen of its result; `failed` when the tool itself says so."""
    status: Status = "failed" if failed else "done"
    return _outcome(valid.call, key, status, Reason.TOOL_FAILED if failed else None, content, valid.arguments, approval)


def _issue(issue: Issue, redactor: Redactor) -> JsonObject:
    path = redactor.detect(None, issue.path[:_LONGEST])[0]  # the model wrote the names of unknown fields
    shown: JsonObject = {"path": path, "rule": issue.rule, "message": issue.message}
    if issue.allowed:
        shown["allowed"] = list(issue.allowed)
    if issue.nearest:
        shown["nearest"] = issue.nearest
    return shown


def _outcome(
    call: ToolCall,
    key: CallKey,
    status: Status,
    reason: Reason | None,
    content: Content,
    arguments: JsonObject | None,
    approval: object = None,
) -> Outcome:
    return Outcome(
        call_id=call.id,
        tool=call.tool,
        status=status,
        reason=reason,
        arguments=arguments,
        content=content,
        approval=approval if isinstance(approval, str) else None,
        turn=key.turn,
        position=key.position,
        view="-",
    )


def erased(row: CallRow) -> CallRow:
    """The row of a call that is over, without anybody's data: that it was made and how it ended is all that is left of it.

    What tells it from other calls stays, so that nothing runs twice; a ground finds no value in it.
    """
    name = row.call.tool if row.status in ("done", "failed") else ""  # a refused call's tool is whatever the model wrote
    bare = replace(row, call=ToolCall("", name), arguments=None, value=None, owned=frozenset(), salt=ERASED)
    before = row.outcome
    if before is None:
        return bare
    note, extra = "Its arguments and what came back have been erased since, so they cannot be shown.", {"erased": True}
    done = encode({"ok": True, "note": f"This was done earlier and was not run again. {note}", **extra})
    content = (
        done
        if before.status == "done"
        else error_text(_why(before), f"This ended earlier, and nothing runs now. {note}", retry=False, extra=extra)
    )
    return replace(bare, outcome=replace(before, call_id="", tool=name, arguments=None, content=content, view="-"))


def _why(outcome: Outcome) -> Reason:
    return outcome.reason or Reason.TOOL_FAILED


def not_now(outcome: Outcome) -> Outcome:
    """A recorded outcome whose content was made by other rules than hold for whoever looks now: that it ended, and how, is all that is said."""
    note = "The result was shown by other rules than hold now, and is not shown again."
    if outcome.status == "done":
        return replace(outcome, content=encode({"ok": True, "note": f"Done. {note}"}), view="-")
    return replace(outcome, content=error_text(_why(outcome), note, retry=False), view="-")
