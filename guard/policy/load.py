"""Load: a policy folder, read, checked and compiled into one frozen Policy, or every mistake in it at once.

The order: files, then the names of all tools, then each tool, then the rules, then everything that is probably not meant. Comes last in
this package; the host gets here through `guard.policy.load_policy`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from guard.core.model import Session
from guard.core.ports import Authorizer, Policy
from guard.core.rules import Ceilings, Limits, Tool
from guard.core.values import digest
from guard.errors import PolicyError, Problem
from guard.policy import language
from guard.policy.approvals import check_role
from guard.policy.callers import read_people, warn_callers
from guard.policy.ceilings import ceilings
from guard.policy.checks import CheckFunction
from guard.policy.effects import check_compensations
from guard.policy.limits import limits
from guard.policy.pins import check_pins, is_told
from guard.policy.problems import Problems
from guard.policy.publish import authorizer
from guard.policy.reading import ROWS, Place, Reading, read_place
from guard.policy.registered import match
from guard.policy.result_form import warn_unused
from guard.policy.rule_files import Rule, RuleBook, read_rules
from guard.policy.rule_names import warn_names
from guard.policy.rule_shape import Shape, shape_of
from guard.policy.source import File, Item, is_rules, is_yaml
from guard.policy.tools import Declared, Entry, compile_tool
from guard.policy.written import Written, as_written, collect, tops

_Hooks: TypeAlias = tuple[Mapping[str, CheckFunction] | None, Collection[str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A policy that may be used, the registered name of each of its tools, and what is probably not meant.

    `book` holds every rule and grant with its place, those that YAML keys mean included; `entries` is where each tool is written.
    """

    policy: Policy
    names: Mapping[str, str]
    warnings: tuple[Problem, ...]
    book: RuleBook
    entries: Mapping[str, Item]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Everything that could be read of a folder, with every mistake: what a review looks at, whether or not the policy may be used.

    `tools` are those that compile, `told` those whose description and schema are known, `places` where each of the `people` stands, `limits`
    the top-level blocks as written.
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

    def loaded(self) -> Loaded:
        """The policy, where it may be used. Raises PolicyError with every problem."""
        if self.errors or self.policy is None:
            raise PolicyError(self.errors, self.warnings)
        return Loaded(policy=self.policy, names=self.names, warnings=self.warnings, book=self.book, entries=self.entries)


def load_policy(
    folder: Place,
    declared: Sequence[Declared] | None = None,
    *,
    checks: Mapping[str, CheckFunction] = MappingProxyType({}),
    probes: Collection[str] = (),
) -> Loaded:
    """Compile the folder. `declared` are the registered tools, `probes` the tools that the host has a probe for.

    `declared` None means that no program is at hand.

    Raises PolicyError with every problem found.
    """
    return load_reading(read_place(folder), declared, checks=checks, probes=probes)


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
    written = as_written(reading.place, reading.files, problems)
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
    folder: Place,
    declared: Sequence[Declared] | None = None,
    *,
    checks: Mapping[str, CheckFunction] | None = MappingProxyType({}),
    probes: Collection[str] | None = (),
) -> Survey:
    """Compile the folder as far as it goes. `checks` and `probes` None mean that they are not known here. Raises nothing."""
    problems = Problems()
    reading = read_place(folder)
    problems.errors += reading.errors
    problems.warnings += reading.warnings
    written = as_written(reading.place, reading.files, problems)
    return _survey(written, declared, problems, (checks, probes), reading.rows)


def _survey(
    written: Written, declared: Sequence[Declared] | None, problems: Problems, hooks: _Hooks, rows: File | None
) -> Survey:
    files, documents = (*written.files, *([rows] if rows else ())), written.documents
    entries = collect(documents, "tools", problems)
    names, unlisted = match(entries, declared, problems)
    bounds = ceilings(tops(documents, "ceilings"), problems)
    tools = _compile(entries, declared, names, hooks, (bounds, written.shapes), problems)
    warn_unused(written.shapes, entries.values(), problems)
    spot = Item(next((file.name for file in files if is_yaml(file.name)), written.place), None)
    whole = limits(tops(documents, "limits"), tops(documents, "prices"), spot, problems)
    places = collect(documents, "people", problems)
    people = MappingProxyType(read_people(places, problems))
    shape = shape_of(files, problems)
    book = _rules(files, entries, tools, people, shape, problems)
    casbin = next((Item(file.name, 1) for file in files if _holds_rules(file.name)), None)
    judge = authorizer(shape, book, problems, casbin)
    warn_callers(entries, tools, book, unlisted, spot, problems)
    told = frozenset(name for name, item in entries.items() if declared is not None or is_told(item))
    check_pins(files, tools, told, entries, problems)
    return Survey(
        files=files,
        policy=None if judge is None else _policy(judge, tools, (whole, bounds), unlisted, people, _version(files, tools)),
        names=MappingProxyType(names),
        errors=_sorted(problems.errors),
        warnings=_sorted(problems.warnings),
        tools=MappingProxyType(tools),
        told=told,
        book=book,
        entries=MappingProxyType(entries),
        people=people,
        places=MappingProxyType(places),
        limits=tuple(tops(documents, "limits")),
    )


