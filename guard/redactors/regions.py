"""Regions: national phone numbers of the regions that a policy names, judged by phonenumbers (extra `phones`).

A row that a policy adds to the table; it only hides more. Digits count when a valid number of one of the regions is written in groups or with the
zero that is dialled first, when a word or key says phone, or, in China, when they are a mobile number. Dates and amounts stay.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from guard.extras import install
from guard.redactors.edges import closes, matches, opens
from guard.redactors.find import Detector, Span
from guard.redactors.masks import MASKS
from guard.redactors.phone import HOLDS, told
from guard.redactors.views import seven_digits

_RUN = re.compile(r"\(?[0-9](?:[ ./()-]{0,2}[0-9]){6,14}")
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:0?[1-9]|[12][0-9]|3[01])(?:[ .-][0-9]{1,6})?"
    r"|(?:0?[1-9]|[12][0-9]|3[01])[-./ ](?:0?[1-9]|[12][0-9]|3[01])[-./ ](?:19|20)[0-9]{2}(?:[ .-][0-9]{1,6})?"
)
_CHINA = re.compile("1[3-9][0-9]{9}")
_AMOUNT = re.compile(r"[0-9]{1,3}(?:[ .][0-9]{3}){2,}|[0-9]+\.[0-9]+")
_NEAR = 32
_WITHOUT = 9  # digits of a number that is written without the one that is dialled first: fewer are as often a part or a flight
_SAYS = re.compile("|".join(map(re.escape, HOLDS)))
_SHAPE = "[0-9](?:[ ./()-]{0,2}[0-9]){6}"


def regional(regions: tuple[str, ...]) -> Detector:
    """The row for these regions, by their two letters. Raises ImportError, with the extra, where phonenumbers is missing."""
    valid = _judge(regions)
    trunk = _trunk(regions)

    def rule(key: str | None, text: str) -> list[Span]:
        said = key is not None and told(key)
        return [match.span() for match in matches(_RUN, text, lambda match: _is_phone(match, regions, valid, trunk, told=said))]

    return Detector(name="phone", gate=seven_digits, rule=rule, replacement=MASKS["phone"], shape=_SHAPE)


def _judge(regions: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether digits are a number of one of the regions; remembers the last answers."""
    try:
        library: Any = importlib.import_module("phonenumbers")
    except ImportError as error:
        raise ImportError(f"region: needs phonenumbers: {install('phones')}") from error

    @lru_cache(maxsize=1024)
    def valid(number: str) -> bool:
        return any(_valid(library, number, region) for region in regions)

    return valid


def _valid(library: Any, number: str, region: str) -> bool:
    try:
        parsed = library.parse(number, region)
    except library.NumberParseException:
        return False
    return bool(library.is_valid_number_for_region(parsed, region))


def _trunk(regions: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether digits begin as a whole number of one of the regions does when it is dialled inside the country: where there is such a digit, with it."""
    library: Any = importlib.import_module("phonenumbers")
    told = [library.PhoneMetadata.metadata_for_region(region) for region in regions]
    begins = tuple(one.national_prefix or "" for one in told if one is not None)
    return lambda number: number.lstrip("( ").startswith(begins)


def _is_phone(
    match: re.Match[str], regions: tuple[str, ...], valid: Callable[[str], bool], trunk: Callable[[str], bool], *, told: bool
) -> bool:
    text, start, end = match.string, match.start(), match.end()
    if not opens(text, start, ".+-") or not closes(text, end, ".-") or text[end : end + 1] == "%":
        return False
    number = match.group()
    said = told or _SAYS.search(text[max(0, start - _NEAR) : start].lower()) is not None
    if not (said or _dialled(number, regions, trunk)):
        return False
    return valid(number)


def _dialled(number: str, regions: tuple[str, ...], trunk: Callable[[str], bool]) -> bool:
    """Whether digits without a word are written as one dials them."""
    if "CN" in regions and _CHINA.fullmatch(number) is not None:
        return True
    if _DATE.fullmatch(number) is not None or _AMOUNT.fullmatch(number) is not None:
        return False
    grouped = any(char in number for char in " -()/.") and (trunk(number) or sum(map(str.isdigit, number)) >= _WITHOUT)
    return grouped or (number[0] == "0" and number[1] != "0" and len(number) >= 9)
