"""Permits: the approve room's work on the grants of a whole turn: which may cover its calls, and what they are about to draw.

`pipeline` alone says when. A grant only answers what a person would be asked: whoever is refused never gets here, and what fails here leaves the question.
Comes after approve and board. Yields one command, does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from guard.core import ports as p
from guard.core.approve import Drawn, granted
from guard.core.board import Board
from guard.core.granting import Asking, FindGrants, LiveGrants
from guard.core.model import Approval, AuthorizedCall


@dataclass(frozen=True, slots=True)
class Answers:
    """What may cover the calls of one walk, by index on the board; `walk` is what those that were allowed are about to draw."""

    found: Mapping[int, LiveGrants] = field(default_factory=dict)
    walk: dict[str, Drawn] = field(default_factory=dict)

    def answer(self, board: Board, index: int, call: AuthorizedCall, found: Approval | None = None) -> bool:
        """Whether a grant covers the call; then it is allowed. Grants are looked at for where the call will stand in the ledger.

        `found` is the question about it. One that is in the ledger already stays open where the grant is used up by others meanwhile.
        """
        standing, context = self.found.get(index), board.context
        if standing is None or not standing.grants or call.approval is None or board.edits(index):
            return False  # nor for a call that a person has changed: somebody else decides about it
        row = board.items[index].row
        held = found is not None and row is not None and row.status == "held" and row.approval == found.id
        with suppress(Exception):  # not answered: a person is asked
            ref, asked = board.keys[index].ref, found if held else None
            allow = granted(call, call.approval, ref, standing, self.walk, context.now, context.rights, asked)
            if allow is not None:
                board.put(index, allow)
                return True
        return False


def standing_grants(board: Board) -> p.Flow[Answers]:
    """Look for grants where the rule that would ask a person offers any; nothing is asked of the store where none does."""
    asking = {
        index: Asking(key=board.keys[index], tool=call.valid.tool.name, fingerprint=call.valid.fingerprint)
        for index, call in board.having(AuthorizedCall)
        if call.approval is not None and call.approval.grants
    }
    if not asking:
        return Answers()
    found = yield from p.ask(FindGrants(calls=tuple(asking.values())))
    return Answers(found=dict(zip(asking, found, strict=True)))
