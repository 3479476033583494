"""Chat: everything a conversation does, as flows, written once for plain and asyncio callers.

Reads a reply, has the core walk its calls, and gives back the messages to append; follows held calls up; closes a history after a crash.
Decides nothing. Before it stands a wire, after it the core; the drivers carry its flows out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from guard.core import ports as p
from guard.core.answer import refused, unknown
from guard.core.audit import decided, said
from guard.core.board import Context
from guard.core.model import Approval, CallKey, ConversationRef, Outcome, Refusal, Session, ToolCall, Usage
from guard.core.pipeline import Walked, guard_turn, settle_calls
from guard.core.reasons import Reason
from guard.core.values import JsonObject, canonical, digest
from guard.errors import ConversationError, GuardError, StoreError
from guard.runner.hands import Consult
from guard.runner.turn import Turn
from guard.wires import Reply, Wire

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase

Held: TypeAlias = Literal["answer", "suspend"]
FREE = Usage(cost=Decimal(0))
"""A single call has no reply, so it costs no tokens."""


class Chat:
    """One session's calls on one wire. Built by `Guard.open`; holds no history: the ledger is in the store."""

    def __init__(
        self, guard: GuardBase, session: Session, wire: Wire, ref: ConversationRef, held: Held, only: frozenset[str] | None
    ) -> None:
        if held not in ("answer", "suspend"):
            raise GuardError(f"held is 'answer' or 'suspend', not {held!r}")
        self._guard, self._session, self._wire, self._ref, self._held, self._only = guard, session, wire, ref, held, only
        self._children = 0

    @property
    def session(self) -> Session:
        """Who is signed in here."""
        return self._session

    @property
    def tools(self) -> list[JsonObject]:
        """Schemas for the model, in the wire's form: what this session may call, without the fields that the session owns."""
        policy = self._guard.policy
        names = sorted(self._guard.visible(self._session) & self._offered())
        return self._wire.tools([policy.tools[name] for name in names])

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """The messages as plain JSON, SDK objects included."""
        return self._wire.dump(messages)

    def _offered(self) -> frozenset[str]:
        names = frozenset(self._guard.policy.tools)
        return names if self._only is None else names & self._only

    def _context(self) -> Context:
        guard = self._guard
        offered = self._offered()
        return Context(
            policy=guard.policy,
            session=self._session,
            ref=self._ref,
            offered=offered,
            visible=guard.visible(self._session) & offered,
            redactor=guard.redactor,
            now=guard.store.now(),
        )

    def _narrow(
        self, roles: Sequence[str] | None, tools: Sequence[str] | None
    ) -> tuple[Session, ConversationRef, frozenset[str] | None]:
        """What a child gets: never more than its parent has."""
        session, only = self._session, self._only
        if roles is not None:
            extra = set(roles) - self._guard.policy.authorizer.roles(session)
            if extra:
                raise ConversationError(f"a child cannot have roles that its parent lacks: {', '.join(sorted(extra))}")
            session = replace(session, roles=tuple(roles), within=session)
        if tools is not None:
            extra = set(tools) - self._offered()
            if extra:
                raise ConversationError(f"a child cannot have tools that its parent lacks: {', '.join(sorted(extra))}")
            only = frozenset(tools)
        self._children += 1
        return session, replace(self._ref, branch=f"{self._ref.branch}/{self._children}"), only

    def _said(self, text: str) -> JsonObject:
        """Register the user's words and give the message for them."""
        message = self._wire.user(text)
        self._guard.store.say(self._ref, text, said(self._ref, text))
        return message

    # -- flows -------------------------------------------------------------------------------------------------------------

    def _handling(self, reply: object, history: Sequence[object] | None) -> p.Flow[Turn]:
        """Handle one reply: walk its calls, render the outcomes."""
        wire = self._wire
        read = wire.read(reply)
        if not read.calls:
            stop: Literal["done"] | None = None if read.paused else "done"
            return Turn(messages=[], append=[wire.stored(read)], stop=stop, pending=(), outcomes=())
        seen = None if history is None else wire.answered(history, digest_of)
        mark = digest_of(read.kept)
        opening = p.OpenTurn(
            ref=self._ref,
            digest=mark,
            calls=read.calls,
            usage=read.usage,
            answered=None if seen is None else seen.count(mark),
            answered_all=None if seen is None else len(seen),
        )
        walked = yield from self._walk(opening, read)
        pending = yield from self._pending(walked.outcomes)
        suspended = self._held == "suspend" and any(outcome.status == "held" for outcome in walked.outcomes)
        messages = [] if suspended else wire.results(read, walked.outcomes)
        return Turn(
            messages=messages,
            append=[wire.stored(read), *messages] if messages else [],
            stop="held" if suspended else "limit" if walked.limited else None,
            pending=pending,
            outcomes=walked.outcomes,
        )

    def _walk(self, opening: p.OpenTurn, read: Reply) -> p.Flow[Walked]:
        try:
            return (yield from guard_turn(opening, self._context(), truncated=read.truncated, most=self._wire.most_calls))
        except ConversationError:
            return not_yours(opening, self._guard.redactor)

    def _pending(self, outcomes: Sequence[Outcome]) -> p.Flow[tuple[Approval, ...]]:
        wanted = [outcome.approval for outcome in outcomes if outcome.status == "held" and outcome.approval]
        found: list[Approval] = []
        with suppress(StoreError):  # the calls have run: their results go back even if nothing more can be looked up
            for approval_id in dict.fromkeys(wanted):
                approval = yield from p.ask(Consult(question=partial(_approval, approval_id)))
                found += [approval] if approval is not None else []
        return tuple(found)

    def _settling(self) -> p.Flow[list[JsonObject]]:
        """Run or close what has been decided since, and say so to the model once."""
        rows = yield from p.ask(Consult(question=self._decided))
        waiting = [row for row in rows if row.status == "held"]
        ready = {row.key: row.outcome for row in rows if row.status != "held" and row.outcome is not None}
        if waiting:
            walked = yield from settle_calls(waiting, self._context())
            ready |= {row.key: outcome for row, outcome in zip(waiting, walked.outcomes, strict=True) if outcome.status != "held"}
        if not ready:
            return []
        told = [ready[row.key] for row in rows if row.key in ready]
        rows_now = yield from p.ask(Consult(question=lambda store: store.rows(self._ref)))
        marked = tuple(replace(row, settled=True) for row in rows_now if row.key in ready)
        yield from p.ask(p.Record(rows=marked, events=()))
        return self._wire.follow_up([outcome for outcome in told if outcome is not None])

    def _decided(self, store: p.Store) -> tuple[p.CallRow, ...]:
        """Held calls of this branch that somebody has decided about, and finished ones whose outcome was not told yet."""
        found: list[p.CallRow] = []
        for row in store.rows(self._ref):
            if (
                row.key.ref.branch != self._ref.branch
                or row.settled
                or row.approval is None
                or row.status in {"alias", "started"}
            ):
                continue
            if row.status == "held":
                approval = store.approval(row.approval)
                if approval is None or approval.status == "pending":
                    continue
            found.append(row)
        return tuple(found)

    def _resuming(self, messages: Sequence[object]) -> p.Flow[list[JsonObject]]:
        """Close every open id of a history from the ledger, then add what was settled and is not in it yet."""
        wire = self._wire
        history = wire.dump(messages)
        rows = yield from p.ask(Consult(question=lambda store: store.rows(self._ref)))
        mine = [row for row in rows if row.key.ref.branch == self._ref.branch]
        for _ in range(len(history)):
            found = wire.open_calls(history)
            if found is None:
                break
            index, read, answered = found
            closing = {i: one for i, one in enumerate(self._closing(read, mine)) if i not in answered}
            yield from self._unseen(read, closing)
            history = wire.close(history, index, read, closing)
        history += yield from self._settling()
        return history

    def _unseen(self, read: Reply, closing: Mapping[int, Outcome]) -> p.Flow[None]:
        """Record the calls of a history that the ledger does not know: lost before they were handled, or written by somebody else."""
        refusal = Refusal(reason=Reason.INTERRUPTED, note="in the history, not in the ledger")
        guard = self._guard
        events = tuple(
            decided(CallKey(self._ref, 0, i), read.calls[i], refusal, None, guard.policy.version, guard.redactor)
            for i, one in closing.items()
            if one.reason is Reason.INTERRUPTED and not one.replayed
        )
        if events:
            yield from p.ask(p.Record(rows=(), events=events))

    def _closing(self, read: Reply, rows: Sequence[p.CallRow]) -> list[Outcome]:
        """One outcome for each call of a message, from the newest turn that had these calls."""
        turns = {row.key.turn for row in rows if any(same_call(row.call, call) for call in read.calls)}
        newest = max(turns, default=0)
        by_place = {row.key.position: row for row in rows if row.key.turn == newest}
        return [self._closed(call, by_place.get(position)) for position, call in enumerate(read.calls)]

    def _closed(self, call: ToolCall, row: p.CallRow | None) -> Outcome:
        if row is None or not same_call(row.call, call):
            return refused(call, CallKey(self._ref, 0, 0), Refusal(reason=Reason.INTERRUPTED), None, self._guard.redactor)
        if row.outcome is not None:
            return replace(row.outcome, call_id=call.id, replayed=True)
        return unknown(call, row.key, row.arguments, approval=row.approval)

    def single(self, call: ToolCall, key: str | None) -> p.Flow[Outcome]:
        """One call without a wire."""
        opening = p.OpenTurn(ref=self._ref, digest=digest_of((call,)), calls=(call,), usage=FREE, key=key or "")
        try:
            walked = yield from guard_turn(opening, self._context())
        except ConversationError:
            walked = not_yours(opening, self._guard.redactor)
        return walked.outcomes[0]


