"""Bind: the second room. `ParsedCall` → `BoundCall`: every field that the session owns holds the session's value.

What the model sent there is discarded unseen by the rooms after; that it sent something else is noted. So is what it sent for a field that
the guard fills when the tool runs (the idempotency key). A session without the fact refuses. A handle becomes the value that it stands for where
the policy names tool and argument, and refuses anywhere else, as a mask does. Comes after parse and before validate, so that the real values are what is validated.
"""

from __future__ import annotations

from decimal import Decimal

from guard.core.model import BoundCall, ParsedCall, Refusal, Session
from guard.core.putback import NOTHING, Hidden, put_back
from guard.core.reasons import Reason
from guard.core.values import Json, JsonObject, equal


def bind(parsed: ParsedCall, session: Session, hidden: Hidden = NOTHING) -> BoundCall | Refusal:
    """Overwrite the bound fields of `parsed` from `session`, then put back the values behind handles."""
    tool = parsed.tool
    arguments, spoofed = parsed.arguments, list[str]()
    if tool.bindings or tool.supplied:
        owned = _owned(parsed, session)
        if isinstance(owned, Refusal):
            return owned
        arguments, spoofed = owned
    back = put_back(tool, arguments, hidden)
    if isinstance(back, Refusal):
        return back
    return BoundCall(call=parsed.call, tool=tool, arguments=back.arguments, spoofed=tuple(spoofed), revealed=back.revealed)


def _owned(parsed: ParsedCall, session: Session) -> tuple[JsonObject, list[str]] | Refusal:
    """The arguments with what the session owns, and which of it the model sent differently."""
    tool = parsed.tool
    arguments = dict(parsed.arguments)
    facts = session.facts()
    spoofed = [field for field in tool.supplied if field in arguments]
    for field in spoofed:
        del arguments[field]
    for binding in tool.bindings:
        found = binding.source.find(facts)
        if not found or found[0] is None:
            return Refusal(reason=Reason.SESSION_FACT_MISSING, detail=f"The field {binding.field} cannot be filled in.")
        value = exact(found[0])
        if binding.field in arguments and not equal(arguments[binding.field], value):
            if binding.strict:
                return Refusal(
                    reason=Reason.BOUND_FIELD_SENT, detail=f"Leave out {binding.field}.", note=f"spoof:{binding.field}"
                )
            spoofed.append(binding.field)
        arguments[binding.field] = value
    return arguments, spoofed


def exact(value: Json) -> Json:
    """A session value as exact JSON: a float becomes the Decimal of its shortest text, a tuple becomes a list."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    return value
