"""Guard: one policy, one store and the host's tools; opens conversations and takes single calls.

Everything arrives as an argument (`guard.compose` brings the real ones). Identity is never ambient: each conversation and each call is
given its session.
"""

from __future__ import annotations

import asyncio
import inspect
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar

from guard.core.audit_policy import Parts
from guard.core.budget import approximate
from guard.core.model import ConversationRef, Outcome, Session, ToolCall
from guard.core.persons import known
from guard.core.ports import Policy, Redactor, Store
from guard.core.redactor import under
from guard.core.rights import Rights, Sessions
from guard.errors import GuardError
from guard.runner.ahead import Aheads
from guard.runner.chat import Chat
from guard.runner.conversation import AsyncConversation, Conversation
from guard.runner.desks import AsyncDesks, Desks
from guard.runner.drivers import SyncRun
from guard.runner.drivers_async import AsyncRun
from guard.runner.erasing import KEEP, Payloads, Sweeper
from guard.runner.force import InForce
from guard.runner.gaps import Gaps
from guard.runner.hands import Hands
from guard.runner.opening import opened, ref_of
from guard.runner.policy_log import began
from guard.runner.records import awaits
from guard.runner.reload import PolicyState, Reloaded, Reloader, Source
from guard.runner.watch import Watch
from guard.tools import RegisteredTool
from guard.wires import wire as wire_named

F = TypeVar("F", bound=Callable[..., Any])


class Witness(Protocol):
    """What makes checkpoints over the audit while the guard is open."""

    def close(self) -> None:
        """Make the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the policy came from, how it is kept up to date, and how many seconds raw values are kept (None: for ever).

    `mark` says from which contents it was made, `parts` what it consists of, `every` is how many seconds are between two looks (None: nobody looks), `stale_after` for how
    many it is relied on without being found again, `signal` a Casbin watcher; `witness` makes checkpoints while the guard is open.
    """

    source: Source | None = None
    mark: str = ""
    parts: Parts = field(default_factory=dict)
    every: float | None = None
    stale_after: float | None = None
    signal: Any = None
    witness: Witness | None = None
    keep_payloads: float | None = KEEP


