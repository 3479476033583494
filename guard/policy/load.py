"""Load: a policy folder, read, checked and compiled into one frozen Policy, or every mistake in it at once.

The order: files, then the names of all tools, then each tool, then the rules, then everything that is probably not meant. Comes last in
this package; the host gets here through `guard.policy.load_policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from guard.core.ceilings import Ceilings
from guard.core.model import Session
from guard.core.ports import Authorizer, Policy
from guard.core.redaction import Redaction
from guard.core.rules import Limits, Tool
from guard.errors import PolicyError, Problem
from guard.policy.callers import read_people
from guard.policy.ceilings import ceilings
from guard.policy.checks import CheckFunction
from guard.policy.effects import check_compensations
from guard.policy.layers.authorizer import Layer
from guard.policy.layers.merge import layered
from guard.policy.limits import limits
from guard.policy.pins import is_told
from guard.policy.problems import Problems
from guard.policy.reading import Places, Reading, read_places
from guard.policy.redaction import redaction
from guard.policy.registered import match
from guard.policy.result_form import warn_unused
from guard.policy.reveals import types_of, warn_handles
from guard.policy.rule_files import RuleBook
from guard.policy.ruled import Around, check_spared, ruled, spared, version
from guard.policy.source import File, Item
from guard.policy.tools import Declared, Entry, compile_tool
from guard.policy.written import Written, as_written, collect, tops

_Hooks: TypeAlias = tuple[Mapping[str, CheckFunction] | None, Collection[str] | None]
Told: TypeAlias = Callable[[int, int], None]


def _unheard(_done: int, _all: int) -> None:
    """For whoever does not want to hear how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A policy that may be used, the registered name of each of its tools, and what is probably not meant.

    `book` holds every rule and grant with its place, those that YAML keys mean included; `entries` is where each tool is written; `layers`
    are the rules of each of several folders, the widest first.
    """

    policy: Policy
    names: Mapping[str, str]
    warnings: tuple[Problem, ...]
    book: RuleBook
    entries: Mapping[str, Item]
    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Everything that could be read of a folder, with every mistake: what a review looks at, whether or not the policy may be used.

    `tools` are those that compile, `told` those whose description and schema are known, `places` where each of the `people` stands, `limits`
    and `ceilings` the top-level blocks as written.
    """

    files: tuple[File, ...]
    policy: Policy | None
    names: Mapping[str, str]
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    tools: Mapping[str, Tool]
    told: frozenset[str]
    book: RuleBook
    entries: Mapping[str, Item]
    people: Mapping[str, Session]
    places: Mapping[str, Item]
    limits: tuple[Item, ...]
    ceilings: tuple[Item, ...]
    layers: tuple[Layer, ...] = ()

    def loaded(self) -> Loaded:
        """The policy, where it may be used. Raises PolicyError with every problem."""
        if self.errors or self.policy is None:
            raise PolicyError(self.errors, self.warnings)
        return Loaded(
            policy=self.policy,
            names=self.names,
            warnings=self.warnings,
            book=self.book,
            entries=self.entries,
            layers=self.layers,
        )


def load_policy(
    folder: Places,
    declared: Sequence[Declared] | None = None,
    *,
    checks: Mapping[str, CheckFunction] = MappingProxyType({}),
    probes: Collection[str] = (),
) -> Loaded:
    """Compile the folder, or several as layers, the widest first. `declared` are the registered tools, `probes` the tools that the host has a probe for.

    `declared` None means that no program is at hand.

    Raises PolicyError with every problem found.
    """
    return load_reading(read_places(folder), declared, checks=checks, probes=probes)


def load_reading(
    reading: Reading,
    declared: Sequence[Declared] | None = None,
    *,
    checks: Mapping[str, CheckFunction] = MappingProxyType({}),
    probes: Collection[str] = (),
) -> Loaded:
    """Compile exactly what was read; see `load_policy`."""
    problems = Problems()
    problems.errors += reading.errors
    problems.warnings += reading.warnings
    written = written_of(reading, problems)
    return compile_policy(written, declared, problems, checks=checks, probes=probes, rows=reading.rows)


def compile_policy(
    written: Written,
    declared: Sequence[Declared] | None,
    problems: Problems,
    *,
    checks: Mapping[str, CheckFunction] = MappingProxyType({}),
    probes: Collection[str] = (),
    rows: File | None = None,
) -> Loaded:
    """Compile what is written, and rules from elsewhere (`rows`). Raises PolicyError where `problems` holds a mistake by the end."""
    return _survey(written, declared, problems, (checks, probes), rows).loaded()


