"""Unopened: what goes back for a turn that could not be opened, and the record of one that was. A flow: `pipeline` alone says when.

Comes after endings and before pipeline; yields commands, does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from guard.core import answer, audit
from guard.core import ports as p
from guard.core.context import Context
from guard.core.endings import as_now
from guard.core.model import CallKey, Outcome
from guard.errors import StoreError


def told(opening: p.OpenTurn, context: Context, salts: Sequence[str], turn: int) -> tuple[p.Event, ...]:
    """What a turn that gets a number records: what could not be recorded before it, and its calls as the model wrote them."""
    calls, redactor = enumerate(opening.calls), context.redactor
    found = tuple(audit.proposed(opening.ref, turn, index, call, redactor, salts[index]) for index, call in calls)
    return (*context.gap.events(), *found)


def unopened(opening: p.OpenTurn, context: Context, code: str) -> p.Flow[tuple[Outcome, ...]]:
    """The turn could not be opened, so nothing runs. What an earlier handling of the same message did is told where it can be read."""
    refusal, redactor = answer.unstored(code), context.redactor
    rows: Mapping[int, p.CallRow] = {}
    if not opening.answered:  # the results of these calls are not in the history, or there is none
        with suppress(StoreError):
            rows = yield from p.ask(p.Recall(ref=opening.ref, digest=opening.digest, key=opening.key))
    found: list[Outcome] = []
    for index, call in enumerate(opening.calls):
        row = rows.get(index)
        known = None if row is None or row.kind != "action" else answer.recorded(row, call)
        found.append(
            (known and as_now(known, context)) or answer.refused(call, CallKey(opening.ref, 0, index), refusal, None, redactor)
        )
    return tuple(found)
