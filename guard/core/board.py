"""Board: the bookkeeping of one turn on its way through the rooms. Which calls are here, how far each one got, what is already known.

No order and no decision of a room lives here; `pipeline` alone knows the order. Holds what changes while a turn is walked, so that a
failing store leaves every call with a definite state. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from guard.core import answer
from guard.core import context as _context
from guard.core.context import Item, salt_of
from guard.core.model import (
    Allow,
    AuthorizedCall,
    BoundCall,
    CallKey,
    GroundedCall,
    Hold,
    Outcome,
    ParsedCall,
    Refusal,
    ToolCall,
    ValidCall,
)
from guard.core.ports import Again, AskApproval, CallRow, Charge, ClaimAnswer, Opened, Redactor, TakeQuota
from guard.core.reasons import Reason
from guard.core.sealing import veiled
from guard.core.values import Json

Context: TypeAlias = _context.Context


@dataclass(frozen=True, slots=True)
class Follows:
    """The same action as an earlier call of this turn: it shares that call's outcome."""

    leader: int


@dataclass(frozen=True, slots=True)
class Waits:
    """The call was taken before, by this process or another one, and has no outcome: `row` says by whom and until when.

    `call` is how far it got here; it goes on from there if it turns out that the call was lost and may be taken again.
    """

    row: CallRow
    call: ToolCall | ValidCall


State: TypeAlias = (
    ToolCall
    | ParsedCall
    | BoundCall
    | ValidCall
    | GroundedCall
    | AuthorizedCall
    | Allow
    | Hold
    | Refusal
    | Follows
    | Waits
    | Outcome
)
_PROOFS = frozenset({ParsedCall, BoundCall, ValidCall, AuthorizedCall})
_LOST = Refusal(reason=Reason.INTERNAL_ERROR)
S = TypeVar("S", ToolCall, ParsedCall, BoundCall, ValidCall, GroundedCall, AuthorizedCall)


Drawing: TypeAlias = list[tuple[int, tuple[CallKey, tuple[Charge, ...]]]]
"""By index on the board: the place of a call, and what it draws."""


