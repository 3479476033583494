"""Claims: who may run a call, and what becomes of its row afterwards.

A call is taken once, by an insert with a unique key, in the transaction that spends its approval. A finished row stays as it is, except that
a late truth settles an unknown one. Shared by every store; may only ask the tables. Comes after `approvals` and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.core.acting import Blocked
from guard.core.kills import Killed
from guard.core.model import Approval, CallKey
from guard.core.ports import CallRow, Claim, ClaimAnswer, Conflict, Event, InDoubt, Replay, Vaulted, Won
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.core.rowed import begun
from guard.stores import grants, kills, vault
from guard.stores.approvals import LIVE, look
from guard.stores.budgets import release
from guard.stores.executors import me
from guard.stores.late import mistaken, truth
from guard.stores.owners import home_of, own, owned
from guard.stores.tables import Asked, Home, Place, Tables
from guard.stores.unresolved import blocking, is_lost

OPEN_ENDED = frozenset({"started", "unknown"})
FINISHED = frozenset({"done", "failed"})
LEDGER = frozenset({"done", "started", "unknown", "held"})
"""What a ledger or a search for twins looks at: calls that ran, may have run, or may run yet."""

_DONE = frozenset({"done"})
_TAKEN = OPEN_ENDED | FINISHED
_NEVER_RAN = frozenset({Reason.INTERRUPTED, Reason.STORE_UNAVAILABLE, Reason.INTERNAL_ERROR, Reason.LEASE_OVER})
"""Why a call that was taken may be refused after all: it could not be started. Every other refusal was decided before the call was taken."""
_RELEASING = frozenset({"refused", "failed"})


def record(
    tables: Tables, rows: Sequence[CallRow], events: Sequence[Event], handles: Sequence[Vaulted] = (), going: kills.Going = ()
) -> CallRow | None:
    """Write rows, events and what went back as handles; the first row as it stands then, where it says how a taken call ended and the ledger knows better.

    Raises StoppedError where a kill covers what is `going` on. See Record and Finish.
    """
    tables.foresee(rows)
    owned(tables, [row.key.ref for row in rows])
    kills.check(tables, going)
    for event in events:
        tables.append(event)
    if handles and rows:
        vault.keep(tables, handles, rows[0].key.ref)
    better: CallRow | None = None
    for row in rows:
        standing = _put(tables, row, events)
        better = better or (standing if row.attempt else None)
    return better


def told(tables: Tables, keys: Mapping[CallKey, str], events: Sequence[Event]) -> None:
    """Mark outcomes as told, each only where the call still has that status, and write the events."""
    for event in events:
        tables.append(event)
    for key, status in keys.items():
        tables.settle(home_of(key.ref), (key.turn, key.position), status)


def _put(tables: Tables, row: CallRow, events: Sequence[Event]) -> CallRow | None:
    """Write a row; the one that stands, where that is another one."""
    home, place = home_of(row.key.ref), (row.key.turn, row.key.position)
    old = tables.row(home, place)
    if old is not None and (_ends_untaken(row) or _conflicts(row)):
        return old  # somebody got further with it, or another content came under the key of this one
    taken = old is not None and old.status in _TAKEN
    ends = old is None or not taken or _ends(old, row)
    late = truth(old, row, events, ends=ends) if old is not None and taken and old.status != "started" else None
    if late is not None:
        tables.append(late)
    if old is not None and not ends:
        if row.settled and not old.settled and not (row.status == "unknown" and old.status in FINISHED):
            tables.put(replace(old, settled=True))  # but who was told that it is unknown has yet to hear how it ended
        return old
    tables.put(kept(old, row) if old is not None and taken else row)
    if row.status in _RELEASING:
        release(tables, home, place, sums_only=row.status == "failed")
    return None


def kept(old: CallRow, row: CallRow) -> CallRow:
    """The new row of a taken call: it belongs to the run in which it was taken, and to the one who took it, since then, whoever found out how it ended.

    What was told to be unknown and is known now has yet to be told.
    """
    settled = row.settled and old.status != "unknown" and not mistaken(old)
    return replace(
        row,
        run=old.run,
        at=old.at,
        settled=settled,
        effect=old.effect,
        attempt=old.attempt,
        lease=old.lease,
        idem=old.idem,
        executor=old.executor,
        salt=old.salt or row.salt,
    )


def _ends(old: CallRow, new: CallRow) -> bool:
    """Whether `new` says how the taken call `old` ended. What another walk of the same place says does not.

    That it was done may be said by any attempt; how it ended otherwise only by the newest one.
    """
    if old.fingerprint != new.fingerprint:
        return False
    if old.status in FINISHED:
        return new.status == "done" and mistaken(old)
    if new.status == "done":
        return True
    if new.attempt not in (0, old.attempt):
        return False
    if new.status in FINISHED:
        return True
    if old.status == "unknown":
        return False
    return new.status in OPEN_ENDED or (new.at == old.at and _never_ran(old, new))


def _never_ran(old: CallRow, new: CallRow) -> bool:
    """Whether the one who took it says that it was not started. Of an earlier attempt that says nothing."""
    return new.status == "refused" and new.outcome is not None and new.outcome.reason in _NEVER_RAN and old.attempt <= 1


def _ends_untaken(row: CallRow) -> bool:
    """Whether the row ends a call that no walk had written down: its history was closed, and the model told that it did not run."""
    return (
        row.status == "refused" and not row.fingerprint and row.outcome is not None and row.outcome.reason is Reason.INTERRUPTED
    )


def _conflicts(row: CallRow) -> bool:
    """Whether the row says that other content came under a key that is in use: that is no end of the call which has the key."""
    return row.status == "refused" and row.outcome is not None and row.outcome.reason is Reason.CONFLICT


def claim(tables: Tables, command: Claim) -> ClaimAnswer:
    """Take the call, or say who has it. See Claim."""
    row = command.row
    home, place = own(tables, row.key.ref), (row.key.turn, row.key.position)
    known = _same_key(tables, home, place, row) or _same_content(tables, home, row)
    if isinstance(known, InDoubt) and _is_this(known.row, row):
        return Won(at=known.row.at, attempt=known.row.attempt, idem=known.row.idem, lease=command.lease)
    again = isinstance(known, InDoubt) and command.again and may_be_taken_again(known.row, row, tables.now)
    if (again or known is None) and (stop := kills.stopped(tables, home, row.call.tool)) is not None:
        return Killed(stop)
    if isinstance(known, InDoubt) and again:
        return _retake(tables, command, known.row)
    if known is not None:
        return replace(known, lost=is_lost(known.row, tables.now)) if isinstance(known, InDoubt) else known
    return _first(tables, command)


def _first(tables: Tables, command: Claim) -> ClaimAnswer:
    """The first attempt of a call that nobody has taken."""
    spent = _let(tables, command)
    if isinstance(spent, Conflict | Blocked):
        return spent
    drawing = _drawing(tables, command)
    if isinstance(drawing, Conflict):
        return drawing
    if not tables.claim(command.row, command.approval):
        return InDoubt(row=command.row)
    if spent is not None:
        tables.close_asked(spent)
    return _take(tables, command, None, drawing)


def _let(tables: Tables, command: Claim) -> Asked | Conflict | Blocked | None:
    """The approval that lets the call start, spent, where it needs one; or what keeps it from starting."""
    unresolved = blocking(tables, command.aim)
    if unresolved is not None:
        return Blocked(row=unresolved)
    return None if command.approval is None else _spend(tables, command, command.approval)


def _drawing(tables: Tables, command: Claim) -> grants.Drawing | Conflict | None:
    """What the call draws on its grant; or why it cannot."""
    row = command.row
    if command.grant is None:
        return None
    home, place = home_of(row.key.ref), (row.key.turn, row.key.position)
    if _contradicted(tables, home, {place}, row):
        return _conflict("an approval is open for the same call with other content")
    tool, arguments = row.call.tool, row.arguments or {}
    return grants.checked(tables, command.grant, row.key.ref, place, tool, arguments, row.fingerprint)


def _is_this(old: CallRow, new: CallRow) -> bool:
    """Whether the call was taken by this very claim, made once more since its answer was lost: by the sign, which no other claim has."""
    mine = bool(new.executor) and old.status == "started" and old.executor == me(new.executor)
    return mine and (old.key.turn, old.key.position) == (new.key.turn, new.key.position)


def _retake(tables: Tables, command: Claim, before: CallRow) -> ClaimAnswer:
    """One more attempt: under the approval that the call spent when it was taken first, or by spending another one now."""
    if command.approval not in (None, before.approval):
        spent = _spend(tables, command, command.approval)
        if isinstance(spent, Conflict):
            return spent
        tables.close_asked(spent)
    drawing = _drawing(tables, command)
    return drawing if isinstance(drawing, Conflict) else _take(tables, command, before, drawing)


def _take(tables: Tables, command: Claim, before: CallRow | None, drawing: grants.Drawing | None) -> Won:
    """Write the attempt down: the first one, or one more of a call that was lost, with the key that it had then; and what it draws on a grant."""
    home, row = home_of(command.row.key.ref), command.row
    run, attempt = (tables.talk(home).run, 1) if before is None else (before.run, before.attempt + 1)
    idem = row.idem if before is None else before.idem
    until = tables.now + command.lease
    if drawing is not None:
        grants.write(tables, drawing, home, (row.key.turn, row.key.position), row.fingerprint)
    executor, event = me(row.executor), command.event(attempt) if callable(command.event) else command.event
    taken = replace(row, status="started", at=tables.now, run=run, attempt=attempt, lease=until, idem=idem, executor=executor)
    shown = taken if before or run == row.run else replace(taken, run=row.run)
    tables.append(begun(event, shown, executor))
    tables.put(taken)
    return Won(at=tables.now, attempt=attempt, idem=idem, lease=command.lease)


def may_be_taken_again(old: CallRow, new: CallRow, now: float) -> bool:
    """Whether a call that was taken may be taken once more: at the same place, lost or unknown, of a class that allows it then and now."""
    place = (old.key.ref, old.key.turn, old.key.position) == (new.key.ref, new.key.turn, new.key.position)
    same = place and old.fingerprint == new.fingerprint and old.effect == new.effect
    return same and old.again and (old.status == "unknown" or is_lost(old, now))


def _same_key(tables: Tables, home: Home, place: Place, row: CallRow) -> ClaimAnswer | None:
    old = tables.row(home, place)
    if old is None:
        return None  # a claim without a row would be found by its insert
    if old.fingerprint and old.fingerprint != row.fingerprint:
        return Conflict(why="the call key was used before with other content")
    if old.status in OPEN_ENDED:
        return InDoubt(row=old)
    if old.status in FINISHED or _ends_untaken(old):
        return Replay(row=old)
    if tables.claimed(home, place):  # and then found not to have run: its recorded answer stands, it is not taken twice
        return InDoubt(row=old) if old.outcome is None else Replay(row=old)
    return None


def _same_content(tables: Tables, home: Home, row: CallRow) -> ClaimAnswer | None:
    if not row.mark:
        return None
    open_ended = tables.alike(home, row.mark, OPEN_ENDED)
    if open_ended is not None:
        return InDoubt(row=open_ended)
    done = None if row.repeat else tables.alike(home, row.mark, _DONE, run=row.run)
    return None if done is None else Replay(row=done)


def _spend(tables: Tables, command: Claim, approval_id: str) -> Asked | Conflict:
    """The approval, spent; or why it cannot be."""
    asked = tables.asked(approval_id)
    if asked is None:
        return _conflict("there is no such approval")
    asked = look(tables, asked)
    why = _mismatch(asked.approval, command.row)
    if why:
        return _conflict(why)
    key, approval = command.row.key, asked.approval
    if _contradicted(tables, home_of(key.ref), {(key.turn, key.position), (approval.turn, approval.position)}, command.row):
        return _conflict("another approval is open for the same call with other content")
    return replace(asked, approval=replace(asked.approval, status="consumed"))


def _mismatch(approval: Approval, row: CallRow) -> str:
    if approval.status != "approved":
        return f"the approval is {approval.status}"
    if approval.fingerprint != row.fingerprint:
        return "the approval is for other content"
    if (approval.tenant, approval.conversation) != home_of(row.key.ref):
        return "the approval is for another conversation"
    return ""


def _contradicted(tables: Tables, home: Home, places: set[Place], row: CallRow) -> bool:
    others = [look(tables, asked).approval for place in sorted(places) for asked in tables.alive(home, place, row.fingerprint)]
    return any(other.status in LIVE for other in others)


def _conflict(why: str) -> Conflict:
    return Conflict(why=why, approval=True)
