"""Taking: an action is claimed, run by whoever won it, and its outcome written down; and what becomes of one that was taken before.

The part of the walk behind the decision that is about a single action, as flows; `pipeline` alone says when each of them is reached. Durable
before it starts, started by one process only. A call that was taken and has no outcome is waited for while somebody may be at it; when it
was lost, its class decides: unknown, or taken again with the same key. Yields commands, does no I/O.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TypeAlias

from guard.core import answer, audit, audit_ends
from guard.core import ports as p
from guard.core.acting import Blocked
from guard.core.audit_begun import Taken, began
from guard.core.board import Board, Waits
from guard.core.commitments import More
from guard.core.concluding import at, row_of
from guard.core.endings import Ended, ended, idempotency, in_doubt
from guard.core.grant_records import used
from guard.core.grants import Use
from guard.core.kills import Killed, Stop, refusal
from guard.core.model import Allow, Outcome, Refusal, ToolCall, ValidCall
from guard.core.reasons import Reason
from guard.core.recall import may_go_on, of_branch, replayed, take_over
from guard.core.replacing import replace
from guard.core.rules import Tool
from guard.core.unresolved import aim_of, blocked
from guard.errors import StoreError

_ROUNDS = 4  # how often a call may be found taken by somebody else, lost, and taken by a third
_LEASE = 30.0  # seconds for a tool without a time-out: renewed while it runs
_MARGIN = 5.0  # seconds for what stands between the claim and the tool


def act(board: Board, index: int, allow: Allow) -> p.Flow[Outcome]:
    """Claim one action, run it, record its outcome."""
    if board.down:  # the store failed behind the action before this one: nobody waits for it again
        return (yield from refuse_late(board, index, answer.unstored(board.down)))
    for _ in range(_ROUNDS):
        try:
            won = board.won.pop(index, None) or (yield from p.ask(claim_of(board, index, allow)))
        except StoreError as error:
            board.down = error.code
            return (yield from refuse_late(board, index, answer.unstored(error.code)))
        except p.HaltedError:
            return (yield from refuse_late(board, index, Refusal(reason=Reason.INTERRUPTED)))
        if isinstance(won, p.Won):
            return (yield from _perform(board, index, allow, won))
        other = yield from _not_won(board, index, allow, won)
        if other is not None:
            return other
    return board.doubt(index, board.lost[index])


def claim_of(board: Board, index: int, allow: Allow) -> p.Claim:
    """What takes an action that was allowed."""
    key, call, context = board.keys[index], allow.call, board.context
    spent = allow.approval.id if allow.approval else None
    idem, lease = idempotency(call.valid, key, board.run(index)), lease_of(call.valid.tool)
    row = row_of(board, index, None, "started", key, approval=spent, idem=idem)
    first = board.lost[index].idem if index in board.lost else idem  # the key stays the one that it was taken with first

    def begun(attempt: int) -> p.Event:
        taken = Taken(attempt, idem if attempt == 1 else first, lease)
        beside = context.trace + context.priv
        return began(key, allow, context.policy.version, context.redactor, taken, board.salts[index], beside)

    again = index in board.lost and (call.valid.tool.effect == "idempotent" or index in board.probed)
    use, found = use_of(board, index, allow), aim_of(board, call.valid)
    return p.Claim(row=row, approval=spent, event=begun, lease=lease, again=again, grant=use, aim=found)


def use_of(board: Board, index: int, allow: Allow) -> Use | None:
    """What a call draws on the grant that it was allowed under."""
    grant, valid, key = allow.grant, allow.call.valid, board.keys[index]
    if grant is None:
        return None
    call_id = audit.named(valid.call.id, board.context.redactor)
    return Use(grant=grant.id, terms=grant.terms, definition=valid.tool.definition, event=partial(used, key, call_id))


def lease_of(tool: Tool) -> float:
    """How many seconds whoever takes a call is believed to be at it: never less than the tool's time-out."""
    if tool.lease is not None:
        return tool.lease
    return _LEASE if tool.timeout is None else tool.timeout + max(_MARGIN, tool.timeout / 10)


_Other: TypeAlias = p.Replay | p.InDoubt | p.Conflict | Blocked | Killed


