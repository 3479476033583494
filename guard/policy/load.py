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
from guard.policy.effects import check_compensations
from guard.policy.hints import warn_unseen
from guard.policy.limits import limits
from guard.policy.problems import Problems, meant, squash
from guard.policy.publish import authorizer
from guard.policy.rule_files import Grant, Rule, RuleBook, read_rules
from guard.policy.rule_names import warn_names
from guard.policy.rule_shape import Shape, shape_of
from guard.policy.source import File, Item, is_rules, is_yaml
from guard.policy.tools import CheckFunction, Declared, Entry, compile_tool
from guard.policy.written import Written, collect, read_policy, tops


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
    problems = Problems()
    return compile_policy(read_policy(folder, problems), declared, problems, checks=checks, probes=probes)


def compile_policy(
    written: Written,
    declared: Sequence[Declared] | None,
    problems: Problems,
    *,
    checks: Mapping[str, CheckFunction] = MappingProxyType({}),
    probes: Collection[str] = (),
) -> Loaded:
    """Compile what is written; see `load_policy`. Raises PolicyError where `problems` holds a mistake by the end."""
    files, documents = written.files, written.documents
    entries = collect(documents, "tools", problems)
    names, unlisted = _match(entries, declared, problems)
    tools = _compile(entries, declared, names, (checks, probes), problems)
    check_compensations(entries, tools, problems)
    spot = Item(next((file.name for file in files if is_yaml(file.name)), written.place), None)
    whole = limits(tops(documents, "limits"), tops(documents, "prices"), spot, problems)
    people = _people(collect(documents, "people", problems), problems)
    shape = shape_of(files, problems)
    book = _rules(files, entries, tools, people, shape, problems)
    judge = authorizer(shape, book, problems, spot)
    _warn(entries, tools, list(book.rules), list(book.grants), unlisted, spot, problems)
    warn_unseen(entries, tools, problems)
    if problems.errors or judge is None:
        raise PolicyError(_sorted(problems.errors), _sorted(problems.warnings))
    policy = Policy(
        version=_version(files, tools),
        tools=MappingProxyType(tools),
        authorizer=judge,
        limits=whole,
        unlisted=unlisted,
        people=MappingProxyType(people),
    )
    return Loaded(
        policy=policy,
        names=MappingProxyType(names),
        warnings=_sorted(problems.warnings),
        book=book,
        entries=MappingProxyType(entries),
    )


def _sorted(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.file, problem.line or 0, problem.message)))


def _version(files: Sequence[File], tools: Mapping[str, Tool]) -> str:
    parts = [part for file in files for part in (file.name, file.data.decode("latin-1"))]
    return digest(*parts, *(part for name in sorted(tools) for part in (name, tools[name].definition)))


# -- names -----------------------------------------------------------------------------------------------------------


def _match(
    entries: Mapping[str, Item], declared: Sequence[Declared] | None, problems: Problems
) -> tuple[dict[str, str], frozenset[str]]:
    """The registered name of each policy tool, and the registered names that no entry speaks about."""
    if declared is None:
        return {name: name for name in entries}, frozenset()
    registered = [tool.name for tool in declared]
    names = {name: found for name, item in entries.items() if (found := _registered(name, item, entries, registered, problems))}
    for found in set(names.values()):
        twice = [name for name in names if names[name] == found]
        if len(twice) > 1:
            problems.error(entries[twice[1]], f"{' and '.join(twice)} both mean the registered tool {found}", "keep one")
    return names, frozenset(registered) - set(names.values())


def _registered(name: str, item: Item, entries: Mapping[str, Item], registered: Sequence[str], problems: Problems) -> str | None:
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
    hooks: tuple[Mapping[str, CheckFunction], Collection[str]],
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
    book = read_rules([file for file in files if is_rules(file.name)], frozenset(entries), problems, shape)
    roles = {rule.sub for rule in written} - {"*"}
    warn_names(book, roles, people, problems)
    roles |= book.roles | {role for one in people.values() for role in one.roles}
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


def _people(entries: Mapping[str, Item], problems: Problems) -> dict[str, Session]:
    found = {}
    for user, item in entries.items():
        fields = language.mapping(item, "person", problems)
        principal = language.text(fields.get("principal"), problems, "principal")
        if fields and "principal" not in fields:
            problems.error(item, f"{user} has no principal", "write principal: the id of the person")
        attributes = language.entries(fields["attributes"], "attributes", problems) if "attributes" in fields else {}
        tenant = language.text(fields.get("tenant"), problems, "tenant", "default")
        roles = language.texts(fields.get("roles"), problems, "roles")
        if principal:
            facts = {name: below.value for name, below in attributes.items()}
            found[user] = Session(principal=principal, roles=roles, tenant=tenant, attributes=facts)
    return found


def _warn(
    entries: Mapping[str, Item],
    tools: Mapping[str, Tool],
    rules: Sequence[Rule],
    grants: Sequence[Grant],
    unlisted: frozenset[str],
    spot: Item,
    problems: Problems,
) -> None:
    """What is allowed but probably not meant."""
    for name in sorted(unlisted):
        problems.warn(spot, f"the registered tool {name} has no entry: every call of it is refused", "write one")
    allows = [rule for rule in rules if rule.act == "call" and rule.eft == "allow"]
    prefixes = [rule for rule in allows if rule.obj.endswith("*")]
    by_tool: dict[str, list[str]] = {}
    for rule in allows:
        by_tool.setdefault(rule.obj, []).append(rule.sub)
    for name in tools:
        callers = [rule.sub for rule in prefixes if rule.covers(name)] + by_tool.get(name, [])
        if not callers:
            problems.warn(entries[name], f"nobody may call {name}", "write allow: [role]")
        if "*" in callers:
            problems.warn(entries[name], f"everybody may call {name}", "name the roles")
    subjects = {rule.sub for rule in rules} | {grant.sub for grant in grants}
    for grant in grants:
        if grant.role not in subjects:
            problems.warn(spot, f"no rule speaks about the role {grant.role}", meant(grant.role, {rule.sub for rule in rules}))
