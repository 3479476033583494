"""The part of a store in SQL that keeps approvals and votes, and the few ways to run a statement.

What is special to one database (how a statement runs, how a transaction begins) is left to `sqlite` and `postgres`. Comes before `sql_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from guard.core.approval import Approval, Vote
from guard.core.values import digest
from guard.stores import approval_rows, rows, sql
from guard.stores.approvals import is_due
from guard.stores.tables import Asked, Home, Place, Wanted


@lru_cache(maxsize=4096)
def name_of(home: Home) -> str:
    """The id of a conversation's row: known without asking the database."""
    return digest(*home)[:32]


def _still(asked: Asked, wanted: Wanted) -> bool:
    """Whether what was read is what was looked for: an approval that cannot be read is not pending, whatever stands in its row."""
    return wanted.status in (None, asked.approval.status) and (wanted.due is None or is_due(asked, wanted.due))


def given(wanted: Wanted) -> dict[str, Any]:
    """The fields that are wanted, as `sql.listed` takes them."""
    fields = {"tenant": wanted.tenant, "conversation": wanted.conversation, "status": wanted.status, "due": wanted.due}
    return {field: value for field, value in fields.items() if value is not None}


class Statements:
    """Runs statements on the connection of the transaction: any object whose `execute` takes SQL with `?` and values."""

    def __init__(self, connection: Any, now: float) -> None:
        self.connection = connection
        self.now = now

    def run(self, statement: str, *values: Any) -> None:
        """Run a statement that gives no rows. Whether it could be run may show later, but before the transaction ends."""
        self.connection.execute(statement, values)

    def changed(self, statement: str, *values: Any) -> int:
        """Run a statement that gives no rows; how many it changed."""
        changed: int = self.connection.execute(statement, values).rowcount
        return changed

    def one(self, statement: str, *values: Any) -> Any:
        """The first row, or None."""
        return self.connection.execute(statement, values).fetchone()

    def all(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """All rows."""
        found: list[Any] = self.connection.execute(statement, values).fetchall()
        return found

    def payload(self, name: str, kind: str, body: str) -> str:
        """Keep raw values; gives the name under which they stand."""
        self.run(sql.PAYLOAD, name, kind, body)
        return name


class SqlApprovals(Statements):
    """Approvals and votes in tables."""

    def asked(self, approval_id: str) -> Asked | None:
        """One approval."""
        row = self.one(sql.ASKED, approval_id)
        return None if row is None else approval_rows.asked_row(row)

    def alive(self, home: Home, place: Place) -> tuple[Asked, ...]:
        """Live approvals of one call."""
        return tuple(map(approval_rows.asked_row, self.all(sql.ALIVE, (name_of(home), *place))))

    def about(self, home: Home, fingerprint: str) -> tuple[Asked, ...]:
        """Approvals for a fingerprint."""
        return tuple(map(approval_rows.asked_row, self.all(sql.ABOUT, (name_of(home), fingerprint))))

    def asked_in(self, home: Home, run: int) -> tuple[Asked, ...]:
        """Approvals of a run."""
        return tuple(map(approval_rows.asked_row, self.all(sql.ASKED_IN, (name_of(home), run))))

    def open_in(self, home: Home) -> tuple[Asked, ...]:
        """Pending approvals of a conversation."""
        return tuple(map(approval_rows.asked_row, self.all(sql.OPEN_IN, (name_of(home),))))

    def listed(self, wanted: Wanted) -> tuple[Asked, ...]:
        """Approvals that meet every field."""
        used = given(wanted)
        found = map(approval_rows.asked_row, self.all(sql.listed(tuple(used)), tuple(used.values())))
        return tuple(asked for asked in found if _still(asked, wanted))

    def waiting(self, tenant: str, principal: str) -> int:
        """How many questions of a person are pending."""
        return int(self.one(sql.WAITING, self.now, tenant, principal)[0])

    def open(self, asked: Asked) -> None:
        """Add an approval."""
        approval = asked.approval
        name = name_of((approval.tenant, approval.conversation))
        payload = f"approval:{approval.id}"
        self.run(sql.OPEN, *approval_rows.approval_columns(asked, name, payload))
        self.payload(payload, "approval", approval_rows.approval_payload(approval))

    def close_asked(self, asked: Asked) -> None:
        """Keep a new status."""
        approval = asked.approval
        values = (approval.status, asked.decided_run, approval.decided_at, approval.decided_by)
        detail = approval_rows.approval_detail(approval)
        self.run(sql.CLOSE_ASKED, *values, approval.ends_at, approval_rows.escalates(approval), detail, approval.id)
        self.payload(f"approval:{approval.id}", "approval", approval_rows.approval_payload(approval))

    def vote(self, approval: Approval, vote: Vote) -> None:
        """Add a vote."""
        name = approval.id
        payload = self.payload(f"vote:{name}:{vote.number}", "vote", rows.dump([vote.reason, vote.note]))
        roles, detail = rows.dump(vote.roles), approval_rows.vote_detail(vote)
        self.run(sql.VOTE, name, vote.number, vote.decision, vote.by, roles, vote.at, detail, payload)
