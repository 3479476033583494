"""Suite: the cases of a folder, played and judged; and `verify`, for whoever is about to use a policy and wants to know whether they pass.

    problems = verify(load_policy("policies/"), "policies/")     # empty: every case passes, or there are none

A case whose history does not go as written is broken: what comes after would mean something else. Comes after `reading`, `world` and `judging`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from guard.errors import Problem
from guard.policy import Loaded
from guard.policy.problems import Problems
from guard.policy.source import File
from guard.review.cases import Case, Place
from guard.review.judging import differences
from guard.review.reading import read_cases
from guard.review.world import Played, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that went otherwise than a case says, and where the case says it."""

    spot: Place
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A case, played and judged. `broken`: its history went otherwise already."""

    case: Case
    played: Played
    differences: tuple[Difference, ...] = ()
    broken: bool = False

    @property
    def passed(self) -> bool:
        """Whether everything went as the case says."""
        return not self.differences


def judge(world: World, case: Case) -> Result:
    """Play one case and judge it."""
    played = world.play(case)
    for number, step in enumerate(played.steps, 1):
        found = [Difference(spot=one.proposal.spot, text=text) for one in step.calls for text in differences(one)]
        if found and number < len(played.steps):
            tool = next(one.proposal.tool for one in step.calls if differences(one))
            first = Difference(spot=found[0].spot, text=f"its history is broken: {tool}: {found[0].text}")
            return Result(case=case, played=played, differences=(first,), broken=True)
        if found:
            return Result(case=case, played=played, differences=tuple(found))
    return Result(case=case, played=played)


def judge_all(loaded: Loaded, cases: Sequence[Case]) -> list[Result]:
    """Play and judge every case, in order."""
    world = World(loaded)
    return [judge(world, case) for case in cases]


def verify(loaded: Loaded, folder: str | os.PathLike[str] | Sequence[File]) -> list[Problem]:
    """Every reason why the folder's own cases do not pass with the loaded policy: mistakes in the files of cases, else what went otherwise.

    Files that were read before may be given in place of the folder.
    """
    problems = Problems()
    cases = read_cases(folder, loaded, problems)
    if problems.errors:
        return list(problems.errors)
    return [problem_of(result, one) for result in judge_all(loaded, cases) for one in result.differences]


_RANK = {"refuse": 0, "hold": 1, "allow": 2, "replay": 2}


def looser(loaded: Loaded, files: Sequence[File]) -> list[Problem]:
    """Of the cases of a wider layer: each whose call is decided looser than the case says. Narrower layers may decide it more strictly.

    A case says nothing where its history goes otherwise under the narrower layers, or where they leave out a tool that it names.
    """
    problems = Problems()
    cases = read_cases(files, loaded, problems)
    if problems.errors:
        return [] if loaded.entries.keys() - loaded.policy.tools.keys() else list(problems.errors)
    world = World(loaded)
    return [problem for case in cases for problem in _looser(world.play(case), case)]


def _looser(played: Played, case: Case) -> list[Problem]:
    *history, last = played.steps
    if any(differences(one) for step in history for one in step.calls):
        return []
    found = []
    for one in last.calls:
        wanted = one.proposal.wanted.get("expect")
        if isinstance(wanted, str) and _RANK.get(one.decision, 0) > _RANK.get(wanted, 2):
            message = f"the case {case.name!r} of a wider layer: {one.decision} where it says {wanted}"
            found.append(Problem(file=one.proposal.spot.file, line=one.proposal.spot.line, message=message))
    return found


def problem_of(result: Result, one: Difference) -> Problem:
    """A difference as a problem of the folder."""
    return Problem(file=one.spot.file, line=one.spot.line, message=f"the case {result.case.name!r}: {one.text}")