def survey_policy(
    folder: Places,
    declared: Sequence[Declared] | None = None,
    *,
    checks: Mapping[str, CheckFunction] | None = MappingProxyType({}),
    probes: Collection[str] | None = (),
    told: Told = _unheard,
) -> Survey:
    """Compile the folder as far as it goes. `checks` and `probes` None mean that they are not known here. Raises nothing.

    `told` hears how many of how many tools are compiled.
    """
    problems = Problems()
    reading = read_places(folder)
    problems.errors += reading.errors
    problems.warnings += reading.warnings
    written = written_of(reading, problems)
    return _survey(written, declared, problems, (checks, probes), reading.rows, told)


def written_of(reading: Reading, problems: Problems) -> Written:
    """What was read, as it is written; several folders merged."""
    return layered(reading, problems) if reading.layers else as_written(reading.place, reading.files, problems)


def _survey(
    written: Written,
    declared: Sequence[Declared] | None,
    problems: Problems,
    hooks: _Hooks,
    rows: File | None,
    heard: Told = _unheard,
) -> Survey:
    documents = written.documents
    entries = collect(documents, "tools", problems)
    extra = {name for name in spared(written) if "http" not in entries[name].fields}
    names, unlisted = match(entries, declared, problems, extra)
    bounds = ceilings(tops(documents, "ceilings"), problems)
    absent = extra - names.keys()
    tools = _compile(_without(entries, absent), entries, (declared, names, hooks), (bounds, written.shapes), problems, heard)
    check_spared(absent, tools, entries, problems)
    people = MappingProxyType(read_people(collect(documents, "people", problems), problems))
    told = _told(entries, names, declared)
    around = Around(written=written, entries=entries, tools=tools, people=people, unlisted=unlisted, told=told, rows=rows)
    whole = limits(tops(documents, "limits"), tops(documents, "prices"), around.spot, problems)
    hidden = redaction(tops(documents, "redact"), problems)
    found = ruled(around, problems)
    return Survey(
        files=(*written.files, *([rows] if rows else ())),
        policy=None if found.judge is None else _policy(found.judge, around, (whole, bounds, hidden)),
        names=MappingProxyType(names),
        errors=_sorted(problems.errors),
        warnings=_sorted(problems.warnings),
        tools=MappingProxyType(tools),
        told=around.told,
        book=found.book,
        entries=MappingProxyType(entries),
        people=people,
        places=MappingProxyType(collect(documents, "people", Problems())),
        limits=tuple(tops(documents, "limits")),
        ceilings=tuple(tops(documents, "ceilings")),
        layers=found.layers,
    )


def _told(entries: Mapping[str, Item], names: Mapping[str, str], declared: Sequence[Declared] | None) -> frozenset[str]:
    """The tools whose definition the entry or the program knows. What runs elsewhere is not known here, so that it cannot be told to have changed."""
    elsewhere = {tool.name for tool in declared or () if not tool.known}
    said = {name for name, item in entries.items() if is_told(item)}
    return frozenset(said if declared is None else said | {name for name in entries if names.get(name) not in elsewhere})


def _without(entries: Mapping[str, Item], absent: Collection[str]) -> dict[str, Item]:
    return {name: item for name, item in entries.items() if name not in absent}


def _policy(judge: Authorizer, around: Around, counts: tuple[Limits, Ceilings, Redaction]) -> Policy:
    return Policy(
        version=version(around),
        tools=MappingProxyType(dict(around.tools)),
        authorizer=judge,
        limits=counts[0],
        ceilings=counts[1],
        redaction=counts[2],
        unlisted=around.unlisted,
        people=around.people,
        types=types_of(around.tools),
    )


def _sorted(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.file, problem.line or 0, problem.message)))


def _compile(
    entries: Mapping[str, Item],
    named: Collection[str],
    program: tuple[Sequence[Declared] | None, Mapping[str, str], _Hooks],
    whole: tuple[Ceilings, Mapping[str, Item]],
    problems: Problems,
    told: Told,
) -> dict[str, Tool]:
    """Every entry as a tool. `named` are the names that one may speak about, `program` what is known of the registered tools."""
    declared, names, hooks = program
    by_name = {tool.name: tool for tool in declared or ()}
    found = {}
    for name, item in entries.items():
        if not name.strip() or any(char in name for char in '*,"#()[]\n '):
            problems.error(item, f"{name} cannot be a tool's name", "leave out spaces, commas, quotes, brackets, # and *")
        entry = Entry(
            name=name,
            item=item,
            declared=by_name.get(names.get(name, "")),
            tools=frozenset(named),
            checks=None if declared is None else hooks[0],
            probes=None if declared is None else hooks[1],
            ceilings=whole[0],
            shapes=whole[1],
        )
        tool = compile_tool(entry, problems)
        if tool is not None:
            found[name] = tool
        told(len(found), len(entries))
    warn_unused(whole[1], entries.values(), problems)
    check_compensations(entries, found, problems)
    warn_handles(entries, found, problems)
    return found
