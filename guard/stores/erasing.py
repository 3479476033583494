"""Erasing: raw values go, and what the ledger needs so that nothing runs twice stays. Shared by every store; may only ask the tables.

A call that waits for a decision, is under way or unknown is not over: without its arguments nobody could decide or settle it, so it is left. One whose
question has ended is over, though its program never came back for the answer: it is closed as refused, as that would have done. The values behind the
handles of the conversation go with the calls that brought them, and so does what a grant holds of the call that it came from: it ends by that. Comes after
`vault`, `grants` and `claims`, before `ledger`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from guard.core.erasing import Erase, Erased, bare
from guard.core.ports import CallRow
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.stores import grant_ends
from guard.stores.approvals import ENDED, LIVE, look
from guard.stores.tables import OPEN, Asked, Home, Place, Tables


def left(tables: Tables, home: Home, only: Collection[Place] | None) -> Erased:
    """What `erase` would leave, of these places (None: of all), in a transaction that may write down what has expired."""
    rows = [row for row in tables.rows(home, None) if not row.erased and (only is None or _place(row) in only)]
    found = tuple(_place(row) for row in rows if _closed(tables, home, row) is None)
    return Erased(tenant=home[0], conversation=home[1], principal=tables.owner(home) or "", left=found)


def erase(tables: Tables, command: Erase) -> Erased:
    """Erase and put it on record, unless there is nothing to erase. See Erase."""
    home = command.home
    owner = tables.owner(home)
    empty = Erased(tenant=home[0], conversation=home[1], principal=owner or "")
    if owner is None:
        return empty
    tables.scrub()
    rows = [row for row in tables.rows(home, None) if not row.erased and _wanted(row, command)]
    over = [closed for row in rows if (closed := _closed(tables, home, row)) is not None]
    gone = {_place(row) for row in over}
    questions = [one for run in sorted({row.run for row in over}) for one in tables.asked_in(home, run)]
    asked = tuple(name for row in over for name in _approvals(tables, home, row, questions))
    for row in over:
        tables.wipe(command.row(row))
    granted = grant_ends.erased(tables, command)
    words = tables.wipe_words(home, command.words_before)
    if over:
        tables.forget_handles(home, command.handles_before)
    found = Erased(
        tenant=home[0],
        conversation=home[1],
        principal=owner,
        calls=tuple(map(_place, over)),
        approvals=asked,
        grants=granted,
        words=words,
        left=tuple(place for row in rows if (place := _place(row)) not in gone),
    )
    if found.anything:
        tables.append(command.event(found))
    return found


def _place(row: CallRow) -> tuple[int, int]:
    return row.key.turn, row.key.position


def _wanted(row: CallRow, command: Erase) -> bool:
    return command.only is None or _place(row) in command.only


def _closed(tables: Tables, home: Home, row: CallRow) -> CallRow | None:
    """The row of a call that is over; None where somebody has yet to decide or settle it."""
    asked = tables.asked(row.approval) if row.status == "held" and row.approval else None
    ended = None if asked is None else look(tables, asked).approval.status
    if any(look(tables, one).approval.status in LIVE for one in tables.alive(home, _place(row))):
        return None
    if ended in ENDED:
        outcome = None if row.outcome is None else replace(row.outcome, status="refused", reason=_why(ended))
        return replace(row, status="refused", outcome=outcome)
    return None if row.status in OPEN else row


def _why(ended: str) -> Reason:
    return {"expired": Reason.APPROVAL_EXPIRED, "superseded": Reason.APPROVAL_INVALID}.get(ended, Reason.APPROVAL_REJECTED)


def _approvals(tables: Tables, home: Home, row: CallRow, questions: Iterable[Asked]) -> list[str]:
    """Erase what approvals of the call hold: those of its earlier revisions, which were about other arguments, as well."""
    about = tables.about(home, row.fingerprint) if row.fingerprint else ()
    found = {one.approval.id: one for one in (*about, *questions) if (one.approval.turn, one.approval.position) == _place(row)}
    names: list[str] = []
    for asked in found.values():
        if asked.approval.status not in LIVE:
            tables.close_asked(type(asked)(approval=bare(asked.approval), run=asked.run, decided_run=asked.decided_run))
            tables.wipe_votes(asked.approval.id)
            names.append(asked.approval.id)
    return names
