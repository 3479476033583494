"""Handles: how a handle and a mask are spelled, and how both are found again in what a model writes.

A handle stands for one hidden value of one conversation: `email_CF1V9QX3HFX`, the type of the value, 50 bits of a keyed digest in Crockford's
base 32, and a check character. Nobody can tell the value from it or make one without the store's secret. Knows neither stores nor policies:
which handles exist, and where one may be put back, is decided elsewhere. Comes before `sealing` and `putback`; pure.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

from guard.core.fields import HIDDEN
from guard.core.values import Json

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
BODY = 10  # characters of the digest, 5 bits each
SIZE = BODY + 1
HASH = "hash"
"""The type of a token that is made by `hash:` and stands for nothing that could be put back."""
TYPE = re.compile(r"[a-z][a-z0-9]{0,15}")
_VALUES = {char: number for number, char in enumerate(ALPHABET)}
_FOLDS = str.maketrans({"I": "1", "L": "1", "O": "0"})  # what Crockford's alphabet leaves out, since it is misread
_JOINERS = re.compile(r"[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_LONGEST = 100  # characters of a handle with blanks between its letters
_DEEPEST = 3  # JSON inside text inside JSON


class Token(str):
    """A text that stands for a hidden value by the policy's word: detectors leave it as it is."""

    __slots__ = ()


def _times(value: int) -> int:
    """A value times the generator of the field of 32 elements."""
    value <<= 1
    return value ^ 0b100101 if value & 32 else value


def check_character(body: str) -> str:
    """The check character: another one for every single wrong character and for two neighbours that changed places."""
    total = 0
    for char in body:
        total = _times(total ^ _VALUES[char])
    return ALPHABET[total]


def handle(kind: str, digest: str) -> str:
    """The handle with this type; `digest` is a keyed digest in hexadecimal."""
    number = int(digest[:16], 16)
    body = "".join(ALPHABET[number >> 5 * place & 31] for place in range(BODY))
    return f"{kind}_{body}{check_character(body)}"


def normal(kind: str, value: Json) -> str:
    """One text for all spellings of a value of this type: mail addresses without case, numbers of accounts and phones without signs."""
    text = unicodedata.normalize("NFC", value if isinstance(value, str) else str(value)).strip()
    if kind == "email":
        return text.casefold()
    if kind in ("iban", "card", "account", "ssn"):
        return re.sub(r"[\s.-]", "", text).upper()
    if kind == "phone":
        plus = "+" if text.startswith(("+", "00")) else ""
        digits = "".join(char for char in text if char.isdecimal())
        return plus + (digits.removeprefix("00") if plus else digits)
    return text


# -- what a model wrote ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sign:
    """A handle or a mask in a text: where it stands, and the handle as it should be spelled ("" for a mask). `sound`: its check fits."""

    start: int
    end: int
    handle: str = ""
    kind: str = ""
    sound: bool = True
    exact: bool = True  # False: it was found in another reading of the text, so its place is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What to look for: the types of handles that the policy knows, and the masks that the detectors make."""

    types: frozenset[str] = frozenset()
    masks: frozenset[str] = frozenset()

    def find(self, text: str) -> list[Sign]:
        """Every handle and mask in a text, however it is spelled: another case, full-width letters, blanks inside."""
        if self.quiet(text):
            return []
        found = self._in(text, _handles(self.types), exact=True)
        plain = folded(text)
        if plain != text:
            known = {sign.handle for sign in found}
            more = self._in(plain, _handles(self.types), exact=False)
            found += [sign for sign in more if not sign.handle or sign.handle not in known]
        return found or self._spaced(plain)

    def _spaced(self, text: str) -> list[Sign]:
        """A text that is nothing but one handle, with blanks between its letters."""
        bare = re.sub(r"\s", "", text) if len(text) <= _LONGEST else text
        return [] if bare == text else self._in(bare, _handles(self.types), exact=False)

    def quiet(self, text: str) -> bool:
        """Whether there is surely neither a handle nor a mask in a text."""
        return text.isascii() and "[" not in text and "*" not in text and "<" not in text and not (self.types and "_" in text)

    def _in(self, text: str, pattern: re.Pattern[str] | None, *, exact: bool) -> list[Sign]:
        found = []
        for match in pattern.finditer(text) if pattern is not None and "_" in text else ():
            sign = _sign(match, whole=match[0] == text.strip(), exact=exact)
            found += [] if sign is None else [sign]
        return found + [Sign(start, end, exact=exact) for start, end in self._masks(text)]

    def _masks(self, text: str) -> list[tuple[int, int]]:
        if _STARRED.fullmatch(text.strip()) or _squeezed(text) in _GENERIC:
            return [(0, len(text))]
        if "[" not in text:
            return []
        known = _squeezed_all(self.masks)
        return [match.span() for match in _BRACKETS.finditer(text) if _squeezed(match[0]) in known]


_BRACKETS = re.compile(r"\[[^\[\]]{1,40}\]")
_STARRED = re.compile(
    r"\*{4}[0-9A-Za-z]{4}"  # the last four
    r"|[^\W\d_]\*{3}(?: [^\W\d_]\*{3})*"  # initials
    r"|\*{3}@[^\s@]+"  # the domain
    r"|[0-9]{4}-\*\*-\*\*"  # the year
)


