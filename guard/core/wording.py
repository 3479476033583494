"""Wording: how what the model wrote beside a held call, and what became of the call, are told to people: the same on a page and at a terminal.

What the model wrote stands below everything else, under a heading that says what it is; nothing above it is made of it. What became of a call is taken
from its row in the ledger, whose content went back redacted. Comes after facts and ports; pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.core.approval import Approval, Words
from guard.core.facts import warnings
from guard.core.model import Content, Image
from guard.core.ports import CallRow

MOST = 8_000
"""Characters of the model's words that are kept; how many there were is kept as well, so that the cut can be said."""
HEADING = "What the model wrote (not checked, it decides nothing)"
GONE = "It was erased, or could not be made safe to show."
_OVER = ("rejected", "expired", "cancelled", "revoked")  # why it does not run is said already


def notes(words: Words) -> tuple[str, ...]:
    """What somebody should know who reads them: what is hidden in the text, and what looks like something else."""
    return warnings([words.text])


def cut(words: Words) -> str:
    """That more was written than is kept; nothing where all of it is."""
    long = words.size > MOST and bool(words.text)
    return f"Cut here: the model wrote {words.size:,} characters, of which the first {MOST:,} at most are kept." if long else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of an approved call. `status`: started, done, failed, unknown or refused; `at`: when it was taken, or refused.

    `code` says why it did not simply run and succeed, `text` is what went back to the model, redacted; nothing once it was `erased`.
    """

    status: str
    at: float
    code: str = ""
    text: str = ""
    erased: bool = False

    @property
    def said(self) -> str:
        """The same in a sentence that goes on with when."""
        return _SAID.get(self.status, "Ended")


_SAID = {
    "started": "How it ended is not known yet. Started",
    "done": "Ran, and is done. Started",
    "failed": "Ran, and failed. Started",
    "unknown": "Nobody knows whether it took effect. Started",
    "refused": "Did not run: it was refused when it was about to,",
}


def became(approval: Approval, row: CallRow | None) -> Ran | None:
    """What the ledger says of the call of an approval; None while nothing was tried, and where somebody else's no is all there is to say."""
    if (
        row is None
        or row.status not in _SAID
        or approval.status == "pending"
        or approval.status in _OVER
        or _another(approval, row)
    ):
        return None
    outcome = row.outcome if row.status != "started" else None
    reason = "" if outcome is None or outcome.reason is None else outcome.reason.value
    text = "" if outcome is None or row.erased else _text(outcome.content)
    return Ran(status=row.status, at=row.at, code=reason, text=text, erased=row.erased)


def _another(approval: Approval, row: CallRow) -> bool:
    """Whether the row tells of something else than this approval: of a later revision of the call."""
    if approval.superseded_by is not None:
        return True
    mine = row.fingerprint in ("", approval.fingerprint)
    return not mine or row.approval not in ((None, approval.id) if row.status == "refused" else (approval.id,))


def _text(content: Content) -> str:
    blocks = (content,) if isinstance(content, str) else content
    return "\n".join("[a picture]" if isinstance(block, Image) else block for block in blocks)