def _holds_rules(name: str) -> bool:
    """Whether a file is there for Casbin's sake."""
    return is_rules(name) or name in {ROWS, "model.conf"}


def _policy(
    judge: Authorizer,
    tools: dict[str, Tool],
    counts: tuple[Limits, Ceilings],
    unlisted: frozenset[str],
    people: Mapping[str, Session],
    version: str,
) -> Policy:
    return Policy(
        version=version,
        tools=MappingProxyType(tools),
        authorizer=judge,
        limits=counts[0],
        ceilings=counts[1],
        unlisted=unlisted,
        people=people,
    )


def _sorted(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.file, problem.line or 0, problem.message)))


def _version(files: Sequence[File], tools: Mapping[str, Tool]) -> str:
    parts = [part for file in files for part in (file.name, file.data.decode("latin-1"))]
    return digest(*parts, *(part for name in sorted(tools) for part in (name, tools[name].definition)))


# -- tools, rules, people --------------------------------------------------------------------------------------------


def _compile(
    entries: Mapping[str, Item],
    declared: Sequence[Declared] | None,
    names: Mapping[str, str],
    hooks: _Hooks,
    whole: tuple[Ceilings, Mapping[str, Item]],
    problems: Problems,
) -> dict[str, Tool]:
    by_name = {tool.name: tool for tool in declared or ()}
    found = {}
    for name, item in entries.items():
        if not name.strip() or any(char in name for char in '*,"#()[]\n '):
            problems.error(item, f"{name} cannot be a tool's name", "leave out spaces, commas, quotes, brackets, # and *")
        entry = Entry(
            name=name,
            item=item,
            declared=by_name.get(names.get(name, "")),
            tools=frozenset(entries),
            checks=None if declared is None else hooks[0],
            probes=None if declared is None else hooks[1],
            ceilings=whole[0],
            shapes=whole[1],
        )
        tool = compile_tool(entry, problems)
        if tool is not None:
            found[name] = tool
    check_compensations(entries, found, problems)
    return found


def _rules(
    files: Sequence[File],
    entries: Mapping[str, Item],
    tools: Mapping[str, Tool],
    people: Mapping[str, Session],
    shape: Shape | None,
    problems: Problems,
) -> RuleBook:
    """The rules that the YAML means and those of the CSV files, the role graph, and every name that is certainly a role."""
    written = _written(entries, tools, problems)
    rows = [file for file in files if is_rules(file.name) or file.name == ROWS]
    book = read_rules(rows, frozenset(entries), problems, shape)
    roles = {rule.sub for rule in written} - {"*"}
    warn_names(book, roles, people, problems)
    roles |= book.roles | {role for one in people.values() for role in one.roles}
    for rule in written.keys() & book.rules.keys():
        spot, first = book.rules[rule], written[rule]
        problems.warn(spot, "the rule is written twice", f"the first stands at {first.file}:{first.line}", code="rule-twice")
    return RuleBook({**written, **book.rules}, book.grants, roles, book.groups)


def _written(entries: Mapping[str, Item], tools: Mapping[str, Tool], problems: Problems) -> dict[Rule, Item]:
    """The rules that `allow:` and `approve.by` mean."""
    written = {}
    for name, item in entries.items():
        allow = item.fields.get("allow")
        for spelled in language.texts(allow, problems, "allow"):
            role = spelled.removeprefix("role:")
            if role != "*":
                check_role(role, allow or item, problems)
            written[Rule(role, "*", name, "call", "allow")] = allow or item
    for name, tool in tools.items():
        voters = dict.fromkeys(role for rule in tool.approval for role in rule.by)
        spot = entries[name].fields.get("approve", entries[name])
        written |= {Rule(role, "*", name, "approve", "allow"): spot for role in voters}
    return written
