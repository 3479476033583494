"""Phone numbers: with `+` and a country code, as they are written in the United States and China, and as digits where a word says phone.

A detector of the table in `guard.redactors`; pure. Digits without a separator, a plus or a telling word are never a phone number: too many
order numbers and amounts look the same.
"""

from __future__ import annotations

import re

from guard.redactors.keys import words_of
from guard.redactors.views import seven_digits, shape

_MORE = r"(?:[ ./()-]{0,3}\d){6,14}"
_END = r"(?![\w-]|\.\d)"
_PLUS = re.compile(rf"(?:(?<![\w+])|(?<=\\[nrt]))\+ ?\(?[1-9]{_MORE}(?!\d)", re.ASCII)
_US = re.compile(
    rf"(?:(?<!\w)\([2-9]\d\d\) ?|(?<![\w.+-])(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[-. ]))[2-9]\d\d[-.]\d{{4}}{_END}", re.ASCII
)
_CHINA = re.compile(rf"(?<![\w.+-])1[3-9]\d([ -])\d{{4}}\1\d{{4}}{_END}", re.ASCII)
WORDS = ("phone", "mobile", "cell", "fax", "whatsapp", "tel", "msisdn", "手机", "手機", "电话", "電話", "联系方式")
"""What every key and every text that tells of a phone number holds, in lower case."""
_SAYS = re.compile("|".join(WORDS))
_NEAR = re.compile(
    rf"(?:(?<![A-Za-z])|(?<=(?-i:[a-z]))(?=(?-i:[A-Z])))(?:telephone|cellphone|{'|'.join(WORDS)})s?"
    r"(?:[ _-]?(?:number|no|nr|num|is|at|号码|号|號碼|是|为|[:#.=])){0,3}"
    rf"(?:[\\\"']{{1,4}}[ ]?[:=])?[ ]{{0,2}}\[?[\\\"']{{0,4}}(\(?\+?\d{_MORE}){_END}",
    re.ASCII | re.IGNORECASE,
)
"""A word and a number, as people write them and as JSON inside a text does."""
_WHOLE = re.compile(rf"\(?\+?\d{_MORE}(?: ?(?:x|ext\.?) ?\d{{1,6}})?", re.ASCII)
TELLING = frozenset(
    {"phone", "phones", "telephone", "tel", "mobile", "cell", "cellphone", "fax", "whatsapp", "msisdn", "phonenumber"}
    | {"手机", "手机号", "手机号码", "手機", "电话", "電話", "电话号码", "联系电话", "联系方式"}
)
_UNASSIGNED = frozenset(
    {"210", "214", "215", "217", "219", "259", "280", "281", "282", "283", "284", "285", "286", "287", "288", "289"}
    | {"292", "293", "294", "295", "296", "384", "422", "424", "425", "426", "427", "428", "429", "671", "684", "693"}
    | {"694", "695", "696", "697", "698", "699", "801", "802", "803", "804", "805", "806", "807", "809", "851", "854"}
    | {
        "857",
        "858",
        "859",
        "871",
        "872",
        "873",
        "874",
        "875",
        "876",
        "877",
        "884",
        "885",
        "887",
        "889",
        "969",
        "978",
        "990",
        "997",
    }
)
"""Three digits that begin no country's numbers."""


def phone_gate(text: str) -> bool:
    """Whether seven digits stand together, with only separators between them."""
    return seven_digits(text)


def phone_spans(key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all phone numbers. Each form is looked for only where its own shape or word is there."""
    bare = text.strip()
    if key is not None and words_of(key) & TELLING and _WHOLE.fullmatch(bare):
        start = text.index(bare)
        return [(start, start + len(bare))]
    found = [match.span() for match in _PLUS.finditer(text) if _dialled(text, match)] if "+" in text else []
    if b"000-0000" in shape(text):
        found += [match.span() for pattern in (_US, _CHINA) for match in pattern.finditer(text)]
    if _SAYS.search(text.lower()) is not None:
        found += [match.span(1) for match in _NEAR.finditer(text)]
    return found


def _dialled(text: str, match: re.Match[str]) -> bool:
    """Whether a `+` with digits is a number to dial: no signed amount, no percentage, no round number, a country that exists."""
    digits = re.sub(r"[^0-9]", "", match.group())
    signs = set(re.sub(r"[0-9]", "", match.group()[1:]))
    amount = signs <= {"."} and match.group().count(".") == 1
    return not (amount or text[match.end() : match.end() + 1] == "%" or digits[:3] in _UNASSIGNED or not digits[1:].strip("0"))
