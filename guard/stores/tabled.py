"""Tabled: what rows of approvals, grants and kills say, under the names that records have for the same, for whoever verifies.

Read from the columns that decide what runs, also where the row as a whole could not be used. Writes nothing. Comes after `locks` and `rows`, before `sql_log`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from guard.core.approval import Approval
from guard.core.grants import ERASED, Grant
from guard.core.kills import Kill
from guard.core.log import Tabled
from guard.errors import StoreError
from guard.stores import rows
from guard.stores.locks import Lock

Voted = Sequence[tuple[str, str]]
"""What was voted, and by whom."""
_KEPT = ("need", "revision", "by", "by_self", "use_by")
_WHAT = {"principal": "requester", "tool": "tool", "definition": "definition", "kind": "kind", "edited_by": "edited_by"}
"""Who asked for which tool, and who made this revision: by the name of it here where it stands in the row."""
_GIVEN = ("scope", "uses", "until", "need", "tenant", "principal", "conversation", "tool", "definition", "approval")
_BOUNDS = ("field", "at_most", "sum", "fingerprint", "others")  # of a constraint, what a record shows as it is


def voted(status: str, votes: Voted, **says: Any) -> Tabled:
    """An approval of this status."""
    return Tabled(status=status, votes=tuple(vote for vote, _ in votes), voters=tuple(voter for _, voter in votes), says=says)


def of_approval(approval: Approval, votes: Voted) -> Tabled:
    """An approval in hand."""
    detail = {name: getattr(approval, name) for name in (*_KEPT, *_WHAT.values(), "authors")}
    place = rows.name_of((approval.tenant, approval.conversation)), approval.turn, approval.position
    kept = [[vote.decision, str(vote.by)] for vote in approval.votes]
    ends = approval.expires_at
    return _approval(approval.status, votes, detail, kept, place, decide_by=ends, fingerprint=approval.fingerprint)


def approval_row(row: Sequence[Any], votes: Voted) -> Tabled:
    """A row with id, status, fingerprint, end, detail, conversation, turn and position. The end is the one that is next: to decide, or to use what was approved."""
    _, status, fingerprint, ends, text, *place = row
    detail = _object(text)
    if status == "approved" and detail.get("use_by") is not None:
        detail["use_by"], ends = ends, detail.get("expires_at")
    kept = [_list(vote)[1:3] for vote in _list(detail.get("votes"))]
    return _approval(str(status), votes, detail, kept, place, decide_by=ends, fingerprint=fingerprint)


def _approval(
    status: str, votes: Voted, detail: dict[str, Any], kept: list[list[Any]], place: Sequence[Any], **says: Any
) -> Tabled:
    says |= {name: detail.get(own) for name, own in _WHAT.items()} | {"authors": _list(detail.get("authors"))}
    says |= dict(zip(("home", "turn", "position"), place, strict=True))
    says |= {"need": detail.get("need", 1), "revision": detail.get("revision", 1), "by": _list(detail.get("by"))}
    says |= {"self": detail.get("by_self"), "use_by": detail.get("use_by"), "voted": kept}
    return voted(status, votes, **{name: _number(value) for name, value in says.items()})


def of_grant(grant: Grant) -> Tabled:
    """A grant in hand."""
    return _grant(
        {name: getattr(grant, name) for name in _GIVEN}, [str(one.by) for one in grant.givers], grant.revoked_at, grant.constraint
    )


def grant_row(row: Sequence[Any], lock: Lock) -> Tabled:
    """A row with id, tenant, person, tool, approval, end, when it was revoked, detail and payload. Where a column and the detail differ, it says neither."""
    name, tenant, principal, tool, approval, until, revoked, text, body = row
    detail = _object(text)
    columns = {"tenant": tenant, "principal": principal, "tool": tool, "approval": approval, "until": _number(until)}
    given = {one: _number(detail.get(one)) for one in _GIVEN}
    differing = {one: f"{value} and {given[one]}" for one, value in columns.items() if given[one] != value}
    if (revoked is None) != (detail.get("revoked_at") is None):
        differing["revoked"] = "one of them says that it was revoked"
    givers = [str(one.get("by")) for one in _list(detail.get("givers")) if isinstance(one, dict)]
    return _grant({**given, **differing}, givers, revoked, _constraint(str(name), body, lock))


def of_kill(kill: Kill) -> Tabled:
    """A kill in hand."""
    stop = kill.stop
    return _kill(kill.by, kill.cleared_at, tenant=stop.tenant, conversation=stop.conversation, tool=stop.tool)


def kill_row(row: Sequence[Any]) -> Tabled:
    """A row with id, tenant, conversation, tool, when it was cleared, and detail."""
    _, tenant, conversation, tool, cleared, text = row
    return _kill(_object(text).get("by"), cleared, tenant=tenant, conversation=conversation, tool=tool)


def _kill(by: Any, cleared: Any, **says: Any) -> Tabled:
    return Tabled(
        status="set" if cleared is None else "cleared",
        voters=(str(by),),
        says={name: _number(value) for name, value in says.items()},
    )


def _grant(says: dict[str, Any], givers: list[str], revoked: Any, constraint: dict[str, Any] | None) -> Tabled:
    if constraint is not None and constraint != ERASED:
        says |= {name: _number(constraint[name]) for name in _BOUNDS if name in constraint}
        says |= {"where": sorted(constraint["where"])} if isinstance(constraint.get("where"), dict) else {}
    return Tabled(
        status="given" if revoked is None else "revoked",
        voters=tuple(givers),
        says={one: _number(value) for one, value in says.items()},
    )


def _constraint(name: str, body: Any, lock: Lock) -> dict[str, Any] | None:
    """What a grant says of arguments; None where it cannot be read here, as without the key of the payloads."""
    try:
        found = rows.load(lock.open(f"grant:{name}", body)) if isinstance(body, str) else None
    except StoreError:
        return None
    constraint = found.get("constraint") if isinstance(found, dict) else None
    return constraint if isinstance(constraint, dict) else None


def _object(text: Any) -> dict[str, Any]:
    try:
        found = rows.load(text) if isinstance(text, str) else None
    except StoreError:
        return {}
    return dict(found) if isinstance(found, dict) else {}


def _number(value: Any) -> Any:
    """A number as records read back give it, so that the two can be compared."""
    if value is None or isinstance(value, bool | int | str | list):
        return value
    return float(value) if isinstance(value, float | Decimal) else repr(value)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
