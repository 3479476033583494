"""Checks: the check digits of national ids, as their issuers publish them. Each takes the id without separators, in capitals. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from guard.redactors.card import luhn

__all__ = ["any_digits", "luhn"]

_TURNS = ("0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258")
_HETU = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_CURP = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
_BASE36 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PROVINCES = frozenset(
    {*range(11, 16), *range(21, 24), *range(31, 38), *range(41, 47), *range(50, 55), *range(61, 66), 71, 81, 82, 83}
)


def weighted(digits: str, weights: Sequence[int]) -> int:
    """The sum of the digits, each times its weight; further digits do not count."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def sums(weights: Sequence[int], modulus: int) -> Callable[[str], bool]:
    """A check that the weighted sum of all digits is a multiple of `modulus`."""
    return lambda text: len(set(text)) > 1 and weighted(text, weights) % modulus == 0


def any_digits(text: str) -> bool:
    """No check digit is published: all but one digit repeated."""
    return len(set(text)) > 1


def dated(year: str, month: str, day: str) -> bool:
    """Whether this is a day; a year of two digits may be of either century."""
    try:
        date(int(year) if len(year) == 4 else 2000 + int(year), int(month), int(day))
    except ValueError:
        return len(year) == 2 and (month, day) == ("02", "29")
    return True


def china(text: str) -> bool:
    """Province, birthday and the check character of ISO 7064."""
    total = sum(int(digit) * pow(2, 17 - at, 11) for at, digit in enumerate(text[:17]))
    return int(text[:2]) in _PROVINCES and dated(text[6:10], text[10:12], text[12:14]) and "10X98765432"[total % 11] == text[17]


def ssn(text: str) -> bool:
    """A number of the United States that may have been issued."""
    return text[:3] not in {"000", "666"} and text[0] != "9" and text[3:5] != "00" and text[5:] != "0000"


def finland(text: str) -> bool:
    """Birthday and check character."""
    return dated(text[4:6], text[2:4], text[:2]) and _HETU[int(text[:6] + text[-4:-1]) % 31] == text[-1]


def spain(text: str) -> bool:
    """The letter of a number of a citizen or a resident."""
    first = {"X": "0", "Y": "1", "Z": "2"}.get(text[0], text[0])
    return text[:8].strip("0") != "" and _DNI[int(first + text[1:-1]) % 23] == text[-1]


def italy(text: str) -> bool:
    """The letter at the end of a tax code."""
    values = [int(char) if char.isdigit() else ord(char) - 65 for char in text]
    total = sum(_ODD[value] if at % 2 == 0 else value for at, value in enumerate(values[:15]))
    return text[8] in "ABCDEHLMPRST" and 1 <= int(text[9:11]) % 40 <= 31 and chr(65 + total % 26) == text[15]


def mexico(text: str) -> bool:
    """Birthday and check digit."""
    total = sum(_CURP.index(char) * (18 - at) for at, char in enumerate(text[:17]))
    return dated(text[4:6], text[6:8], text[8:10]) and str(-total % 10) == text[17]


def singapore(text: str) -> bool:
    """The letter at the end."""
    total = weighted(text[1:8], (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(text[0], 0)
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "M": "XWUTRQPNJLK"}.get(text[0], "XWUTRQPNMLK")
    return letters[total % 11] == text[8]


def hongkong(text: str) -> bool:
    """The check character in brackets."""
    total = 36 * 9 + (ord(text[0]) - 55) * 8 + weighted(text[1:7], (7, 6, 5, 4, 3, 2))
    return "0123456789A"[-total % 11] == text[7]


def india_tax(text: str) -> bool:
    """The last character of a number of the goods and services tax."""
    total = 0
    for at, char in enumerate(text[:14]):
        product = _BASE36.index(char) * (1 + at % 2)
        total += product // 36 + product % 36
    return 1 <= int(text[:2]) <= 38 and _BASE36[-total % 36] == text[14]


def brazil(text: str) -> bool:
    """Both check digits of a person's number."""
    first, second = (weighted(text, range(size + 1, 1, -1)) * 10 % 11 % 10 for size in (9, 10))
    return len(set(text)) > 1 and text[9:] == f"{first}{second}"


def korea(text: str) -> bool:
    """Birthday and check digit; since October 2020 the last digits are random and need a telling word."""
    right = str((11 - weighted(text, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10) == text[12]
    return text[6] in "12345678" and dated(text[:2], text[2:4], text[4:6]) and right


def poland(text: str) -> bool:
    """Check digit, with the century in the month."""
    return text[2:] != "000000000" and weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def turkey(text: str) -> bool:
    """Both check digits."""
    digits = [int(char) for char in text]
    return (sum(digits[0:9:2]) * 7 - sum(digits[1:8:2])) % 10 == digits[9] and sum(digits[:10]) % 10 == digits[10]


def south_africa(text: str) -> bool:
    """Birthday and check digit."""
    return dated(text[:2], text[2:4], text[4:6]) and luhn(text)


def sweden(text: str) -> bool:
    """Birthday and check digit; days above 60 are numbers of coordination."""
    short = text[-10:]
    return dated(text[:-8], short[2:4], f"{int(short[4:6]) % 60:02d}") and luhn(short)


def france(text: str) -> bool:
    """Month and the two check digits."""
    return int(text[3:5]) >= 1 and 97 - int(text[:13]) % 97 == int(text[13:])


def belgium(text: str) -> bool:
    """The two check digits, for births of either century."""
    return any(97 - int(lead + text[:9]) % 97 == int(text[9:]) for lead in ("", "2"))


def ean(text: str) -> bool:
    """The check digit of numbers for articles, which the Swiss insurance uses."""
    return weighted(text, (1, 3) * 7) % 10 == 0


def thailand(text: str) -> bool:
    """The check digit."""
    return (11 - weighted(text[:12], range(13, 1, -1)) % 11) % 10 == int(text[12])


def chile(text: str) -> bool:
    """The check character."""
    total = sum(int(digit) * (2 + at % 6) for at, digit in enumerate(reversed(text[:-1])))
    return "0123456789K"[-total % 11] == text[-1]


def russia(text: str) -> bool:
    """The two check digits of an insurance account."""
    return text.strip("0") != "" and weighted(text, range(9, 0, -1)) % 101 % 100 == int(text[9:])


def argentina(text: str) -> bool:
    """The check digit of a tax number."""
    return weighted(text, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def health(text: str) -> bool:
    """The check digit of the British health service."""
    return len(set(text)) > 1 and weighted(text, range(10, 0, -1)) % 11 == 0


def aadhaar(text: str) -> bool:
    """The check digit of Verhoeff."""
    total = 0
    for at, char in enumerate(reversed(text)):
        total = _dihedral(total, int(_TURNS[at % 8][int(char)]))
    return total == 0


def _dihedral(left: int, right: int) -> int:
    """The product in the group of the pentagon: below five a turn, from five on a reflection."""
    if left < 5:
        return (left + right) % 5 if right < 5 else (left + right) % 5 + 5
    return (left - right) % 5 + 5 if right < 5 else (left - right) % 5


def nino(text: str) -> bool:
    """Letters with which British insurance numbers may begin."""
    return text[0] not in "DFIQUV" and text[1] not in "DFIOQUV" and text[:2] not in {"BG", "GB", "NK", "KN", "TN", "NT", "ZZ"}


def germany(text: str) -> bool:
    """The check digit of a tax id (ISO 7064)."""
    product = 10
    for char in text[:10]:
        product = ((int(char) + product) % 10 or 10) * 2 % 11
    return text[0] != "0" and (11 - product) % 10 == int(text[10])
