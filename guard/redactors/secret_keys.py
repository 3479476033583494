"""Secret keys: whether a key says that the value under it is a secret, and whether a value is one rather than a placeholder.

Pure; comes after `keys`, before the rules about texts (`secret`) and `find`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from guard.core.redaction import BELOW, CELL, LABEL
from guard.redactors.keys import names_of, tokens, word_list, words_of
from guard.redactors.languages import PASSWORDS
from guard.redactors.masks import MASKS
from guard.redactors.secret_words import PASSES, described, spoken

STRONG = frozenset(
    {"password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "apikey", "accesskey", "privatekey", "secretkey"}
    | {"credential", "credentials", "authorization", "clientsecret", "密码", "口令"}
    | {"passwords", "passwds", "passphrases", "passcodes", "pwds", "passwort", "kennwort"}
    | PASSES
    | {"depasse", "motdepasse", "mdp", "otp", "cvv", "cvc", *PASSWORDS}
)
WEAK = frozenset({"token", "tokens", "authtoken", "accesstoken"})
ABOUT = STRONG | WEAK
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
    | {"description", "file", "path", "arn", "placeholder", "label", "format", "title", "scope", "scopes", "in", "pattern"}
    | {"version", "versions"}
)
"""Words that make a key speak about a secret rather than hold it: `token_type`, `password_changed_at`, `next_page_token`."""
_COUNTED = frozenset(
    {"count", "max", "min", "limit", "usage", "used", "total", "next", "page", "continuation", "sync", "cursor", "idempotency"}
)
"""Those that do so from further out as well, for a mere `token`: `next_page` over `token`."""
_AHEAD = _COUNTED | {"public", "prompt", "completion", "input", "output", "symbol", "standard"}
_AHEAD_OF_STRONG = frozenset({"public", "prompt", "reset", "required", "enabled"})
"""Those that do so before a mere `token`, and before a word that says more. The others tell whose it is there: `id_token`, `file_password`."""
PLACEHOLDER = re.compile(
    r"\$\{[a-z_][a-z0-9_.:-]{0,80}\}|\{\{ ?[a-z_][a-z0-9_. -]{0,80}\}\}"
    r"|<(?:(?:your|my|the|an?|enter|insert|new|old|api|access|client|auth)[ _-]?){0,3}"
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|key|credentials?|value|redacted|hidden|masked|removed|filtered|omitted|empty|none|null"
    r"|unset|not[ _-]?set|placeholder|change[ _-]?me)(?:[ _-]?here)?>"
    r"|(?:your|insert|enter|replace)(?:[ _-]?(?:own|with|the|my|api|access|secret|client|auth|db|database|password|token|key|value|here|id|new|real|actual)){1,6}"
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
        if name[:1] in _BESIDE and " " in name and PHRASE.fullmatch(name, 1) is None:
            continue  # the title of something
        words = word_list(name)
        split = names and words[:1] in (("key",), ("keys",))  # `key` below `api`
        found = words_of(f"{names[-1]} {name}" if split else name) & ABOUT
        if found:
            counted = not found & STRONG and not _COUNTED.isdisjoint(word for above in names for word in word_list(above))
            last = _last(words, found)
            ahead = _AHEAD_OF_STRONG if found & STRONG else _AHEAD
            return not counted and ahead.isdisjoint(words[:last]) and KEPT.isdisjoint((*words[last:], *below))
        below.update(words)
    return False


def _last(words: Sequence[str], found: Collection[str]) -> int:
    """Behind which word of a name it has said secret, counted from one: `api_key_id` behind the second."""
    pairs = (f"{left}{'key' if right == 'keys' else right}" for left, right in pairwise(words))
    ends = [at + 1 for at, word in enumerate(words) if word in found] + [at + 2 for at, pair in enumerate(pairs) if pair in found]
    return max(ends, default=1)


def behind(name: str) -> tuple[str, ...]:
    """The words of a name behind those that say secret; all words of a mere `token`, which may be one of a game or a coin."""
    words = word_list(name)
    found = words_of(name) & ABOUT
    return words[_last(words, found) :] if found & STRONG else words


SECRET_KEYS = _Keys()


_BESIDE = frozenset({LABEL, CELL})
PHRASE = re.compile(
    r"(?:[A-Za-z0-9]{1,30}[ _-]){0,3}(?i:passwords?|passwds?|passphrases?|passcodes?|pwd|credentials?|authorization|(?:api|access|private|secret)[ _-]?keys?"
    r"|(?:client|app|application|api|consumer|shared|webhook|signing)[ _-]secret|(?:access|auth|refresh|session|bearer|api|bot|id)[ _-]token)[0-9]{0,4}"
)
"""How a name of several words ends that stands beside its value and says secret. A book, a shop or a dish may be called a secret as well."""
_MASKED = "|".join(map(re.escape, MASKS.values()))
_AMOUNT = re.compile(
    rf"[-+]?(?:[0-9]|{_MASKED})(?:[0-9.,' _/:-]|{_MASKED})*(?:[A-Za-z%€$£¥]{{1,5}})?|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ][0-9:.,Z+-]+"
)
"""A number with its unit, or a moment; what was hidden of it still counts as one, so that nothing more is hidden the second time."""
_MANY = re.compile("[0-9]{6,}")
_KIND = re.compile(
    r"(?i:sha|md|utf|base|oauth|aes|rsa|hs|rs|es|ps|ed|int|uint|float|v|http|tls|ssl|argon|pbkdf|bcrypt)[-_]?[0-9]{1,4}(?:[-_]?[A-Za-z0-9]{1,8}){0,3}"
    r"|[A-Za-z ]{1,20}\([0-9, ]{1,9}\)|(?i:https?)://[^@]*"
)
"""What a row says of a secret rather than what it is: a way to store or send it, a type, an address."""


def talks(text: str) -> bool:
    """Whether a text that a name of a secret is given speaks of it instead: a type, a state, a label, what is wrong with it."""
    return _MANY.search(text) is None and spoken(text, ABOUT)


def kind_of_secret(text: str) -> bool:
    """Whether a text says how a secret is stored or sent, or is an amount or a date."""
    if len(text) > 100:
        return False
    return _KIND.fullmatch(text) is not None or (_AMOUNT.fullmatch(text) is not None and _MANY.fullmatch(text) is None)


_FOLDER = re.compile(r"(?:~|[A-Za-z]:)?(?:[/\\][A-Za-z0-9._ -]+)+[/\\]?")
_CODES = frozenset({"otp", "cvv", "cvc"})
_FEW_DIGITS = re.compile("[0-9]{3,8}")
_SCHEME = re.compile("(?i:bearer|basic|token)[ ]{1,3}")
_INNER_CAPITAL = re.compile("[a-z][A-Z]")
_CODE = re.compile(r"[^ \t\r\n\"'(){}\[\]]{6,}")


def hides(key: str, text: str) -> bool:
    """Whether a text under such a key is a value rather than a placeholder, a mask of our own or a count of `tokens`."""
    if not words_of(key).isdisjoint(_CODES) and words_of(key).isdisjoint(ABOUT - _CODES):
        return _FEW_DIGITS.fullmatch(text) is not None
    if len(text) < 4 or folder(key, text) or (len(text) <= 200 and PLACEHOLDER.fullmatch(text) is not None):
        return False
    if (text.isdigit() and len(text) <= 9 and "tokens" in word_list(key)) or described(text, ABOUT):
        return False
    return (LABEL not in key and CELL not in key) or _beside(key, text)


def folder(name: str, text: str) -> bool:
    """Whether a name that may say password has the folder that a program works in."""
    return name[-3:].lower() == "pwd" and len(text) <= 2000 and _FOLDER.fullmatch(text) is not None


def _beside(key: str, text: str) -> bool:
    """The same for a name that stands beside the value: what else may stand there, a title, an amount or the word itself, stays."""
    names = names_of(key)
    if SECRET_KEYS[BELOW.join(name for name in names if name[:1] not in _BESIDE)]:
        return True
    if _AMOUNT.fullmatch(text) is not None and _MANY.fullmatch(text) is None:
        return False
    said = tokens(text) if len(text) <= 40 else ()
    if said and (STRONG | WEAK).issuperset(said):
        return False
    name = next((name for name in reversed(names) if name[:1] in _BESIDE and words_of(name) & (STRONG | WEAK)), "")
    strong: frozenset[str] = words_of(name) & STRONG if name[:1] == LABEL else frozenset()
    return any(_ends(name, word) for word in strong) or _valued(text)


def _ends(name: str, word: str) -> bool:
    """Whether a name ends with a word that says secret, whatever number stands behind it."""
    return "".join(word_list(name)).rstrip("0123456789").endswith(word)


def _valued(text: str) -> bool:
    """Whether a text looks like the value of a secret rather than like a word, a date or a kind."""
    scheme = _SCHEME.match(text)
    bare = text[scheme.end() :] if scheme is not None else text
    if _CODE.fullmatch(bare) is None or _AMOUNT.fullmatch(bare) is not None or _KIND.fullmatch(bare) is not None:
        return False
    mixed = any(map(str.isdigit, bare)) and any(map(str.isalpha, bare))
    return mixed or _INNER_CAPITAL.search(bare) is not None or not bare.translate(_PLAIN).isalnum()


_PLAIN = str.maketrans("", "", "-_./:")