def _not_won(board: Board, index: int, allow: Allow, found: _Other) -> p.Flow[Outcome | None]:
    """What goes back for a call that somebody else has; None where it may be claimed once more."""
    item = board.items[index]
    if isinstance(found, Killed):
        return (yield from _stopped(board, index, found.stop))
    if isinstance(found, Blocked):
        return (yield from refuse_late(board, index, blocked(found.row, allow.call.valid)))
    if isinstance(found, p.Conflict):
        return (yield from unused(board, index, allow, found))
    if isinstance(found, p.Replay) and found.row.outcome is not None:
        return at(replayed(of_branch(board, index, found.row, allow.call.valid), item.call), item.key)
    try:
        state = yield from _after(board, index, Waits(found.row, allow.call.valid))
        if isinstance(state, Outcome):
            return at(state, item.key)
        return (yield from _probed(board, index, allow)) if allow.call.valid.tool.effect == "probe" else None
    except StoreError:
        return board.doubt(index, found.row)


def _stopped(board: Board, index: int, stop: Stop) -> p.Flow[Outcome]:
    """A kill covers the call: it does not start. One that was taken before and lost is unknown, and nobody takes it again meanwhile."""
    if index in board.lost:
        with suppress(StoreError):
            return at((yield from _lapse(board, index, board.lost[index])), board.items[index].key)
    return (yield from refuse_late(board, index, refusal(stop)))


def unused(board: Board, index: int, allow: Allow, found: p.Conflict) -> p.Flow[Outcome]:
    """A call whose grant did not answer after all waits on where a person is asked about it already; else it is refused."""
    if not found.waits or allow.otherwise is None:
        return (yield from refuse_late(board, index, conflicting(found, allow)))
    item, context, call, hold = board.items[index], board.context, allow.call, allow.otherwise
    more = More(board.shadowed.get(index, ()), item.salt, context.took(), context.trace + context.priv)
    version, redactor = context.policy.version, board.redactor(index)
    event = audit.decided(item.key, item.call, hold, call, version, redactor, context.session, more)
    with suppress(StoreError):  # what the ledger has of it is that it is held
        yield from p.ask(p.Finish(rows=(), events=(event,)))
    return answer.held(call.valid, item.key, hold.approval, context.now)


def conflicting(found: p.Conflict, allow: Allow) -> Refusal:
    """Why a call that was allowed is refused after all."""
    if found.approval and allow.grant is not None:
        detail = "What let it run without a question was used up or ended meanwhile. If you propose it again, a person is asked."
        return Refusal(reason=Reason.APPROVAL_INVALID, detail=detail, note=found.why)
    return Refusal(reason=Reason.APPROVAL_INVALID if found.approval else Reason.CONFLICT, note=found.why)


def _perform(board: Board, index: int, allow: Allow, won: p.Won) -> p.Flow[Outcome]:
    """Run what was won, and write down how it ended."""

    def late(ran: p.Executed) -> p.Finish:
        return _finish(ended(board, index, allow, _known(replace(ran, late=True), won), won.attempt), won)

    end = ended(board, index, allow, _known((yield from run(board, index, allow, won, late)), won), won.attempt)
    return (yield from _ended(board, index, allow, _finish(end, won), end.outcome))


def _known(ran: p.Executed, won: p.Won) -> p.Executed:
    """What is known of the act: that a further attempt did not start, or broke, says nothing about the one before; the tool's own word does."""
    silent = not ran.started or (ran.error is not None and ran.safe is None)
    return replace(ran, started=True, unclear=True) if won.attempt > 1 and silent else ran


def _finish(end: Ended, won: p.Won) -> p.Finish:
    mine = tuple(replace(row, at=won.at, attempt=won.attempt) for row in end.rows)  # says the one who took it
    return p.Finish(rows=mine, events=end.events, handles=end.handles)


def _ended(board: Board, index: int, allow: Allow, finish: p.Finish, outcome: Outcome) -> p.Flow[Outcome]:
    item = board.items[index]
    try:
        standing = yield from p.ask(finish)
    except StoreError as error:
        board.down = error.code
        lost = "Its outcome could not be recorded."
        spent = allow.approval.id if allow.approval else None
        return answer.unknown(item.call, item.key, allow.call.valid.arguments, lost, spent)
    better = None if standing is None else standing.outcome
    return outcome if better is None or better.status == outcome.status else at(replayed(better, item.call), item.key)


def run(board: Board, index: int, allow: Allow, won: p.Won | None = None, late: p.Late | None = None) -> p.Flow[p.Executed]:
    """Run the tool. An action only with what it won."""
    valid, key = allow.call.valid, board.keys[index]
    command = p.Execute(
        tool=valid.tool,
        arguments=valid.arguments,
        canonical=valid.canonical,
        key=key,
        idempotency_key=valid.fingerprint if won is None else won.idem,
        taken=won,
        late=late,
        revealed=valid.revealed,
    )
    try:
        return (yield from p.ask(command))
    except p.HaltedError:
        return p.Executed(interrupted=True, started=False)


