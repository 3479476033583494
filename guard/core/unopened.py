"""Unopened: what goes back for a turn that could not be opened, and the record of one that was, or that was somebody else's. Flows: `pipeline` and `chat` say when.

Comes after endings and before pipeline; yields commands, does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from guard.core import answer, audit
from guard.core import ports as p
from guard.core.commitments import More
from guard.core.context import Context
from guard.core.endings import as_now
from guard.core.model import CallKey, Outcome, Refusal
from guard.core.reasons import Reason
from guard.errors import StoreError


def told(opening: p.OpenTurn, context: Context, salts: Sequence[str], turn: int) -> tuple[p.Event, ...]:
    """What a turn that gets a number records: what could not be recorded before it, and its calls as the model wrote them."""
    calls, redactor, trace = enumerate(opening.calls), context.redactor, context.trace
    found = tuple(audit.proposed(opening.ref, turn, index, call, redactor, salts[index], trace) for index, call in calls)
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


def not_yours(opening: p.OpenTurn, context: Context) -> p.Flow[tuple[Outcome, ...]]:
    """Every call of a conversation that belongs to somebody else is refused, and that it was proposed, and by whom, is on record.

    It gets no turn of the conversation: its records say turn 0.
    """
    refusal = Refusal(reason=Reason.NOT_OWNER, detail="The conversation.")
    keys = [CallKey(opening.ref, 0, index) for index in range(len(opening.calls))]
    events: list[p.Event] = []
    for key, call in zip(keys, opening.calls, strict=True):
        more = More(salt=context.salt(), ms=context.took(), beside=context.trace)
        events.append(audit.proposed(key.ref, 0, key.position, call, context.redactor, more.salt, context.trace))
        events.append(audit.decided(key, call, refusal, None, context.policy.version, context.redactor, context.session, more))
    try:
        yield from p.ask(p.Record(rows=(), events=tuple(events)))
    except StoreError as error:
        refusal = answer.unstored(error.code)
    return tuple(
        answer.refused(call, key, refusal, None, context.redactor) for key, call in zip(keys, opening.calls, strict=True)
    )
