"""Permissions: which roles a loaded policy folder lets call each tool, in words, for a summary.

Decides nothing: the answer for a person is always the authorizer's. Used by `check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guard.policy import Survey
from guard.policy.layers.authorizer import Layer
from guard.policy.rule_files import ANY, Rule


@dataclass(frozen=True, slots=True)
class Permissions:
    """The rules of `allow:` and the CSV files that are about calling."""

    rules: tuple[Rule, ...]
    layers: tuple[Layer, ...] = ()

    def of(self, tool: str) -> list[str]:
        """Who may call `tool`, in words: `employee`, `auditor in acme`, `not intern`. Of layers each one's own: all of them must allow."""
        if not self.layers:
            return _all(self.rules, tool)
        told = [(layer, _all(layer.book.rules, tool)) for layer in self.layers]
        return [f"{layer.name}: {' or '.join(words) or 'nobody'}" for layer, words in told if words or layer.speaks(tool, "call")]


def _all(rules: Iterable[Rule], tool: str) -> list[str]:
    return list(dict.fromkeys(_words(rule) for rule in rules if rule.act == "call" and rule.covers(tool)))


def _words(rule: Rule) -> str:
    who = "everybody" if rule.sub == ANY else rule.sub
    where = "" if rule.dom == ANY else f" in {rule.dom}"
    return f"{'not ' if rule.eft == 'deny' else ''}{who}{where}"


def permissions(survey: Survey) -> Permissions:
    """The rules of a folder that was read."""
    return Permissions(tuple(survey.book.rules), survey.layers)