class GuardBase:
    """What the plain and the asyncio guard share."""

    _awaits: ClassVar[bool] = False

    def __init__(
        self,
        *,
        policy: Policy,
        store: Store,
        tools: Mapping[str, RegisteredTool],
        redactor: Redactor,
        patience: float | None = None,
        probes: Mapping[str, Callable[..., Any]] | None = None,
        origin: Origin | None = None,
        count_tokens: Callable[[str], int] = approximate,
    ) -> None:
        waiting = sorted(name for name, tool in tools.items() if tool.is_async)
        if waiting and not self._awaits:
            raise GuardError(f"{', '.join(waiting)}: async tools need AsyncGuard")
        asking = sorted(name for name, probe in (probes or {}).items() if inspect.iscoroutinefunction(probe))
        if asking and not self._awaits:
            raise GuardError(f"{', '.join(asking)}: async probes need AsyncGuard")
        self.store, self.count_tokens, self.gaps, self.aheads = store, count_tokens, Gaps(), Aheads()
        self.sessions: Sessions | None = None
        self.places: dict[
            tuple[str, str, str], ConversationRef
        ] = {}  # what a host names so, as it is kept where that is not the same
        hiding = under(redactor, store.secret)
        hands = Hands(store=store, tools=tools, redactor=hiding, patience=patience, probes=probes or {})
        origin = origin or Origin()
        self._sweeper = Sweeper(Payloads(store, hiding), origin.keep_payloads, store.now)
        self.reloader = Reloader(
            InForce(policy=policy, hands=hands, mark=origin.mark, parts=origin.parts),
            origin.source,
            stale_after=origin.stale_after,
        )
        self._witness = origin.witness
        if origin.source is not None:
            began(self.reloader.current)
        self._watch = Watch(self.reloader, every=origin.every, signal=origin.signal) if origin.every is not None else None
        if self._watch is not None:
            weakref.finalize(self, self._watch.stop).atexit = False  # a guard that is forgotten is not looked after

    @property
    def in_force(self) -> InForce:
        """The version to judge by now, with everything derived from it: read it once for each thing that is judged."""
        return self.reloader.in_force

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.in_force.policy

    @property
    def hands(self) -> Hands:
        """The hands with the tools of the policy in force."""
        return self.in_force.hands

    @property
    def redactor(self) -> Redactor:
        """What hides, as the policy in force says."""
        return self.in_force.hands.redactor

    @property
    def policy_state(self) -> PolicyState:
        """Which policy is in force, since when it was last found to be the right one, and what was wrong at the last try to load another."""
        return self.reloader.state(watching=self._watch is not None and self._watch.alive)

    @property
    def rights(self) -> Rights:
        """Who may vote, by the policy in force and by what the host says of people today."""
        policy = self.policy
        return Rights(authorizer=policy.authorizer, people=policy.people, sessions=self.sessions, redactor=self.redactor)

    def session(self, loader: Sessions) -> Sessions:
        """Register who somebody is now: `@guard.session` on a plain function (principal, tenant) → their Session with today's roles, or None.

        With it a vote counts only while the one who gave it still holds the right, and an edit walks the whole path at once, in the requester's
        session. It must know everybody who proposes or decides; whom it does not know, and whatever it raises, counts for nothing.
        """
        if inspect.iscoroutinefunction(loader):
            raise GuardError("the session loader is a plain function of (principal, tenant)")
        self.sessions = loader
        return loader

    def resource(self, name: str) -> Callable[[F], F]:
        """Register a loader of records: `@guard.resource("order")` on a function of the id (and, if it takes two, the session).

        It returns the record (an object with fields), or None when there is none. Whatever it raises, and whatever else it returns, makes
        the fact unavailable, and the call is refused.
        """

        def register(loader: F) -> F:
            if name in self.hands.loaders:
                raise GuardError(f"a loader for the resource {name!r} is registered already")
            if awaits(loader) and not self._awaits:
                raise GuardError(f"the loader of {name!r} is async: async loaders need AsyncGuard")
            self.hands.loaders[name] = loader
            return loader

        return register

    def visible(self, session: Session) -> frozenset[str]:
        """The tools that this session may call: for the schemas and for telling the model which names exist."""
        return self.in_force.visible(session)

    def close(self) -> None:
        """Stop looking for another policy, and give back what the store holds open, after one more try to record what it did not take."""
        if self._watch is not None:
            self._watch.stop()
        self.reloader.close()
        self.hands.keeper.close()
        if self._witness is not None:
            self._witness.close()
        self.store.close()

    def __enter__(self) -> Self:
        """`with Guard.load(…) as guard:` closes the store at the end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def known(self, session: Session) -> Session:
        """The session with what stands for its person in the store: its `who`."""
        return known(self.redactor, session)

    def _opened(self, session: Session, conversation: str) -> ConversationRef:
        ref = opened(self, session, conversation)
        self._sweeper.look()
        return ref


class Guard(Desks, GuardBase):
    """The guard for plain callers."""

    def reload(self) -> Reloaded:
        """Load the policy folder again: build it aside, check it, and put it in force by one assignment.

        Raises PolicyError with every problem at once; the policy in force then stays what it was. Turns under way end under the version
        that they began with.
        """
        return self.reloader.reload()

    def roll_back(self) -> Reloaded:
        """Put the policy in force again that was before the newest load, by one assignment, without reading anything.

        The folder stays as it is: what was rolled back is loaded again only by `reload()`, or once the folder holds something else. Until then
        `policy_state.failure` says so, and nobody confirms the policy in force, so that `stale_after` runs. Raises GuardError where none is kept.
        """
        return self.reloader.roll_back()

    def open(
        self, session: Session, *, wire: str, conversation: str, held: Literal["answer", "suspend"] = "answer"
    ) -> Conversation:
        """Open a conversation of this session. Raises ConversationError when it is somebody else's, WireError for an unknown wire."""
        return Conversation(self, session, wire_named(wire), self._opened(session, conversation), held, None)

    def call(self, call: ToolCall, session: Session, *, conversation: str, key: str | None = None, words: str = "") -> Outcome:
        """Walk one call without a wire. The host's own `key` with the same content gives the recorded outcome, with another a refusal.

        `words`: what the model wrote beside the call, for whoever decides about it.
        """
        chat = Chat(self, session, wire_named("openai-chat"), ref_of(self, session, conversation), "answer", None).pinned()
        return SyncRun(chat.in_force.hands).run(chat.single(call, key, words))


class AsyncGuard(AsyncDesks, GuardBase):
    """The guard for asyncio callers; plain and async tools both work in it."""

    _awaits = True

    async def reload(self) -> Reloaded:
        """See `Guard.reload`; it works in a thread."""
        return await asyncio.to_thread(self.reloader.reload)

    async def roll_back(self) -> Reloaded:
        """See `Guard.roll_back`."""
        return await asyncio.to_thread(self.reloader.roll_back)

    def open(
        self, session: Session, *, wire: str, conversation: str, held: Literal["answer", "suspend"] = "answer"
    ) -> AsyncConversation:
        """See `Guard.open`. Returns at once and may be awaited too."""
        return AsyncConversation(self, session, wire_named(wire), self._opened(session, conversation), held, None)

    async def call(
        self, call: ToolCall, session: Session, *, conversation: str, key: str | None = None, words: str = ""
    ) -> Outcome:
        """See `Guard.call`."""
        chat = Chat(self, session, wire_named("openai-chat"), ref_of(self, session, conversation), "answer", None).pinned()
        return await AsyncRun(chat.in_force.hands).run(chat.single(call, key, words))
