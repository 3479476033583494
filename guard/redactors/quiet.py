"""Quiet: one look at the JSON text of a whole value, without google-re2, that tells whether there is surely nothing to hide in it.

Never used to find or replace anything: that happens leaf by leaf. Sound because each condition follows from a finding in any leaf or under any
key, and because a text without escapes holds every leaf and number as it is. Words are judged once each: the words of records come again and
again. Comes after the rules, before `gates`.
"""

from __future__ import annotations

import re
from string import ascii_letters

from guard.redactors.card import cards_in_json
from guard.redactors.iban import iban_gate
from guard.redactors.keys import tokens
from guard.redactors.national import IDS, SSN, begins
from guard.redactors.nested import SAYS_BASE64, SAYS_HEX, decoded
from guard.redactors.phone import OTHER as PHONE_OTHER
from guard.redactors.phone import SPELLED
from guard.redactors.prefixes import PREFIXES
from guard.redactors.secret import SIGNS_INSIDE
from guard.redactors.telling import WORDS as KEY_WORDS
from guard.redactors.views import SHORT, form, grid, long_name, mbi, shape, twelve_digits

_SAY, _SIGN, _CARRY = 1, 2, 4
_SAYING = frozenset({_SAY, _SAY | _SIGN})
_MOST = 8192
_LONGEST = 40  # letters of a word that is remembered
_WORDS = bytes(code if chr(code) in ascii_letters else ord(" ") for code in range(256))
_SECRET = (
    *("password", "passwd", "passphrase", "pwd", "secret", "secrete", "credential", "credentials", "token", "key", "oauth"),
)
"""How a word ends, in lower case, that a sign of an assignment may follow."""

_TELLING = KEY_WORDS | {word.split()[0] for row in (*SSN, *IDS) for word in row.words} | {"pw", "pass"}
_OTHER = (
    tuple(word for word in _TELLING | {part for row in (*SSN, *IDS) for part in row.words} if not word.isascii()) + PHONE_OTHER
)
_WHOLE = frozenset(re.split("[^A-Za-z]", sign.lstrip("_"))[0] for sign, _ in PREFIXES if not sign.isalpha())
_STARTS = ("eyJ", *(sign for sign, _ in PREFIXES if sign.isalpha()))
_SIGNS = ("eyJ", *(sign[:4] for sign, _ in PREFIXES))
_RUN = bytes(code if chr(code) in f"{ascii_letters}0123456789_.~/+=:-" else ord(" ") for code in range(256))
_LEAST = 16  # characters of a run that may be a key, or say something
_DIAL = re.compile(r"\+ ?\(?[1-9]")
_ENCODED = re.compile("[A-Za-z0-9+/_-]{14,}={0,2}")
_NUMBERS = re.compile("[0-9][0-9 -]{11,}")
_SIX = re.compile(b"000000[-+A]000|000000[(]")
_FORMS = (b"000-00-0000", b"000-000-", b"-0000-0000", b"00-00-00-000-", b"00-00000000-0", b"0" * 17)
"""One of these, or of the forms with letters, is in the view of every id that speaks for itself."""
_SEVEN = (b"A0000000A", b"A0000000-A", b"A-0000000A", b"A-0000000-A")


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
    says = low.endswith(_SECRET) or not _TELLING.isdisjoint(tokens(word)) or SPELLED.search(word) is not None
    if low in {"bearer", "basic"}:
        return _CARRY
    return (_SAY if says else 0) | (_SIGN if word in _WHOLE or word.startswith(_STARTS) else 0)


_KNOWN = _Known()


def quiet(text: str, card: re.Pattern[str]) -> bool:
    """Whether `detect` can find nothing in any leaf or key of the value that this JSON text was written from. `card`: the gate of card numbers.

    False says nothing. The text holds no escape and nothing that folding changes.
    """
    if "@" in text or ("%" in text and ("%4" in text or "%3" in text)) or "curl " in text:
        return False
    raw = text.encode("utf-8", "surrogatepass")
    words = set(raw.translate(_WORDS).split())
    said = set(map(_KNOWN.__getitem__, words))
    if (
        not said.isdisjoint(_SAYING)
        or (4 in said and _carries(text))
        or (not text.isascii() and any(map(text.__contains__, _OTHER)))
    ):
        return False
    if (2 in said or "4b1d" in text or long_name(text, SHORT)) and _long(text, signed=2 in said or "4b1d" in text):
        return False
    return not (grid(text) or iban_gate(text) or _formed(text) or _numbered(text, card))


def _runs(text: str) -> list[str]:
    """The long runs of characters that keys and encoded texts are made of."""
    return [run.decode() for run in text.encode("utf-8", "surrogatepass").translate(_RUN).split() if len(run) >= _LEAST]


def _carries(text: str) -> bool:
    """Whether a bearer is followed by something."""
    low = text.lower()
    return "bearer " in low or "basic " in low


def _long(text: str, *, signed: bool) -> bool:
    """Whether a long run of characters may be a key of a service, or says something when it is decoded."""
    if any(map(text.__contains__, SIGNS_INSIDE)):
        return True
    runs = _runs(text)
    together = " ".join(runs)
    if signed and any(map(together.__contains__, _SIGNS)):
        return True
    if SAYS_BASE64.search(together) is None and SAYS_HEX.search(together) is None:
        return False
    return any(decoded(part) is not None for run in runs for part in _ENCODED.findall(run))


def _formed(text: str) -> bool:
    """Whether the form of a national id that speaks for itself may be there."""
    view = form(text)
    if any(map(view.__contains__, _FORMS)) or _SIX.search(view) is not None:
        return True
    if (b"0000000A" in view or b"0000000-A" in view) and any(begins(view, shape) for shape in _SEVEN):
        return True
    return (b"AA00" in view and _lettered(view)) or b"AA-000000" in view or b"AA-00-00-00" in view


def _lettered(view: bytes) -> bool:
    """Whether letters and digits stand around two letters and two digits as they do in a national id."""
    at = view.find(b"AA00")
    while at >= 0:
        if view.startswith(b"AA000000", at) or view.startswith(b"AAAAA0000A", max(0, at - 3)):
            return True
        if view.startswith(b"AAAAAA00A00A000", max(0, at - 4)) or view.startswith(b"AAAA000000AAAAAA", max(0, at - 2)):
            return True
        at = view.find(b"AA00", at + 1)
    return mbi(view)


def _numbered(text: str, card: re.Pattern[str]) -> bool:
    """Whether digits may be a phone number or a card: by a plus, by their shape, or by their count and beginning."""
    if b"000-0000" in shape(text) or ("+" in text and _DIAL.search(text) is not None):
        return True
    return twelve_digits(text) and any(card.search(run) is not None for run in _NUMBERS.findall(text)) and cards_in_json(text)
