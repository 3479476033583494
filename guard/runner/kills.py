"""Kills: an operator stops a tool, a conversation or a tenant, sees what is stopped, and lets it go on. Nothing here runs a call.

Who the operator is comes from the host as a `Session`; that they may is the host's word, as for a restored backup: no rule of a policy stands in the way of a stop.
What a kill covers is seen wherever a call is decided or taken, in every process that has the store.
"""

from __future__ import annotations

import asyncio
from difflib import get_close_matches
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal

from guard.core import kill_records
from guard.core.approval import Assurance, Via
from guard.core.killing import SetKill
from guard.core.kills import Kill, Stop
from guard.core.model import Session
from guard.core.persons import called, kept_as, opaque
from guard.errors import ApprovalError
from guard.runner.opening import keepable

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase

KillStatus = Literal["set", "cleared"]


class Kills:
    """The kills of a guard's store."""

    def __init__(self, guard: GuardBase) -> None:
        self._guard = guard

    def list(self, *, status: KillStatus | None = "set", tenant: str | None = None) -> tuple[Kill, ...]:
        """Kills, oldest first; those in force unless `status` says otherwise (None: all). Of a tenant: whatever may cover calls there."""
        found = self._guard.store.kills(live=status == "set")
        here = (one for one in found if tenant is None or one.stop.tenant in (None, tenant))
        return tuple(one for one in here if status in (None, one.status))

    def show(self, kill_id: str | Kill) -> Kill:
        """One kill as it is now. Raises ApprovalError (`not_found`)."""
        name = kill_id.id if isinstance(kill_id, Kill) else str(kill_id)
        found = self._guard.store.kill(name)
        if found is None:
            raise ApprovalError("not_found", f"there is no kill {name}; `list` names those in force")
        return found

    def set(
        self,
        *,
        by: Session,
        reason: str,
        tool: str | None = None,
        conversation: str | None = None,
        tenant: str | None = None,
        via: Via = "program",
        assurance: Assurance = "host",
    ) -> Kill:
        """Stop every new call of this tool, conversation and tenant: of all that are given together. A conversation without a tenant is one of `by`'s.

        When it returns, no call that it covers starts any more, in no process; questions about such calls are cancelled, a yes that was not used is revoked,
        and each of those calls is refused (`killed`). What has begun goes on. Raises ApprovalError (`nothing`, `no_reason`, `unknown_tool`, `not_entitled`).
        """
        why, redactor, who = self._why(by, reason), self._guard.redactor, self._guard.known(by)
        stop = self._stop(by, tool, conversation, tenant)
        how: Any = {"assurance": assurance, "via": via}
        kill = Kill(stop=stop, by=who.who, at=0.0, reason=why, assurance=assurance, via=via)
        return self._guard.store.set_kill(
            SetKill(
                kill=kill,
                event=partial(kill_records.told, by=who, redactor=redactor, **how),
                ending=partial(kill_records.ending, stop=stop, by=who, redactor=redactor, how=how),
                ended=partial(kill_records.ended, stop=stop, redactor=redactor),
            )
        )

    def clear(
        self, kill_id: str | Kill, *, by: Session, reason: str, via: Via = "program", assurance: Assurance = "host"
    ) -> Kill:
        """Let new calls go on. What ended by the kill stays ended: it is proposed, and asked about, anew.

        Raises ApprovalError (`not_found`, `already_decided`, `no_reason`, `not_entitled`).
        """
        why = self._why(by, reason)
        kill, who = self.show(kill_id), self._guard.known(by)
        event = partial(kill_records.told, by=who, redactor=self._guard.redactor, assurance=assurance, via=via)
        return self._guard.store.clear_kill(kill.id, by=called(who, kill.people), reason=why, event=event)

    def _why(self, by: Session, reason: str) -> str:
        """The reason as it is kept: redacted, since it belongs to no call with whose raw values it could go."""
        if not isinstance(by, Session):
            raise ApprovalError("not_entitled", "whoever sets or clears a kill is a Session that the host authenticated")
        if not isinstance(reason, str) or not reason.strip():
            raise ApprovalError("no_reason", "say why: a reason is needed")
        keepable("reason", reason, self._guard.store)
        return self._guard.redactor.detect(None, reason)[0]

    def _stop(self, by: Session, tool: str | None, conversation: str | None, tenant: str | None) -> Stop:
        given = {"tool": tool, "conversation": conversation, "tenant": tenant}
        for name, text in given.items():
            if text is not None and (not isinstance(text, str) or not text):
                raise ApprovalError("nothing", f"the {name} is a text that is not empty")
            if text is not None:
                keepable(name, text, self._guard.store)
        if tool is None and conversation is None and tenant is None:
            raise ApprovalError("nothing", "say what to stop: a tool, a conversation or a tenant")
        if tool is not None:
            self._known(tool)
        if conversation is not None:
            tenant = by.tenant if tenant is None else tenant
            conversation = self._kept(tenant, conversation)
        return Stop("ki_" + token_hex(10), tenant, conversation, tool)

    def _known(self, tool: str) -> None:
        """A misspelt tool would stop nothing. Raises ApprovalError."""
        policy = self._guard.policy
        names = sorted({*policy.tools, *policy.unlisted})
        if names and tool not in names:  # none: the policy does not load, and the kill must be set all the same
            near = get_close_matches(tool, names, n=1)
            cure = f"did you mean {near[0]}?" if near else f"it has {', '.join(names[:20])}"
            raise ApprovalError("unknown_tool", f"the policy has no tool {tool!r}: nothing would be stopped; {cure}")

    def _kept(self, tenant: str, conversation: str) -> str:
        """The name under which a conversation is kept: whichever the store has, since another program may have had other detectors."""
        store = self._guard.store
        homes = getattr(store, "homes", None)
        either = (conversation, kept_as(store.secret, "conversation", conversation))
        known = (one for one in either if homes is not None and (tenant, one) in homes(None, one))
        return next(known, opaque(self._guard.redactor, "conversation", conversation))


class AsyncKills:
    """The same, awaited: the store is asked in a thread."""

    def __init__(self, guard: GuardBase) -> None:
        self._plain = Kills(guard)

    async def list(self, **wanted: Any) -> tuple[Kill, ...]:
        """See `Kills.list`."""
        return await asyncio.to_thread(partial(self._plain.list, **wanted))

    async def show(self, kill_id: str | Kill) -> Kill:
        """See `Kills.show`."""
        return await asyncio.to_thread(self._plain.show, kill_id)

    async def set(self, **what: Any) -> Kill:
        """See `Kills.set`."""
        return await asyncio.to_thread(partial(self._plain.set, **what))

    async def clear(self, kill_id: str | Kill, **how: Any) -> Kill:
        """See `Kills.clear`."""
        return await asyncio.to_thread(partial(self._plain.clear, kill_id, **how))
