"""Spoken: what the model wrote beside a held call, as people may see it: hidden like everything that leaves, and cut where it is long.

No byte of it runs, no room reads it, and nothing that an approver is told of the call is taken from it. Comes after hiding and sealing; used by
the pipeline where a question is asked. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from guard.core.approval import Approval, Words
from guard.core.commitments import mark
from guard.core.facts import flat, written
from guard.core.hiding import beginning, echoing
from guard.core.pointers import at
from guard.core.ports import Redactor
from guard.core.sealing import veiled
from guard.core.views import Revealed
from guard.core.wording import MOST


def beside(question: Approval, text: str, redactor: Redactor, salt: str) -> Approval:
    """The question with what the model wrote beside its call; blanks are nothing. `salt` is the call's own.

    What fails here leaves the words out, never the question: they are no part of the call.
    """
    if not text.strip():
        return question
    try:
        whole = text.encode("utf-8", "replace").decode()  # no store takes half a character
        shown = beginning(whole, MOST, _hides(question, redactor))[0]
    except Exception:  # noqa: BLE001 - what cannot be made safe to show is not kept
        shown = ""
    return replace(question, words=Words(text=shown, size=len(text), digest=mark(shown, redactor, salt)))


def _hides(question: Approval, redactor: Redactor) -> Redactor:
    """What also hides the secrets among the arguments: the model may well repeat in its words what it wrote there."""
    given = [at(question.arguments, place) for place in question.secret]
    secret = [written(one) for there, value in given if there for one in flat(value).values()]
    return veiled(echoing(redactor, question.arguments), [Revealed(text, "[secret]", "") for text in secret])
