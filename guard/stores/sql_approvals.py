"""The part of a store in SQL that keeps approvals and votes, and the few ways to run a statement.

What is special to one database (how a statement runs, how a transaction begins) is left to `sqlite` and `postgres`. Comes before `sql_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guard.core.approval import Approval, Vote
from guard.errors import StoreError
from guard.stores import approval_rows, rows, sql
from guard.stores.approvals import is_due
from guard.stores.locks import OPEN, Lock
from guard.stores.payload_keys import CODE
from guard.stores.row_marks import Marks
from guard.stores.rows import name_of
from guard.stores.tables import Asked, Home, Place, Wanted


def _still(asked: Asked, wanted: Wanted) -> bool:
    """Whether what was read is what was looked for: an approval that cannot be read is not pending, whatever stands in its row."""
    return wanted.status in (None, asked.approval.status) and (wanted.due is None or is_due(asked, wanted.due))


def given(wanted: Wanted) -> dict[str, Any]:
    """The fields that are wanted, as `sql.listed` takes them."""
    fields = {"tenant": wanted.tenant, "conversation": wanted.conversation, "status": wanted.status, "due": wanted.due}
    return {field: value for field, value in fields.items() if value is not None}


class Statements:
    """Runs statements on the connection of the transaction: any object whose `execute` takes SQL with `?` and values."""

    def __init__(self, connection: Any, now: float, lock: Lock = OPEN) -> None:
        self.connection = connection
        self.now = now
        self.lock = lock
        self._bodies: dict[str, str] = {}  # the raw values of the approvals that were read in this transaction
        self._rows: dict[str, Any] = {}  # and their columns
        self.marks = Marks()

    def flush(self) -> None:
        """Write what is kept back, so that it is found by what is asked next."""

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
        self.run(sql.PAYLOAD, name, kind, self.lock.shut(name, body))
        return name


class SqlApprovals(Statements):
    """Approvals and votes in tables."""

    def asked(self, approval_id: str) -> Asked | None:
        """One approval."""
        row = self.one(sql.ASKED, approval_id)
        return None if row is None else self._asked(row)

    def alive(self, home: Home, place: Place, besides: str = "") -> tuple[Asked, ...]:
        """Live approvals of one call."""
        return tuple(map(self._asked, self.all(sql.ALIVE, (name_of(home), *place, besides))))

    def about(self, home: Home, fingerprint: str) -> tuple[Asked, ...]:
        """Approvals for a fingerprint."""
        return tuple(map(self._asked, self.all(sql.ABOUT, (name_of(home), fingerprint))))

    def asked_in(self, home: Home, run: int) -> tuple[Asked, ...]:
        """Approvals of a run."""
        return tuple(map(self._asked, self.all(sql.ASKED_IN, (name_of(home), run))))

    def open_in(self, home: Home) -> tuple[Asked, ...]:
        """Pending approvals of a conversation."""
        return tuple(map(approval_rows.asked_row, self.all(sql.OPEN_IN, (name_of(home),))))

    def listed(self, wanted: Wanted) -> tuple[Asked, ...]:
        """Approvals that meet every field."""
        used = given(wanted)
        found = map(self._asked, self.all(sql.listed(tuple(used)), tuple(used.values())))
        return tuple(asked for asked in found if _still(asked, wanted))

    def _asked(self, row: tuple[Any, ...]) -> Asked:
        """One row. Raises StoreError where it needs a key that is not here; what was damaged reads as one that cannot be read."""
        body = row[approval_rows.BODY]
        try:
            opened = self.lock.open(f"approval:{row[0]}", body)
        except StoreError as error:
            if error.code == CODE:
                raise
            opened = ""
        self._bodies[row[0]] = opened
        self._rows[row[0]] = row
        return approval_rows.asked_row(
            row if opened is body else (*row[: approval_rows.BODY], opened, *row[approval_rows.BODY + 1 :])
        )

    def waiting(self, tenant: str, principal: str) -> int:
        """How many questions of a person are pending."""
        return int(self.one(sql.WAITING, self.now, tenant, principal)[0])

    def open(self, asked: Asked) -> None:
        """Add an approval."""
        approval = asked.approval
        name = name_of((approval.tenant, approval.conversation))
        payload = f"approval:{approval.id}"
        columns = approval_rows.approval_columns(asked, name, payload)
        self.run(sql.OPEN, *columns)
        self.marks.add("approvals", approval.id, approval_rows.told(columns))
        self.payload(payload, "approval", approval_rows.approval_payload(approval))

    def close_asked(self, asked: Asked) -> None:
        """Keep a new status."""
        approval = asked.approval
        columns = approval_rows.approval_columns(asked, name_of((approval.tenant, approval.conversation)), "")
        values = (approval.status, asked.decided_run, approval.decided_at, approval.decided_by)
        self.run(sql.CLOSE_ASKED, *values, approval.ends_at, *columns[-3:-1], approval.id)
        before = self._rows.get(approval.id)
        self.marks.add("approvals", approval.id, approval_rows.told(columns), before and approval_rows.told_before(before))
        body = approval_rows.approval_payload(approval)
        if self._bodies.get(approval.id) != body:  # what a person wrote is new, a status is no raw value
            self._bodies[approval.id] = body
            self.payload(f"approval:{approval.id}", "approval", body)

    def vote(self, approval: Approval, vote: Vote) -> None:
        """Add a vote."""
        name = approval.id
        payload = self.payload(f"vote:{name}:{vote.number}", "vote", rows.dump([vote.reason, vote.note]))
        roles, detail = rows.dump(vote.roles), approval_rows.vote_detail(vote)
        self.run(sql.VOTE, name, vote.number, vote.decision, vote.by, roles, vote.at, detail, payload)
