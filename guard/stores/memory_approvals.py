"""The part of the memory store that keeps approvals and votes. Holds no rule. Comes after `tables` and before `memory`."""

from __future__ import annotations

from guard.core.approval import Approval, Vote
from guard.core.log import Tabled
from guard.stores import tabled
from guard.stores.approvals import LIVE, is_due
from guard.stores.tables import Asked, Home, Place, Wanted
from guard.stores.undo import Undo


class MemoryApprovals:
    """Approvals and votes in dicts."""

    def __init__(self) -> None:
        self.now = 0.0
        self._undo = Undo()
        self._asked: dict[str, Asked] = {}
        self._about: dict[Home, list[str]] = {}
        self._pending: dict[tuple[str, str], dict[str, float]] = {}  # by tenant and person: approvals and when they expire
        self._votes: list[tuple[str, Vote]] = []

    def asked(self, approval_id: str) -> Asked | None:
        """One approval."""
        return self._asked.get(approval_id)

    def alive(self, home: Home, place: Place, besides: str = "") -> tuple[Asked, ...]:
        """Live approvals of one call."""
        return tuple(
            asked
            for asked in self._at(home)
            if asked.approval.status in LIVE
            and (asked.approval.turn, asked.approval.position) == place
            and asked.approval.fingerprint != besides
        )

    def about(self, home: Home, fingerprint: str) -> tuple[Asked, ...]:
        """Approvals for a fingerprint."""
        return tuple(asked for asked in self._at(home) if asked.approval.fingerprint == fingerprint)

    def _at(self, home: Home) -> list[Asked]:
        names = self._about.get(home, ())
        return sorted((self._asked[name] for name in names), key=_age)

    def asked_in(self, home: Home, run: int) -> tuple[Asked, ...]:
        """Approvals of a run."""
        return tuple(asked for asked in self._at(home) if asked.run == run) if home in self._about else ()

    def open_in(self, home: Home) -> tuple[Asked, ...]:
        """Pending approvals of a conversation."""
        return tuple(asked for asked in self._at(home) if asked.approval.status == "pending") if home in self._about else ()

    def listed(self, wanted: Wanted) -> tuple[Asked, ...]:
        """Approvals that meet every field."""
        return tuple(sorted((asked for asked in self._asked.values() if _meets(asked, wanted)), key=_age))

    def waiting(self, tenant: str, principal: str) -> int:
        """How many questions of a person are pending."""
        return sum(until > self.now for until in self._pending.get((tenant, principal), {}).values())

    def tabled(self) -> dict[str, Tabled]:
        """Approvals with their votes."""
        votes: dict[str, list[tuple[str, str]]] = {}
        for name, vote in self._votes:
            votes.setdefault(name, []).append((vote.decision, str(vote.by)))
        return {name: tabled.of_approval(asked.approval, votes.get(name, [])) for name, asked in self._asked.items()}

    def open(self, asked: Asked) -> None:
        """Add an approval."""
        approval = asked.approval
        self._keep(asked)
        self._undo.append(self._about.setdefault((approval.tenant, approval.conversation), []), approval.id)

    def close_asked(self, asked: Asked) -> None:
        """Keep a new status."""
        self._keep(asked)

    def _keep(self, asked: Asked) -> None:
        approval = asked.approval
        self._undo.put(self._asked, approval.id, asked)
        pending = self._pending.setdefault((approval.tenant, approval.requester), {})
        if approval.status == "pending":
            self._undo.put(pending, approval.id, approval.expires_at)
        else:
            self._undo.drop(pending, approval.id)

    def vote(self, approval: Approval, vote: Vote) -> None:
        """Add a vote."""
        self._undo.append(self._votes, (approval.id, vote))


def _age(asked: Asked) -> tuple[float, int, int, str]:
    approval = asked.approval
    return approval.requested_at, approval.turn, approval.position, approval.id


def _meets(asked: Asked, wanted: Wanted) -> bool:
    approval = asked.approval
    return (
        wanted.tenant in (None, approval.tenant)
        and wanted.conversation in (None, approval.conversation)
        and wanted.status in (None, approval.status)
        and (wanted.due is None or is_due(asked, wanted.due))
    )