def _approval(approval_id: str, store: p.Store) -> Approval | None:
    return store.approval(approval_id)


def not_yours(opening: p.OpenTurn, redactor: p.Redactor) -> Walked:
    """Every call of a conversation that belongs to somebody else is refused."""
    refusal = Refusal(reason=Reason.NOT_OWNER, detail="The conversation.")
    found = [refused(call, CallKey(opening.ref, 0, i), refusal, None, redactor) for i, call in enumerate(opening.calls)]
    return Walked(outcomes=tuple(found), limited=False)


def digest_of(calls: tuple[ToolCall, ...]) -> str:
    """One digest for one list of calls: ids, names and raw arguments."""
    return digest("guard-turn-v1", *(part for call in calls for part in (call.id, call.tool, _raw(call))))


def _raw(call: ToolCall) -> str:
    arguments = call.arguments
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return canonical(arguments)
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return json.dumps(_plain(arguments), default=str, sort_keys=True)


def _plain(arguments: Mapping[str, object]) -> dict[str, object]:
    return {str(key): value for key, value in arguments.items()}


def same_call(left: ToolCall, right: ToolCall) -> bool:
    """Whether two proposals are the same: id, tool and raw arguments."""
    return left.id == right.id and left.tool == right.tool and _raw(left) == _raw(right)
