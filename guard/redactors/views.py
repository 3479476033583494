"""Views: quick looks at a whole text that tell whether any detector could find anything in it.

A view maps whole classes of characters to one byte and drops separators, so that a shape becomes a literal to look for. Every answer here
is a necessary condition of the rules: each may be false too often, never true wrongly. Pure; comes before the detectors.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits

LONG = 20
"""No secret with a prefix of its own is shorter than this."""

SECRET_WORDS = (
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "key",
    "token",
    "credential",
    "authori",
    "bearer ",
    "basic ",
    "密码",
    "口令",
)
"""What every key and every text that names a secret holds, in lower case."""

_SEPARATORS = b" ./()-"  # what may stand between the digits of a phone number
_SEVEN = b"0" * 7
_TWELVE = b"0" * 12
_SIXTEEN = b"a" * 16
_SIGN = re.compile("[0-9@%:=]")
_RUN = re.compile("[A-Za-z0-9_.-]{16}")
_NO_SIGN = bytes(code for code in range(256) if chr(code) not in f"@%:={digits}")
_NAME = bytes(ord("a") if chr(code) in f"{ascii_letters}{digits}_.-" else ord(" ") for code in range(256))
_DIGIT = bytes(ord("0") if chr(code) in digits else code for code in range(256))
_DIGIT_DASH = bytes(ord("-") if chr(code) in ". " else _DIGIT[code] for code in range(256))


def still(text: str) -> bool:
    """Whether no detector can find anything in one ASCII text under an ordinary key. Under half a microsecond for a short one."""
    if _SIGN.search(text) is not None and _speaks(text):
        return False
    return len(text) < LONG or (_RUN.search(text) is None and not bears(text))


def _speaks(text: str) -> bool:
    signs = text.encode().translate(None, _NO_SIGN)
    if len(signs) < 7 and signs.isdigit():
        return False
    return "@" in text or "%40" in text or seven_digits(text) or assigns(text)


def assigns(text: str) -> bool:
    """Whether a colon or equals sign is there together with a word that names a secret."""
    if "=" not in text and ":" not in text:
        return False
    low = text.lower()
    return any(word in low for word in SECRET_WORDS)


def bears(text: str) -> bool:
    """Whether a text speaks of a bearer, in a way that a token may follow."""
    return len(text) >= LONG and "bearer " in text.lower()


def seven_digits(text: str) -> bool:
    """Whether seven digits stand together once separators are dropped."""
    return _SEVEN in text.encode("utf-8", "surrogatepass").translate(_DIGIT, _SEPARATORS)


def twelve_digits(text: str) -> bool:
    """Whether twelve digits stand together once spaces and dashes are dropped."""
    return _TWELVE in text.encode("utf-8", "surrogatepass").translate(_DIGIT, b" -")


def long_name(text: str) -> bool:
    """Whether sixteen characters of the kind that keys are made of stand together."""
    return len(text) >= LONG and _SIXTEEN in text.encode("utf-8", "surrogatepass").translate(_NAME)


def shape(text: str) -> bytes:
    """The text with `0` for each digit and `-` for dot and space: `415.555.0182` has the shape `000-000-0000`."""
    return text.encode("utf-8", "surrogatepass").translate(_DIGIT_DASH)
