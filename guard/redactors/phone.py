"""Phone numbers: with `+` and a country code, as they are written in the United States and China, and as digits where a word says phone.

A detector of the table in `guard.redactors`; pure. Digits without a separator, a plus or a telling word are never a phone number: too many
order numbers and amounts look the same.
"""

from __future__ import annotations

import re

from guard.redactors.columns import dialled
from guard.redactors.edges import closes, matches, opens, same
from guard.redactors.grids import APART, LINE, Wanted, cells_of
from guard.redactors.keys import names_of, word_list
from guard.redactors.languages import PHONES, PHONES_SPELLED
from guard.redactors.views import seven_digits, shape

_MORE = r"(?:[ ./()-]{0,3}[0-9]){6,14}"
_PLUS = re.compile(rf"\+ ?\(?[1-9]{_MORE}")
_US = re.compile(r"(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-. ])[2-9][0-9]{2}[-.][0-9]{4}")
_CHINA = re.compile(same("1[3-9][0-9]~[0-9]{4}~[0-9]{4}", " -"))
_OWN = ("phone", "mobile", "cell", "fax", "whatsapp", "tel", "msisdn", "手机", "手機", "电话", "電話", "联系方式")
WORDS = (*_OWN, *(word for word in PHONES if word.isascii()), *PHONES_SPELLED)
"""Every word that tells of a phone number in a text, in the spellings of both engines."""
_FEWER = tuple(word for word in dict.fromkeys(map(str.lower, WORDS)) if word not in {"telefonnummer", "mobiltelefon"})
HOLDS = tuple(word for word in _FEWER if not any(other != word and other in word for other in _FEWER))
"""What every key and every text that tells of a phone number holds, in lower case."""
OTHER = tuple(word for word in WORDS if not word.isascii())
SPELLED = re.compile(
    f"^(?i:{'|'.join(HOLDS)})|[a-z](?:{'|'.join(f'{word[0].upper()}(?i:{word[1:]})' for word in HOLDS if word.isascii())})"
)
"""A run of letters in which such a word stands at the beginning, or at a capital after a small letter."""
_SAYS = re.compile("|".join(HOLDS))
_NEAR = re.compile(
    rf"(?i:(?P<word>telephone|cellphone|{'|'.join(WORDS)})s?"
    r"(?:[ _-]?(?:number|no|nr|num|is|at|号码|号|號碼|番号|번호|是|为|[:#.=>])){0,3}"
    rf"(?:[\\\"']{{1,4}}[ ]?[:=])?[ ]{{0,2}}\[?[\\\"']{{0,4}}(?P<number>\(?\+?[0-9]{_MORE}))"
)
"""A word and a number, as people write them and as JSON inside a text does."""
_ASCII = [word for word in WORDS if word.isascii()]
_HEAD = (
    rf"(?:(?:\b|_)(?i:telephone|cellphone|{'|'.join(_ASCII)})|[a-z](?:{'|'.join(map(str.capitalize, _ASCII))})|{'|'.join(OTHER)})"
    r"s?(?i:[ _.-]{0,2}(?:numbers?|no|nr|num|nummer|号码|号|號碼|番号|번호|#|[0-9]))?[.:]?"
)
_NAMES = re.compile(_HEAD)
COLUMN = f"{_HEAD}(?:{LINE}|{APART})"
COLUMNS = f"{_HEAD}(?:{LINE}|{APART}[^\\x00]*{LINE})|{LINE}[^\\x00]*{_HEAD}{APART}"
"""How the name of a column or of a row of numbers to dial ends, and the same in a text of more than one line."""
_WHOLE = re.compile(rf"\(?\+?[0-9]{_MORE}(?: ?(?:x|ext\.?) ?[0-9]{{1,6}})?")
TELLING = frozenset(
    {"phone", "phones", "telephone", "tel", "mobile", "cell", "cellphone", "fax", "whatsapp", "msisdn", "phonenumber", "gsm"}
    | {"手机", "手机号", "手机号码", "手機", "电话", "電話", "电话号码", "联系电话", "联系方式"}
    | set(PHONES)
)
_ABOUT = frozenset(
    {
        "id",
        "ids",
        "count",
        "counts",
        "total",
        "sum",
        "sold",
        "sent",
        "received",
        "sessions",
        "users",
        "visits",
        "views",
        "clicks",
        "sales",
        "revenue",
    }
    | {
        "price",
        "cost",
        "usage",
        "minutes",
        "seconds",
        "ms",
        "bytes",
        "share",
        "rate",
        "version",
        "model",
        "index",
        "size",
        "length",
        "limit",
        "quota",
    }
    | {
        "at",
        "date",
        "time",
        "timestamp",
        "ts",
        "created",
        "updated",
        "verified",
        "serial",
        "imei",
        "modell",
        "anzahl",
        "销量",
        "数量",
    }
)
"""Words behind one that says phone: what stands there is no number to dial."""
_NUMBERED = frozenset(
    {
        "order",
        "po",
        "part",
        "item",
        "article",
        "sku",
        "model",
        "product",
        "invoice",
        "receipt",
        "ticket",
        "case",
        "booking",
        "reservation",
    }
    | {
        "reference",
        "ref",
        "transaction",
        "shipment",
        "consignment",
        "tracking",
        "waybill",
        "lot",
        "batch",
        "serial",
        "id",
        "barcode",
        "isbn",
    }
    | {"订单", "订单号", "订单编号", "单号", "编号", "型号", "批次"}
)
_NUMBER = frozenset({"number", "num", "no", "nr", "code"})
_GROUPS = re.compile("[0-9]+(?:[-. ][0-9]+)+")
_LEAST = {"1": 11, "7": 11, "33": 11, "34": 11, "45": 10}
"""How many digits the numbers of a country have at least, where no valid one has fewer."""
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
    if key is not None and told(key) and _WHOLE.fullmatch(bare):
        start = text.index(bare)
        return [(start, start + len(bare))]
    found = _international(text) if "+" in text else []
    if b"000-0000" in shape(text) and not (key is not None and _numbered(key, bare)):
        found += [match.span() for pattern in (_US, _CHINA) for match in matches(pattern, text, _grouped)]
    if _SAYS.search(text.lower()) is not None:
        found += [(match.start("number"), _end(match, "number")) for match in matches(_NEAR, text, _said)]
        found += cells_of(text, _CELLS)
    return found


