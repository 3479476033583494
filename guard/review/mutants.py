"""Mutants: the policy without each thing that narrows it, one at a time; for each, some case must fail.

What no case misses could be taken away tomorrow and nobody would hear of it. A mutant is compiled by the whole loader and played by a whole guard;
one that does not load proves nothing and is told apart. Comes after `points` and `suite`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from guard.errors import PolicyError
from guard.policy import Loaded
from guard.policy.written import Written
from guard.review.cases import Case
from guard.review.point import Point
from guard.review.suite import judge
from guard.review.world import World

Load = Callable[[Written], Loaded]
"""Compile a changed policy as the unchanged one was. Raises PolicyError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """What came of the policy without `point`: a case failed (`by` names it), none did, or it did not load (`by` says why)."""

    point: Point
    fate: Literal["killed", "survived", "invalid"]
    by: str = ""


def mutants(written: Written, found: Sequence[Point], cases: Sequence[Case], load: Load) -> Iterator[Mutant]:
    """Try the policy without each point, in order. `cases` are those that pass with the policy as it is."""
    for point in found:
        yield _tried(point, point.without(written), cases, load)


def _tried(point: Point, changed: Written, cases: Sequence[Case], load: Load) -> Mutant:
    try:
        world = World(load(changed))
    except PolicyError as error:
        return Mutant(point=point, fate="invalid", by=error.problems[0].message)
    for case in sorted(cases, key=lambda case: not _about(case, point)):
        if not judge(world, case).passed:
            return Mutant(point=point, fate="killed", by=case.name)
    return Mutant(point=point, fate="survived")


def _about(case: Case, point: Point) -> bool:
    """Whether a case is likely to miss the point, so that it is played first."""
    return any(one.tool == point.tool for one in case.steps[-1].proposals)
