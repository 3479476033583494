"""Calm: the first look at all texts of a value without google-re2: which of them may hold something to hide.

Works on views of all texts at once, in which a shape is a literal to look for: regular expressions of the standard library would cost a hundred
times as much. Each condition follows from a finding in one of the texts; true too often, never wrongly false. Comes after the rules, before
`gates`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from guard.core.objects import opens
from guard.redactors.fold import plain
from guard.redactors.given import given_gate
from guard.redactors.iban import iban_gate
from guard.redactors.logins import commands
from guard.redactors.national import formed, tells
from guard.redactors.nested import decoded, is_json
from guard.redactors.phone import HOLDS as PHONE_WORDS
from guard.redactors.prefixes import PREFIXES
from guard.redactors.secret import SIGNS_INSIDE
from guard.redactors.views import ABROAD, LONG, SECRET_WORDS, SHORT, grid, long_name, seven_digits, shape, still, twelve_digits

_DIAL = re.compile(r"\+ ?\(?[1-9]")
_RUNS = re.compile("[A-Za-z0-9_.~/+=:-]{20,}")
_HEX = re.compile("[0-9a-f-]+")
_NUMBER = 9  # characters of the shortest text with a word for a phone number and its digits
_CARD = 12
_ENCODED = 16
_SIGNS = ("eyJ", *(sign for sign, _ in PREFIXES))
_HEX_SIGNS = tuple(sign for sign in _SIGNS if _HEX.fullmatch(sign) is not None)


def calm(texts: Sequence[str], card: re.Pattern[str]) -> Collection[str]:
    """The texts that may hold something under an ordinary key. `card` is the gate of card numbers, tried on the few that are long enough."""
    texts = [text for text in texts if not _trivial(text)]
    flat = plain("\0".join(texts))
    low = flat.lower()
    found = {text for text in texts if is_json(text)}
    if opens(flat):
        found.update(filter(opens, texts))
    if _loud(flat, low, texts):
        return found | {text for text in texts if not (text.isascii() and still(text))}
    found.update(text for text in texts if len(text) >= _ENCODED and _encoded(text))
    if not seven_digits(flat):
        return found
    if any(map(low.__contains__, PHONE_WORDS)):
        found.update(text for text in texts if len(text) >= _NUMBER and _phone(text))
    if twelve_digits(flat):
        found.update(text for text in texts if len(text) >= _CARD and (not text.isascii() or card.search(text)))
    return found


def _encoded(text: str) -> bool:
    """Whether a text is one long run without blanks that does not look like an id of hexadecimal digits."""
    return " " not in text and decoded(text) is not None


def _trivial(text: str) -> bool:
    """Whether a text is too short, or has too few digits, for anything that needs no other sign."""
    return (text.isalpha() and len(text) < SHORT) or (text.isdigit() and len(text) < _CARD)


def _loud(flat: str, low: str, texts: Sequence[str]) -> bool:
    """Whether each text has to be looked at by itself."""
    if "@" in flat or "%40" in flat or commands(flat) or b"000-0000" in shape(flat):
        return True
    if "+" in flat and _DIAL.search(flat) is not None:
        return True
    if grid(flat) or iban_gate(flat) or formed(flat):
        return True
    return _speaks(flat, low) or _signed(flat, texts) or _tells(texts)


def _speaks(flat: str, low: str) -> bool:
    """Whether a word that names a secret and a sign of an assignment are there, or something behind it, or a bearer."""
    if not any(map(low.__contains__, SECRET_WORDS)) and not any(map(low.__contains__, ABROAD)):
        return False
    return "=" in flat or ":" in flat or "bearer " in low or given_gate(flat)


def _signed(flat: str, texts: Sequence[str]) -> bool:
    """Whether a sign of a service stands in a run of characters that is long enough for a key."""
    if not long_name(flat):
        return False
    long = [
        plain(text)
        for text in texts
        if len(text) >= LONG and (_HEX.fullmatch(text) is None or any(map(text.__contains__, _HEX_SIGNS)))
    ]
    runs = " ".join(run for text in long for run in _RUNS.findall(text))
    return bool(runs) and (any(map(runs.__contains__, _SIGNS)) or any(map(runs.__contains__, SIGNS_INSIDE)))


def _tells(texts: Sequence[str]) -> bool:
    """Whether a word that tells of a national id and digits are there: a sign that belongs to no word stands between them."""
    some = "\0".join(text for text in texts if len(text) > _NUMBER and not text.isidentifier() and not text.isalnum())
    flat = plain(some)
    return tells(flat, flat.lower())


def _phone(text: str) -> bool:
    return not text.isascii() or (seven_digits(text) and any(map(text.lower().__contains__, PHONE_WORDS)))
