"""Parts: what a compiled policy consists of, by section and name, each with a digest, so that the audit can tell what another version changes.

Says nothing about what a change means; that is `guard diff`'s. Comes after `load`; used by compose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any

from guard.core.values import digest
from guard.policy.load import Loaded
from guard.policy.source import Item


def parts(loaded: Loaded) -> dict[str, dict[str, str]]:
    """Section → name → digest: people, roles, rules, tools and settings."""
    policy, book = loaded.policy, loaded.book
    groups = [f"{name}, {line.sub}, {line.role}, {line.dom}" for name, lines in book.groups.items() for line in lines]
    settings = {"limits": policy.limits, "ceilings": policy.ceilings, "redaction": policy.redaction}
    return {
        "people": {name: digest(_text(session)) for name, session in policy.people.items()},
        "roles": _lines([*map(str, book.grants), *groups]),
        "rules": _lines([*map(str, book.rules), *(f"on trial: {rule}" for rule in book.trial)]),
        "tools": {name: digest(tool.definition, *_written(loaded.entries.get(name))) for name, tool in policy.tools.items()},
        "settings": {name: digest(_text(value)) for name, value in settings.items()},
    }


def _text(value: Any) -> str:
    """One text for the same settings in every process: no order of a set, no address of a function."""
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({', '.join(f'{one.name}={_text(getattr(value, one.name))}' for one in fields(value))})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{_text(key)}: {_text(item)}' for key, item in value.items()))}}}"
    if isinstance(value, AbstractSet):
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return str(getattr(value, "__qualname__", "")) if callable(value) else repr(value)


def _lines(lines: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(lines, "")


def _written(item: Item | None) -> tuple[str, ...]:
    return () if item is None else (repr(_plain(item)),)


def _plain(item: Item) -> Any:
    """What an entry says, without where it stands."""
    below = {name: _plain(one) for name, one in sorted(item.fields.items())}
    return (below or [_plain(one) for one in item.items] or item.value, [_plain(one) for one in item.also])
