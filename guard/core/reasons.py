"""Reasons: the closed list of stable codes with which a call is refused, held, failed or left unknown.

Each code has a sentence for the model and says whether proposing again can help. Codes never change their meaning; rooms
pick one and may add detail about the model's *own* input, never the policy's internals or anybody's data. Comes before
every room; imports nothing.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a call did not simply run and succeed."""

    UNKNOWN_TOOL = "unknown_tool"
    NO_POLICY = "no_policy"
    NOT_OFFERED = "not_offered"
    TRUNCATED_REPLY = "truncated_reply"
    MALFORMED_ARGUMENTS = "malformed_arguments"
    ARGUMENTS_TOO_LARGE = "arguments_too_large"
    SESSION_FACT_MISSING = "session_fact_missing"
    BOUND_FIELD_SENT = "bound_field_sent"
    HANDLE_UNKNOWN = "handle_unknown"
    HANDLE_NOT_ALLOWED = "handle_not_allowed"
    MASKED_VALUE = "masked_value"
    INVALID_ARGUMENTS = "invalid_arguments"
    CHECK_REFUSED = "check_refused"
    CHECK_FAILED = "check_failed"
    FACT_UNAVAILABLE = "fact_unavailable"
    NOT_OWNER = "not_owner"
    NOT_GROUNDED = "not_grounded"
    PREREQUISITE_MISSING = "prerequisite_missing"
    NOT_AUTHORIZED = "not_authorized"
    RULE_REFUSED = "rule_refused"
    POLICY_FAILED = "policy_failed"
    LIMIT_REACHED = "limit_reached"
    LIMIT_UNKNOWN = "limit_unknown"
    REPEATED_CALL = "repeated_call"
    HELD_FOR_APPROVAL = "held_for_approval"
    APPROVAL_REJECTED = "approval_rejected"
    APPROVAL_EXPIRED = "approval_expired"
    APPROVAL_INVALID = "approval_invalid"
    KILLED = "killed"
    CONFLICT = "conflict"
    OUTCOME_UNKNOWN = "outcome_unknown"
    EARLIER_UNKNOWN = "earlier_unknown"
    DID_NOT_HAPPEN = "did_not_happen"
    TOOL_FAILED = "tool_failed"
    TOOL_TIMED_OUT = "tool_timed_out"
    RESULT_WITHHELD = "result_withheld"
    RESULT_INVALID = "result_invalid"
    INTERRUPTED = "interrupted"
    LEASE_OVER = "lease_over"
    STORE_UNAVAILABLE = "store_unavailable"
    STORE_RESTORED = "store_restored"
    INTERNAL_ERROR = "internal_error"


