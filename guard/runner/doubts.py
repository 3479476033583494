"""Doubts: calls that were started and have no outcome, as a person sees and settles them.

Such a call may or may not have taken effect, and nothing here takes it for one that did not. Who the person is comes from the host as a
`Session`; whether their word counts is judged here against the policy in force. Settling runs nothing. Used by the guard's front and the CLI.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guard.core import answer, audit_ends
from guard.core.approval import Approval
from guard.core.audit_votes import record
from guard.core.endings import in_doubt
from guard.core.model import CallKey, ConversationRef, Session
from guard.core.names import real
from guard.core.persons import opaque
from guard.core.ports import CallRow, Event, Redactor, Sought, Store
from guard.core.replacing import replace
from guard.core.unresolved import doubt_name
from guard.core.values import JsonObject
from guard.errors import ApprovalError
from guard.runner.behind import hiding
from guard.runner.compensation import compensation_key

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase

_MOST = 1000  # settled calls that are looked through, the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """One call in doubt. `arguments` are the final ones in full; `since` is when it was started, seconds since the epoch by the store's clock.

    `effect` is its side-effect class, `attempt` how often it was started, `key` the idempotency key that the tool was given.
    """

    id: str
    tool: str
    arguments: JsonObject
    requester: str
    tenant: str
    conversation: str
    branch: str
    turn: int
    position: int
    since: float
    effect: str
    attempt: int
    key: str
    approval: str | None
    blocks: str = ""  # which calls of this tenant may not start until it is settled, by the policy in force


class Doubts:
    """The calls in doubt of a guard's store."""

    def __init__(self, guard: GuardBase) -> None:
        self._guard = guard

    def list(self, *, tenant: str | None = None) -> tuple[Unknown, ...]:
        """Every call in doubt, of one tenant or of all, oldest first."""
        return tuple(self._shown(row) for row in self._guard.store.doubtful(tenant=tenant))

    def show(self, name: str) -> Unknown:
        """One call in doubt by its id. Raises ApprovalError (`not_found`)."""
        return self._shown(self._row(name))

    def resolve(self, name: str | Unknown, *, happened: bool, approver: Session, reason: str) -> Unknown:
        """Settle it by this person's word: it took effect, or it did not. `reason` says how they found out; the model reads it, redacted.

        Raises ApprovalError when the word does not count (`not_entitled`, `not_found`) or the call is not in doubt any more (`already_decided`).
        """
        if not isinstance(happened, bool) or not isinstance(approver, Session):
            raise ApprovalError("not_entitled", "say True or False, as a Session that the host authenticated")
        if not isinstance(reason, str) or not reason.strip():
            raise ApprovalError("not_entitled", "say how it was found out: a reason is needed")
        approver = self._guard.known(approver)
        row = self._listed(name) if isinstance(name, Unknown) else self._row(name)
        if not self.entitled(row, approver):
            if approver.means(row.key.ref.principal) and approver.tenant == row.key.ref.tenant:
                raise ApprovalError("not_entitled", "the requester may not settle this call; another person must")
            raise _not_found(doubt_name(row.key))
        redactor = hiding(self._guard, row.key, row.arguments)
        told = redactor.detect(None, reason)[0]
        outcome = answer.found_out(row.call, row.key, row.arguments, row.approval, happened=happened, reason=told)
        event = audit_ends.reconciled(row.key, row, approver, happened, reason, redactor)
        settled = self._guard.store.reconcile(replace(row, status=outcome.status, outcome=outcome), event)
        if not happened:
            self._withdraw(row, approver)
        return self._shown(settled)

    def _withdraw(self, row: CallRow, approver: Session) -> None:
        """There is nothing to take back: the question about the compensation is withdrawn, and a yes to it that was not used."""
        store = self._guard.store
        for one in store.rows(row.key.ref):
            asked = store.approval(one.approval) if one.approval and one.key.key == compensation_key(row.key) else None
            if asked is not None:
                with suppress(ApprovalError):  # nothing to take back any more
                    store.end(
                        asked.id,
                        status="cancelled",
                        by=approver.who,
                        event=_withdrawn(asked, approver, self._guard.redactor),
                    )

    def settled(self, name: str, person: Session) -> str:
        """Who settled a call that is not in doubt any more, when and how, for whoever may know; empty where there is nothing to say."""
        person = self._guard.known(person)
        found = self._guard.store.search(Sought(tenant=person.tenant, kinds=("call.reconciled",), limit=_MOST))
        for body in (json.loads(one.body) for one in found):
            ref = ConversationRef(tenant=body["tenant"], principal=body["principal"], conversation=body["conversation"])
            row = self._guard.store.call(CallKey(ref, body["turn"], body["position"]))
            if row is None or not doubt_name(row.key).startswith(name):
                continue
            if person.means(row.key.ref.principal) or self.entitled(row, person):
                who = body["actor"].get("ref") or "the program, which looked"
                word = "it took effect" if body["effect"]["observed"] else "it did not take effect"
                return f"settled by {real(who)} at {body['ts'][:19].replace('T', ' ')} UTC: {word}"
        return ""

    def entitled(self, row: CallRow | Unknown, person: Session) -> bool:
        """Whether this person may settle the call: who may approve calls of the tool, or the requester where nobody else has to."""
        owner, tenant = (row.requester, row.tenant) if isinstance(row, Unknown) else (row.key.ref.principal, row.key.ref.tenant)
        policy = self._guard.policy  # read once: a word is judged by one version
        tool = policy.tools.get(row.tool if isinstance(row, Unknown) else row.call.tool)
        if tool is None or person.tenant != tenant:
            return False
        try:
            verdict = policy.authorizer.decide(person, tool.name, "approve")
        except Exception:  # noqa: BLE001 - a policy that cannot be evaluated entitles nobody
            return False
        if self._guard.known(person).means(owner):
            return not verdict.denied and all(rule.strictness < 2 for rule in tool.approval)
        return verdict.allowed and not verdict.denied

    def _listed(self, one: Unknown) -> CallRow:
        """The call that was listed or shown, as it is now: it may have been settled since."""
        ref = ConversationRef(tenant=one.tenant, principal=one.requester, conversation=one.conversation, branch=one.branch)
        found = self._guard.store.call(CallKey(ref, one.turn, one.position))
        if found is None:
            raise _not_found(one.id)
        return found

    def _row(self, name: str) -> CallRow:
        found = next((row for row in self._guard.store.doubtful() if doubt_name(row.key) == name), None)
        if found is None:
            raise _not_found(name)
        return found

    def _blocks(self, row: CallRow) -> str:
        """Which calls may not start until it is settled."""
        tool = self._guard.policy.tools.get(row.call.tool)
        if tool is None:
            return "nothing: the policy has no such tool"
        return (
            f"the same {row.call.tool} in this conversation"
            if tool.target is None
            else tool.target.words(row.call.tool, row.arguments or {})
        )

    def _shown(self, row: CallRow) -> Unknown:
        ref = row.key.ref
        return Unknown(
            id=doubt_name(row.key),
            tool=row.call.tool,
            arguments=row.arguments or {},
            requester=ref.principal,
            tenant=ref.tenant,
            conversation=ref.conversation,
            branch=ref.branch,
            turn=row.key.turn,
            position=row.key.position,
            since=row.at,
            effect=row.effect or "once",
            attempt=row.attempt,
            key=self._guard.hands.key(row.idem) if row.idem else "",
            approval=row.approval,
            blocks=self._blocks(row),
        )


