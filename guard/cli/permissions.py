"""Permissions: which roles a loaded policy folder lets call each tool, in words, for a summary.

Decides nothing: the answer for a person is always the authorizer's. Used by `check`.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.policy import Survey
from guard.policy.rule_files import ANY, Rule


@dataclass(frozen=True, slots=True)
class Permissions:
    """The rules of `allow:` and the CSV files that are about calling."""

    rules: tuple[Rule, ...]

    def of(self, tool: str) -> list[str]:
        """Who may call `tool`, in words: `employee`, `auditor in acme`, `not intern`."""
        return list(dict.fromkeys(_words(rule) for rule in self.rules if rule.act == "call" and rule.covers(tool)))


def _words(rule: Rule) -> str:
    who = "everybody" if rule.sub == ANY else rule.sub
    where = "" if rule.dom == ANY else f" in {rule.dom}"
    return f"{'not ' if rule.eft == 'deny' else ''}{who}{where}"


def permissions(survey: Survey) -> Permissions:
    """The rules of a folder that was read."""
    return Permissions(tuple(survey.book.rules))
