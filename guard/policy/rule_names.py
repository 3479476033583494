"""Rule names: names in rule files that probably mean nobody, since nothing else in the policy writes them so.

A rule about a name that nobody has is silently without effect, and a deny without effect lets calls through. May only warn: roles and tenants
come from the host's sessions, so none of them is surely wrong. Comes after rule_files and before load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from guard.core.model import Session
from guard.policy.problems import Problems
from guard.policy.rule_files import ANY, PERSON, RuleBook
from guard.policy.source import Item

DEFAULT_TENANT = "default"


def warn_names(book: RuleBook, written: Iterable[str], people: Mapping[str, Session], problems: Problems) -> None:
    """`written` are the roles that the YAML files name."""
    granted = {grant.role for grant in book.grants} | {role for one in people.values() for role in one.roles}
    sure = {*written, *granted}
    roles = sure | set(book.roles)
    persons = {PERSON + one.principal for one in people.values()}
    tenants = {DEFAULT_TENANT, *(one.tenant for one in people.values())}
    odd = _warn_case(_subjects(book), sure | persons, "role or person", problems)
    _warn_case(_tenants(book), tenants, "tenant", problems)
    for rule, spot in (*book.rules.items(), *book.trial.items()):
        name = rule.sub
        if name not in roles | odd and name != ANY and not name.startswith(PERSON):
            cure = f"write {PERSON}{name} for a person, role:{name} for a role of the host's"
            problems.warn(spot, f"{name} counts as a role, and nothing else here names that role", cure)


def _subjects(book: RuleBook) -> Iterator[tuple[str, Item]]:
    yield from ((rule.sub, spot) for rule, spot in (*book.rules.items(), *book.trial.items()))
    yield from ((name, spot) for grant, spot in book.grants.items() for name in (grant.sub, grant.role))


def _tenants(book: RuleBook) -> Iterator[tuple[str, Item]]:
    yield from ((rule.dom, spot) for rule, spot in (*book.rules.items(), *book.trial.items()))
    yield from ((grant.dom, spot) for grant, spot in book.grants.items())


def _warn_case(names: Iterable[tuple[str, Item]], known: Iterable[str], what: str, problems: Problems) -> set[str]:
    """The names that differ from a known one, or from one that stands before them, only in case."""
    first = {name.removeprefix(PERSON).casefold(): name for name in sorted(known)}
    exact = {name.removeprefix(PERSON) for name in known}
    odd = set()
    for name, spot in names:
        plain = name.removeprefix(PERSON)
        other = first.setdefault(plain.casefold(), name).removeprefix(PERSON)
        if plain != other and plain not in exact:
            odd.add(name)
            problems.warn(spot, f"{name} differs from the {what} {other} only in case: they are not the same", f"write {other}")
    return odd
