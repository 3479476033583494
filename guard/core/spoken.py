"""Spoken: what the model wrote beside a held call, as people may see it: hidden like everything that leaves, and cut where it is long.

No byte of it runs, no room reads it, and nothing that an approver is told of the call is taken from it. Comes after hiding and sealing; used by
the pipeline where a question is asked. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from guard.core.approval import Approval, Words
from guard.core.commitments import mark
from guard.core.echoes import secrets, texts_of
from guard.core.hiding import beginning, echoing
from guard.core.model import ToolCall
from guard.core.pointers import at
from guard.core.ports import Redactor
from guard.core.redaction import MASKS
from guard.core.replacing import replace
from guard.core.rules import Tool
from guard.core.sealing import veiled
from guard.core.values import JsonObject, read_json
from guard.core.views import Revealed
from guard.core.wording import MOST

Reply: TypeAlias = tuple[Iterable[ToolCall], Mapping[str, Tool]]
"""All calls of a reply, and the tools of the policy by name."""


def beside(question: Approval, text: str, reply: Reply, redactor: Redactor, salt: str) -> Approval:
    """The question with what the model wrote beside its call; blanks are nothing. `salt` is the call's own.

    What fails here leaves the words out, never the question: they are no part of the call.
    """
    if not text.strip():
        return question
    try:
        whole = text.encode("utf-8", "replace").decode()  # no store takes half a character
        hides = _over(reply, _hides(question, redactor), question.arguments)
        shown = beginning(whole, MOST, hides)[0]
    except Exception:  # noqa: BLE001 - what cannot be made safe to show is not kept
        shown = ""
    return replace(question, words=Words(text=shown, size=len(text), digest=mark(shown, redactor, salt)))


def again(question: Approval, redactor: Redactor, salt: str) -> Words:
    """The words of a question whose arguments a person changed: without the secrets that these are now."""
    kept = question.words
    if not kept.text:
        return kept
    try:
        shown = _hides(question, redactor).detect(None, kept.text)[0]
    except Exception:  # noqa: BLE001 - as above
        shown = ""
    return kept if shown == kept.text else replace(kept, text=shown, digest=mark(shown, redactor, salt))


def _over(reply: Reply, redactor: Redactor, known: JsonObject) -> Redactor:
    """What also hides the secrets of all calls of the reply, whatever became of them: its words stand beside each of them.

    Those among the arguments that are `known` are hidden already.
    Raises ValueError or TypeError where the arguments of a call that may hold one cannot be read.
    """
    found: dict[str, None] = {}
    calls, tools = reply
    for call in calls:
        tool = tools.get(call.tool)
        try:
            given = _given(call)
        except (ValueError, TypeError):
            if tool is not None and any(rule.secret for rule in tool.approval):
                raise
            continue
        redactor = redactor if given == known else echoing(redactor, given)
        found |= dict.fromkeys(secrets(tool, given) if tool is not None else ())
    return veiled(redactor, _masked(sorted(found)))


def _given(call: ToolCall) -> JsonObject:
    raw = call.arguments
    value = (read_json(raw) if raw.strip() else {}) if isinstance(raw, str) else raw or {}
    if not isinstance(value, dict):
        raise TypeError("arguments are an object")
    return value


def _hides(question: Approval, redactor: Redactor) -> Redactor:
    """What also hides the secrets among the final arguments: the model may well repeat in its words what it wrote there."""
    given = [at(question.arguments, place) for place in question.secret]
    secret = [text for there, value in given if there for text in texts_of(value)]
    return veiled(echoing(redactor, question.arguments), _masked(secret))


def _masked(texts: Iterable[str]) -> list[Revealed]:
    return [Revealed(text, MASKS["secret"], "") for text in texts]
