"""Approval rows: approvals as columns and back. The raw values stand in their payload, like those of calls; the rest may be shown.

A row that cannot be read is one approval less, never an outage of the others. May not touch a database. Comes after `rows` and before
`sql_approvals`.
"""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Any, get_args

from guard.core import names
from guard.core.approval import Approval, ApprovalStatus, Vote, Words
from guard.core.rowed import said
from guard.errors import StoreError
from guard.stores.rows import Columns, dump, load, name_of, whole
from guard.stores.sql import FAR
from guard.stores.tables import Asked

LOG = logging.getLogger("guard")
BODY = 13
"""Which column of `sql.ASKED` holds the payload."""
_DETAIL = (
    *("tool", "definition", "kind", "show", "requester", "by", "by_self", "policy", "rule", "decided_roles"),
    *("revision", "need", "use_within", "use_by", "supersedes", "superseded_by", "editable", "edited_by", "authors", "secret"),
    *("why", "on_message", "escalate_at", "escalate_to", "escalated_at", "ended_by", "ended_at", "kill"),
)
_TUPLES = frozenset({"show", "by", "decided_roles", "editable", "authors", "secret", "why", "escalate_to"})
_TIMES = ("use_within", "use_by", "escalate_at", "escalated_at", "ended_at")
_PEOPLE = ("requester", "decided_by", "edited_by", "ended_by", "authors")
_VOTE = ("number", "decision", "by", "roles", "at", "revision", "fingerprint", "presented", "assurance", "via")
_STATUSES = frozenset(get_args(ApprovalStatus))
_CLOSED = _STATUSES - {"pending", "approved"}


def approval_payload(approval: Approval) -> str:
    """The raw values of an approval: arguments and their origins, the call id, the line made of them, what people and the model wrote, real names.

    The names of arguments may be the model's own words.
    """
    votes = [[vote.reason, vote.note] for vote in approval.votes]
    said = approval.words
    beside = [[said.text, said.size, said.digest], approval.edited_why] if said.digest or approval.edited_why else []
    raw = [approval.arguments, approval.call_id, approval.reason, votes, approval.effect, dict(approval.origins), *beside]
    whose = names.pairs(approval.people)
    return dump({"raw": raw, "names": whose, "veil": approval.veil} if whose or approval.veil else raw)


def approval_detail(approval: Approval) -> str:
    """What of an approval needs no column of its own; the column of its end holds whichever end is next, so the other stands here."""
    votes = [[getattr(vote, name) for name in _VOTE] for vote in approval.votes]
    return dump({**{name: getattr(approval, name) for name in _DETAIL}, "votes": votes, "expires_at": approval.expires_at})


def vote_detail(vote: Vote) -> str:
    """What of a vote needs no column of its own, without its words."""
    return dump({name: getattr(vote, name) for name in ("revision", "fingerprint", "presented", "assurance", "via")})


def escalates(approval: Approval) -> float | None:
    """When others may decide as well, while that is still to come."""
    return approval.escalate_at if approval.status == "pending" and approval.escalated_at is None else None


def approval_columns(asked: Asked, conversation: str, payload: str) -> Columns:
    """The columns of `sql.OPEN`."""
    approval = asked.approval
    return (
        approval.id,
        conversation,
        approval.fingerprint,
        approval.status,
        asked.run,
        asked.decided_run,
        approval.branch,
        approval.turn,
        approval.position,
        approval.requested_at,
        approval.ends_at,
        approval.decided_at,
        approval.decided_by,
        escalates(approval),
        approval_detail(approval),
        payload,
    )


_COLUMNS = (
    *("conversation", "fingerprint", "status", "run", "decided_run", "branch", "turn", "position", "requested_at", "expires_at"),
    *("decided_at", "decided_by", "escalate_at"),
)
_MOMENTS = frozenset({"requested_at", "expires_at", "decided_at", "escalate_at"})


def told(columns: Columns) -> dict[str, str]:
    """The columns of `sql.OPEN` by name, each as a text, the detail by its parts: what may be compared with what stands."""
    return said(dict(zip(_COLUMNS, columns[1:-2], strict=True)), columns[-2], _MOMENTS)


def told_before(row: Columns) -> dict[str, str]:
    """The same of the columns of `sql.ASKED`, as far as they say it."""
    names = ("fingerprint", "status", "run", "decided_run", "branch", "turn", "position", "requested_at", "expires_at")
    home = name_of((row[14], row[15]))
    found = said(
        {"conversation": home, **dict(zip((*names, "decided_at", "decided_by"), row[1:12], strict=True))}, row[12], _MOMENTS
    )
    waits = row[2] == "pending" and found.get("detail.escalated_at") == "null"
    return found | {"escalate_at": found.get("detail.escalate_at", "null") if waits else "null"}


