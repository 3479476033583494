"""Lints: everything in a policy folder that can be used and is probably not meant, from one table.

A lint is a function from the view of a folder to findings; each finding has a code that stays. May not change, load or decide anything; works on
folders with mistakes too, on what of them could be read. To add one, write the function and add a row. Before it stands `survey_policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from guard.errors import Problem
from guard.policy import Survey
from guard.review.alike import facts_alike, names_alike, roles_alike
from guard.review.ceilings_lint import ceilings_lint
from guard.review.descriptions import descriptions_alike, descriptions_empty
from guard.review.fields_lint import identities
from guard.review.grounds_lint import unreachable
from guard.review.limits_lint import limits_lint
from guard.review.ranges import ranges
from guard.review.rules_lint import covered_grants, covered_rules, dead_denies, idle_people
from guard.review.same_lint import same_missing
from guard.review.view import View
from guard.review.visible import too_many
from guard.review.windows_lint import windows_lint

RULE_LINTS: tuple[Callable[[View], Iterator[Problem]], ...] = (
    covered_rules,
    dead_denies,
    covered_grants,
    unreachable,
    too_many,
    idle_people,
)
"""Lints that know what a rule means: only under the matcher that ships."""

LAYER_LINTS: tuple[Callable[[View], Iterator[Problem]], ...] = (unreachable, too_many)
"""Those of them that only ask who may call: rules of several layers do not add up."""

LINTS: tuple[Callable[[View], Iterator[Problem]], ...] = (
    ranges,
    limits_lint,
    windows_lint,
    ceilings_lint,
    same_missing,
    identities,
    names_alike,
    roles_alike,
    facts_alike,
    descriptions_empty,
    descriptions_alike,
)


def lint(survey: Survey) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    """Every finding, sorted by place, and what was not looked at, in a line each."""
    view = View(survey)
    ruled = LAYER_LINTS if survey.layers else RULE_LINTS
    run = LINTS if view.own_model else (*ruled, *LINTS)
    found = {problem for each in run for problem in each(view)}
    notes = []
    if view.own_model:
        notes.append(
            "model.conf is the folder's own, so rules are not compared with each other and visible tools are not counted"
        )
    elif survey.layers:
        notes.append("rules of layers are not compared with each other: each layer must allow a call by its own")
    return tuple(sorted(found, key=place)), tuple(notes)


def place(problem: Problem) -> tuple[str, int, str]:
    """What problems are sorted by."""
    return problem.file, problem.line or 0, problem.message