SENTENCE: dict[Reason, str] = {
    Reason.UNKNOWN_TOOL: "There is no tool of this name. Use one of the known names exactly as listed.",
    Reason.NO_POLICY: "This tool has no policy entry, so nobody may call it.",
    Reason.NOT_OFFERED: "This tool is not offered in this conversation.",
    Reason.TRUNCATED_REPLY: "The reply was cut off before it was complete, so none of its calls ran. Propose the call again, shorter.",
    Reason.MALFORMED_ARGUMENTS: "The arguments are not one strict JSON object. Nothing was repaired and nothing ran.",
    Reason.ARGUMENTS_TOO_LARGE: "The arguments are larger or deeper than this tool accepts.",
    Reason.SESSION_FACT_MISSING: "The signed-in session lacks a fact that this tool needs. Another attempt cannot supply it.",
    Reason.BOUND_FIELD_SENT: "A field that belongs to the signed-in session was sent. Leave it out; it is filled in by itself.",
    Reason.HANDLE_UNKNOWN: (
        "This is no handle of this conversation, or no longer one. Copy a handle exactly as a result of this conversation shows it, "
        "or look the value up again."
    ),
    Reason.HANDLE_NOT_ALLOWED: (
        "A handle stands for a hidden value, and this tool is not given such a value here. Use it only where a tool takes it; do not put "
        "it into other arguments, names of fields or text inside JSON."
    ),
    Reason.MASKED_VALUE: (
        "An argument holds a mask, which only says that a value was hidden: nothing can be done with it. Use an id or a handle of the "
        "record, ask the user for the value, or leave it out."
    ),
    Reason.INVALID_ARGUMENTS: "The arguments do not fit the tool's schema. Correct the fields named under problems.",
    Reason.CHECK_REFUSED: "A check of this tool refused the arguments.",
    Reason.CHECK_FAILED: "A check of this tool could not give an answer, so the call was refused.",
    Reason.FACT_UNAVAILABLE: "A fact about the record that this call touches could not be looked up, so the call was refused.",
    Reason.NOT_OWNER: "The record that this call touches is not available to the signed-in person.",
    Reason.NOT_GROUNDED: "A value must come from where the policy says (an earlier result, the user's words or the session), and it does not.",
    Reason.PREREQUISITE_MISSING: "Another tool must have been called in an earlier turn, with the outcome that the policy asks for.",
    Reason.NOT_AUTHORIZED: "The signed-in person may not call this tool.",
    Reason.RULE_REFUSED: "The policy does not permit this tool with these arguments.",
    Reason.POLICY_FAILED: "The policy could not be evaluated, so the call was refused.",
    Reason.LIMIT_REACHED: "A limit on calls, steps, time, tokens, cost or amounts has been reached.",
    Reason.LIMIT_UNKNOWN: "A limit could not be measured, so the call was refused.",
    Reason.REPEATED_CALL: "The same call was made too often with the same arguments. Use the result you already have.",
    Reason.HELD_FOR_APPROVAL: (
        "Held for a person's approval. It has NOT been executed. Do not say that it is done and do not repeat the call; "
        "the outcome will follow."
    ),
    Reason.APPROVAL_REJECTED: "A person declined this call. It was not executed, and repeating it will be declined as well.",
    Reason.APPROVAL_EXPIRED: "The time for a person's decision about this call, or for using it, is over. It was not executed.",
    Reason.APPROVAL_INVALID: "The approval does not match this call, so it was not executed.",
    Reason.KILLED: (
        "An operator has stopped calls like this one. This one was not executed now. Do not propose it again and do not look for another way "
        "to the same effect; tell the user that it is stopped."
    ),
    Reason.CONFLICT: "The same call key was used before with other content. This call was not executed.",
    Reason.OUTCOME_UNKNOWN: (
        "The call was started and its outcome is not known: it may or may not have taken effect. Do not repeat it and do not "
        "report it as done or as failed; a person must find out."
    ),
    Reason.EARLIER_UNKNOWN: (
        "An earlier call of this tool on the same target was started and its outcome is not known: it may or may not have taken effect. This "
        "call was not executed. A person must settle the earlier one first; until then do not propose another one on this target, and do not "
        "report the earlier one as done or as failed."
    ),
    Reason.DID_NOT_HAPPEN: "A person found out that this call, whose outcome was unknown, did not take effect.",
    Reason.TOOL_FAILED: "The tool failed. This is an error, not data.",
    Reason.TOOL_TIMED_OUT: "The tool did not answer in time. There is no result.",
    Reason.RESULT_WITHHELD: "The tool ran, but its result could not be made safe to show and is withheld.",
    Reason.RESULT_INVALID: "The tool's result does not have the form that it must have, so it is not shown. This is an error, not data.",
    Reason.INTERRUPTED: "The turn was interrupted before this call ran.",
    Reason.LEASE_OVER: "Too much time went by between taking this call and starting it, so it was not started.",
    Reason.STORE_RESTORED: (
        "The store of the records was restored from a backup: what ran before cannot be known. Nothing was executed now; "
        "a person must look into it first."
    ),
    Reason.STORE_UNAVAILABLE: "The record of this call could not be written, so nothing was executed now. An earlier attempt of the very same call is not undone by this.",
    Reason.INTERNAL_ERROR: "The guard could not judge this call, so it was refused.",
}

SAFE_AGAIN = (
    "The call was started and its outcome is not known: it may or may not have taken effect. Do not report it as done or as failed. "
    "Proposing the same call again, unchanged, is safe: it takes effect once at most."
)
"""What `outcome_unknown` says where the tool's class lets the guard run the very same call again with its key."""

NOT_READABLE = (
    "The call was started, and its result does not have the form that it must have: it may or may not have taken effect. Do not repeat it "
    "and do not report it as done or as failed; a person must find out."
)
"""What `result_invalid` says of an action: that it ran is certain, how it went is not."""

RETRY: frozenset[Reason] = frozenset(
    {
        Reason.UNKNOWN_TOOL,
        Reason.TRUNCATED_REPLY,
        Reason.MALFORMED_ARGUMENTS,
        Reason.ARGUMENTS_TOO_LARGE,
        Reason.BOUND_FIELD_SENT,
        Reason.HANDLE_UNKNOWN,
        Reason.HANDLE_NOT_ALLOWED,
        Reason.MASKED_VALUE,
        Reason.INVALID_ARGUMENTS,
        Reason.CHECK_REFUSED,
        Reason.FACT_UNAVAILABLE,
        Reason.NOT_GROUNDED,
        Reason.PREREQUISITE_MISSING,
        Reason.DID_NOT_HAPPEN,
        Reason.INTERRUPTED,
        Reason.LEASE_OVER,
        Reason.STORE_UNAVAILABLE,
    }
)
"""Codes after which a changed or later proposal can succeed; with all others a repeat is pointless."""
