"""Permissions: which roles a loaded policy folder lets call each tool, in words, for a summary.

Decides nothing: the answer for a person is always the authorizer's. Used by `check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guard.policy import Survey
from guard.policy.layers.authorizer import Layer
from guard.policy.rule_files import ANY, Rule, RuleBook


@dataclass(frozen=True, slots=True)
class Permissions:
    """The rules of `allow:` and the CSV files that are about calling, by the tools that they name."""

    by_tool: Mapping[str, list[Rule]]
    layers: tuple[tuple[Layer, Mapping[str, list[Rule]]], ...] = ()

    def of(self, tool: str) -> list[str]:
        """Who may call `tool`, in words: `employee`, `auditor in acme`, `not intern`. Of layers each one's own: all of them must allow."""
        if not self.layers:
            return _all(self.by_tool, tool)
        told = [(layer, _all(by_tool, tool)) for layer, by_tool in self.layers]
        return [f"{layer.name}: {' or '.join(words) or 'nobody'}" for layer, words in told if words or layer.speaks(tool, "call")]


def _all(by_tool: Mapping[str, list[Rule]], tool: str) -> list[str]:
    return list(dict.fromkeys(map(_words, by_tool.get(tool, ()))))


def _words(rule: Rule) -> str:
    who = "everybody" if rule.sub == ANY else rule.sub
    where = "" if rule.dom == ANY else f" in {rule.dom}"
    return f"{'not ' if rule.eft == 'deny' else ''}{who}{where}"


def permissions(survey: Survey) -> Permissions:
    """The rules of a folder that was read."""
    layers = tuple((layer, _named(layer.book, survey)) for layer in survey.layers)
    return Permissions({} if layers else _named(survey.book, survey), layers)


def _named(book: RuleBook, survey: Survey) -> Mapping[str, list[Rule]]:
    """The rules about calling, by the tools that they name."""
    rules = [rule for rule in book.rules if rule.act == "call"]
    named = book.naming.tools((rule.obj for rule in rules), survey.tools)
    by_tool: dict[str, list[Rule]] = {}
    for rule in rules:
        for tool in named[rule.obj]:
            by_tool.setdefault(tool, []).append(rule)
    return by_tool
