"""Beside: what stands under the view of an approval: what became of its call, and last what the model wrote.

Every line of somebody else's text begins with a bar and is no wider than a terminal, so that none can pass for a line of the view. Used by
`approvals`, `changing` and `watch`; pure.
"""

from __future__ import annotations

from guard.cli.show import lines, spell
from guard.cli.tables import width
from guard.core.approval import Approval
from guard.core.briefing import utc
from guard.core.values import JsonObject
from guard.core.wording import GONE, HEADING, Ran, cut, notes

_WIDE = 76


def ran_lines(ran: Ran | None) -> list[str]:
    """What became of the call."""
    if ran is None:
        return []
    why = f" ({ran.code})" if ran.code else ""
    back = ["what went back to the model, redacted", *quoted(ran.text)] if ran.text else []
    back = ["what went back to the model was erased with the arguments"] if ran.erased else back
    return [f"outcome      {ran.said} {utc(ran.at)}{why}", *back]


def words_lines(approval: Approval) -> list[str]:
    """What the model wrote, under a heading that says what it is; nothing where it wrote nothing."""
    words = approval.words
    if not words.digest:
        return []
    told = quoted(words.text) if words.text else [f"  ({GONE})"]
    warned = [f"  ! {spell(note)}" for note in notes(words)]
    return ["", HEADING, *warned, *told, *([f"  ! {cut(words)}"] if cut(words) else [])]


def quoted(text: str) -> list[str]:
    """A text line by line, each behind a bar and cut into rows that fit."""
    return [f"  | {row}" for line in lines(text) for row in _rows(line)]


def _rows(line: str) -> list[str]:
    rows, wide = [""], 0
    for char in line:
        more = width(char)
        if wide + more > _WIDE:
            rows, wide = [*rows, ""], 0
        rows[-1] += char
        wide += more
    return rows


def ran_json(ran: Ran | None) -> JsonObject | None:
    """What became of the call, for a program."""
    return (
        None
        if ran is None
        else {"status": ran.status, "at": utc(ran.at), "reason": ran.code or None, "content": None if ran.erased else ran.text}
    )


def words_json(approval: Approval) -> JsonObject | None:
    """What the model wrote, for a program; None where it wrote nothing."""
    words = approval.words
    return {"note": HEADING, "text": words.text, "size": words.size, "digest": words.digest} if words.digest else None
