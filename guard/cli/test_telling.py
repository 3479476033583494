"""Telling of `guard test`: what it prints, for a person and for a program, and how far a long run has got. Decides nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.core.values import Json, JsonObject
from guard.errors import Problem
from guard.review.coverage import Covered
from guard.review.mutants import Mutant
from guard.review.point import Point
from guard.review.suite import Result

if TYPE_CHECKING:
    from guard.cli.test import Report

TEMPLATE = """sessions:
  ann: {principal: E1, roles: [employee]}
cases:
  - name: an employee looks up their own report
    session: ann
    call: {some_tool: {an_argument: value}}
    returns: {what: the tool gives}
    expect: allow # or hold, refuse, replay"""


def no_cases(folder: str) -> str:
    """What to do where there is nothing to play."""
    return f"no cases: write {spell(folder.rstrip('/'))}/cases.yaml, for example\n\n{TEMPLATE}"


def not_loaded(folder: str, problems: Sequence[Problem], *, as_json: bool) -> int:
    """Say why nothing was played; exit code 3."""
    if as_json:
        told = [{"file": one.file, "line": one.line, "message": one.message, "cure": one.cure} for one in problems]
        print(json_text({"ok": False, "loaded": False, "problems": told}))
        return 3
    for problem in problems:
        print(spell(str(problem)), file=sys.stderr)
    noun = "problem" if len(problems) == 1 else "problems"
    print(f"{spell(folder)}: {len(problems)} {noun}: no case was played", file=sys.stderr)
    return 3


def watched(tried: Iterable[Mutant], total: int) -> list[Mutant]:
    """Go through the mutants; on a terminal say how far it is."""
    found: list[Mutant] = []
    shown = sys.stderr.isatty()
    try:
        for one in tried:
            found.append(one)
            if shown:
                print(f"\r{len(found)} of {total} changed policies tried", end="", file=sys.stderr, flush=True)
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return found


# -- for a person ----------------------------------------------------------------------------------------------------------


def as_text(report: Report) -> None:
    """One line for each thing that went otherwise, then the counts."""
    place = spell(report.folder.rstrip("/"))
    for result in report.results:
        for one in result.differences:
            print(f"{place}/{spell(str(one.spot))}: {spell(result.case.name)}: {spell(one.text)}")
    if report.covered is not None:
        _tell_coverage(report, report.covered, place)
    if report.mutants is not None:
        _tell_mutants(report.mutants, place)
    print(_summary(report.results))


def _summary(results: Sequence[Result]) -> str:
    broken = sum(result.broken for result in results)
    passed = sum(result.passed for result in results)
    parts = [
        f"{len(results)} case{'' if len(results) == 1 else 's'}",
        f"{passed} passed",
        f"{len(results) - passed - broken} failed",
    ]
    return ", ".join([*parts, *([f"{broken} broken"] if broken else [])])


def _tell_coverage(report: Report, covered: Sequence[Covered], place: str) -> None:
    heads = ("tool", "rule", "where", "decided", "let pass")
    rows = [(one.point.tool, one.point.what, str(one.point.spot), one.worked, one.passed) for one in covered]
    for line in table(heads, rows):
        print(line)
    for one in covered:
        if not one.worked:
            print(f"decided in no case: {place}/{spell(str(one.point.spot))}: {_named(one.point)}")
    worked = sum(one.worked > 0 for one in covered)
    least = "" if report.wanted is None else f", at least {report.wanted:g} % wanted"
    print(f"{worked} of {len(covered)} rules decided in some case: {report.share:.0f} %{least}")


def _tell_mutants(found: Sequence[Mutant], place: str) -> None:
    for one in found:
        spot = f"{place}/{spell(str(one.point.spot))}: {_named(one.point)}"
        if one.fate == "survived":
            print(f"noticed by no case: {spot}")
        if one.fate == "invalid":
            print(f"could not be taken away: {spot} ({spell(one.by)})")
    counts = {fate: sum(one.fate == fate for one in found) for fate in ("killed", "survived", "invalid")}
    invalid = f", {counts['invalid']} could not be taken away" if counts["invalid"] else ""
    print(f"{len(found)} rules taken away: {counts['killed']} noticed by a case, {counts['survived']} by none{invalid}")


def _named(point: Point) -> str:
    return spell(f"{point.tool}: {point.what}" if point.tool else point.what)


# -- for a program ---------------------------------------------------------------------------------------------------------


def as_json(report: Report) -> None:
    """One object."""
    found: JsonObject = {"ok": report.good, "loaded": True, "cases": [_case(result) for result in report.results]}
    if report.covered is not None:
        rows = [{**_point(one.point), "decided": one.worked, "passed": one.passed} for one in report.covered]
        found["coverage"] = {"percent": Decimal(f"{report.share:.1f}"), "rules": rows}
    if report.mutants is not None:
        found["mutants"] = [{**_point(one.point), "fate": one.fate, "by": one.by or None} for one in report.mutants]
    print(json_text(found))


def _case(result: Result) -> JsonObject:
    spot = result.case.spot
    status = "passed" if result.passed else "broken" if result.broken else "failed"
    told = [{"file": one.spot.file, "line": one.spot.line, "message": one.text} for one in result.differences]
    calls: list[Json] = [
        {"tool": one.proposal.tool, "decision": one.decision, "reason": one.reason, "rules": list(one.rules)}
        for step in result.played.steps[-1:]
        for one in step.calls
    ]
    return {"name": result.case.name, "file": spot.file, "line": spot.line, "status": status, "differences": told, "calls": calls}


def _point(point: Point) -> JsonObject:
    return {"tool": point.tool or None, "rule": point.what, "file": point.spot.file, "line": point.spot.line}