@dataclass(slots=True, kw_only=True)
class Board:
    """The calls of one turn: `states` and `keys` follow `items` by index. `keys` are the places that budgets and claims use."""

    items: tuple[Item, ...]
    context: Context
    opened: Opened | None  # None when held calls are settled outside of a turn
    states: list[State] = field(default_factory=list)
    keys: list[CallKey] = field(default_factory=list)
    salts: list[str] = field(default_factory=list)  # those of `keys`
    last: list[object] = field(default_factory=list)  # the furthest proof of each call, for the audit
    lost: dict[int, CallRow] = field(default_factory=dict)  # calls that were taken before, lost, and may be taken again
    due: tuple[Drawing, TakeQuota] | None = None  # what has yet to be reserved
    asks: list[AskApproval] = field(default_factory=list)  # what a person is to be asked, opened with the decisions
    won: dict[int, ClaimAnswer] = field(default_factory=dict)  # what claims gave that were written with the decision
    probed: set[int] = field(default_factory=set)  # those of them whose probe said that they did not take effect
    shadowed: dict[int, tuple[str, ...]] = field(default_factory=dict)  # what shadow rules would have refused
    idle: list[str] = field(default_factory=list)  # rules about results that met nothing, for the turn's report
    views: dict[str, str] = field(default_factory=dict)  # by which rules results of each tool are shown in this walk
    stop: bool = False
    down: str = ""  # the code of a StoreError behind which nothing more is written in this walk

    def __post_init__(self) -> None:
        self.states = [item.call for item in self.items]
        self.keys = [item.key for item in self.items]
        self.salts = [item.salt for item in self.items]
        self.last = [None for _ in self.items]

    def each(self, kind: type[S], room: Callable[[int, S], State], failure: Reason = Reason.INTERNAL_ERROR) -> None:
        """Send every call that is a `kind` through `room`. Whatever a room raises refuses that call alone."""
        states, last = self.states, self.last
        for index, state in enumerate(states):
            if type(state) is kind:
                try:
                    new = room(index, state)
                except Exception as error:  # noqa: BLE001 - default deny: an error in a room is a refusal
                    new = Refusal(reason=failure, note=type(error).__name__)
                states[index] = new
                if self.context.watch is not None:
                    self.context.watch(state, new)
                if type(new) in _PROOFS:
                    last[index] = new
                elif type(new) is Refusal:
                    self._refused(index, state, new)

    def put(self, index: int, state: State) -> None:
        """Note how far a call got."""
        before, self.states[index] = self.states[index], state
        if self.context.watch is not None:
            self.context.watch(before, state)
        kind = type(state)
        if kind in _PROOFS:
            self.last[index] = state
        elif kind is Refusal:
            self._refused(index, before, cast("Refusal", state))

    def _refused(self, index: int, before: State, refusal: Refusal) -> None:
        self.stop = self.stop or refusal.stop
        if isinstance(before, ValidCall | GroundedCall | AuthorizedCall):
            self.note(index, before.shadowed)

    def note(self, index: int, shadowed: tuple[str, ...]) -> None:
        """Remember which shadow rules would have refused a call."""
        if shadowed:
            self.shadowed[index] = shadowed + self.shadowed.get(index, ())

    def having(self, kind: type[S]) -> list[tuple[int, S]]:
        """The calls that are a `kind` now, with their indexes."""
        return [(index, state) for index, state in enumerate(self.states) if type(state) is kind]

    def abandon(self, refusal: Refusal) -> None:
        """Refuse every call that is not decided against or answered yet: the store failed before anything ran here.

        A call that was taken before may have taken effect: it is unknown, whatever fails now.
        """
        for index, state in enumerate(self.states):
            undecided = not isinstance(state, Refusal | Outcome | Follows)
            row = state.row if isinstance(state, Waits) else self.lost.get(index)
            if row is not None and undecided:
                self.states[index] = self.doubt(index, row)
            elif undecided or (isinstance(state, Outcome) and state.status == "held"):
                self.states[index] = refusal

    def stands_for(self, index: int, row: CallRow) -> None:
        """From here on the call is the one of this row: same place, same budget, same claim."""
        self.keys[index], self.salts[index] = row.key, salt_of(row, self.salts[index])

    def doubt(self, index: int, row: CallRow, detail: str = "") -> Outcome:
        """That a call which was taken before is unknown."""
        item = self.items[index]
        return answer.unknown(item.call, item.key, row.arguments, detail, row.approval, again=row.safe)

    def outcomes(self) -> tuple[Outcome, ...]:
        """One outcome for each call, in order. A call that has none by now is refused."""
        return tuple(
            state if isinstance(state, Outcome) else answer.refused(item.call, item.key, _LOST, None, self.context.redactor)
            for item, state in zip(self.items, self.states, strict=True)
        )

    @property
    def light(self) -> bool:
        """Whether everything in the turn is an allowed look-up, run or about to run: an action's record must be durable before it."""
        return all(
            isinstance(last, AuthorizedCall)
            and not last.valid.tool.acts
            and (isinstance(state, Allow) or (isinstance(state, Outcome) and state.status in ("done", "failed")))
            for state, last in zip(self.states, self.last, strict=True)
        )

    def fresh(self, index: int) -> bool:
        """Whether nobody can have been asked about this very call: it is new. What is known of an equal one is found where its question is opened."""
        item = self.items[index]
        new = self.opened is not None and self.opened.again is Again.NEW and item.row is None
        return new and self.keys[index] is item.key and index not in self.lost

    def opening(self, holds: Mapping[int, Hold]) -> tuple[AskApproval, ...]:
        """The questions that are not opened yet and wait for a person, of these holds."""
        waiting = {state.approval.id for index, state in holds.items() if self.held(index)}
        return tuple(ask for ask in self.asks if ask.proposal.id in waiting)

    def held(self, index: int) -> bool:
        """Whether the call was concluded to wait for a person."""
        state = self.states[index]
        return isinstance(state, Outcome) and state.status == "held"

    def run(self, index: int) -> int:
        """How often the user had spoken when the call was proposed."""
        row = self.items[index].row
        return self.opened.run if self.opened else row.run if row else 0

    def edits(self, index: int) -> Mapping[str, Json]:
        """What a person changed of what was proposed, by JSON Pointer."""
        row = self.items[index].row
        return {} if row is None else row.edits

    def was_held(self, index: int) -> bool:
        """Whether the call has waited for a person since an earlier look at it."""
        row = self.items[index].row
        return row is not None and row.status == "held"

    def waited(self, index: int, fingerprint: str) -> str:
        """The approval that the call waits for as another one than it is now; nothing where there is none."""
        row = self.items[index].row
        other = row is not None and row.key == self.keys[index] and row.status == "held" and row.fingerprint != fingerprint
        return (row.approval or "") if row is not None and other else ""

    def redactor(self, index: int) -> Redactor:
        """What hides everything that is told of a call, the values among its arguments that stand behind handles included."""
        last = self.last[index]
        last = last.valid if isinstance(last, AuthorizedCall) else last
        return veiled(self.context.redactor, last.revealed) if isinstance(last, BoundCall | ValidCall) else self.context.redactor

    def arguments(self, index: int) -> dict[str, object] | None:
        """The final arguments of a call, if it got that far."""
        last = self.last[index]
        if isinstance(last, AuthorizedCall):
            last = last.valid
        return last.arguments if isinstance(last, ValidCall) else None


# -- rows and events -----------------------------------------------------------------------------------------------------


def followers(states: Iterable[State]) -> list[tuple[int, int]]:
    """Calls that share an earlier call's outcome: (their index, the leader's)."""
    return [(index, state.leader) for index, state in enumerate(states) if isinstance(state, Follows)]
