"""The part of the memory store that finds calls in doubt and calls for workers, over all conversations. Holds no rule.

Comes after `memory_approvals` and before `memory`.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.core.ports import CallRow, Vaulted
from guard.core.replacing import replace
from guard.core.targets import Aim
from guard.stores.budget_tables import Draw
from guard.stores.memory_approvals import MemoryApprovals
from guard.stores.tables import Home, Mark, Place


@dataclass(frozen=True, slots=True)
class Held:
    """What a call holds of one budget: whether it counts a sum, and the number of its span where it counts over a window."""

    draw: Draw
    summed: bool
    span: int | None = None


class Room:
    """Everything about one conversation."""

    __slots__ = ("branches", "by_mark", "by_tool", "charges", "claims", "ended", "keys", "marks", "turns", "vault", "words")

    def __init__(self) -> None:
        self.words: dict[int, tuple[float, tuple[str, str]]] = {}  # when, and what with its salt; by number
        self.marks: list[Mark] = []
        self.branches: dict[tuple[str, str | None], list[Mark]] = {}  # by branch and digest, and by branch alone
        self.keys: dict[str, Mark] = {}
        self.turns: dict[int, dict[int, CallRow]] = {}
        self.by_tool: dict[str, dict[Place, CallRow]] = {}
        self.by_mark: dict[tuple[str, str, int | None], list[Place]] = {}  # by mark, status and run, and in every run; sorted
        self.claims: dict[Place, None] = {}
        self.charges: dict[Place, tuple[Held, ...]] = {}
        self.vault: dict[str, tuple[Vaulted, float, bool]] = {}  # value, since when, whether it is void; by handle
        self.ended: dict[Place, float] = {}  # when a call was first written to be done or failed


class MemoryDoubts(MemoryApprovals):
    """Calls of all conversations, by their status."""

    def __init__(self) -> None:
        super().__init__()
        self._rooms: dict[Home, Room] = {}
        self._picked: dict[tuple[Home, Place], float] = {}
        self._epochs: list[str] = []
        self._doubts: dict[tuple[str, str], dict[tuple[Home, Place], None]] = {}  # open actions by tenant and tool

    def renew(self, home: Home, place: Place, mine: tuple[int, str], until: float) -> bool:
        """Move the end of a lease."""
        row = self._rooms[home].turns.get(place[0], {}).get(place[1])
        if row is None or row.status != "started" or (row.attempt, row.executor) != mine:
            return False
        self._undo.put(self._rooms[home].turns[place[0]], place[1], replace(row, lease=until))
        return True

    def doubtful(self, tenant: str | None) -> tuple[CallRow, ...]:
        """Started and unknown actions."""
        found = [row for row in self._all("started", "unknown") if row.kind == "action" and tenant in (None, row.key.ref.tenant)]
        return tuple(sorted(found, key=_age))

    def _open(self, tenant: str, tool: str) -> list[CallRow]:
        """Started and unknown actions of a tool in a tenant, the unknown ones first."""
        spots = self._doubts.get((tenant, tool), {})
        found = [self._rooms[home].turns[turn][position] for home, (turn, position) in spots]
        return sorted(found, key=lambda row: row.status, reverse=True)

    def _note(self, row: CallRow) -> None:
        """Keep in mind whether an action is open. To be called before its row is put."""
        place = ((row.key.ref.tenant, row.key.ref.conversation), (row.key.turn, row.key.position))
        spots = self._doubts.setdefault((row.key.ref.tenant, row.call.tool), {})
        if row.kind == "action" and row.status in ("started", "unknown"):
            self._undo.put(spots, place, None)
        elif place in spots:
            self._undo.drop(spots, place)

    def aimed(self, aim: Aim) -> list[CallRow]:
        """Calls with this tag."""
        return [row for row in self._open(aim.tenant, aim.tool) if row.target == aim.tag]

    def aimed_otherwise(self, aim: Aim, most: int) -> list[CallRow]:
        """Calls with a tag of another form, or none."""
        found = [row for row in self._open(aim.tenant, aim.tool) if not row.target.startswith(aim.form)]
        return [row for row in found if row.status == "unknown" or row.lease is None or row.lease <= self.now][:most]

    def approved(self, before: float, limit: int) -> tuple[CallRow, ...]:
        """Held calls that may run."""
        found = []
        for row in self._all("held"):
            asked = self._asked.get(row.approval or "")
            given = asked.approval if asked is not None and asked.approval.status == "approved" else None
            if given is not None and (given.decided_at or 0.0) <= before and given.expires_at > self.now and self._free(row):
                found.append((given.decided_at or 0.0, row))
        return tuple(row for _, row in sorted(found, key=lambda pair: pair[0])[:limit])

    def lost(self, limit: int) -> tuple[CallRow, ...]:
        """Started calls that nobody is at."""
        found = [row for row in self._all("started") if (row.lease is None or row.lease <= self.now) and self._free(row)]
        return tuple(sorted(found, key=_age)[:limit])

    def pick(self, home: Home, place: Place, until: float) -> None:
        """Keep a call for one worker."""
        self._undo.put(self._picked, (home, place), until)

    def _free(self, row: CallRow) -> bool:
        place = ((row.key.ref.tenant, row.key.ref.conversation), (row.key.turn, row.key.position))
        return self._picked.get(place, self.now) <= self.now

    def _all(self, *statuses: str) -> list[CallRow]:
        rooms = self._rooms.values()
        return [row for room in rooms for turn in room.turns.values() for row in turn.values() if row.status in statuses]

    def seal_away(self, home: Home, one: Vaulted) -> None:
        """Keep the value behind a handle."""
        room = self._rooms[home].vault
        known, _, void = room.get(one.handle, (one, 0.0, False))
        other = (known.digest, known.kind) != (one.digest, one.kind)
        self._undo.put(room, one.handle, (known, self.now, void or other))

    def behind(self, home: Home, handle: str, since: float) -> Vaulted | None:
        """What stands behind a handle."""
        one, at, void = self._rooms[home].vault.get(handle, (None, 0.0, True))
        return None if void or at < since else one

    def given_out(self, home: Home, newer: int) -> float | None:
        """When the handle was given out than which so many are newer."""
        times = sorted((at for _, at, _ in self._rooms[home].vault.values()), reverse=True)
        return times[newer] if newer < len(times) else None

    def forget_handles(self, home: Home, before: float) -> None:
        """Forget old handles."""
        room = self._rooms[home].vault
        for handle in [handle for handle, (_, at, _) in room.items() if at < before]:
            self._undo.drop(room, handle)

    def epoch(self) -> int:
        """Nothing can be restored here but by word."""
        return len(self._epochs)

    def begin_epoch(self, number: int, why: str) -> None:  # noqa: ARG002 - the list counts by itself
        """Keep a new epoch."""
        self._undo.append(self._epochs, why)


def _age(row: CallRow) -> tuple[float, int, int]:
    return row.at, row.key.turn, row.key.position