def restored(store: Store, redactor: Redactor, why: str, who: str) -> int:
    """Say that a backup was put back into the store: what was approved or started in it is unknown from now on. How many calls that are.

    `who` says so, `why` is kept with it. Programs that have the store open refuse their actions until they open it again.
    """
    said, whose = redactor.detect(None, why)[0], opaque(redactor, "person", who)
    event: Event = {
        "kind": "store.restored",
        "actor": {"type": "human", "ref": whose, "assurance": "os-user", "via": "cli"},
        "reason": said,
    }
    return store.restored(said, event, lambda row: in_doubt(row, redactor, told=False))


def _withdrawn(asked: Approval, who: Session, redactor: Redactor) -> Event:
    state: JsonObject = {"status": "cancelled", "why": "there is nothing to take back"}
    return record("approval.cancelled", asked, who, redactor, state, assurance="host", via="program")


def _not_found(name: str) -> ApprovalError:
    return ApprovalError("not_found", f"there is no call {name} in doubt that this person may settle")


class AsyncDoubts:
    """The same, awaited: the store is asked in a thread."""

    def __init__(self, guard: GuardBase) -> None:
        self._plain = Doubts(guard)

    async def list(self, *, tenant: str | None = None) -> tuple[Unknown, ...]:
        """See `Doubts.list`."""
        return await asyncio.to_thread(self._plain.list, tenant=tenant)

    async def show(self, name: str) -> Unknown:
        """See `Doubts.show`."""
        return await asyncio.to_thread(self._plain.show, name)

    async def resolve(self, name: str | Unknown, *, happened: bool, approver: Session, reason: str) -> Unknown:
        """See `Doubts.resolve`."""
        return await asyncio.to_thread(self._plain.resolve, name, happened=happened, approver=approver, reason=reason)
