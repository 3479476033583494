"""The memory store: an honest store in dicts, for tests, demos and programs that need no record after they end.

A gate makes each transaction alone in the process, an undo log makes it whole. Nothing is bounded and nothing survives. What it is given is
kept as it is, so nobody may change a row, its arguments or its value afterwards. Comes after `tables`, `gate`, `undo` and `ledger`.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from secrets import token_bytes
from typing import Any

from guard.core.log import Checkpoint, Head
from guard.core.model import ConversationRef
from guard.core.ports import CallRow, Event, Sealed, Sought, Won
from guard.core.replacing import replace
from guard.core.searching import Filed
from guard.core.values import Json
from guard.stores import filing
from guard.stores.chain import GENESIS, UNSAID, write
from guard.stores.claims import FINISHED, LEDGER
from guard.stores.gate import Gate
from guard.stores.ledger import LedgerStore
from guard.stores.locks import OPEN
from guard.stores.memory_doubts import Room
from guard.stores.memory_kills import MemoryKills
from guard.stores.memory_outbox import MemoryOutbox
from guard.stores.memory_segments import MemorySegments
from guard.stores.stamp import Stamps, beside
from guard.stores.tables import Home, Mark, Place, Plain, T, Tables, Talk


class MemoryTables(MemoryOutbox, MemoryKills, MemorySegments):
    """`Tables` in dicts. The object itself is the transaction."""

    blocking = False
    one_writer = True
    lock = OPEN  # nothing of it leaves the process
    older = False

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self.clock = clock
        self.secret = token_bytes(32)
        self._gate = Gate()
        self._spent: dict[str, None] = {}
        self._audit: list[tuple[str, str, str]] = []  # prev, hash, body
        self._checkpoints: list[Checkpoint] = []
        self._sent = {"number": 0}
        self._stamps = Stamps()
        self._beside: tuple[str, str] | None = None  # what stands beside the time of the next record; None: not made yet
        self._moment = 0.0  # when the transaction began, by the clock that nobody sets

    def read(self, work: Callable[[Tables], T]) -> T:
        """A transaction."""

        def whole() -> T:
            self._undo.back()  # what was left when an interrupt was interrupted again
            self.now, self._beside, self._moment = self.clock(), None, time.monotonic()
            answer = work(self)
            self._undo.keep()
            return answer

        return self._gate.run(whole, self._undo.back)

    write = read

    def wait(self, seconds: float) -> None:
        """Nobody else is there to wake anybody."""
        time.sleep(seconds)

    def accept(self) -> None:
        """There is no backup that could be put back."""

    def close(self) -> None:
        """Nothing is held open."""

    # conversations and turns

    def owner(self, home: Home) -> str | None:
        """The principal that the conversation belongs to."""
        talk = self._talks.get(home)
        return None if talk is None else talk.principal

    def create(self, ref: ConversationRef) -> None:
        """Add a conversation."""
        home = (ref.tenant, ref.conversation)
        self._undo.put(self._rooms, home, Room())
        self._undo.put(self._talks, home, Talk(home=home, principal=ref.principal))

    def talk(self, home: Home) -> Talk:
        """The counters: a copy, since they are changed in place."""
        return replace(self._talks[home])

    def save(self, talk: Talk) -> None:
        """Keep changed counters."""
        self._undo.put(self._talks, talk.home, talk)

    def say(self, home: Home, number: int, text: tuple[str, str]) -> None:
        """Keep the user's words."""
        self._undo.put(self._rooms[home].words, number, (self.now, text))

    def words(self, home: Home) -> tuple[str, ...]:
        """Everything that the user said."""
        return tuple(text for _, (_, (text, _)) in sorted(self._rooms[home].words.items()))

    def newest(self, home: Home, branch: str, digest: str | None = None) -> Mark | None:
        """The newest turn of a branch."""
        marks = self._rooms[home].branches.get((branch, digest))
        return marks[-1] if marks else None

    def keyed(self, home: Home, key: str) -> Mark | None:
        """The turn of a key."""
        return self._rooms[home].keys.get(key)

    def count(self, home: Home, branch: str, digest: str | None) -> int:
        """How many turns a branch has."""
        return len(self._rooms[home].branches.get((branch, digest), ()))

    def before(self, home: Home, branch: str, turn: int) -> int:
        """How many turns a branch has before this one."""
        return bisect_left(self._rooms[home].branches.get((branch, None), ()), turn, key=_turn)

    def opened(self, home: Home, after: int) -> tuple[Mark, ...]:
        """The turns after this one."""
        marks = self._rooms[home].marks
        return tuple(marks[bisect_left(marks, after + 1, key=_turn) :])

    def number(self, home: Home, branch: str, key: str, mark: Mark) -> None:
        """Keep a new turn."""
        room = self._rooms[home]
        self._undo.append(room.marks, mark)
        if key:
            self._undo.put(room.keys, key, mark)
            return
        for digest in (None, mark.digest):
            self._undo.append(room.branches.setdefault((branch, digest), []), mark)

    # calls

    def foresee(self, calls: Sequence[CallRow], *, claim: bool = False) -> None:
        """Everything is at hand."""

    def row(self, home: Home, place: Place) -> CallRow | None:
        """One call."""
        return self._rooms[home].turns.get(place[0], {}).get(place[1])

    def rows(self, home: Home, turn: int | None) -> tuple[CallRow, ...]:
        """Calls in order."""
        turns = self._rooms[home].turns
        numbers = sorted(turns) if turn is None else [turn]
        return tuple(row for number in numbers for _, row in sorted(turns.get(number, {}).items()))

    def unsettled(self, home: Home) -> tuple[CallRow, ...]:
        """Calls that were not told yet."""
        return tuple(row for row in self.rows(home, None) if not row.settled)

    def settle(self, home: Home, place: Place, status: str) -> None:
        """Mark a call as told."""
        row = self.row(home, place)
        if row is not None and row.status == status:
            told, room = replace(row, settled=True), self._rooms[home]  # no index knows whether a call was told
            self._undo.put(room.turns[place[0]], place[1], told)
            self._undo.put(room.by_tool[row.call.tool], place, told)

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

    def alike(self, home: Home, mark: str, statuses: frozenset[str], *, run: int | None = None) -> CallRow | None:
        """The newest call with this mark."""
        by_mark = self._rooms[home].by_mark
        newest = [places[-1] for status in statuses if (places := by_mark.get((mark, status, run)))]
        return self.row(home, max(newest)) if newest else None

    def put(self, row: CallRow) -> None:
        """Add or replace a call."""
        key = row.key
        place = (key.turn, key.position)
        room = self._rooms[key.ref.tenant, key.ref.conversation]
        turn = room.turns.setdefault(key.turn, {})
        old = turn.get(key.position)
        if old is not None:
            self._undo.drop(room.by_tool[old.call.tool], place)
            for index in _indexes(old):
                self._undo.remove(room.by_mark[index], place)
        self._note(row)
        self._undo.put(turn, key.position, row)
        if row.status in FINISHED and place not in room.ended:
            self._undo.put(room.ended, place, self.now)
        self._undo.put(room.by_tool.setdefault(row.call.tool, {}), place, row)
        for index in _indexes(row):
            self._undo.insert(room.by_mark.setdefault(index, []), place)

    def take(self, given: Plain) -> Won | None:  # noqa: ARG002 - here nothing is quicker than the rules
        """The rules are asked."""
        return None

    def claimed(self, home: Home, place: Place) -> bool:
        """Whether the call was ever taken."""
        return place in self._rooms[home].claims

    def claim(self, row: CallRow, approval: str | None) -> bool:
        """Take the call."""
        claims = self._rooms[row.key.ref.tenant, row.key.ref.conversation].claims
        place = (row.key.turn, row.key.position)
        if place in claims or approval in self._spent:
            return False
        self._undo.put(claims, place, None)
        if approval is not None:
            self._undo.put(self._spent, approval, None)
        return True

    # audit

    def append(self, event: Event) -> None:
        """Seal an event."""
        audit = self._audit
        prev = audit[-1][1] if audit else GENESIS
        said = beside(self._moment) if self._beside is None else self._beside
        written = write(event, 0, len(audit) + 1, prev, self._stamps.stamp(self.now), said)
        self._beside = UNSAID
        self._undo.append(audit, (prev, *written))

    def audit(self, chain: int, after: int, limit: int | None) -> tuple[Sealed, ...]:
        """Records in order."""
        if chain != 0:
            return ()
        first = max(after, 0)
        found = self._audit[first : None if limit is None else first + max(limit, 0)]
        return tuple(
            Sealed(chain=0, seq=seq, prev=prev, hash=own, body=body) for seq, (prev, own, body) in enumerate(found, first + 1)
        )

    def heads_now(self) -> dict[int, Head]:
        """The newest record."""
        return {0: (len(self._audit), self._audit[-1][1])} if self._audit else {}

    def strays(self, chains: int) -> tuple[()]:  # noqa: ARG002 - there is one
        """Nothing is filed apart from the records."""
        return ()

    def checkpoints(self, *, unsent: bool) -> tuple[Checkpoint, ...]:
        """The checkpoints, oldest first."""
        return tuple(self._checkpoints[self._sent["number"] if unsent else 0 :])

    def last_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint."""
        return self._checkpoints[-1] if self._checkpoints else None

    def add_checkpoint(self, one: Checkpoint) -> None:
        """Keep a new checkpoint."""
        self._undo.append(self._checkpoints, one)

    def mark_sent(self, number: int) -> None:
        """Mark checkpoints as sent."""
        self._undo.put(self._sent, "number", max(number, self._sent["number"]))

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """Records that are looked for, by reading every one."""
        return tuple(one for _, one in filing.scan(self.audit(0, 0, None), sought))

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """How many records are looked for."""
        return filing.count(self.audit(0, 0, None), sought, by)

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """Columns of records."""
        return filing.chosen(self.audit(0, 0, None), sought, names)

    def copies(self, chain: int, after: int, limit: int) -> tuple[Filed, ...]:
        """Nothing is filed apart from the records."""
        return tuple(map(filing.filed, self.audit(chain, after, limit)))


def _turn(mark: Mark) -> int:
    return mark.turn


def _indexes(row: CallRow) -> tuple[tuple[str, str, int | None], ...]:
    """Where a row is found by its mark."""
    if not row.mark or row.status not in LEDGER:
        return ()
    return (row.mark, row.status, None), (row.mark, row.status, row.run)


def memory_store(*, clock: Callable[[], float]) -> LedgerStore:
    """An empty store."""
    return LedgerStore(MemoryTables(clock))