def is_token(text: str) -> bool:
    """Whether a text has the form of a handle or hash, with a check character that fits."""
    match = _TOKEN.fullmatch(text)
    return match is not None and _sound(match[1])


def kinds_in(text: str) -> frozenset[str]:
    """The types of all handles in a text that are spelled as the guard spells them, whether or not a policy knows them."""
    return frozenset(match[0].rpartition("_")[0] for match in _TOKEN.finditer(text) if _sound(match[1]))


_TOKEN = re.compile(rf"[a-z][a-z0-9]{{0,15}}_([{ALPHABET}]{{{SIZE}}})")
_GENERIC = frozenset({"[redacted]", "<redacted>", "[masked]", "[removed]"})


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


@lru_cache(maxsize=64)
def _squeezed_all(masks: frozenset[str]) -> frozenset[str]:
    return frozenset({_squeezed(mask) for mask in masks} | {_squeezed(HIDDEN)})


@lru_cache(maxsize=64)
def _handles(types: frozenset[str]) -> re.Pattern[str] | None:
    """Anything that begins like a handle: a type, a line below, and a run of letters and digits, blanks among them or not."""
    if not types:
        return None
    names = "|".join(sorted(types | {HASH}, key=len, reverse=True))
    run = r"[0-9A-Za-z](?:[ \t\r\n-]?[0-9A-Za-z])*"
    return re.compile(rf"(?<![0-9A-Za-z])({names})\s?_\s?({run})(?![0-9A-Za-z])", re.IGNORECASE)


def _sign(match: re.Match[str], *, whole: bool, exact: bool) -> Sign | None:
    """The handle that was meant; None for an ordinary name such as `email_template`."""
    kind, run = match[1].lower(), match[2]
    first = re.match(r"[0-9A-Za-z]+", run)
    plain = first[0] if first else run
    if plain == run or len(plain) >= SIZE:
        body, end = plain, match.start(2) + len(plain)
    else:  # written with blanks: only as much of it as a handle has
        joined = re.match(r"(?:[0-9A-Za-z][ \t\r\n-]?){" + str(SIZE - 1) + r"}[0-9A-Za-z]", run)
        body = re.sub(r"[^0-9A-Za-z]", "", joined[0] if joined else plain)
        end = match.start(2) + (len(joined[0]) if joined else len(plain))
        if joined and not whole and not _sound(body):
            body, end = plain, match.start(2) + len(plain)
    upper = body.upper().translate(_FOLDS)
    sound = _sound(body)
    if not sound and not _looks(body, kind == match[1]):
        return None
    return Sign(match.start(), end, f"{kind}_{upper}", kind, sound, exact=exact and end <= match.end())


def _sound(body: str) -> bool:
    upper = body.upper().translate(_FOLDS)
    return len(upper) == SIZE and all(char in _VALUES for char in upper) and check_character(upper[:-1]) == upper[-1]


def _looks(body: str, lower: bool) -> bool:  # noqa: FBT001 - whether the type is written as the guard writes it
    """Whether a run is probably a handle with a slip in it: cut short, run on (as where two stand in one), or mistyped."""
    if lower and body[:SIZE].isupper() and _sound(body[:SIZE]):
        return True
    if not SIZE - 3 <= len(body) <= SIZE + 8:
        return False
    mixed = any(char.isdigit() for char in body) and any(char.isalpha() for char in body)
    return mixed or (lower and body.isalpha() and body.isupper() and abs(len(body) - SIZE) <= 1)


def folded(text: str) -> str:
    """The text with full-width and other look-alike characters as plain ones, and without characters of no width."""
    return text if text.isascii() else _JOINERS.sub("", unicodedata.normalize("NFKC", text))


def is_spelling(text: str, handle_: str) -> bool:
    """Whether a text says this handle and nothing else."""
    bare = re.sub(r"[\s-]", "", folded(text)).upper().translate(_FOLDS)
    return bare == handle_.upper().translate(_FOLDS)


Leaf: TypeAlias = tuple[tuple[str | int, ...], str, bool, bool]
"""Where a text stands, the text, whether it is the name of a field, and whether it stands inside text that is JSON."""


def leaves(value: Json) -> list[Leaf]:
    """Every text in a value, in order, the names of fields included; text that is JSON is looked into as well."""
    found: list[Leaf] = []
    stack: list[tuple[Json, tuple[str | int, ...], int]] = [(value, (), 0)]
    while stack:
        here, place, inner = stack.pop()
        if type(here) is str:
            found.append((place, here, False, inner > 0))
            opened = _opened(here) if inner < _DEEPEST else None
            if opened is not None:
                stack.append((opened, place, inner + 1))
        elif type(here) is dict:
            found += [(place, name, True, inner > 0) for name in here]
            stack += [(item, place if inner else (*place, name), inner) for name, item in reversed(here.items())]
        elif type(here) is list:
            below = [(item, place if inner else (*place, number), inner) for number, item in enumerate(here)]
            stack += below[::-1]
    return found


def _opened(text: str) -> Json:
    if text[:1] not in '{[" \t\r\n' or text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        value = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError, ArithmeticError):
        return None
    return None if value == text else value
