"""Registered: which registered tool each entry of a policy means. A name that could mean several, or none, is a mistake and never a guess.

Comes after problems; before load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from guard.policy.problems import Problems, meant, squash
from guard.policy.source import Item
from guard.policy.tools import Declared


def match(
    entries: Mapping[str, Item], declared: Sequence[Declared] | None, problems: Problems, spared: Collection[str] = ()
) -> tuple[dict[str, str], frozenset[str]]:
    """The registered name of each policy tool, and the registered names that no entry speaks about.

    Tools in `spared` need not be registered.
    """
    if declared is None:
        return {name: name for name, item in entries.items() if "http" not in item.fields}, frozenset()
    registered = {tool.name: None for tool in declared}
    sent = {name for name, item in entries.items() if "http" in item.fields}
    for name in sorted(sent & registered.keys()):
        problems.error(entries[name].fields["http"], f"{name} is a function of the program too", "keep one of both")
    entries = {name: item for name, item in entries.items() if name not in sent}
    wanted = {name: item for name, item in entries.items() if name not in spared or any(map(_alike(name), registered))}
    names = {name: found for name, item in wanted.items() if (found := _registered(name, item, entries, registered, problems))}
    meaning: dict[str, list[str]] = {}
    for name, found in names.items():
        meaning.setdefault(found, []).append(name)
    for found, twice in meaning.items():
        if len(twice) > 1:
            problems.error(entries[twice[1]], f"{' and '.join(twice)} both mean the registered tool {found}", "keep one")
    return names, frozenset(registered) - set(names.values())


def _alike(name: str) -> Callable[[str], bool]:
    return lambda other: squash(other) == squash(name)


def _registered(
    name: str, item: Item, entries: Mapping[str, Item], registered: Collection[str], problems: Problems
) -> str | None:
    if name in registered:
        return name
    alike = [other for other in registered if squash(other) == squash(name) and other not in entries]
    if len(alike) == 1:
        return alike[0]
    if alike:
        problems.error(item, f"{name} could be any of {', '.join(alike)}", "write the registered name")
    else:
        problems.error(
            item, f"no registered tool is called {name}", meant(name, registered) or "register it, or remove the entry"
        )
    return None
