"""Permissions: which roles a loaded policy folder lets call each tool, in words, for a summary.

Decides nothing: the answer for a person is always the authorizer's. Used by `check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

from guard.policy import Survey
from guard.policy.rule_files import ANY, Rule


@dataclass(frozen=True, slots=True)
class Permissions:
    """The rules of `allow:` and the CSV files that are about calling: those that name one tool, by it, and the others. A number keeps their order."""

    plain: Mapping[str, list[tuple[int, Rule]]]
    wide: tuple[tuple[int, Rule], ...]

    def of(self, tool: str) -> list[str]:
        """Who may call `tool`, in words: `employee`, `auditor in acme`, `not intern`."""
        found = [*self.plain.get(tool, ()), *(one for one in self.wide if one[1].covers(tool))]
        return list(dict.fromkeys(_words(rule) for _, rule in sorted(found, key=itemgetter(0))))


def _words(rule: Rule) -> str:
    who = "everybody" if rule.sub == ANY else rule.sub
    where = "" if rule.dom == ANY else f" in {rule.dom}"
    return f"{'not ' if rule.eft == 'deny' else ''}{who}{where}"


def permissions(survey: Survey) -> Permissions:
    """The rules of a folder that was read."""
    plain: dict[str, list[tuple[int, Rule]]] = {}
    wide: list[tuple[int, Rule]] = []
    for number, rule in enumerate(survey.book.rules):
        if rule.act == "call":
            (wide if rule.obj.endswith(ANY) else plain.setdefault(rule.obj, [])).append((number, rule))
    return Permissions(plain, tuple(wide))