def asked_row(columns: Columns) -> Asked:
    """An approval from the columns of `sql.ASKED`. One that cannot be read has expired: it lets nothing run, and the others stay usable."""
    try:
        return _asked(columns)
    except StoreError:
        LOG.warning("the stored approval %s cannot be read: it counts as expired", ascii(columns[0]))
        return _unreadable(columns)


@whole
def _asked(columns: Columns) -> Asked:
    name, fingerprint, status, run, decided_run, branch, turn, position, requested_at, expires_at, *rest = columns
    decided_at, decided_by, detail, body, tenant, conversation = rest
    whole_body = load(body)
    beside = whole_body if isinstance(whole_body, dict) else {}  # the real names and the key of digests came later
    arguments, call_id, reason, *more = beside.get("raw", whole_body)
    words, effect = more[:2] or ([], "")  # came later
    fields: dict[str, Any] = {key: tuple(value) if key in _TUPLES else value for key, value in load(detail).items()}
    fields["origins"] = more[2] if len(more) > 2 else fields.get("origins", {})
    fields |= _beside(*more[3:5]) if len(more) > 3 else {}
    decide_by, votes = fields.pop("expires_at", None), fields.pop("votes", [])
    fields |= {name: None if fields.get(name) is None else float(fields[name]) for name in _TIMES}
    ends_at = _moment(expires_at)
    if status == "approved" and fields.get("use_by") is not None:
        fields["use_by"], ends_at = ends_at, _moment(decide_by)
    if status not in _STATUSES or not isinstance(arguments, dict):
        raise ValueError("a status or arguments of another form")
    whose: dict[str, str] = beside["names"] if beside else {}
    fields |= _called({**fields, "decided_by": decided_by}, whose)
    approval = Approval(
        id=name,
        fingerprint=fingerprint,
        status=status,
        arguments=arguments,
        tenant=tenant,
        conversation=conversation,
        branch=branch,
        turn=turn,
        position=position,
        call_id=call_id,
        requested_at=_moment(requested_at),
        expires_at=ends_at,
        decided_at=None if decided_at is None else _moment(decided_at),
        reason=reason,
        votes=tuple(_vote(vote, said, whose) for vote, said in zip(votes, words, strict=False)),
        effect=effect,
        veil=beside["veil"] if beside else "",
        **fields,
    )
    return Asked(approval=approval, run=run, decided_run=decided_run)


def _called(fields: dict[str, Any], whose: dict[str, str]) -> dict[str, Any]:
    """Who stands in an approval, with the real names that are known."""
    found = {one: fields[one] for one in _PEOPLE if one in fields}  # some came later
    return {one: names.restored_all(name, whose) for one, name in found.items()} if whose else found


def _beside(said: Any, why: Any) -> dict[str, Any]:
    """What the model wrote beside the call, and the editor of this revision."""
    text, size, mark = said
    return {"words": Words(text=text, size=size, digest=mark), "edited_why": why}


def _vote(columns: Any, words: Any, whose: dict[str, str]) -> Vote:
    reason, note = words
    given = dict(zip(_VOTE, columns, strict=True))
    given |= {"by": names.restored(given["by"], whose), "roles": tuple(given["roles"]), "at": float(given["at"])}
    return Vote(**given, reason=reason, note=note)


def _moment(value: Any) -> float:
    """A stored time; one that is none is long past."""
    found = float(value) if isinstance(value, int | float | Decimal) else 0.0
    return found if abs(found) < FAR else 0.0


def _unreadable(columns: Columns) -> Asked:
    """What of a damaged approval can be known: about which call it was, and that it was spent or rejected, if it was."""
    name, fingerprint, status, run, decided_run, branch, turn, position = columns[:8]
    tenant, conversation = columns[-2:]
    approval = Approval(
        id=name, fingerprint=fingerprint, status=status if status in _CLOSED else "expired", tool="", definition="", kind="action",
        arguments={}, origins={}, show=(), requester="", tenant=tenant, conversation=conversation, branch=branch, turn=turn,
        position=position, call_id="", by=(), by_self=False, policy="", requested_at=0.0, expires_at=0.0,
    )  # fmt: skip
    return Asked(approval=approval, run=run, decided_run=decided_run)
