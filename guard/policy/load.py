"""Load: a policy folder, read, checked and compiled into one frozen Policy, or every mistake in it at once.

The order: files, then the names of all tools, then each tool, then the rules, then everything that is probably not meant. Comes last in
this package; the host gets here through `guard.policy.load_policy`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from guard.core.model import Session
from guard.core.ports import Policy
from guard.core.rules import Tool
from guard.core.values import digest
from guard.errors import PolicyError, Problem
from guard.policy import language
from guard.policy.approvals import check_role
from guard.policy.callers import read_people, warn_callers
from guard.policy.casbin_rules import authorizer
from guard.policy.effects import check_compensations
from guard.policy.hints import warn_unseen
from guard.policy.limits import limits
from guard.policy.pins import check_pins, is_told
from guard.policy.problems import Problems, meant, squash
from guard.policy.rule_files import Rule, RuleBook, read_rules
from guard.policy.rule_names import warn_names
from guard.policy.source import File, Item, is_rules, is_yaml, read_folder, read_yaml
from guard.policy.tools import CheckFunction, Declared, Entry, compile_tool


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
    folder: str | os.PathLike[str],
    declared: Sequence[Declared] | None = None,
    *,
    checks: Mapping[str, CheckFunction] = MappingProxyType({}),
    probes: Collection[str] = (),
) -> Loaded:
    """Compile the folder. `declared` are the registered tools, `probes` the tools that the host has a probe for.

    `declared` None means that no program is at hand.

    Raises PolicyError with every problem found.
    """
    return survey_policy(folder, declared, checks=checks, probes=probes).loaded()


def survey_policy(
    folder: str | os.PathLike[str],
    declared: Sequence[Declared] | None = None,
    *,
    checks: Mapping[str, CheckFunction] | None = MappingProxyType({}),
    probes: Collection[str] | None = (),
) -> Survey:
    """Compile the folder as far as it goes. `checks` and `probes` None mean that they are not known here. Raises nothing."""
    problems = Problems()
    files = read_folder(folder, problems)
    entries = _collect(documents := _documents(files, problems), "tools", problems)
    names, unlisted = _match(entries, declared, problems)
    tools = _compile(entries, declared, names, (checks, probes), problems)
    spot = Item(next((file.name for file in files if is_yaml(file.name)), str(folder)), None)
    whole = limits(_tops(documents, "limits"), _tops(documents, "prices"), spot, problems)
    places = _collect(documents, "people", problems)
    people = read_people(places, problems)
    book = _rules(files, entries, tools, people, problems)
    judge = authorizer(files, list(book.rules), list(book.grants), book.roles, problems)
    warn_callers(entries, tools, book, unlisted, spot, problems)
    warn_unseen(entries, tools, problems)
    told = frozenset(name for name, item in entries.items() if declared is not None or is_told(item))
    check_pins(files, tools, told, entries, problems)
    policy = None
    if judge is not None:
        frozen, persons, version = MappingProxyType(tools), MappingProxyType(people), _version(files, tools)
        policy = Policy(version=version, tools=frozen, authorizer=judge, limits=whole, unlisted=unlisted, people=persons)
    return Survey(
        files=tuple(files),
        policy=policy,
        names=MappingProxyType(names),
        errors=_sorted(problems.errors),
        warnings=_sorted(problems.warnings),
        tools=MappingProxyType(tools),
        told=told,
        book=book,
        entries=MappingProxyType(entries),
        people=MappingProxyType(people),
        places=MappingProxyType(places),
        limits=tuple(_tops(documents, "limits")),
    )


def _sorted(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.file, problem.line or 0, problem.message)))


def _version(files: Sequence[File], tools: Mapping[str, Tool]) -> str:
    parts = [part for file in files for part in (file.name, file.data.decode("latin-1"))]
    return digest(*parts, *(part for name in sorted(tools) for part in (name, tools[name].definition)))


# -- reading ---------------------------------------------------------------------------------------------------------


def _documents(files: Sequence[File], problems: Problems) -> list[Item]:
    found = []
    for file in files:
        if not is_yaml(file.name):
            continue
        before = len(problems.errors)
        document = read_yaml(file, problems)
        if document is not None:
            language.mapping(document, "file", problems)
            found.append(document)
        elif len(problems.errors) == before:
            problems.warn(Item(file.name, None), "the file is empty", "remove it")
    return found


def _tops(documents: Sequence[Item], key: str) -> list[Item]:
    return [document.fields[key] for document in documents if key in document.fields]


def _collect(documents: Sequence[Item], key: str, problems: Problems) -> dict[str, Item]:
    """The entries under one top-level key of all files; the same name twice is a mistake."""
    found: dict[str, Item] = {}
    for block in _tops(documents, key):
        for name, item in language.entries(block, key, problems).items():
            if name in found:
                first = found[name]
                problems.error(item, f"{name} is written twice", f"the first stands at {first.file}:{first.line}; keep one")
            found.setdefault(name, item)
    return found


# -- names -----------------------------------------------------------------------------------------------------------


def _match(
    entries: Mapping[str, Item], declared: Sequence[Declared] | None, problems: Problems
) -> tuple[dict[str, str], frozenset[str]]:
    """The registered name of each policy tool, and the registered names that no entry speaks about."""
    if declared is None:
        return {name: name for name in entries}, frozenset()
    registered = {tool.name: None for tool in declared}
    names = {name: found for name, item in entries.items() if (found := _registered(name, item, entries, registered, problems))}
    meaning: dict[str, list[str]] = {}
    for name, found in names.items():
        meaning.setdefault(found, []).append(name)
    for found, twice in meaning.items():
        if len(twice) > 1:
            problems.error(entries[twice[1]], f"{' and '.join(twice)} both mean the registered tool {found}", "keep one")
    return names, frozenset(registered) - set(names.values())


def _registered(
    name: str, item: Item, entries: Mapping[str, Item], registered: Collection[str], problems: Problems
) -> str | None:
    if name in registered:
        return name
    alike = [other for other in registered if squash(other) == squash(name) and other not in entries]
    if len(alike) == 1:
        return alike[0]
    if alike:
        problems.error(item, f"{name} could be any of {', '.join(alike)}", "write the registered name")
    else:
        problems.error(
            item, f"no registered tool is called {name}", meant(name, registered) or "register it, or remove the entry"
        )
    return None


# -- tools, rules, people --------------------------------------------------------------------------------------------


def _compile(
    entries: Mapping[str, Item],
    declared: Sequence[Declared] | None,
    names: Mapping[str, str],
    hooks: tuple[Mapping[str, CheckFunction] | None, Collection[str] | None],
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
    problems: Problems,
) -> RuleBook:
    """The rules that the YAML means and those of the CSV files, the role graph, and every name that is certainly a role."""
    written = _written(entries, tools, problems)
    book = read_rules([file for file in files if is_rules(file.name)], frozenset(entries), problems)
    roles = {rule.sub for rule in written} - {"*"}
    warn_names(book, roles, people, problems)
    roles |= book.roles | {role for one in people.values() for role in one.roles}
    for rule in written.keys() & book.rules.keys():
        spot, first = book.rules[rule], written[rule]
        problems.warn(spot, "the rule is written twice", f"the first stands at {first.file}:{first.line}", code="rule-twice")
    return RuleBook({**written, **book.rules}, book.grants, roles)


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
