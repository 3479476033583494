"""Desk: the guard behind every session of one proxy, and each session's view of what its server offers.

The guard is made when the first server has said what its tools are; from then on each listing is held against those definitions and against
the pins. What is refused is recorded before anything else happens. Comes after listing, calls and ways; before relay. Decides about definitions
only; about calls the guard does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from guard.core.audit import drifted
from guard.core.ceilings import CEILINGS, Ceilings
from guard.core.model import ConversationRef, Outcome, Session
from guard.core.values import Json, JsonObject
from guard.integrations.mcp.calls import Errand, ask_server, marks, told
from guard.integrations.mcp.dial import list_all
from guard.integrations.mcp.listing import Listing, first, judge, registered, shown
from guard.integrations.mcp.passing import Mask
from guard.integrations.mcp.peer import Peer
from guard.integrations.mcp.ways import Back
from guard.policy.pins import Pin
from guard.runner import AsyncGuard
from guard.runner.landing import Calm
from guard.runner.opening import ref_of
from guard.tools import RegisteredTool

_FRESH = 60.0  # seconds that a listing is relied on when a tool is called


class Hide(Protocol):
    """What hides personal data in one text."""

    def __call__(self, key: str | None, text: str, /) -> tuple[str, tuple[str, ...]]:
        """The text to show and what was hidden."""


@dataclass(kw_only=True)
class Desk:
    """What the sessions of one proxy share.

    `make` builds the guard for the tools of the server; `pins` reads the reviewed definitions (None: nobody has reviewed any) and raises
    GuardError where that cannot be told; `hide` hides what passes by before there is a guard; `say` writes a line for the person who looks after the proxy.
    """

    server: str
    make: Callable[[Sequence[RegisteredTool]], AsyncGuard]
    pins: Callable[[], Mapping[str, Pin] | None]
    hide: Hide
    say: Callable[[str], None]
    console: str = ""
    options: str = ""  # of `guard approvals`, so that it finds the store from any folder
    seconds: float = 300.0
    ceilings: Ceilings = CEILINGS  # of the policy, as it was when the proxy started
    guard: AsyncGuard | None = None
    before: Mapping[str, Pin] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    calm: Calm = field(default_factory=Calm)  # how soon the store answers

    @property
    def listed(self) -> int:
        """How many tools a server may list, by the policy in force."""
        return (self.ceilings if self.guard is None else self.guard.policy.ceilings).listed_tools

    def detect(self, key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
        """A text of the server that passes by, safe to show, and what was hidden: by the policy in force, once there is a guard."""
        hide = self.hide if self.guard is None else self.guard.redactor.detect
        return hide(key, text)

    def hidden(self, text: str) -> str:
        """The same of a text that stands nowhere in particular."""
        return self.detect(None, text)[0]

    async def ready(self, found: Sequence[Json]) -> tuple[AsyncGuard, Listing]:
        """Judge a listing; the first one that can be used makes the guard. Raises GuardError."""
        async with self.lock:
            listing = judge(found, self.server, self.pins(), self.before)
            if self.guard is None:
                tools = [registered(name, one, ask_server, server=self.server) for name, one in listing.accepted.items()]
                self.guard = self.make(tools)
                self.before = listing.pins
            return self.guard, listing

    def close(self) -> None:
        """Close the guard, if there is one."""
        if self.guard is not None:
            self.guard.close()


class View:
    """What one session's server offers, as it was last listed."""

    def __init__(self, desk: Desk, server: Peer, session: Session, ref: ConversationRef) -> None:
        self.desk, self.server, self.session, self.ref = desk, server, session, ref
        self.listing = Listing()
        self.stale = True
        self._at = 0.0
        self._recorded: set[tuple[str, str]] = set()
        self._lock = asyncio.Lock()

    async def fresh(self) -> AsyncGuard:
        """The guard, with a listing that may be relied on for a call. Raises GuardError, RemoteError, GoneError."""
        guard = self.desk.guard
        if guard is None or self.stale or asyncio.get_running_loop().time() - self._at > _FRESH:
            return await self.refresh()
        return guard

    async def still(self, name: str) -> bool:
        """Whether the server offers this tool of its own as it was reviewed. Raises as `fresh`."""
        await self.fresh()
        return name in self.listing.accepted

    async def refresh(self) -> AsyncGuard:
        """Ask the server for its tools, judge them, and record what is refused. Raises as `fresh`."""
        async with self._lock:
            self.stale = False  # a change from here on makes it stale again
            try:
                guard, self.listing = await self.desk.ready(await list_all(self.server, self.desk.listed))
                await self._record(guard)
            except BaseException:
                self.stale = True
                raise
            self._at = asyncio.get_running_loop().time()
            return guard

    async def _record(self, guard: AsyncGuard) -> None:
        new = {name: why for name, why in self.listing.refused.items() if (name, why) not in self._recorded}
        if not new:
            return
        ref = ref_of(guard, self.session, self.ref.conversation)
        events = tuple(drifted(ref, self.desk.server, name, why, guard.redactor) for name, why in new.items())
        await asyncio.to_thread(guard.store.record, (), events)
        for name, why in new.items():
            self.desk.say(f"{first(why)}: the tool {self.desk.hidden(name)!r} of the server {self.desk.server} is refused, {why}")
        self._recorded |= set(new.items())

    def offered(self, guard: AsyncGuard) -> frozenset[str]:
        """The policy's names of the tools that may be proposed: those that the server offers as they were reviewed."""
        accepted = self.listing.accepted
        return frozenset(name for name, tool in guard.hands.tools.items() if tool.name in accepted)

    def shown(self, guard: AsyncGuard) -> list[JsonObject]:
        """What the client is shown: what this session may call of it, without the fields that the session owns."""
        now = guard.in_force
        names = sorted(now.visible(self.session) & self.offered(guard))
        accepted: Mapping[str, Any] = self.listing.accepted
        return [shown(now.policy.tools[name], accepted[now.hands.tools[name].name]) for name in names]

    def promised(self, guard: AsyncGuard, name: str) -> bool:
        """Whether the client was told of an output schema for this tool."""
        tool = guard.hands.tools.get(name)
        return tool is not None and isinstance(self.listing.accepted.get(tool.name, {}).get("outputSchema"), dict)

    def rendered(self, guard: AsyncGuard, mask: Mask, errand: Errand, arguments: Json, outcome: Outcome) -> JsonObject:
        """The outcome of a call with these arguments, as the client is told it."""
        policy, promised = guard.in_force.policy, self.promised(guard, outcome.tool)
        tool = policy.tools.get(outcome.tool)
        back = Back(tool=tool, limits=policy.limits, mask=mask, arguments=arguments, promised=promised)
        found = back.result(told(outcome, self.desk.console, self.desk.options), errand.mould)
        return found | {"_meta": back.meta(outcome, found, errand.said) | marks(outcome)}
