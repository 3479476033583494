"""Secrets: values under keys that name a secret, and keys of services that are known by a prefix of their own.

A detector of the table in `guard.redactors`; pure. No entropy is measured: random order ids would look like secrets.
"""

from __future__ import annotations

import re

from guard.redactors.keys import word_list, words_of
from guard.redactors.masks import MASKS
from guard.redactors.views import assigns, bears, long_name

PREFIXES: tuple[tuple[str, str], ...] = (
    ("AKIA", "[A-Z2-7]{16}"),
    ("ASIA", "[A-Z2-7]{16}"),
    ("ghp_", "[A-Za-z0-9]{30,255}"),
    ("gho_", "[A-Za-z0-9]{30,255}"),
    ("ghu_", "[A-Za-z0-9]{30,255}"),
    ("ghs_", "[A-Za-z0-9]{30,255}"),
    ("ghr_", "[A-Za-z0-9]{30,255}"),
    ("github_pat_", "[A-Za-z0-9_]{36,255}"),
    ("glpat-", "[A-Za-z0-9_-]{20,255}"),
    ("sk-", "[A-Za-z0-9_-]{20,255}"),
    ("sk_live_", "[A-Za-z0-9]{16,255}"),
    ("sk_test_", "[A-Za-z0-9]{16,255}"),
    ("rk_live_", "[A-Za-z0-9]{16,255}"),
    ("xoxb-", "[A-Za-z0-9-]{16,255}"),
    ("xoxp-", "[A-Za-z0-9-]{16,255}"),
    ("xoxa-", "[A-Za-z0-9-]{16,255}"),
    ("xapp-", "[A-Za-z0-9-]{16,255}"),
    ("AIza", "[A-Za-z0-9_-]{35}"),
    ("hf_", "[A-Za-z0-9]{30,255}"),
    ("npm_", "[A-Za-z0-9]{36}"),
    ("SG.", "[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}"),
    ("eyJ", "[A-Za-z0-9_-]{10,4000}\\.eyJ[A-Za-z0-9_-]{10,8000}\\.[A-Za-z0-9_-]{10,2000}"),
)
"""Prefix and what follows it, from the services' own documents."""

_START = re.compile("|".join(re.escape(prefix) for prefix, _ in PREFIXES))
_OWN = re.compile("(?<![A-Za-z0-9_])(?:" + "|".join(f"{re.escape(prefix)}{rest}" for prefix, rest in PREFIXES) + ")")
_ASSIGNED = re.compile(
    r"(?:passw(?:or)?d|passphrase|pwd|secret|(?:api|access|private|secret)[ _-]?key|(?:auth|access|refresh|session)[ _-]?token)"
    r"""[\\"']{0,4}[ \t]{0,3}[:=][ \t]{0,3}"""
    r"""(?:[\\"']{1,4}(?P<quoted>[^\\"'\n]{6,200})[\\"']|(?=[^\s"']{0,40}[0-9])(?P<bare>[^\s"'\\,;&\[{<]{8,200}))""",
    re.ASCII | re.IGNORECASE,
)
_LOGIN = re.compile(r"(?<=://)[^\s/@:]{0,200}:[^\s/@]{1,400}(?=@)")
_BARE_BEARER = re.compile(
    r"(?<![A-Za-z])(?i:bearer)[ ]{1,3}(?P<value>(?=[A-Za-z._~+/=-]{0,200}(?:[0-9]|(?<=[a-z])[A-Z]))[A-Za-z0-9._~+/=-]{16,4000})",
    re.ASCII,
)
"""Without a colon before it, what follows is a secret only if no word is written like it: with digits, or capitals inside."""
_BEARER = re.compile(r"(?:bearer|basic)[ ]{1,3}(?P<value>[A-Za-z0-9._~+/=-]{16,4000})", re.ASCII | re.IGNORECASE)
_STRONG = frozenset(
    {"password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "apikey", "accesskey", "privatekey", "secretkey"}
    | {"credential", "credentials", "authorization", "clientsecret", "密码", "口令"}
)
_WEAK = frozenset({"token", "tokens", "authtoken", "accesstoken"})
_KEPT = frozenset(
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
_PLACEHOLDER = re.compile(
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
        known = bool(words_of(key) & (_STRONG | _WEAK)) and not set(word_list(key)) & _KEPT
        self[key] = known
        return known


SECRET_KEYS = _Keys()


def hides(key: str, text: str) -> bool:
    """Whether a text under such a key is a value rather than a placeholder, a mask of our own or a count of `tokens`."""
    if len(text) < 4 or (len(text) <= 200 and _PLACEHOLDER.fullmatch(text) is not None):
        return False
    return not (text.isdigit() and len(text) <= 9 and "tokens" in word_list(key))


def secret_gate(text: str) -> bool:
    """Whether a known prefix stands in a text with a run of characters long enough for a key, a word announces a secret, or a URL holds one."""
    return (
        assigns(text) or bears(text) or ("://" in text and "@" in text) or (long_name(text) and _START.search(text) is not None)
    )


def secret_spans(_key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all keys known by their prefix, and of values that a text assigns to a word that names a secret."""
    found = [match.span() for match in _OWN.finditer(text)]
    if "://" in text:
        found += [match.span() for match in _LOGIN.finditer(text)]
    if assigns(text):
        found += [
            span
            for match in _ASSIGNED.finditer(text)
            if _PLACEHOLDER.fullmatch(text, *(span := match.span(match.lastgroup or 0))) is None
        ]
        found += [match.span("value") for match in _BEARER.finditer(text)]
    elif bears(text):
        found += [match.span("value") for match in _BARE_BEARER.finditer(text)]
    return found
