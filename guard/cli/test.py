"""`guard test`: play the cases of a policy folder, and say what they cover and what no case would miss.

Runs no tool and opens no store: tools, clock, checks and records are scripted, the decisions are a real guard's. Only reads, except for the file
that --junit names. What is printed stands in `test_telling`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from guard.cli import test_telling as telling
from guard.cli.places import DEFAULT_POLICY, UsageError, named_folders
from guard.cli.show import spell
from guard.cli.work import named
from guard.errors import PolicyError
from guard.policy import Declared, Loaded
from guard.policy.load import written_of
from guard.policy.problems import Problems
from guard.policy.reading import read_places
from guard.policy.written import Written
from guard.review.cases import Case
from guard.review.coverage import Covered, coverage
from guard.review.junit import junit
from guard.review.mutants import Mutant, mutants
from guard.review.points import points
from guard.review.reading import read_cases
from guard.review.suite import Result, judge_all
from guard.review.tools_known import compiled, declared

EXAMPLES = """examples:
  guard test                                 the cases of policies/: policies/cases.yaml
  guard test shop/policies -k refund         those with "refund" in their name
  guard test --coverage                      besides: which rule decided in how many cases, and which in none
  guard test --mutate                        besides: take each rule away; some case must fail without it
  guard test --tools shop.app:tools          with the schemas of the program's functions; none of them is called
  guard test --junit build/cases.xml --json

Exit codes: 0 every case passed; 1 a case failed, a rule could be taken away unnoticed (--mutate) or too little is covered (--min-coverage);
2 misuse, or no cases; 3 the policy or the cases do not load."""


@dataclass(slots=True, kw_only=True)
class Report:
    """What a run found."""

    folder: str
    results: list[Result]
    covered: list[Covered] | None = None
    mutants: list[Mutant] | None = None
    wanted: float | None = None

    @property
    def share(self) -> float:
        """Which part of the points did their work in some case, in percent."""
        found = self.covered or []
        return 100.0 * sum(one.worked > 0 for one in found) / len(found) if found else 100.0

    @property
    def good(self) -> bool:
        """Whether nothing has to be done."""
        survived = any(one.fate == "survived" for one in self.mutants or ())
        thin = self.wanted is not None and self.share < self.wanted
        return all(result.passed for result in self.results) and not survived and not thin


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "test",
        help="play the cases of a policy folder",
        description="Play the cases of a policy folder (cases.yaml in it) against its policy, and report each that goes otherwise.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    told = "the policy folder, the same as --policy DIR; several are layers, the widest first, and the cases are the last one's"
    parser.add_argument("folder", nargs="*", metavar="DIR", help=told)
    parser.add_argument("--policy", metavar="DIR", help=f"default: {DEFAULT_POLICY}")
    parser.add_argument("--tools", metavar="MODULE:NAME", help="the tools of the program, for their schemas")
    parser.add_argument("-k", metavar="TEXT", dest="only", help="only cases with this text in their name")
    parser.add_argument("--coverage", action="store_true", help="say which rules decided in how many cases")
    parser.add_argument("--min-coverage", type=_percent, metavar="PERCENT", help="fail where fewer rules decided in some case")
    parser.add_argument("--mutate", action="store_true", help="take each rule away: some case must fail")
    parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def _percent(text: str) -> float:
    found = float(text)
    if not 0 <= found <= 100:
        raise argparse.ArgumentTypeError(f"not from 0 to 100: {spell(text)}")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Exit codes as in the help. Raises UsageError for misuse."""
    folders = named_folders(arguments.folder, arguments.policy)
    folder = " + ".join(folders)
    _check_single(arguments, folders)
    known = None if arguments.tools is None else declared(named(arguments.tools, "--tools"))
    problems = Problems()
    try:
        reading = read_places(folders)
        problems.errors += reading.errors
        problems.warnings += reading.warnings
        written = written_of(reading, problems)
        loaded = compiled(written, known, problems)
        cases = read_cases(reading.cases, loaded, problems)
    except PolicyError as error:
        return telling.not_loaded(folder, error.problems, as_json=arguments.json)
    if problems.errors:
        return telling.not_loaded(folder, problems.errors, as_json=arguments.json)
    report = _report(arguments, folder, written, loaded, _chosen(cases, arguments.only, folders[-1]), known)
    if arguments.junit:
        _write(arguments.junit, junit(report.results, folder))
    (telling.as_json if arguments.json else telling.as_text)(report)
    return 0 if report.good else 1


def _report(
    arguments: argparse.Namespace,
    folder: str,
    written: Written,
    loaded: Loaded,
    cases: Sequence[Case],
    known: list[Declared] | None,
) -> Report:
    report = Report(folder=folder, results=judge_all(loaded, cases), wanted=arguments.min_coverage)
    found = points(written, loaded.book)
    if arguments.coverage or arguments.min_coverage is not None:
        report.covered = coverage(found, report.results)
    if arguments.mutate:
        passed = [result.case for result in report.results if result.passed]
        tried = mutants(written, found, passed, lambda changed: compiled(changed, known, Problems()))
        report.mutants = telling.watched(tried, len(found))
    return report


def _check_single(arguments: argparse.Namespace, folders: Sequence[str]) -> None:
    """What counts or takes away the parts of a folder looks at one."""
    asked = [name for name in ("coverage", "mutate", "min_coverage") if getattr(arguments, name) not in (None, False)]
    if len(folders) > 1 and asked:
        raise UsageError(f"--{asked[0].replace('_', '-')} looks at one folder, not at layers (name one)")


def _chosen(cases: Sequence[Case], only: str | None, folder: str) -> list[Case]:
    if not cases:
        raise UsageError(telling.no_cases(folder))
    found = [case for case in cases if only is None or only.casefold() in case.name.casefold()]
    if not found:
        raise UsageError(f"no case has {spell(only or '')} in its name ({len(cases)} cases)")
    return found


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"--junit {spell(path)}: the file cannot be written ({error.strerror})") from error
