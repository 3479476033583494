"""Who has to do with an approval: who asked for it, who edited it, and why somebody's vote does not count, whatever it says.

A stranger learns nothing, not even whether the approval exists. Reads and writes no store; `approvals` asks here before anything is voted.
"""

from __future__ import annotations

from typing import NoReturn

from guard.core.approval import Approval, Assurance, Ballot, Seen, Via
from guard.core.model import Session
from guard.core.rights import Rights
from guard.errors import ApprovalError


def concerns(approval: Approval, who: Session) -> bool:
    """Whether this person asked for the call."""
    return who.means(approval.requester) and who.tenant == approval.tenant


def wrote(approval: Approval, who: Session) -> bool:
    """Whether this person edited the call."""
    return any(map(who.means, approval.authors)) and who.tenant == approval.tenant


def barred(approval: Approval, approver: Session, rights: Rights) -> ApprovalError | None:
    """Why this person's vote does not count, whatever it says. A stranger hears that there is nothing."""
    if rights.may(approval, approver):
        return None
    if concerns(approval, approver):
        return ApprovalError("own", "the requester may not decide about this call; another person must")
    if wrote(approval, approver):
        return ApprovalError("own", "who edited a call has written it too: another person must decide")
    return nothing(approval.id)


def ballot_of(seen: Seen | None, note: str | None, rights: Rights, via: Via, assurance: Assurance) -> Ballot:
    """What comes with a vote beside yes or no: what was shown, a private note, and whose word it is who votes."""
    meant = {} if seen is None else {"revision": seen.revision, "fingerprint": seen.fingerprint, "presented": seen.presented}
    return Ballot(**meant, note=note, assurance=assurance, via=via, counts=rights.still)  # type: ignore[arg-type]


def nothing(approval_id: str) -> ApprovalError:
    """What a stranger hears."""
    return ApprovalError("not_found", f"there is no approval {approval_id} that this person may decide about")


def not_found(approval_id: str) -> NoReturn:
    """Raises what a stranger hears."""
    raise nothing(approval_id)
