"""Edited: a call as a person changed it, and what the model is told of that. The changed proposal walks every room like any other one.

Only what was proposed is changed, never a call that proved something already. Comes after presented and hiding; used by the pipeline before
parse, and when an edited call has ended. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from guard.core.hiding import shown_text
from guard.core.model import Content, Outcome, Refusal, ToolCall, ValidCall
from guard.core.pointers import put, steps
from guard.core.ports import Redactor
from guard.core.presented import mask
from guard.core.reasons import Reason
from guard.core.values import Json, JsonObject, encode, read_json

_NOTE = "A reviewer changed the arguments before approving. The call ran with these; do not propose the first version again."


def edited(call: ToolCall, edits: Mapping[str, Json]) -> ToolCall | Refusal:
    """The proposal with what a person changed. What cannot be changed like that is refused: it is not what the person saw."""
    if not edits:
        return call
    try:
        raw = call.arguments
        arguments = dict((read_json(raw) if raw.strip() else {}) if isinstance(raw, str) else raw or {})
        for place, value in edits.items():
            arguments = put(arguments, place, value)
    except (ValueError, TypeError):
        return Refusal(reason=Reason.APPROVAL_INVALID, note="the edit does not fit what was proposed")
    return ToolCall(call.id, call.tool, arguments)


def changed(edits: Iterable[str]) -> frozenset[str]:
    """The arguments that a person changed, or something in them."""
    return frozenset(steps(place)[0] for place in edits)


def told(outcome: Outcome, valid: ValidCall, secret: Iterable[str], redactor: Redactor) -> Content:
    """What goes back for an edited call: its result, and the arguments that it ran with, as far as the model sees any."""
    tool = valid.tool
    owned = {binding.field for binding in tool.bindings} | set(tool.supplied)
    hidden = {steps(place)[0] for place in secret}
    seen = {
        name: mask(value, valid.veil) if name in hidden else value for name, value in valid.arguments.items() if name not in owned
    }
    note: JsonObject = {"note": _NOTE, "arguments": read_json(shown_text(seen, redactor, set()))}
    content = outcome.content
    if not isinstance(content, str):
        return (encode({"edited": note}), *content)
    try:
        value = read_json(content)
    except ValueError:
        return f"{encode({'edited': note})}\n{content}"
    if isinstance(value, dict) and outcome.error:
        return encode({**value, "edited": note})
    return encode({"edited": note, "result": value})
