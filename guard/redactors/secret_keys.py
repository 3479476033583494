"""Secret keys: whether a key says that the value under it is a secret, and whether a value is one rather than a placeholder.

Pure; comes after `keys`, before the rules about texts (`secret`) and `find`.
"""

from __future__ import annotations

import re

from guard.redactors.keys import names_of, word_list, words_of
from guard.redactors.masks import MASKS

STRONG = frozenset(
    {"password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "apikey", "accesskey", "privatekey", "secretkey"}
    | {"credential", "credentials", "authorization", "clientsecret", "密码", "口令"}
    | {"passwords", "passwds", "passphrases", "passcodes", "pwds", "passwort", "kennwort"}
)
WEAK = frozenset({"token", "tokens", "authtoken", "accesstoken"})
KEPT = frozenset(
    {
        "type",
        "count",
        "max",
        "min",
        "limit",
        "usage",
        "used",
        "total",
        "next",
        "page",
        "continuation",
        "sync",
        "cursor",
        "idempotency",
    }
    | {
        "public",
        "prompt",
        "completion",
        "input",
        "output",
        "expires",
        "expiry",
        "url",
        "endpoint",
        "policy",
        "hint",
        "name",
        "id",
        "status",
    }
    | {"length", "changed", "updated", "created", "at", "required", "enabled", "symbol", "standard", "method", "reset"}
)
"""Words that make a key speak about a secret rather than hold it: `token_type`, `password_changed_at`, `next_page_token`."""
_COUNTED = frozenset(
    {"count", "max", "min", "limit", "usage", "used", "total", "next", "page", "continuation", "sync", "cursor", "idempotency"}
)
"""Those that do so from further out as well, for a mere `token`: `next_page` over `token`."""
PLACEHOLDER = re.compile(
    r"\$\{[a-z_][a-z0-9_.:-]{0,80}\}|\{\{ ?[a-z_][a-z0-9_. -]{0,80}\}\}"
    r"|<(?:(?:your|my|the|an?|enter|insert|new|old|api|access|client|auth)[ _-]?){0,3}"
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|key|credentials?|value|redacted|hidden|masked|removed|filtered|omitted|empty|none|null"
    r"|unset|not[ _-]?set|placeholder|change[ _-]?me)(?:[ _-]?here)?>"
    r"|\*+|x+|change ?me|none|null|n/a|true|false|yes|no|redacted|hidden|bearer|basic|"
    + "|".join(map(re.escape, MASKS.values())),
    re.IGNORECASE,
)


class _Keys(dict[str, bool]):
    """Whether a key says that the value under it is a secret; remembers the last few thousand keys."""

    def __missing__(self, key: str) -> bool:
        if len(self) >= 4096:
            self.clear()
        known = not words_of(key).isdisjoint(STRONG | WEAK) and _holds(key)
        self[key] = known
        return known


def _holds(key: str) -> bool:
    """Whether the innermost name that says secret means the value: `status` over `password` takes nothing from it, `type` beside or below it does."""
    names, below = names_of(key), set[str]()
    while names:
        name = names.pop()
        words = word_list(name)
        below.update(words)
        split = names and words[:1] in (("key",), ("keys",))  # `key` below `api`
        found = words_of(f"{names[-1]} {name}" if split else name) & (STRONG | WEAK)
        if found:
            counted = not found & STRONG and not _COUNTED.isdisjoint(word for above in names for word in word_list(above))
            return not counted and below.isdisjoint(KEPT)
    return False


SECRET_KEYS = _Keys()


def hides(key: str, text: str) -> bool:
    """Whether a text under such a key is a value rather than a placeholder, a mask of our own or a count of `tokens`."""
    if len(text) < 4 or (len(text) <= 200 and PLACEHOLDER.fullmatch(text) is not None):
        return False
    return not (text.isdigit() and len(text) <= 9 and "tokens" in word_list(key))
