"""Books: every rule that a folder means: those of `allow:` and `approve.by`, and those of its CSV files, with the role graph.

May not decide anything. Comes after rule_files and rule_names, before load.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from guard.core.model import Session
from guard.core.rules import Tool
from guard.policy import language
from guard.policy.approvals import check_role
from guard.policy.file_names import is_rules
from guard.policy.problems import Problems
from guard.policy.reading import ROWS
from guard.policy.rule_files import Rule, RuleBook, read_rules
from guard.policy.rule_names import warn_names
from guard.policy.rule_shape import Shape
from guard.policy.source import File, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What stands in other layers beside this folder: all tools (None: only its own entries), the roles of wider layers, and any narrower one."""

    tools: frozenset[str] | None = None
    roles: Collection[str] = ()
    narrowest: bool = True


ALONE = Beside()


def book_of(
    files: Sequence[File],
    entries: Mapping[str, Item],
    voters: Mapping[str, Sequence[str]],
    people: Mapping[str, Session],
    shape: Shape | None,
    problems: Problems,
    beside: Beside = ALONE,
) -> RuleBook:
    """The rules that the YAML means and those of the CSV files, the role graph, and every name that is certainly a role.

    `voters` are the roles that may approve calls of each tool.
    """
    tools = frozenset(entries) if beside.tools is None else beside.tools
    written = _written(entries, voters, problems)
    rows = [file for file in files if is_rules(file.name) or file.base == ROWS]
    book = read_rules(rows, tools, problems, shape, narrowest=beside.narrowest)
    roles = {rule.sub for rule in written} - {"*"}
    warn_names(book, {*roles, *beside.roles}, people, problems)
    roles |= book.roles | {role for one in people.values() for role in one.roles}
    for rule in written.keys() & book.rules.keys():
        spot, first = book.rules[rule], written[rule]
        problems.warn(spot, "the rule is written twice", f"the first stands at {first.file}:{first.line}", code="rule-twice")
    return replace(book, rules={**written, **book.rules}, roles=roles)


def voters_of(tool: Tool) -> tuple[str, ...]:
    """Every role that may approve some call of the tool."""
    return tuple(dict.fromkeys(role for rule in tool.approval for role in (*rule.by, *rule.escalate_to)))


def _written(entries: Mapping[str, Item], voters: Mapping[str, Sequence[str]], problems: Problems) -> dict[Rule, Item]:
    """The rules that `allow:` and `approve.by` mean."""
    written = {}
    for name, item in entries.items():
        allow = item.fields.get("allow")
        for spelled in language.texts(allow, problems, "allow"):
            role = spelled.removeprefix("role:")
            if role != "*":
                check_role(role, allow or item, problems)
            written[Rule(role, "*", name, "call", "allow")] = allow or item
    for name, roles in voters.items():
        spot = entries[name].fields.get("approve", entries[name])
        written |= {Rule(role, "*", name, "approve", "allow"): spot for role in roles}
    return written