def refuse_late(board: Board, index: int, refusal: Refusal) -> p.Flow[Outcome]:
    """A call that was allowed and could not be claimed: it did not run, and the ledger says so where it can.

    One that was taken before and lost is in doubt all the same.
    """
    item, redactor = board.items[index], board.context.redactor
    if index in board.lost:
        return board.doubt(index, board.lost[index])
    outcome = answer.refused(item.call, item.key, refusal, board.arguments(index), board.redactor(index))
    event = audit_ends.refused_late(item.key, item.call, outcome, redactor, board.context.policy.version, refusal.note)
    with suppress(StoreError):
        if board.down:  # what the ledger has of the call stays, an approval that was not spent above all
            yield from p.ask(p.Finish(rows=(), events=(event,), later=True))
        else:
            yield from p.ask(p.Finish(rows=(row_of(board, index, outcome, "refused"),), events=(event,)))
    return outcome


# -- calls that were taken before ------------------------------------------------------------------------------------------


def join(board: Board) -> p.Flow[None]:
    """Wait for whoever took a call; its outcome is this call's. What was lost and may be taken again goes on from where it got."""
    for index, state in enumerate(board.states):
        if isinstance(state, Waits):
            board.put(index, (yield from _after(board, index, state)))


def give_up(board: Board) -> p.Flow[None]:
    """A lost call that today's policy does not let run again is unknown: whatever the rooms say, it may have taken effect."""
    for index, row in board.lost.items():
        if not isinstance(board.states[index], Allow):
            board.put(index, (yield from _lapse(board, index, row)))


def _after(board: Board, index: int, waits: Waits) -> p.Flow[Outcome | ToolCall | ValidCall]:
    """The outcome of a call that was taken before, or the call, to go on."""
    joined = yield from p.ask(p.Join(row=waits.row))
    row = joined.row
    if row.status != "started":
        if row.status == "unknown" and may_go_on(row, waits.call) and row.key != board.items[index].key:
            take_over(board, index, row)
            return waits.call
        if row.outcome is None:
            return board.doubt(index, row)
        known = row.outcome if isinstance(waits.call, ToolCall) else of_branch(board, index, row, waits.call)
        return replayed(known, board.items[index].call)
    if not joined.lost:
        return board.doubt(index, row, "It is still under way.")
    if may_go_on(row, waits.call):
        take_over(board, index, row)
        return waits.call
    return (yield from _lapse(board, index, row))


def overtaken(board: Board, index: int, call: ValidCall) -> p.Flow[Outcome | Refusal | ToolCall | ValidCall]:
    """Somebody else took a held call between two looks at it, and spent its approval: what became of it; or the call, to go on."""
    waits = Waits(row_of(board, index, None, "started", board.keys[index]), call)
    board.put(index, waits)  # whatever fails now, it may have taken effect
    state = yield from _after(board, index, waits)
    if isinstance(state, Outcome) and state.status == "held":
        return Refusal(reason=Reason.APPROVAL_INVALID, note="status consumed")  # spent, and taken by nobody
    return state


def _lapse(board: Board, index: int, row: p.CallRow) -> p.Flow[Outcome]:
    """Write down that a call was lost; what is known of it by then goes back."""
    told, event = in_doubt(row, board.context.redactor, told=board.opened is not None and row.key == board.items[index].key)
    now = yield from p.ask(p.Lapse(row=told, event=event))
    return board.doubt(index, now) if now.outcome is None else replayed(now.outcome, board.items[index].call)


def _probed(board: Board, index: int, allow: Allow) -> p.Flow[Outcome | None]:
    """Ask the host's probe about a lost call: done, or unknown; None where it may be taken again."""
    valid, row = allow.call.valid, board.lost[index]
    found = yield from p.ask(p.Probe(tool=valid.tool, arguments=valid.arguments, idempotency_key=row.idem))
    if found.happened is False and valid.tool.dedupes:
        board.probed.add(index)
        return None
    if not found.happened:
        return (yield from _lapse(board, index, row))
    end = ended(board, index, allow, p.Executed(value=found.value, probed=True), row.attempt)
    mine = tuple(replace(one, attempt=row.attempt) for one in end.rows)
    return (yield from _ended(board, index, allow, p.Finish(rows=mine, events=end.events, handles=end.handles), end.outcome))
