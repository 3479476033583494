"""Permissions: which roles a loaded policy folder lets call each tool, in words, for a summary.

Decides nothing: the answer for a person is always the authorizer's. Used by `check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guard.policy import Survey
from guard.policy.rule_files import ANY, Rule


@dataclass(frozen=True, slots=True)
class Permissions:
    """The rules of `allow:` and the CSV files that are about calling, by the tools that they name."""

    by_tool: Mapping[str, list[Rule]]

    def of(self, tool: str) -> list[str]:
        """Who may call `tool`, in words: `employee`, `auditor in acme`, `not intern`."""
        return list(dict.fromkeys(map(_words, self.by_tool.get(tool, ()))))


def _words(rule: Rule) -> str:
    who = "everybody" if rule.sub == ANY else rule.sub
    where = "" if rule.dom == ANY else f" in {rule.dom}"
    return f"{'not ' if rule.eft == 'deny' else ''}{who}{where}"


def permissions(survey: Survey) -> Permissions:
    """The rules of a folder that was read."""
    rules = [rule for rule in survey.book.rules if rule.act == "call"]
    named = survey.book.naming.tools((rule.obj for rule in rules), survey.tools)
    by_tool: dict[str, list[Rule]] = {}
    for rule in rules:
        for tool in named[rule.obj]:
            by_tool.setdefault(tool, []).append(rule)
    return Permissions(by_tool)
