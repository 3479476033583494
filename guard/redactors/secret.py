"""Secrets: values under keys that name a secret, and keys of services that are known by a prefix of their own.

A detector of the table in `guard.redactors`; pure. No entropy is measured: random order ids would look like secrets.
"""

from __future__ import annotations

import re

from guard.redactors.keys import tokens, word_list, words_of
from guard.redactors.masks import MASKS
from guard.redactors.prefixes import INSIDE, PREFIXES
from guard.redactors.views import assigns, bears, long_name

_EDGE = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%3[dD]))"
_START = re.compile(f"{_EDGE}(?:{'|'.join(re.escape(sign) for sign, _ in PREFIXES)})")
SIGNS_INSIDE = tuple(sign for sign, _ in INSIDE)
_OWN = re.compile(
    f"{_EDGE}(?:"
    + "|".join([*(f"{re.escape(sign)}(?:{rest})" for sign, rest in PREFIXES), *(whole for _, whole in INSIDE)])
    + ")"
)
_PEM = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----END)){0,20000}(?:-----END [A-Z0-9 ]{0,40}-----)?"
)
_WORDS = frozenset({"monkey", "turkey", "donkey", "hockey", "jockey", "whiskey"})
_INDEX = frozenset(
    {
        "primary",
        "foreign",
        "partition",
        "sort",
        "cache",
        "issue",
        "object",
        "group",
        "row",
        "index",
        "message",
        "routing",
        "dedup",
    }
    | {
        "hash",
        "lookup",
        "join",
        "unique",
        "translation",
        "registry",
        "project",
        "range",
        "map",
        "sorting",
        "answer",
        "s3",
        "order",
    }
)
"""Words that make a key one of a table, a file or a ticket."""
_LEAST = 6  # different characters in a key: what has fewer is a row of x

_NAME = (
    r"(?P<name>(?P<strong>passw(?:or)?d|passphrase|pwd|secrete?|credentials?|(?:api|access|private|secret)[ _.-]?key|(?:auth|access|refresh|session)[ _.-]?token)"
    r"|token|key|[_-]pw|[_-]pass|oauth)(?:_?[0-9]{1,4})?"
)
_SIGNS = r"""[\\"'\])]{0,4}[ \t]{0,12}(?::{1,3}=?|\|{1,3}:|\?=|=>|!?={1,3})[ \t]{0,12}"""
_ASSIGNED = re.compile(
    _NAME
    + _SIGNS
    + r"""(?:[\\"']{1,4}(?P<quoted>[^\\"'\n]{6,400})(?:[\\"']|\Z)|(?=[^\s"']{0,60}[0-9])(?P<bare>[^\s"'\\,;&\[{<]{8,400}))""",
    re.ASCII | re.IGNORECASE,
)
_VARIABLE = re.compile(r"\$\{|\{\{|(?:\A|:)\$|\[secret\]")
_MIXED = re.compile(r"[0-9]{24,400}|(?=[^0-9]{0,400}[0-9])(?=[^A-Za-z]{0,400}[A-Za-z])[^\s(){}<>$%]{10,400}", re.ASCII)
_CURL = re.compile(
    r"""(?<![A-Za-z])curl [^\n]{0,400}?(?:-u|--user)[ =]?["']?(?P<value>(?<=")[^"\n]{1,100}:[^"\n]{0,200}|(?<=')[^'\n]{1,100}:[^'\n]{0,200}|[^\s"':]{1,100}:[^\s"']{1,200})"""
)
_LOGIN = re.compile(r"(?<=://)[^\s/@:]{0,200}:[^\s/@]{1,400}(?=@)")
_BARE_BEARER = re.compile(
    r"(?<![A-Za-z])(?i:bearer)[ ]{1,3}(?P<value>(?=[A-Za-z._~+/=-]{0,200}(?:[0-9]|(?<=[a-z])[A-Z]))[A-Za-z0-9._~+/=-]{16,4000})",
    re.ASCII,
)
"""Without a colon before it, what follows is a secret only if no word is written like it: with digits, or capitals inside."""
_BEARER = re.compile(r"(?:bearer|basic)[ ]{1,3}(?P<value>[A-Za-z0-9._~+/=-]{16,4000})", re.ASCII | re.IGNORECASE)
STRONG = frozenset(
    {"password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "apikey", "accesskey", "privatekey", "secretkey"}
    | {"credential", "credentials", "authorization", "clientsecret", "密码", "口令"}
)
WEAK = frozenset({"token", "tokens", "authtoken", "accesstoken"})
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
        known = bool(words_of(key) & (STRONG | WEAK)) and not set(word_list(key)) & _KEPT
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
        "PRIVATE KEY" in text
        or "curl " in text
        or assigns(text)
        or bears(text)
        or ("://" in text and "@" in text)
        or _signed(text)
    )


def secret_spans(_key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all keys known by their prefix, and of values that a text assigns to a word that names a secret."""
    found: list[tuple[int, int]] = []
    if _signed(text):
        found += [match.span() for match in _OWN.finditer(text) if len(set(match.group())) >= _LEAST]
    if "PRIVATE KEY" in text:
        found += [match.span() for match in _PEM.finditer(text)]
    if "curl " in text:
        found += [match.span("value") for match in _CURL.finditer(text) if _VARIABLE.search(match["value"]) is None]
    if "://" in text:
        found += [match.span() for match in _LOGIN.finditer(text)]
    if assigns(text):
        found += [match.span(_value(match)) for match in _ASSIGNED.finditer(text) if _assigned(text, match)]
        found += [match.span("value") for match in _BEARER.finditer(text)]
    elif bears(text):
        found += [match.span("value") for match in _BARE_BEARER.finditer(text)]
    return found


def _value(match: re.Match[str]) -> str:
    return "quoted" if match["quoted"] is not None else "bare"


def _assigned(text: str, match: re.Match[str]) -> bool:
    """Whether a value that a word announces is a secret: after a weak word it has letters and digits and no blanks."""
    start, end = match.span(_value(match))
    if _PLACEHOLDER.fullmatch(text, start, end) is not None:
        return False
    if match["strong"] is not None:
        return True
    words = tokens(text[max(0, match.start() - 24) : match.end("name")])
    if words and words[-1].isdigit():
        words = words[:-1]
    if not words or set(words[-4:]) & _KEPT or words[-1] in _WORDS:
        return False
    if words[-1] == "key" and (
        set(words[-4:]) & _INDEX or not (text[match.start("name") - 1].isalnum() or text[match.start("name") - 1] in "_-.")
    ):
        return False
    return _MIXED.fullmatch(text, start, end) is not None


def _signed(text: str) -> bool:
    """Whether a sign of a service stands in a text with a run of characters long enough for a key."""
    return long_name(text) and (_START.search(text) is not None or any(sign in text for sign in SIGNS_INSIDE))
