"""The memory store: an honest store in dicts, for tests, demos and programs that need no record after they end.

One lock makes each transaction alone in the process. Nothing is bounded and nothing survives. What it is given is kept as it is, so nobody
may change a row, its arguments or its value afterwards. Comes after `tables` and `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from threading import Lock
from types import TracebackType
from typing import Self

from guard.core.model import ConversationRef
from guard.core.ports import CallRow, Charge, Event, Sealed
from guard.stores.chain import GENESIS, write
from guard.stores.ledger import LedgerStore
from guard.stores.memory_approvals import MemoryApprovals
from guard.stores.stamp import Stamps
from guard.stores.tables import SUM, ZERO, Budget, Draw, Home, Mark, Place, Talk


class _Room:
    """Everything about one conversation."""

    __slots__ = ("branches", "by_fingerprint", "by_tool", "charges", "claims", "keys", "talk", "turns", "words")

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.words: list[str] = []
        self.branches: dict[str, list[Mark]] = {}
        self.keys: dict[str, Mark] = {}
        self.turns: dict[int, dict[int, CallRow]] = {}
        self.by_tool: dict[str, dict[Place, CallRow]] = {}
        self.by_fingerprint: dict[str, dict[Place, CallRow]] = {}
        self.claims: set[Place] = set()
        self.charges: dict[Place, tuple[Charge, ...]] = {}


class MemoryTables(MemoryApprovals):
    """`Tables` in dicts. The object itself is the transaction."""

    blocking = False

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self.clock = clock
        self._lock = Lock()
        self._rooms: dict[Home, _Room] = {}
        self._totals: dict[Budget, Decimal] = {}
        self._spent: set[str] = set()
        self._audit: list[tuple[str, str, str]] = []  # prev, hash, body
        self._sealed = 0
        self._created: list[Home] = []
        self._stamps = Stamps()

    def read(self) -> MemoryTables:
        """A transaction."""
        return self

    write = read

    def __enter__(self) -> Self:
        self._lock.acquire()
        self._sealed = len(self._audit)
        try:
            self.now = self.clock()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:  # owners are checked and events sealed before anything else changes, so this is all there is to undo
            del self._audit[self._sealed :]
            for home in self._created:
                del self._rooms[home]
        self._created.clear()
        self._lock.release()

    def close(self) -> None:
        """Nothing is held open."""

    # conversations and turns

    def owner(self, home: Home) -> str | None:
        """The principal that the conversation belongs to."""
        room = self._rooms.get(home)
        return None if room is None else room.talk.principal

    def create(self, ref: ConversationRef) -> None:
        """Add a conversation."""
        home = (ref.tenant, ref.conversation)
        self._created.append(home)
        self._rooms[home] = _Room(Talk(home=home, principal=ref.principal))

    def talk(self, home: Home) -> Talk:
        """The counters, live."""
        return self._rooms[home].talk

    def save(self, talk: Talk) -> None:
        """The counters are live; nothing is left to do."""

    def say(self, home: Home, number: int, text: str) -> None:  # noqa: ARG002 - the list counts by itself
        """Keep the user's words."""
        self._rooms[home].words.append(text)

    def words(self, home: Home) -> tuple[str, ...]:
        """Everything that the user said."""
        return tuple(self._rooms[home].words)

    def newest(self, home: Home, branch: str) -> Mark | None:
        """The newest turn of a branch."""
        marks = self._rooms[home].branches.get(branch)
        return marks[-1] if marks else None

    def keyed(self, home: Home, key: str) -> Mark | None:
        """The turn of a key."""
        return self._rooms[home].keys.get(key)

    def count(self, home: Home, branch: str, digest: str | None) -> int:
        """How many turns a branch has."""
        marks = self._rooms[home].branches.get(branch, [])
        return sum(digest is None or mark.digest == digest for mark in marks)

    def number(self, home: Home, branch: str, key: str, mark: Mark) -> None:
        """Keep a new turn."""
        room = self._rooms[home]
        if key:
            room.keys[key] = mark
        else:
            room.branches.setdefault(branch, []).append(mark)

    # calls

    def row(self, home: Home, place: Place) -> CallRow | None:
        """One call."""
        return self._rooms[home].turns.get(place[0], {}).get(place[1])

    def rows(self, home: Home, turn: int | None) -> tuple[CallRow, ...]:
        """Calls in order."""
        turns = self._rooms[home].turns
        numbers = sorted(turns) if turn is None else [turn]
        return tuple(row for number in numbers for _, row in sorted(turns.get(number, {}).items()))

    def ledger(self, home: Home, tools: frozenset[str], before: int, statuses: frozenset[str]) -> tuple[CallRow, ...]:
        """Earlier calls of these tools."""
        by_tool = self._rooms[home].by_tool
        found = {
            place: row
            for tool in tools
            for place, row in by_tool.get(tool, {}).items()
            if place[0] < before and row.status in statuses
        }
        return tuple(found[place] for place in sorted(found))

    def alike(self, home: Home, fingerprint: str, statuses: frozenset[str], *, run: int | None = None) -> CallRow | None:
        """The newest call with this fingerprint."""
        rows = self._rooms[home].by_fingerprint.get(fingerprint)
        if not rows:
            return None
        fitting = [place for place, row in rows.items() if row.status in statuses and run in (None, row.run)]
        return rows[max(fitting)] if fitting else None

    def put(self, row: CallRow) -> None:
        """Add or replace a call."""
        key = row.key
        place = (key.turn, key.position)
        room = self._rooms[key.ref.tenant, key.ref.conversation]
        turn = room.turns.get(key.turn)
        if turn is None:
            turn = room.turns[key.turn] = {}
        old = turn.get(key.position)
        if old is not None:
            room.by_tool[old.call.tool].pop(place)
            room.by_fingerprint[old.fingerprint].pop(place)
        turn[key.position] = row
        room.by_tool.setdefault(row.call.tool, {})[place] = row
        room.by_fingerprint.setdefault(row.fingerprint, {})[place] = row

    def claimed(self, home: Home, place: Place) -> bool:
        """Whether the call was ever taken."""
        return place in self._rooms[home].claims

    def claim(self, row: CallRow, approval: str | None) -> bool:
        """Take the call."""
        claims = self._rooms[row.key.ref.tenant, row.key.ref.conversation].claims
        place = (row.key.turn, row.key.position)
        if place in claims or approval in self._spent:
            return False
        claims.add(place)
        if approval is not None:
            self._spent.add(approval)
        return True

    # budgets

    def budget(self, charge: Charge) -> Budget:
        """Scope and name."""
        return charge.scope, charge.name

    def total(self, budget: Budget) -> Decimal:
        """What is drawn in all."""
        return self._totals.get(budget, ZERO)

    def totals(self, changed: dict[Budget, Decimal]) -> None:
        """Keep new totals."""
        self._totals.update(changed)

    def holds(self, home: Home, place: Place) -> bool:
        """Whether a call holds anything."""
        return bool(self._rooms[home].charges.get(place))

    def hold(self, home: Home, place: Place, charges: tuple[Charge, ...]) -> None:
        """Keep what a call holds."""
        self._rooms[home].charges[place] = charges

    def draws(self, home: Home, place: Place, *, sums_only: bool) -> tuple[Draw, ...]:
        """What a call holds."""
        charges = self._rooms[home].charges.get(place, ())
        return tuple(
            Draw((charge.scope, charge.name), charge.amount) for charge in charges if not sums_only or charge.name.startswith(SUM)
        )

    def drop(self, home: Home, place: Place, *, sums_only: bool) -> None:
        """Forget what `draws` gives."""
        charges = self._rooms[home].charges
        kept = tuple(c for c in charges.get(place, ()) if not c.name.startswith(SUM)) if sums_only else ()
        charges[place] = kept

    # audit

    def check(self, event: Event) -> None:
        """Seal the event for nothing: changes of approvals and budgets are not undone here."""
        write(event, 0, 1, GENESIS, ("", ""))

    def append(self, event: Event) -> None:
        """Seal an event."""
        audit = self._audit
        prev = audit[-1][1] if audit else GENESIS
        audit.append((prev, *write(event, 0, len(audit) + 1, prev, self._stamps.stamp(self.now))))

    def audit(self, after: int, limit: int | None) -> tuple[Sealed, ...]:
        """Records in order."""
        first = max(after, 0)
        found = self._audit[first : None if limit is None else first + max(limit, 0)]
        return tuple(
            Sealed(chain=0, seq=seq, prev=prev, hash=own, body=body) for seq, (prev, own, body) in enumerate(found, first + 1)
        )


def memory_store(*, clock: Callable[[], float]) -> LedgerStore:
    """An empty store."""
    return LedgerStore(MemoryTables(clock))
