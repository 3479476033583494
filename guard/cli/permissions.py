"""Permissions: which roles a policy folder lets call each tool, read back from its files for a summary.

Decides nothing: the answer for a person is always the authorizer's. Expects a folder that loads. Used by `check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guard.policy.problems import Problems
from guard.policy.rule_files import ANY, Rule, read_rules
from guard.policy.source import Item, is_rules, is_yaml, read_folder, read_yaml


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


def permissions(folder: str) -> Permissions:
    """Read the rules of a folder."""
    unheard = Problems()  # whatever is wrong has been said by the load before
    files = read_folder(folder, unheard)
    documents = [read_yaml(file, unheard) for file in files if is_yaml(file.name)]
    tools = {name: item for document in documents if document is not None for name, item in _tools(document).items()}
    written = [Rule(role, ANY, name, "call", "allow") for name, item in tools.items() for role in _allowed(item)]
    book = read_rules([file for file in files if is_rules(file.name)], frozenset(tools), unheard)
    return Permissions((*written, *book.rules))


def _tools(document: Item) -> dict[str, Item]:
    return document.fields["tools"].fields if "tools" in document.fields else {}


def _allowed(item: Item) -> Sequence[str]:
    allow = item.fields.get("allow")
    if allow is None:
        return ()
    texts = [one.value for one in allow.items] or [allow.value]
    return [text.removeprefix("role:") for text in texts if isinstance(text, str)]
