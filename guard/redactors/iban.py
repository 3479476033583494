"""Bank accounts (IBAN): a country, two check digits and as many characters as that country has, bare or in groups of four.

A detector of the table in `guard.redactors`; pure. The number ends where its country says that it ends, so words that follow stay.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits

from guard.redactors.edges import opens

_HEAD = re.compile("[A-Za-z]{2}[0-9]{2}")
_LONGEST = 24  # characters of a word that is glued to a number
_GROUPS = re.compile(r"[A-Za-z0-9]+")

LENGTHS: dict[str, int] = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FK FO GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}
"""How many characters an account number of a country has, from the registry of the standard."""


_CODES = {country.encode() for country in LENGTHS}
_SHAPE = bytes(ord("A") if chr(code) in ascii_letters else ord("0") if chr(code) in digits else code for code in range(256))
_RUN = re.compile(rb"(?:[ -]?[A-Za-z0-9]){11}")


def iban_gate(text: str) -> bool:
    """Whether the letters of a country and two digits begin a long enough run of letters and digits. Sound on JSON text too."""
    return begun(text.encode("utf-8", "surrogatepass"))


def begun(raw: bytes) -> bool:
    """The same of bytes."""
    view = raw.translate(_SHAPE)
    at = view.find(b"AA00")
    while at >= 0:
        if raw[at : at + 2].upper() in _CODES and _RUN.match(raw, at + 4) is not None:
            return True
        at = view.find(b"AA00", at + 1)
    return False


def iban_spans(_key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all account numbers."""
    heads = (match.start() for match in _HEAD.finditer(text))
    found = ((start, _end(text, start)) for start in heads if _opens(text, start))
    return [(start, end) for start, end in found if end is not None and _right(text[start:end])]


def _opens(text: str, start: int) -> bool:
    return (
        opens(text, start) or text[start - 1] == "_" or (text[start].isupper() and _labelled(text, start)) or _named(text, start)
    )


def _labelled(text: str, start: int) -> bool:
    """Whether a whole word that ends with a small letter is glued to the capitals of a country."""
    at = start
    while start - at < _LONGEST and at and text[at - 1].isascii() and text[at - 1].islower():
        at -= 1
    first = at - 1 if at and text[at - 1].isascii() and text[at - 1].isupper() else at
    return start - at > 1 and start - first > 2 and opens(text, first)


def _named(text: str, start: int) -> bool:
    """Whether the word for such a number is glued to it."""
    return text[max(0, start - 4) : start].lower() == "iban" and opens(text, start - 4)


def _end(text: str, start: int) -> int | None:
    """Where the number that begins here ends: after its country's length, with nothing more glued to it."""
    left = LENGTHS.get(text[start : start + 2].upper(), 0)
    if not left:
        return None
    at = start
    while left:
        char = text[at : at + 1]
        if char.isascii() and char.isalnum():
            left -= 1
        elif char not in {" ", "-"} or not text[at - 1].isalnum():
            return None
        at += 1
    after = text[at : at + 2]
    glued = after[:1] == "_" or (after[:1].isascii() and after[:1].isalnum())
    return None if glued or (len(after) == 2 and after[0] == "-" and after[1].isalnum() and after[1].isascii()) else at


def _right(number: str) -> bool:
    """Whether the groups are those in which account numbers are printed and the check digits are right."""
    groups = _GROUPS.findall(number)
    if len(groups) > 1 and (len(groups[0]) != 4 or (" " in number and "-" in number)):
        return False
    plain = "".join(groups).upper()
    return sum(map(str.isdigit, plain)) >= 6 and int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1
