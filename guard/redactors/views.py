"""Views: quick looks at a whole text that tell whether any detector could find anything in it.

A view maps whole classes of characters to one byte and drops separators, so that a shape becomes a literal to look for. Every answer here
is a necessary condition of the rules: each may be false too often, never true wrongly. Pure; comes before the detectors.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits, hexdigits

from guard.redactors.given import given_gate
from guard.redactors.iban import iban_gate
from guard.redactors.languages import PASSWORDS, PASSWORDS_SPELLED
from guard.redactors.logins import commands

LONG = 20
"""No secret with a prefix of its own is shorter than this."""

SECRET_WORDS = (
    "pass",
    "pwd",
    "secret",
    "key",
    "token",
    "credential",
    "authori",
    "bearer ",
    "basic ",
    "pw",
    "identified ",
    "cookie",
    "kennwort",
    "oauth",
    "密码",
    "口令",
)
"""What every key and every text that names a secret holds, in lower case."""
ABROAD = tuple(dict.fromkeys((*(word for word in PASSWORDS if word.isascii()), *map(str.lower, PASSWORDS_SPELLED))))
"""The same of those that other languages have."""

LETTERED = (
    b"AA000000",
    b"AA-000000",
    b"AA-00-00-00",
    b"AAAAAA00A00A000",
    b"AAAA000000AAAAAA",
    b"000000A000",
    b"AAAAA0000A",
    b"A000000(",
)
"""Shapes of national ids in which fewer than seven digits stand together: `A` for a letter, `0` for a digit, `-` for dot and space."""

SHORT = 17  # characters of a hardware address: nothing without a digit or sign is shorter
_SEPARATORS = b" ./()-+"  # what may stand between the digits of a phone number or an id
_SEVEN = b"0" * 7
_TWELVE = b"0" * 12
_MANY = b"a" * LONG
_SIGN = re.compile("[0-9@%:=]")
_RUN = re.compile("[A-Za-z0-9_.~/+=-]{16}")
_NO_SIGN = bytes(code for code in range(256) if chr(code) not in f"@%:={digits}")
_NAME = bytes(ord("a") if chr(code) in f"{ascii_letters}{digits}_.~/+=-" else ord(" ") for code in range(256))
_DIGIT = bytes(ord("0") if chr(code) in digits else code for code in range(256))
_HEX, _DIGITS = hexdigits.encode(), digits.encode()
_DASH_COLON = bytes.maketrans(b"-", b":")
_OCTETS = re.compile(rb"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_HEX_DOTS = bytes(ord("0") if chr(code) in hexdigits else code for code in range(256))
_FOURS = b"0000.0000.0000"  # a hardware address with dots
_LETTERS = (ascii_letters + "_").encode()
_MBI = re.compile(rb"0A[A0]0-?A[A0]0-?AA00")
_LETTER = bytes(
    ord("A") if chr(code) in ascii_letters else ord("0") if chr(code) in digits else ord("-") if chr(code) in ". " else code
    for code in range(256)
)
_DIGIT_DASH = bytes(ord("-") if chr(code) in ". " else _DIGIT[code] for code in range(256))


def still(text: str) -> bool:
    """Whether no detector can find anything in one ASCII text under an ordinary key. Under half a microsecond for a short one."""
    if _SIGN.search(text) is not None and _speaks(text):
        return False
    if commands(text) or "PRIVATE KEY" in text:
        return False
    return not given_gate(text) and (len(text) < SHORT or (_RUN.search(text) is None and not bears(text)))


def _speaks(text: str) -> bool:
    signs = text.encode().translate(None, _NO_SIGN)
    if len(signs) < 7 and signs.isdigit() and text.count(".") < 2:
        return len(signs) > 3 and (lettered(text) or iban_gate(text))
    return "@" in text or "%40" in text or seven_digits(text) or assigns(text) or lettered(text) or grid(text) or iban_gate(text)


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


def dotted_fours(text: str) -> bool:
    """Whether three groups of four digits stand together with dots between them: what looks like a hardware address is looked at by all gates."""
    return "." in text and _FOURS in text.encode("utf-8", "surrogatepass").translate(_DIGIT)


def long_name(text: str, least: int = LONG) -> bool:
    """Whether so many characters of the kind that keys are made of stand together."""
    return len(text) >= least and _MANY[:least] in text.encode("utf-8", "surrogatepass").translate(_NAME)


def shape(text: str) -> bytes:
    """The text with `0` for each digit and `-` for dot and space: `415.555.0182` has the shape `000-000-0000`."""
    return text.encode("utf-8", "surrogatepass").translate(_DIGIT_DASH)


def lettered(text: str) -> bool:
    """Whether letters and digits stand together as they do in a national id of few digits."""
    view = form(text)
    if b"AA00" in view or b"AA-00" in view or b"000000A" in view or b"000000(" in view:
        return any(shape in view for shape in LETTERED) or (mbi(view))
    return False


def mbi(view: bytes) -> bool:
    """Whether the form of a number of Medicare is in the view."""
    at = view.find(b"AA00", 7)
    while at >= 0:
        if _MBI.search(view, at - 9 if at > 9 else 0, at + 4) is not None:
            return True
        at = view.find(b"AA00", at + 1)
    return False


def form(text: str) -> bytes:
    """The text with `A` for each letter, `0` for each digit and `-` for dot and space."""
    return text.encode("utf-8", "surrogatepass").translate(_LETTER)


def sparse(text: str) -> bytes:
    """The text without its letters, with `0` for each digit and `-` for dot and space."""
    return text.encode("utf-8", "surrogatepass").translate(_DIGIT_DASH, _LETTERS)


def grid(text: str) -> bool:
    """Whether dots or colons stand between digits as they do in the addresses of networks and of their cards."""
    return gridded(text.encode("utf-8", "surrogatepass"))


def gridded(raw: bytes) -> bool:
    """The same of bytes."""
    if b"::" in raw:
        return True
    view = raw.translate(_DASH_COLON, _HEX)
    if b":::::" in view:
        return True
    if b".." not in view:
        return False
    return _FOURS in raw.translate(_HEX_DOTS) or (b"..." in raw.translate(None, _DIGITS) and _OCTETS.search(raw) is not None)
