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
from guard.core.log import Columns, Tabled
from guard.core.replacing import replace
from guard.errors import StoreError
from guard.stores import rows
from guard.stores.locks import Lock
from guard.stores.sql_grants import grant_row as grant_of_row

Voted = Sequence[tuple[str, str]]
"""What was voted, and by whom."""
_KEPT = ("need", "revision", "by", "by_self", "use_by")
_WHAT = {"principal": "requester", "tool": "tool", "definition": "definition", "kind": "kind", "edited_by": "edited_by"}
"""Who asked for which tool, and who made this revision: by the name of it here where it stands in the row."""
_GIVEN = ("scope", "uses", "until", "need", "tenant", "principal", "conversation", "tool", "definition", "approval")
_BOUNDS = ("field", "at_most", "sum", "fingerprint", "others")  # of a constraint, what a record shows as it is


_STANDS = (
    "conversation",
    "fingerprint",
    "status",
    "run",
    "decided_run",
    "branch",
    "turn",
    "position",
    "requested_at",
    "expires_at",
)
_ASKED = (*_STANDS, "decided_at", "decided_by", "escalate_at")
_TIMES = frozenset({"requested_at", "expires_at", "decided_at", "escalate_at", "at", "until", "revoked", "cleared"})
_VOTE = ("number", "status", "voter", "roles", "at", "revision", "fingerprint", "presented", "assurance", "via")
"""A vote as its own row has it; its approval's has the same."""


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


def approval_row(row: Sequence[Any], votes: Sequence[Sequence[Any]]) -> Tabled:
    """A row of `sql_log.STATES` and its votes. The end is the one that is next: to decide, or to use what was approved."""
    name, *stands, text, payload = row
    columns = dict(zip(_ASKED, stands, strict=True))
    status, ends, detail = columns["status"], columns["expires_at"], _object(text)
    if status == "approved" and detail.get("use_by") is not None:
        detail["use_by"], ends = ends, detail.get("expires_at")
    kept = _list(detail.get("votes"))
    beside = _beside("approvals", payload, f"approval:{name}") + _voted_otherwise(str(name), votes, kept)
    place = columns["conversation"], columns["turn"], columns["position"]
    pairs = [_list(vote)[1:3] for vote in kept]
    says = {"decide_by": ends, "fingerprint": columns["fingerprint"]}
    made = _approval(str(status), [(str(one[2]), str(one[3])) for one in votes], detail, pairs, place, **says)
    stood = Columns(table="approvals", columns=columns, detail=text, times=_TIMES)
    return replace(made, says={**made.says, "beside": beside}, row=stood)


def _beside(table: str, payload: Any, own: str) -> list[str]:
    """Whether a row's raw values are said to stand elsewhere than in the payload of its own."""
    return [] if payload == own else [f"{table}.payload"]


def _voted_otherwise(name: str, votes: Sequence[Sequence[Any]], kept: list[Any]) -> list[str]:
    """The columns of votes that differ from what their approval's row says of them. Payloads may be gone; what they are called stays."""
    found: list[str] = []
    for row, vote in zip(votes, kept, strict=False):
        _, number, *columns, at, detail, payload = row
        own = [number, *columns[:2], _parsed(columns[2]), at, *(_object(detail).get(one) for one in _VOTE[5:])]
        said = [*_list(vote), *([None] * len(_VOTE))]
        older = not _object(detail)  # its row had no detail then
        found += [
            f"votes.{one}" for one, a, b in zip(_VOTE[: 5 if older else None], own, said, strict=False) if _plain(a) != _plain(b)
        ]
        found += _beside("votes", payload, f"vote:{name}:{number}")
    return found


def _plain(value: Any) -> Any:
    return [_number(one) for one in value] if isinstance(value, list | tuple) else _number(value)


def _parsed(text: Any) -> Any:
    try:
        return rows.load(text) if isinstance(text, str) else text
    except StoreError:
        return None


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
    name, tenant, principal, tool, approval, at, until, revoked, text, erased, payload, body = row
    detail = _object(text)
    named = {"tenant": tenant, "principal": principal, "tool": tool, "approval": approval, "at": at, "until": until}
    columns = {"tenant": tenant, "principal": principal, "tool": tool, "approval": approval, "until": _number(until)}
    given = {one: _number(detail.get(one)) for one in _GIVEN}
    differing = {one: f"{value} and {given[one]}" for one, value in columns.items() if given[one] != value}
    if (revoked is None) != (detail.get("revoked_at") is None):
        differing["revoked"] = "one of them says that it was revoked"
    givers = [str(one.get("by")) for one in _list(detail.get("givers")) if isinstance(one, dict)]
    constraint = _constraint(str(name), body, lock)
    made = _grant({**given, **differing}, givers, revoked, constraint)
    says = {
        **made.says,
        "beside": _beside("grants", payload, f"grant:{name}"),
        "erased": erased is not None or constraint == ERASED,
    }
    terms = None if constraint in (None, ERASED) else _terms(str(name), text, body, lock)
    stood = Columns(table="grants", columns={**named, "revoked": revoked}, detail=text, times=_TIMES)
    return replace(made, says={**says, **({} if terms is None else {"terms": terms})}, row=stood)


def use_row(row: Sequence[Any]) -> Tabled:
    """A row of `sql_log.USED`: which grant a call used, how much it drew, and when."""
    *_, grant, amount, at = row
    stood = Columns(table="grant_uses", columns={"grant_id": grant, "amount": amount, "at": at}, times=_TIMES)
    return Tabled(status="used", row=stood)


def _terms(name: str, detail: Any, body: Any, lock: Lock) -> str | None:
    """The digest of what it permits, as its record has it; "?" for one that cannot be read, which lets nothing run."""
    found = grant_of_row((name, detail, body), lock)
    return "?" if found is None else found.terms


def of_kill(kill: Kill) -> Tabled:
    """A kill in hand."""
    stop = kill.stop
    return _kill(kill.by, kill.cleared_at, tenant=stop.tenant, conversation=stop.conversation, tool=stop.tool)


def kill_row(row: Sequence[Any]) -> Tabled:
    """A row with id, tenant, conversation, tool, when it was set and cleared, detail and payload."""
    name, tenant, conversation, tool, at, cleared, text, payload = row
    made = _kill(_object(text).get("by"), cleared, tenant=tenant, conversation=conversation, tool=tool)
    columns = {"tenant": tenant, "conversation": conversation, "tool": tool, "at": at, "cleared": cleared}
    stood = Columns(table="kills", columns=columns, detail=text, times=_TIMES)
    return replace(made, says={**made.says, "beside": _beside("kills", payload, f"kill:{name}")}, row=stood)


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
