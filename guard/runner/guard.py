"""Guard: one policy, one store and the host's tools; opens conversations and takes single calls.

Everything arrives as an argument (`guard.compose` brings the real ones). Identity is never ambient: each conversation and each call is
given its session.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from types import TracebackType
from typing import Any, ClassVar, Literal, Self, TypeVar

from guard.core.model import ConversationRef, Outcome, Session, ToolCall
from guard.core.ports import Policy, Redactor, Store
from guard.core.values import keyed
from guard.errors import GuardError, StoreError
from guard.runner.approvals import Approvals, AsyncApprovals
from guard.runner.chat import Chat
from guard.runner.conversation import AsyncConversation, Conversation
from guard.runner.doubts import AsyncDoubts, Doubts
from guard.runner.drivers import SyncRun
from guard.runner.drivers_async import AsyncRun
from guard.runner.hands import Hands
from guard.tools import RegisteredTool
from guard.wires import wire as wire_named

F = TypeVar("F", bound=Callable[..., Any])
_MOST_SESSIONS = 1_024  # entries of the table of visible tools


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
    ) -> None:
        waiting = sorted(name for name, tool in tools.items() if tool.is_async)
        if waiting and not self._awaits:
            raise GuardError(f"{', '.join(waiting)}: async tools need AsyncGuard")
        asking = sorted(name for name, probe in (probes or {}).items() if inspect.iscoroutinefunction(probe))
        if asking and not self._awaits:
            raise GuardError(f"{', '.join(asking)}: async probes need AsyncGuard")
        self.policy = policy
        self.store = store
        self.redactor = replace(redactor, tag=partial(keyed, store.secret))
        self.hands = Hands(store=store, tools=tools, redactor=self.redactor, patience=patience, probes=probes or {})
        self._visible: dict[tuple[object, ...], frozenset[str]] = {}

    def resource(self, name: str) -> Callable[[F], F]:
        """Register a loader of records: `@guard.resource("order")` on a function of the id (and, if it takes two, the session).

        It returns the record, or None when there is none. Whatever it raises makes the fact unavailable, and the call is refused.
        """

        def register(loader: F) -> F:
            if name in self.hands.loaders:
                raise GuardError(f"a loader for the resource {name!r} is registered already")
            self.hands.loaders[name] = loader
            return loader

        return register

    def visible(self, session: Session) -> frozenset[str]:
        """The tools that this session may call: for the schemas and for telling the model which names exist."""
        place = (self.policy.version, session.principal, session.tenant, session.roles, session.within and session.within.roles)
        known = self._visible.get(place)
        if known is None:
            known = frozenset(name for name in self.policy.tools if self._may(session, name))
            if len(self._visible) >= _MOST_SESSIONS:
                self._visible.clear()
            self._visible[place] = known
        return known

    def _may(self, session: Session, tool: str) -> bool:
        try:
            return self.policy.authorizer.decide(session, tool, "call").allowed
        except Exception:  # noqa: BLE001 - a policy that cannot be evaluated shows nothing; the call itself says why
            return False

    def close(self) -> None:
        """Give back what the store holds open, after one more try to record what it did not take before."""
        self.hands.keeper.close()
        self.store.close()

    def __enter__(self) -> Self:
        """`with Guard.load(…) as guard:` closes the store at the end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _ref(self, session: Session, conversation: str) -> ConversationRef:
        if not isinstance(session, Session):
            raise GuardError("open a conversation with a Session: Session(principal=…, roles=(…,))")
        if not isinstance(conversation, str) or not conversation:
            raise GuardError("a conversation is named by a text that is not empty")
        return ConversationRef(tenant=session.tenant, principal=session.principal, conversation=conversation)

    def _opened(self, session: Session, conversation: str) -> ConversationRef:
        """The conversation, created or found. A store that is down is no reason to fail yet: each call will be refused."""
        ref = self._ref(session, conversation)
        with suppress(StoreError):
            self.store.open(ref)
        return ref


class Guard(GuardBase):
    """The guard for plain callers."""

    @cached_property
    def approvals(self) -> Approvals:
        """The approvals of the store."""
        return Approvals(self)

    @cached_property
    def unknown(self) -> Doubts:
        """Calls of the store that were started and have no outcome."""
        return Doubts(self)

    def open(
        self, session: Session, *, wire: str, conversation: str, held: Literal["answer", "suspend"] = "answer"
    ) -> Conversation:
        """Open a conversation of this session. Raises ConversationError when it is somebody else's, WireError for an unknown wire."""
        return Conversation(self, session, wire_named(wire), self._opened(session, conversation), held, None)

    def call(self, call: ToolCall, session: Session, *, conversation: str, key: str | None = None) -> Outcome:
        """Walk one call without a wire. `key` is the host's own: the same key and content gives the recorded outcome, another content a refusal."""
        chat = Chat(self, session, wire_named("openai-chat"), self._ref(session, conversation), "answer", None)
        return SyncRun(self.hands).run(chat.single(call, key))


class AsyncGuard(GuardBase):
    """The guard for asyncio callers; plain and async tools both work in it."""

    _awaits = True

    @cached_property
    def approvals(self) -> AsyncApprovals:
        """The approvals of the store, awaited."""
        return AsyncApprovals(self)

    @cached_property
    def unknown(self) -> AsyncDoubts:
        """Calls of the store that were started and have no outcome, awaited."""
        return AsyncDoubts(self)

    def open(
        self, session: Session, *, wire: str, conversation: str, held: Literal["answer", "suspend"] = "answer"
    ) -> AsyncConversation:
        """See `Guard.open`. Returns at once and may be awaited too."""
        return AsyncConversation(self, session, wire_named(wire), self._opened(session, conversation), held, None)

    async def call(self, call: ToolCall, session: Session, *, conversation: str, key: str | None = None) -> Outcome:
        """See `Guard.call`."""
        chat = Chat(self, session, wire_named("openai-chat"), self._ref(session, conversation), "answer", None)
        return await AsyncRun(self.hands).run(chat.single(call, key))
