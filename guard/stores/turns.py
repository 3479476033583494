"""Turns: how a handled message is numbered or recognised, and what a run has used so far.

Shared by every store; may only ask the tables. Comes after `tables` and before `ledger`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from guard.core.model import Approval, ConversationRef, Usage
from guard.core.ports import Again, CallRow, Event, Opened, OpenTurn
from guard.core.values import Json, encode
from guard.stores.approvals import withdraw
from guard.stores.budget_tables import EXACT, ZERO
from guard.stores.owners import home_of, own
from guard.stores.tables import Asked, Home, Mark, Tables, Talk


def say(tables: Tables, ref: ConversationRef, text: tuple[str, str], event: Event) -> None:
    """Keep the user's words, with their salt; a new run begins with fresh counters."""
    talk = tables.talk(own(tables, ref))
    talk.words += 1
    talk.run += 1
    tables.append(counted(event, talk))
    talk.steps, talk.tokens, talk.cost, talk.known = 0, 0, ZERO, True
    talk.started = tables.now
    tables.say(talk.home, talk.words, text)
    tables.save(talk)
    for asked in tables.open_in(talk.home):
        if asked.approval.on_message == "cancel":
            withdraw(tables, asked, ref.principal)


def counted(event: Event, talk: Talk) -> Event:
    """The record that the user spoke, with how far the conversation had got by then: what a run has used is counted from there."""
    cost = None if talk.total_cost is None else str(talk.total_cost)
    counts: dict[str, Json] = {"words": talk.words, "runs": talk.run, "turns": talk.turns, "tokens": talk.total_tokens}
    return _with(event, "counts", {**counts, "cost": cost, "known": talk.total_known})


def _used(event: Event, usage: Usage) -> Event:
    """The last record of a turn that was opened, with what its message cost; nothing stands there where nobody said."""
    tokens = usage.tokens_in + usage.tokens_out
    if not (usage.known or tokens):
        return f'{event},"usage":{{}}' if isinstance(event, str) else {**event, "usage": {}}
    cost = None if usage.cost is None else str(usage.cost)
    return _with(event, "usage", {"tokens": tokens, "cost": cost, **({} if usage.known else {"known": False})})


def _with(event: Event, name: str, value: dict[str, Json]) -> Event:
    return f'{event},"{name}":{encode(value)}' if isinstance(event, str) else {**event, name: value}


def open_turn(tables: Tables, command: OpenTurn) -> Opened:
    """Number the turn or recognise it, and say what the run has used with it.

    A turn that may or may not be the newest one again gets a number of its own, so that it counts, and the newest one's rows.
    """
    tables.heed(home_of(command.ref))
    talk = tables.talk(own(tables, command.ref))
    again, mark = _recognise(tables, command, talk)
    rows: dict[int, CallRow] = {}
    if mark is not None and again is not Again.NEW:
        rows = {row.key.position: row for row in tables.rows(talk.home, mark.turn)}
    if mark is None or again is not Again.AGAIN:
        events = command.told(talk.turns + 1)
        for event in events[:-1]:
            tables.append(event)
        if events:
            tables.append(_used(events[-1], command.usage))
        mark = _number(tables, command, talk)
    return Opened(
        turn=mark.turn,
        again=again,
        rows=rows,
        run=talk.run,
        steps=talk.steps,
        seconds=_seconds(tables, talk),
        tokens=talk.tokens,
        cost=talk.cost,
        tokens_known=talk.known,
        total_tokens=talk.total_tokens,
        total_cost=talk.total_cost,
        total_known=talk.total_known,
        stops=tables.stops(talk.home),
    )


def _recognise(tables: Tables, command: OpenTurn, talk: Talk) -> tuple[Again, Mark | None]:
    if command.key:
        mark = tables.keyed(talk.home, command.key)
        return (Again.NEW if mark is None else Again.AGAIN), mark
    mark = tables.newest(talk.home, command.ref.branch)
    if mark is None:
        return Again.NEW, None
    if mark.digest != command.digest:
        return _older(tables, talk.home, command)
    if command.answered is None:
        return (Again.NEW if mark.run != talk.run else Again.UNSURE), mark
    return _compare(tables, talk.home, command, command.answered), mark


