"""Chat: everything a conversation does, as flows, written once for plain and asyncio callers.

Reads a reply, has the core walk its calls, and gives back the messages to append; follows held calls up; closes a history after a crash.
Decides nothing. Before it stands a wire, after it the core; the drivers carry its flows out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from guard.core import ports as p
from guard.core.audit import said
from guard.core.audit_ends import delivered
from guard.core.budget import USED_UP, spent_by
from guard.core.context import Context
from guard.core.model import Approval, CallKey, ConversationRef, Outcome, Session, ToolCall, Usage
from guard.core.persons import opaque
from guard.core.pipeline import guard_turn
from guard.core.replacing import replace
from guard.core.telling import told
from guard.core.unopened import not_yours
from guard.core.values import JsonObject
from guard.core.views import Room
from guard.core.walked import Walked
from guard.errors import ConversationError, GuardError, StoreError
from guard.runner.ahead import Ahead
from guard.runner.aside import aside, key_of
from guard.runner.compensation import offering
from guard.runner.hands import Consult
from guard.runner.opening import kept_key
from guard.runner.proposed import digest_of
from guard.runner.report import idle
from guard.runner.trim import trimmed
from guard.runner.turn import Turn
from guard.wires import Reply, Wire

if TYPE_CHECKING:
    from guard.runner.force import InForce
    from guard.runner.guard import GuardBase

Held: TypeAlias = Literal["answer", "suspend"]
FREE = Usage(cost=Decimal(0))
"""A single call has no reply, so it costs no tokens."""


class Chat:
    """One session's calls on one wire. Built by `Guard.open`; holds no history: the ledger is in the store."""

    def __init__(
        self,
        guard: GuardBase,
        session: Session,
        wire: Wire,
        ref: ConversationRef,
        held: Held,
        only: frozenset[str] | None,
        pinned: InForce | None = None,
    ) -> None:
        if held not in ("answer", "suspend"):
            raise GuardError(f"held is 'answer' or 'suspend', not {held!r}")
        self.guard, self._session, self.wire, self.ref, self._held, self._only = guard, session, wire, ref, held, only
        self._pinned = pinned

    @property
    def in_force(self) -> InForce:
        """The policy that this chat is judged by: today's, or the one that it was pinned to."""
        return self._pinned or self.guard.in_force

    def pinned(self) -> Self:
        """This chat for one flow: whatever is reloaded meanwhile, all of it is judged by one version."""
        return type(self)(self.guard, self._session, self.wire, self.ref, self._held, self._only, self.in_force)

    @property
    def session(self) -> Session:
        """Who is signed in here."""
        return self._session

    @property
    def suspends(self) -> bool:
        """Whether the loop pauses at a held call, as `held="suspend"` says."""
        return self._held == "suspend"

    @property
    def tools(self) -> list[JsonObject]:
        """Schemas for the model, in the wire's form: what this session may call, without the fields that the session owns."""
        now = self.in_force
        names = sorted(now.visible(self._session) & self._offered(now))
        return self.wire.tools([told(now.policy.tools[name]) for name in names], now.names(self.wire))

    def proposed(self, read: Reply) -> tuple[ToolCall, ...]:
        """The calls of a reply by the policy's names of their tools."""
        names = self.in_force.names(self.wire)
        return tuple(replace(call, tool=names.tool(call.tool)) for call in read.calls) if names.means else read.calls

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """The messages as plain JSON, SDK objects included."""
        return self.wire.dump(messages)

    def trim(self, messages: Sequence[object], budget: int | None = None, *, max_bytes: int | None = None) -> list[JsonObject]:
        """A copy of the history, as plain JSON, that is at most `budget` tokens or `max_bytes` bytes long, where results can make it so.

        Large old results go first, with a note in their place; what grounds and open approvals need stays, and so does every message. Results
        that the model has not seen yet are cut last, by their structure. Raises WireError for what is no history, GuardError without a bound.
        """
        if budget is None and max_bytes is None:
            raise GuardError("trim needs a budget: chat.trim(messages, 20_000) in tokens, or max_bytes=")
        for given in (budget, max_bytes):
            if given is not None and (type(given) is not int or given < 0):
                raise GuardError("a budget is a whole number from 0 up")
        room = Room(bytes=max_bytes, tokens=budget)
        now = self.in_force
        own = now.names(self.wire).tool
        return trimmed(self.wire, messages, now.policy.tools.values(), room, self.guard.count_tokens, own)

    def _offered(self, now: InForce) -> frozenset[str]:
        names = frozenset(now.policy.tools)
        return names if self._only is None else names & self._only

    def context(self, *, wired: bool = True, words: str = "") -> Context:
        """What a walk of this chat is given, as of now; `words` stand beside the calls. Calls without a wire are told the policy's own names of tools."""
        guard, now = self.guard, self.in_force
        offered = self._offered(now)
        visible, names = now.visible(self._session) & offered, now.names(self.wire)
        return Context(
            policy=now.policy,
            session=self._session,
            ref=self.ref,
            offered=offered,
            visible=frozenset(map(names.show, visible)) if wired and names.shown else visible,
            redactor=now.hands.redactor,
            now=guard.store.now(),
            count=guard.count_tokens,
            sessions=guard.sessions,
            salt=partial(token_hex, 16),
            gap=guard.gaps.offer(),
            words=words,
            **aside(guard.store),
        )

    def measured(self, *, wired: bool = True, words: str = "") -> p.Flow[Context]:
        """The same, with what the results of earlier turns came to, where the policy bounds those of a conversation."""
        context = self.context(wired=wired, words=words)
        if context.policy.limits.conversation_room == Room():
            return context
        try:
            spent = yield from p.ask(Consult(question=lambda store: spent_by(store.rows(self.ref), context.count)))
        except StoreError:
            spent = USED_UP
        return replace(context, spent=spent)

    def _narrow(
        self, roles: Sequence[str] | None, tools: Sequence[str] | None, name: str | None
    ) -> tuple[Session, ConversationRef, frozenset[str] | None]:
        """What a child gets: never more than its parent has."""
        session, only, now = self._session, self._only, self.in_force
        if roles is not None:
            extra = set(roles) - set(session.roles)
            if extra:
                derived = extra & now.policy.authorizer.roles(session)
                cure = f"; {', '.join(sorted(derived))} comes of a rule: keep the role that it comes with" if derived else ""
                raise ConversationError(f"a child cannot have roles that its parent lacks: {', '.join(sorted(extra))}{cure}")
            session = replace(session, roles=tuple(roles), within=session)
        if tools is not None:
            extra = set(tools) - self._offered(now)
            if extra:
                raise ConversationError(f"a child cannot have tools that its parent lacks: {', '.join(sorted(extra))}")
            only = frozenset(tools)
        if name is not None and (not name or "/" in name):
            raise ConversationError("a child's name is a text without slashes")
        return (
            session,
            replace(self.ref, branch=f"{self.ref.branch}/{opaque(self.guard.redactor, 'child', name) if name else token_hex(8)}"),
            only,
        )

    def _said(self, text: str) -> JsonObject:
        """Register the user's words and give the message for them."""
        message = self.wire.user(text)
        salt = token_hex(16)
        self.guard.store.say(self.ref, text, said(self.ref, text, salt, key_of(self.guard.store)), salt)
        return message

    # -- flows -------------------------------------------------------------------------------------------------------------

    def handling(self, reply: object, history: Sequence[object] | None) -> p.Flow[Turn]:
        """Handle one reply: walk its calls, render the outcomes."""
        wire = self.wire
        read = wire.read(reply)
        if not read.calls:
            stop: Literal["done"] | None = None if read.paused else "done"
            return Turn(messages=[], append=wire.stored(read), stop=stop, pending=(), outcomes=())
        seen = None if history is None else wire.answered(history, digest_of)
        mark = digest_of(read.kept)
        opening = p.OpenTurn(
            ref=self.ref,
            digest=mark,
            calls=self.proposed(read),
            usage=read.usage,
            answered=None if seen is None else seen.count(mark),
            answered_all=None if seen is None else len(seen),
        )
        walked = yield from self._walk(opening, read)
        offered: tuple[Outcome, ...] = ()
        if any(outcome.status == "unknown" for outcome in walked.outcomes):
            with suppress(StoreError):  # offered later: the next settle or resume tries again
                offered = yield from offering(self)
        pending = yield from self._pending((*walked.outcomes, *offered), walked.asked)
        suspended = self._held == "suspend" and any(outcome.status == "held" for outcome in walked.outcomes)
        messages = [] if suspended else wire.results(read, walked.outcomes)
        if messages:
            self._delivered(opening, walked.outcomes)
        return Turn(
            messages=messages,
            append=[*wire.stored(read), *messages] if messages else [],
            stop="held" if suspended else "limit" if walked.limited else None,
            pending=pending,
            outcomes=walked.outcomes,
            warnings=walked.idle,
        )

    def _walk(self, opening: p.OpenTurn, read: Reply) -> p.Flow[Walked]:
        context: Context | None = None
        try:
            context = yield from self.measured(words=read.words)
            walked = yield from guard_turn(opening, context, truncated=read.truncated, most=self.wire.most_calls)
            return self._noted(walked, context)
        except ConversationError:
            return (yield from self._not_yours(opening, context))

    def _not_yours(self, opening: p.OpenTurn, context: Context | None) -> p.Flow[Walked]:
        """The conversation is somebody else's."""
        context = context or self.context()
        outcomes = yield from not_yours(opening, context)
        return self._noted(Walked(outcomes=outcomes, limited=False), context)

    def _delivered(self, opening: p.OpenTurn, outcomes: Sequence[Outcome]) -> None:
        """Have it written, with whatever is written next, that these outcomes went back for the first time."""
        redactor = self.guard.redactor
        events = [
            delivered(CallKey(self.ref, outcome.turn, outcome.position, opening.key), call, outcome, redactor, again=False)
            for call, outcome in zip(opening.calls, outcomes, strict=True)
            if outcome.turn and not outcome.replayed  # without a turn nothing of it is on record
        ]
        self.guard.store.announce(events)

    def _noted(self, walked: Walked, context: Context) -> Walked:
        """Count what was refused for lack of a record, go on owing what was counted before and is not on record yet, and log idle rules."""
        self.guard.gaps.settle(context.gap)
        self.guard.gaps.note(walked.outcomes, context.policy.tools, context.now)
        idle(walked.idle, self.in_force.hands.told)
        return walked

    def _pending(self, outcomes: Sequence[Outcome], asked: tuple[Approval, ...]) -> p.Flow[tuple[Approval, ...]]:
        """The approvals that held calls wait for: those that this walk asked for, and what the store has of the others."""
        known = {approval.id: approval for approval in asked}
        wanted = [outcome.approval for outcome in outcomes if outcome.status == "held" and outcome.approval]
        found: list[Approval] = []
        with suppress(StoreError):  # the calls have run: their results go back even if nothing more can be looked up
            for approval_id in dict.fromkeys(wanted):
                approval = known.get(approval_id) or (yield from p.ask(Consult(question=partial(_approval, approval_id))))
                found += [approval] if approval is not None else []
        return tuple(found)

    def single(self, call: ToolCall, key: str | None, words: str = "", ahead: Ahead | None = None) -> p.Flow[Outcome]:
        """One call without a wire; `words` is what the model wrote beside it, `ahead` remembers the turn before it, else the guard does."""
        if not isinstance(words, str):
            raise GuardError("words is the text that the model wrote beside the call")
        key = (yield from kept_key(key, self.ref, self.guard.redactor, self.guard.store)) if key else ""
        opening = p.OpenTurn(ref=self.ref, digest=digest_of((call,)), calls=(call,), usage=FREE, key=key)
        context: Context | None = None
        ahead = ahead or self.guard.aheads.of(self.ref)
        try:
            context = ahead.within((yield from self.measured(wired=False, words=words)), self.guard.store)
            walked = self._noted((yield from guard_turn(opening, context)), context)
        except ConversationError:
            walked = yield from self._not_yours(opening, context)
        ahead.learn(walked)
        self._delivered(opening, walked.outcomes)
        return walked.outcomes[0]


def _approval(approval_id: str, store: p.Store) -> Approval | None:
    return store.approval(approval_id)
