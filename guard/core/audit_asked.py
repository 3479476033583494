"""That a person is asked, and that a yes does not hold any more, as records. Like `audit`: already safe to store, pure.

A notice to people is made of the first of them alone, so it shows the arguments, redacted. Comes after audit; used by the pipeline.
"""

from __future__ import annotations

from guard.core.approval import Approval
from guard.core.audit import POLICY, head_of, name_of, placed, tool_of
from guard.core.commitments import mark
from guard.core.effect_line import effect_line
from guard.core.hiding import shown_value
from guard.core.model import CallKey, ConversationRef, ToolCall
from guard.core.pointers import at, put
from guard.core.ports import Event, Redactor
from guard.core.values import JsonObject, canonical, encode

_CHANGED = {"fingerprint": "call", "arguments": "arguments", "today's policy asks for another approver": "people"}
"""What is otherwise now than when people were asked, by why their yes does not hold any more."""


def requested(
    approval: Approval,
    key: CallKey,
    call: ToolCall,
    redactor: Redactor,
    veil: Redactor | None = None,
    salt: str = "",
    beside: str = "",
) -> Event:
    """A person is asked. The arguments stand in it where there is a redactor for them: one that also hides what stands behind handles.

    `salt`: the call's own, for their digest.
    """
    tool = tool_of(approval.tool, approval.definition, approval.kind)
    head = head_of("approval.requested", key, name_of(call.id, redactor), POLICY, tool)
    state: JsonObject = {
        "status": "pending",
        "revision": approval.revision,
        "need": approval.need,
        "have": 0,
        "by": list(approval.by),
        "self": approval.by_self,
        "decide_by": approval.expires_at,
    }
    args = ""
    if veil is not None:
        text, known = canonical(approval.arguments), _unsecret(approval)
        told, shown = shown_value(known, veil, set())
        args = f',"args":{{"size":{len(text)},"digest":"{mark(text, veil, salt)}","shown":{told}}}'
        effect = effect_line(approval, known, shown, veil)
        state |= {"effect": effect} if effect else {}
    ids = f'"approval":"{approval.id}","fingerprint":"{approval.fingerprint}"'
    return f'{head},{ids}{args}{_words(approval)},"approval_state":{encode(state)}{beside}'


def _words(approval: Approval) -> str:
    """That the model wrote something beside the call: how much, and the digest by which it can be told again while it is kept."""
    words = approval.words
    return f',"words":{{"size":{words.size},"digest":"{words.digest}"}}' if words.digest else ""


def _unsecret(approval: Approval) -> JsonObject:
    """The final arguments without those that nobody is shown: records leave the house, so not even their digests stand here."""
    arguments = approval.arguments
    for place in approval.secret:
        if at(arguments, place)[0]:
            arguments = put(arguments, place, "[secret]")
    return arguments


def unfit(approval: Approval, policy: str, why: str, redactor: Redactor, after: Approval) -> Event:
    """An approval that was given does not hold today: its call is refused, and may be asked about anew."""
    tool = tool_of(approval.tool, approval.definition, approval.kind)
    place = (
        ConversationRef(tenant=approval.tenant, principal=approval.requester, conversation=approval.conversation),
        approval.turn,
    )
    head = placed("approval.revalidation_failed", (*place, approval.position), name_of(approval.call_id, redactor), POLICY, tool)
    changed = (*(("policy",) if approval.policy != policy else ()), *((_CHANGED[why],) if why in _CHANGED else ()))
    then = encode({"policy_then": approval.policy, "policy_now": policy, "changed": list(changed), "why": why})
    state = encode({"status": after.status, "revision": after.revision, **after.counts})
    return (
        f'{head},"approval":"{approval.id}","fingerprint":"{approval.fingerprint}","revalidation":{then},"approval_state":{state}'
    )