def told(key: str) -> bool:
    """Whether a key says that the value is a phone number: the name that says phone, and none behind or below it that makes it a count, a model or an id."""
    below: list[str] = []
    for name in reversed(names_of(key)):
        words = word_list(name)
        last = max((at for at, word in enumerate(words, 1) if word in TELLING), default=0)
        if last:
            return _ABOUT.isdisjoint((*words[last:], *below))
        below += words
    return False


def _cell(name: str, value: str, _firm: bool) -> bool:  # noqa: FBT001 - as `Wanted` asks
    return dialled(name, value)


def _heads(name: str) -> bool:
    """Whether a name stands over numbers to dial."""
    return any(_NAMES.fullmatch(name, at) is not None for at in range(len(name))) and told(name)


_CELLS = Wanted(_NAMES, _heads, _cell)


def _numbered(key: str, text: str) -> bool:
    """Whether a text is all of a number in groups, under a name that ends with what orders and parts are numbered by."""
    words = list(word_list(names_of(key)[-1]))
    while len(words) > 1 and words[-1] in _NUMBER:
        del words[-1]
    return bool(words) and words[-1] in _NUMBERED and _GROUPS.fullmatch(text) is not None


def _international(text: str) -> list[tuple[int, int]]:
    heads = matches(_PLUS, text, lambda match: opens(text, match.start(), "+"))
    found = ((match.start(), _end(match)) for match in heads)
    return [(start, end) for start, end in found if end and _dialled(text, start, end)]


def _end(match: re.Match[str], group: int | str = 0) -> int:
    """Where a number ends whose last digits may belong to a longer one that follows it; 0 where too few digits are left."""
    text, (start, end) = match.string, match.span(group)
    if text[end : end + 1].isdigit() and text[end].isascii():
        while end > start and text[end - 1].isdigit():
            end -= 1
        while end > start and not text[end - 1].isdigit():
            end -= 1
    return end if sum(map(str.isdigit, text[start:end])) >= 7 else 0


def _last(text: str, end: int) -> bool:
    """Whether no word, dash or decimal follows."""
    return closes(text, end, ".") and text[end : end + 1] != "-"


def _grouped(match: re.Match[str]) -> bool:
    """Whether a number in groups stands alone."""
    text, start = match.string, match.start()
    return opens(text, start, "" if text[start] == "(" else ".+-") and _last(text, match.end())


def _said(match: re.Match[str]) -> bool:
    """Whether a word of its own, or the last one of a name in camel case, stands before the number, and nothing else behind it."""
    text, at = match.string, match.start("word")
    before = text[at - 1 : at]
    alone = not (before.isascii() and before.isalpha()) or (before.islower() and text[at].isupper())
    end = _end(match, "number")
    return bool(end) and _last(text, end) and alone


def _dialled(text: str, start: int, end: int) -> bool:
    """Whether a `+` with digits is a number to dial: no signed amount, no percentage, no round number, a country that exists."""
    number = text[start + 1 : end]
    digits = "".join(filter(str.isdigit, number))
    amount = number.count(".") == 1 and number.replace(".", "").isdigit()
    few = any(digits.startswith(country) and len(digits) < least for country, least in _LEAST.items())
    return not (amount or few or text[end : end + 1] == "%" or digits[:3] in _UNASSIGNED or not digits[1:].strip("0"))
