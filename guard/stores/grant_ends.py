"""Ends of grants that nobody's word about the grant brings: the yes that it came with was taken back, a backup was put back, its call was erased.

Each is on record with what it changes. Shared by every store; may only ask the tables. Comes after `grants`, before `votes`, `doubts`, `erasing` and `ledger`.
"""

from __future__ import annotations

from dataclasses import replace

from guard.core.erasing import Erase, bare_grant
from guard.core.grants import Grant
from guard.core.model import Approval
from guard.core.ports import Event
from guard.stores.grants import counted
from guard.stores.tables import Place, Tables


def withdrawn(tables: Tables, approval: Approval) -> None:
    """The yes was taken back, or the question ended by a no or a change: what was given with it, or proposed, is over, too."""
    for grant in tables.grants(tenant=None, principal=None, approval=approval.id):
        if grant.revoked_at is None:
            _end(tables, grant, approval.ended_by or approval.decided_by or "guard", f"the approval was {approval.status}")


def restored(tables: Tables) -> None:
    """A backup was put back: how often a grant was used since then cannot be known, so none of them goes on."""
    for grant in tables.grants(tenant=None, principal=None, approval=None):
        if grant.revoked_at is None:
            _end(tables, grant, "guard", "a backup was put back")


def erased(tables: Tables, command: Erase) -> tuple[str, ...]:
    """Erase what grants hold of calls that are erased: they end by it, on record. See Erase."""
    found = [
        grant.id for place, grant in tables.grants_from(command.home) if command.grants_over is not None or _from(command, place)
    ]
    return tuple(name for name in found if _erased(tables, name, command.grants_over))


def _from(command: Erase, place: Place) -> bool:
    return command.only is None or place in command.only


def _erased(tables: Tables, name: str, over: float | None) -> bool:
    known = tables.granted(name)
    if known is None or known.erased:
        return False
    grant = counted(tables, known)
    status = grant.status(tables.now)
    if over is not None and (status in ("live", "proposed") or not _over_since(grant, over)):
        return False
    if status in ("live", "proposed"):
        _end(tables, grant, "guard", "what it came from was erased")
        grant = tables.granted(name) or grant
    tables.wipe_grant(bare_grant(grant))
    return True


def _over_since(grant: Grant, before: float) -> bool:
    """Whether it was over by this time: of one that is spent nobody knows since when, so that its giving counts."""
    ends = [at for at in (grant.revoked_at, grant.until) if at is not None]
    return (min(ends) if ends else grant.at) <= before


def _end(tables: Tables, grant: Grant, by: str, why: str) -> None:
    ended = replace(grant, revoked_by=by, revoked_at=tables.now, revoked_why=why)
    tables.append(_told_ended(ended))
    tables.keep_grant(ended)


def _told_ended(grant: Grant) -> Event:
    return {
        "kind": "grant.revoked",
        "tenant": grant.tenant,
        "principal": grant.principal,
        "actor": {"type": "service"},
        "approval": grant.approval,
        "tool": {"name": grant.tool, "definition": grant.definition, "kind": grant.kind},
        "grant": {"id": grant.id, "status": "revoked", "reason": grant.revoked_why},
    }
