"""Callers: the people of a policy folder, and which tools nobody or everybody may call.

May only warn about callers. Comes after rule_files and language; before load.
"""

from __future__ import annotations

from collections.abc import Mapping

from guard.core.model import Session
from guard.core.rules import Tool
from guard.policy import language
from guard.policy.hints import warn_unseen
from guard.policy.problems import Problems, meant
from guard.policy.rule_files import RuleBook
from guard.policy.source import Item


def read_people(entries: Mapping[str, Item], problems: Problems) -> dict[str, Session]:
    """`people:`: each operating-system user with the session that a command gives them."""
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


def warn_whole(
    entries: Mapping[str, Item], tools: Mapping[str, Tool], unlisted: frozenset[str], spot: Item, problems: Problems
) -> None:
    """What is lacking as a whole. `spot` is the folder's first file."""
    warn_unseen(entries, tools, problems)
    if not entries:
        problems.warn(spot, "the policy names no tool, so every call is refused", "write tools: {name: …}", code="no-tools")
    for name in sorted(unlisted):
        problems.warn(
            spot, f"the registered tool {name} has no entry: every call of it is refused", "write one", code="tool-unlisted"
        )


def warn_callers(entries: Mapping[str, Item], tools: Mapping[str, Tool], book: RuleBook, problems: Problems) -> None:
    """What is allowed but probably not meant."""
    rules = list(book.rules)
    allows = [rule for rule in rules if rule.act == "call" and rule.eft == "allow"]
    named = book.naming.tools((rule.obj for rule in allows), tools)
    by_tool: dict[str, list[str]] = {}
    for rule in allows:
        for name in named[rule.obj]:
            by_tool.setdefault(name, []).append(rule.sub)
    for name in tools:
        callers = by_tool.get(name, [])
        if not callers:
            problems.warn(entries[name], f"nobody may call {name}", "write allow: [role]", code="tool-nobody")
        if "*" in callers:
            problems.warn(entries[name], f"everybody may call {name}", "name the roles", code="tool-everybody")
    warn_silent(book, problems)


def warn_silent(book: RuleBook, problems: Problems) -> None:
    """Warn about each grant of a role that no rule speaks about and that leads to no other."""
    rules = list(book.rules)
    subjects = {rule.sub for rule in rules} | {grant.sub for grant in book.grants}
    for grant, place in book.grants.items():
        if grant.role not in subjects:
            known = {rule.sub for rule in rules}
            cure = meant(grant.role, known) or "write allow: [" + grant.role + "] at a tool, or remove the line"
            problems.warn(place, f"no rule speaks about the role {grant.role}", cure, code="role-silent")
