"""Roles: what the key of a field may be for the fields beside it: a name, what is named so, or the names of columns. Pure; comes before `beside`."""

from __future__ import annotations

import re
from typing import Final

NAMING, VALUE, COLUMNS, OTHER = "naming", "value", "columns", ""
_ROLES: Final = {
    NAMING: "name key header field variable var parameter param attribute attr property prop setting option label column env type kind system k id title",
    VALUE: "value values val v data default current new old content text string from to before after",
    COLUMNS: "columns cols headers header fields keys names",
}
NAMING_WORDS, VALUE_WORDS, COLUMN_WORDS = (tuple(words.split()) for words in _ROLES.values())
"""How a key ends, in any case, whose value may name what stands beside it, that holds what is named so, or that holds names of columns."""
VAGUE: Final = frozenset({"type", "kind", "system"})
"""These say of a mere `value` what it is, and of nothing else."""
PLAINLY: Final = frozenset({"value", "values", "val", "v"})
"""These hold what is named, whatever names it."""
FAINT: Final = frozenset({"id", "title", "content", "text", "string", "from", "to", "before", "after"})
"""These may say or hold much else."""
_WHOLE = frozenset({"from", "to", "before", "after"})  # these as the last of several words say when or whence: `valueFrom`
_LAST = re.compile(r"([A-Z]+|[A-Z]?[a-z]+)\Z")
_LONGEST = 100  # characters of a key that are looked at


class _Roles(dict[str, str]):
    """What a key may be for the others beside it; remembers the last few thousand."""

    def __missing__(self, key: str) -> str:
        found = role(key)
        if len(key) <= _LONGEST:
            if len(self) >= 4096:
                self.clear()
            self[key] = found
        return found


def role(key: str) -> str:
    """What a key may be for the others beside it, by its last word."""
    last = last_word(key)
    if last in _WHOLE and len(key) > len(last):
        return OTHER
    return next((name for name in (NAMING, VALUE, COLUMNS) if last in SETS[name]), OTHER)


def last_word(key: str) -> str:
    """The last word of a key, in lower case."""
    match = _LAST.search(key[-_LONGEST:])
    word = match[1].lower() if match is not None else ""
    return word if len(word) > 1 or len(key) == 1 else ""  # one letter is no word in a longer key


SETS = {name: frozenset(words.split()) for name, words in _ROLES.items()}
ROLES: Final = _Roles()
