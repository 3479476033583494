"""Quiet: one look at the JSON text of a whole value, without google-re2, that tells whether there is surely nothing to hide in it.

Never used to find or replace anything: that happens leaf by leaf. Sound because each condition follows from a finding in any leaf or under any
key, and because a text without escapes holds every leaf and number as it is, between quotes or beside them. Words and names of fields are
judged once each: those of records come again and again. Comes after the rules, before `gates`.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from string import ascii_letters

from guard.redactors.card import cards_in_json
from guard.redactors.iban import iban_gate
from guard.redactors.keys import tokens
from guard.redactors.national import IDS, SSN
from guard.redactors.nested import SAYS_BASE64, SAYS_HEX, decoded
from guard.redactors.phone import OTHER as PHONE_OTHER
from guard.redactors.phone import SPELLED
from guard.redactors.prefixes import PREFIXES
from guard.redactors.secret import SIGNS_INSIDE
from guard.redactors.telling import WORDS as KEY_WORDS
from guard.redactors.views import SHORT, form, grid, shape, twelve_digits

_SAY, _SIGN, _CARRY, _DIALS = 1, 2, 4, 8
_MOST = 8192
_SIGNS = ",:{}[]"
_LONGEST = 40  # letters of a word or name that is remembered
_WORDS = bytes(code if chr(code) in ascii_letters else ord(" ") for code in range(256))
_SECRET = (
    *("password", "passwd", "passphrase", "pwd", "secret", "secrete", "credential", "credentials", "token", "key", "oauth"),
)
"""How a word ends, in lower case, that a sign of an assignment may follow."""

_TELLING = KEY_WORDS | {word.split()[0] for row in (*SSN, *IDS) for word in row.words} | {"pw", "pass"}
_OTHER = (
    tuple(word for word in _TELLING | {part for row in (*SSN, *IDS) for part in row.words} if not word.isascii()) + PHONE_OTHER
)
_STARTS = ("eyJ", *(sign for sign, _ in PREFIXES if sign.isalpha()))
_BEGUN: dict[str, list[str]] = {}
"""The other signs by the letters that they begin with."""
for _other in (sign for sign, _ in PREFIXES if not sign.isalpha()):
    _BEGUN.setdefault(re.split("[^A-Za-z]", _other.lstrip("_"))[0], []).append(_other)
_RUN = bytes(code if chr(code) in f"{ascii_letters}0123456789_.~/+=:-" else ord(" ") for code in range(256))
_CODE = bytes(code if chr(code) in f"{ascii_letters}0123456789/+_-" else ord(" ") for code in range(256))
_LEAST = 16  # characters of a run that may be a key, or say something
_DIAL = re.compile(r"\+ ?\(?[1-9]")
_ENCODED = re.compile("[A-Za-z0-9+/_-]{14,}={0,2}")
_NUMBER = bytes(code if chr(code) in "0123456789-" else ord("-" if chr(code) == " " else " ") for code in range(256))
_CARD = 12  # digits of the shortest card
_HINTS: tuple[bytes, ...] = (
    *(b"000-00-0000", b"000-000-", b"-0000-0000", b"00-00-00-000-", b"0" * 17, b"000000A", b"000000-", b"000000+", b"000000("),
    *(b"0AA00", b"0-AA00", b"AA-00-00-00", b"A00A00A000", b"AAAAA0000A"),
)
"""What the view of every id that speaks for itself holds one of."""
_FORMS = re.compile(
    rb"(?<![A0_])(?:000-00-0000|000-000-000-00|00?-000-000-[0A]|000-0000-0000-00|0-0000-00000-00-0|00-00-00-000-00|0-00-00-00-000-000-00"
    rb"|00-00000000-0|0{17}[0A]|0{6}-0{7}|0{6}[-+A]000[0A]|A-?0{7}-?A|AA-00-00-00-A|A0{6}[(][0A]|A{6}00A00A000A|A{4}0{6}A{6}[A0]0"
    rb"|00A{5}0000A[A0]A[A0]|0A[A0]0-?A[A0]0-?AA00)(?![A0_])"
)
"""The whole form of each id that speaks for itself: no rule finds one beside a letter, a digit or an underscore."""


class _Known(dict[bytes, int]):
    """What each word may be part of; remembers the last few thousand."""

    def __missing__(self, word: bytes) -> int:
        found = _judged(word.decode())
        if len(word) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[word] = found
        return found


def _judged(word: str) -> int:
    low = word.lower()
    if low in {"bearer", "basic"}:
        return _CARRY
    says = low.endswith(_SECRET) or not _TELLING.isdisjoint(tokens(word))
    return (_SAY if says else 0) | (_DIALS if SPELLED.search(word) is not None else 0) | (_SIGN if _signs(word) else 0)


def _signs(word: str) -> list[str]:
    """The signs of keys that begin with this run of letters, or within it."""
    return [*_BEGUN.get(word, ()), *(sign for sign in _STARTS if word.startswith(sign))]


_KNOWN = _Known()


class Quiet:
    """The look. `card` and `phone` are gates: of card numbers, and of phone numbers that a word tells of."""

    def __init__(self, card: str, phone: str) -> None:
        self._card, self._phone = re.compile(card, re.ASCII), re.compile(phone, re.ASCII)
        self._names: set[str] = set()

    def __call__(self, text: str) -> bool:
        """Whether `detect` can find nothing in any leaf or key of the value that this JSON text was written from.

        False says nothing. The text holds no escape and nothing that folding changes: each text of the value is one of the pieces between its quotes,
        and each piece is looked at once, however often it is there.
        """
        new = set(text.split('"')).difference(self._names)
        if names := [one for one in new if len(one) <= _LONGEST and (one.replace("_", "a").isalpha() or not one.strip(_SIGNS))]:
            self._learn(names)
            new = new.difference(self._names)
            new.difference_update([one for one in names if one in new and _harmless(one, text)])
        return self._still(list(new))

    def _learn(self, names: list[str]) -> None:
        """Remember which of these words, names of fields and signs hold nothing by themselves."""
        if len(self._names) >= _MOST:
            self._names = set()  # a new one: somebody else may be reading the old
        self._names.update(name for name in names if self._still([name]))

    def _still(self, parts: list[str]) -> bool:
        """Whether there is surely nothing in any of these parts, which hold no quote and no escape."""
        text = '"'.join(parts)
        if "@" in text or ("%" in text and ("%4" in text or "%3" in text)) or "curl " in text:
            return False
        words = set(text.encode("utf-8", "surrogatepass").translate(_WORDS).split())
        said = reduce(or_, set(map(_KNOWN.__getitem__, words)), 0)
        if said & _SAY or (said & _CARRY and _carries(text)) or (not text.isascii() and any(map(text.__contains__, _OTHER))):
            return False
        if said & _DIALS and self._phone.search(text) is not None:
            return False
        if grid(text) or iban_gate(text) or _formed(text) or self._numbered(text):
            return False
        return not _long(parts, _signed(text, words) if said & _SIGN else [])

    def _numbered(self, text: str) -> bool:
        """Whether digits may be a phone number or a card: by a plus, by their shape, or by their count and beginning."""
        if b"000-0000" in shape(text) or ("+" in text and _DIAL.search(text) is not None):
            return True
        return twelve_digits(text) and any(map(self._card.search, _numbers(text))) and cards_in_json(text)


def _harmless(name: str, text: str) -> bool:
    """Whether a word that would tell as a key is none in this JSON text: by itself it is too short for anything."""
    return len(name) < SHORT and name.isascii() and f'"{name}":' not in text


def _numbers(text: str) -> list[str]:
    """The runs of digits, blanks and dashes that are long enough for a card; a dash stands for each blank."""
    return [run.decode() for run in text.encode("utf-8", "surrogatepass").translate(_NUMBER).split() if len(run) >= _CARD]


def _signed(text: str, words: set[bytes]) -> list[str]:
    """The signs of keys that stand in a text."""
    return [sign for word in words if _KNOWN[word] & _SIGN for sign in _signs(word.decode()) if sign in text]


def _carries(text: str) -> bool:
    """Whether a bearer is followed by something."""
    low = text.lower()
    return "bearer " in low or "basic " in low


def _long(parts: list[str], signs: list[str]) -> bool:
    """Whether a long run of characters may be a key of a service, or says something when it is decoded."""
    text = " ".join([part for part in parts if len(part) >= _LEAST])
    if any(map(text.__contains__, SIGNS_INSIDE)):
        return True
    if (signs or "4b1d" in text) and any(map(_runs(text, _RUN).__contains__, [*signs, "4b1d"])):
        return True
    runs = _runs(text, _CODE)
    if SAYS_BASE64.search(runs) is None and SAYS_HEX.search(runs) is None:
        return False
    return any(decoded(part) is not None for part in _ENCODED.findall(text))


def _runs(text: str, kind: bytes) -> str:
    """The long runs of a kind of characters, with blanks between them."""
    return b" ".join(
        [run for run in text.encode("utf-8", "surrogatepass").translate(kind).split() if len(run) >= _LEAST]
    ).decode()


def _formed(text: str) -> bool:
    """Whether the form of a national id that speaks for itself may be there, with no letter or digit beside it."""
    view = form(text)
    hints = [hint for hint in _HINTS if hint in view]
    return bool(hints) and any(_stands(view, hint) for hint in hints)


def _stands(view: bytes, hint: bytes) -> bool:
    """Whether one of the parts that hold this hint holds a whole form."""
    at = view.find(hint)
    while at >= 0:
        start, end = view.rfind(b'"', 0, at) + 1, view.find(b'"', at)
        if end < 0:
            end = len(view)
        if _FORMS.search(view, start, end) is not None:
            return True
        at = view.find(hint, end)
    return False
