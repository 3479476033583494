"""Tools known: a policy folder compiled with the schemas of the program's functions, and without its checks and probes, which cases script.

Nothing of the program is called. Used by the command and by whoever has a program's tools at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guard.core.values import JsonObject
from guard.policy import Declared, Loaded
from guard.policy.load import compile_policy
from guard.policy.problems import Problems
from guard.policy.written import Written
from guard.tools import registry


def declared(tools: Any) -> list[Declared]:
    """What the loader wants to know about registered tools. Raises GuardError for what is no tool."""
    same = ("name", "description", "schema", "parameters", "accepts", "origin", "trouble", "silent", "keyed", "known")
    return [Declared(**{field: getattr(tool, field) for field in same}) for tool in registry(tools).values()]


def compiled(written: Written, known: list[Declared] | None, problems: Problems) -> Loaded:
    """The policy; `known` None means that no program is at hand. Raises PolicyError."""
    if known is None:
        return compile_policy(written, None, problems)
    names = _named(written, "checks")
    probes = frozenset(name for document in written.documents for name in _tools(document.value))
    return compile_policy(written, known, problems, checks=dict.fromkeys(names, _unscripted), probes=probes)


def _named(written: Written, key: str) -> list[str]:
    """The names of every check that some tool wants: a case says what each answers."""
    found = [
        entry.get(key) for document in written.documents for entry in _tools(document.value).values() if isinstance(entry, dict)
    ]
    lists = [one if isinstance(one, list) else [one] for one in found]
    return [name for names in lists for name in names if isinstance(name, str)]


def _tools(document: Any) -> Mapping[str, Any]:
    found = document.get("tools") if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def _unscripted(_arguments: JsonObject) -> str:
    return "The case does not say what this check answers."
