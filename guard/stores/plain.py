"""Plain claims: calls of which the tables know nothing yet, as of nearly every action that nobody is asked about.

For such a call the rules of `claims` have one answer: it is won. So a database may look and take it in one step of its own (`Tables.take`), as `claims`
would write it. Where it finds anything at all (the call's place, a twin, another owner, another epoch, no conversation yet) it does nothing, and
the rules are asked. Comes after `claims` and `sql_approvals`, before `sqlite_take`, `postgres_take` and `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guard.core.ports import Claim, ClaimAnswer
from guard.core.rowed import begun
from guard.stores import rows
from guard.stores.executors import me
from guard.stores.locks import OPEN, Lock
from guard.stores.rows import name_of
from guard.stores.tables import Plain, Tables


@dataclass(frozen=True, slots=True)
class Taking:
    """The work that makes a plain claim, for a database that takes several calls at once: `work` is what to do with it alone."""

    given: Plain
    work: Callable[[Tables], ClaimAnswer]

    def __call__(self, tables: Tables) -> ClaimAnswer:
        """Make the claim alone."""
        return self.work(tables)


def plain(command: Claim, epoch: int, lock: Lock = OPEN) -> Plain | None:
    """The claim written out, where it is a first one that spends nothing; all that may stand in its way then is what the tables hold."""
    row = command.row
    if command.approval is not None or command.grant is not None or command.again or row.outcome is not None:
        return None
    if command.aim is not None:  # other conversations have to be looked at
        return None
    event = command.event(1) if callable(command.event) else command.event
    executor = me(row.executor)
    return Plain(_columns(command, epoch, lock, executor), begun(event, row, executor), row.idem, command.lease)


def _columns(command: Claim, epoch: int, lock: Lock, executor: str) -> tuple[Any, ...]:
    row, key = command.row, command.row.key
    name = name_of((key.ref.tenant, key.ref.conversation))
    payload = f"call:{name}:{key.turn}:{key.position}"
    return (
        name,
        key.ref.principal,
        epoch,
        key.turn,
        key.position,
        key.ref.branch,
        key.key,
        row.kind,
        row.call.tool,
        row.fingerprint,
        row.mark,
        row.run,
        row.repeat,
        row.settled,
        row.approval,
        rows.dump(sorted(row.owned)) if row.owned else "[]",
        rows.evidence_text(row) if row.evidence else "[]",
        row.effect,
        command.lease,
        row.idem,
        executor,
        payload,
        lock.shut(payload, rows.call_payload(row)),
    )