def _older(tables: Tables, home: Home, command: OpenTurn) -> tuple[Again, Mark | None]:
    """Whether an older turn is handled again, with the history of its time: a reply that was delivered twice, or rolled back to.

    A history that is not the one of that time may as well be cut off at its front, and then the calls may be meant anew.
    """
    branch, answered = command.ref.branch, command.answered
    mark = None if answered is None else tables.newest(home, branch, command.digest)
    if mark is None or answered is None or answered >= tables.count(home, branch, command.digest):
        return Again.NEW, None
    of_its_time = command.answered_all in (None, tables.before(home, branch, mark.turn))
    return (Again.AGAIN if of_its_time else Again.UNSURE), mark


def _compare(tables: Tables, home: Home, command: OpenTurn, answered: int) -> Again:
    """Whether the history holds the results of all turns with these calls, of none, or of some."""
    branch = command.ref.branch
    if answered == 0:
        return Again.AGAIN
    if answered >= tables.count(home, branch, command.digest):
        return Again.NEW
    whole = command.answered_all is not None and command.answered_all >= tables.count(home, branch, None) - 1
    return Again.AGAIN if whole else Again.UNSURE


def _number(tables: Tables, command: OpenTurn, talk: Talk) -> Mark:
    talk.turns += 1
    talk.steps += 1
    if talk.started is None:
        talk.started = tables.now
    _add_usage(talk, command.usage)
    mark = Mark(talk.turns, command.digest, talk.run, tables.now)
    tables.number(talk.home, command.ref.branch, command.key, mark)
    tables.save(talk)
    return mark


def _add_usage(talk: Talk, usage: Usage) -> None:
    tokens = usage.tokens_in + usage.tokens_out
    talk.tokens += tokens
    talk.total_tokens += tokens
    talk.known = talk.known and usage.known
    talk.total_known = talk.total_known and usage.known
    talk.cost = _plus(talk.cost, usage.cost)
    talk.total_cost = _plus(talk.total_cost, usage.cost)


def _plus(total: Decimal | None, cost: Decimal | None) -> Decimal | None:
    if total is None or cost is None:
        return None
    try:
        return EXACT.add(total, cost)
    except ArithmeticError:
        return None  # a sum that is not exact is not known


def _seconds(tables: Tables, talk: Talk) -> float:
    """How long the run has lasted, the time in which it waited for people left out."""
    started = tables.now if talk.started is None else talk.started
    waits = tables.asked_in(talk.home, talk.run)
    waited = _waited(tables, talk.home, waits, since=started) if waits else 0.0
    return max(0.0, tables.now - started - waited)


def _waited(tables: Tables, home: Home, waits: Sequence[Asked], *, since: float) -> float:
    """Seconds since `since` in which the conversation stood still because at least one of these approvals was undecided."""
    opened = tables.opened(home, min(asked.approval.turn for asked in waits))
    spans = sorted((max(asked.approval.requested_at, since), _end(asked.approval, opened, tables.now)) for asked in waits)
    total, reached = 0.0, since
    for begin, end in spans:
        begin = max(begin, reached)  # noqa: PLW2901 - the part that an earlier span has not covered
        if end > begin:
            total += end - begin
            reached = end
    return total


def _end(approval: Approval, opened: Sequence[Mark], now: float) -> float:
    """When the wait ended: somebody decided, nobody could any more, or the conversation went on without waiting."""
    decided = approval.ended_at if approval.decided_at is None else approval.decided_at
    ends = approval.expires_at if decided is None else decided
    later = (mark.at for mark in opened if mark.turn > approval.turn and mark.at >= approval.requested_at)
    return min(now, ends, next(later, now))
