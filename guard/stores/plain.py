"""Plain claims: calls of which the tables know nothing yet, as of nearly every action that nobody is asked about.

For such a call the rules of `claims` have one answer: it is won. So a database may look and take it in one step of its own (`Tables.take`), as `claims`
would write it. Where it finds anything at all (the call's place, a twin, another owner, another epoch, no conversation yet) it does nothing, and
the rules are asked. Comes after `claims` and `sql_approvals`, before `sqlite_take`, `postgres_take` and `ledger`.
"""

from __future__ import annotations

from typing import Any

from guard.core.ports import Claim, Won
from guard.stores import rows
from guard.stores.executors import me
from guard.stores.sql_approvals import name_of


def is_plain(command: Claim) -> bool:
    """Whether it is a first claim that spends nothing; all that may stand in its way then is what the tables hold."""
    row = command.row
    return command.approval is None and not command.again and row.outcome is None


def columns(command: Claim, epoch: int) -> tuple[Any, ...]:
    """What both databases are given: what they look for, then what they write; the columns of `calls` in their order.

    Its time, its run and the end of its lease are the database's to say.
    """
    row, key = command.row, command.row.key
    name = name_of((key.ref.tenant, key.ref.conversation))
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
        me(row.executor),
        f"call:{name}:{key.turn}:{key.position}",
        rows.call_payload(row),
    )


def won(command: Claim, at: float) -> Won:
    """The answer to a call that was taken."""
    return Won(at=at, attempt=1, idem=command.row.idem, lease=command.lease)
