"""Point: one thing in a written policy that narrows what may happen.

Data. Made by `points` and `tool_points`, counted by `coverage`, taken away by `mutants`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guard.policy.source import Item
from guard.policy.written import Written
from guard.review.cases import Place
from guard.review.edits import Edit, edited


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """`kind` and `name` say how its work is known in what happened to a call, `what` says it to a person.

    `edits` of one document, or `change`, give the policy without it. `detail`: part of another point, not counted by itself.
    """

    kind: str
    what: str
    spot: Place
    name: str = ""
    tool: str = ""
    document: int = 0
    edits: tuple[Edit, ...] = ()
    change: Callable[[Written], Written] | None = None
    detail: bool = False

    def without(self, written: Written) -> Written:
        """The policy as it would be written without this."""
        return edited(written, self.document, self.edits) if self.change is None else self.change(written)


def place(item: Item) -> Place:
    """Where an item stands."""
    return Place(item.file, item.line)
