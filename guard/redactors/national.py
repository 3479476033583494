"""National ids: one row for each, with its form, its check and the words that tell of it.

Two detectors of the table in `guard.redactors` (`ssn` and `id`); pure. A row whose form could be an order number (bare digits, a date and a
number) counts only under a key or after a word that tells of it; the others speak for themselves by letters, separators or a long check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from guard.core.redaction import read
from guard.redactors import checks
from guard.redactors.edges import closes, matches, opens, same
from guard.redactors.keys import parted, tokens, word_list
from guard.redactors.views import LETTERED, form, lettered, mbi, seven_digits, sparse

_NEAR = 48  # characters before an id in which a word may tell of it
_NOISE = re.compile(r"[^0-9A-Z]")
_YMD = r"[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"


@dataclass(frozen=True, slots=True)
class Row:
    """One national id. `words`, spaced where two must follow each other, tell of it; empty words mean that the form alone does."""

    name: str
    pattern: str
    right: Callable[[str], bool]
    words: tuple[str, ...] = ()
    form: bytes = b""  # what `form` of every text holds that holds this id; empty: seven digits

    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled."""
        return re.compile(self.pattern)


_SSN_WORDS = ("ssn", "ssns", "social security", "socialsecurity", "itin", "taxpayer identification", "社会安全号码")
SSN: tuple[Row, ...] = (
    Row("us_ssn", same(r"[0-9]{3}~[0-9]{2}~[0-9]{4}", " .-"), checks.ssn, form=b"000-00-0000"),
    Row("us_ssn", same(r"[0-9]{3}~[0-9]{2}~[0-9]{4}", " .-", bare=True), checks.any_digits, _SSN_WORDS, b"0000"),
    Row(
        "us_itin",
        same(r"9[0-9]{2}~(?:5[0-9]|6[0-5]|7[0-9]|8[0-8]|9[0-24-9])~[0-9]{4}", " -"),
        checks.any_digits,
        form=b"000-00-0000",
    ),
)
IDS: tuple[Row, ...] = (
    Row("cn_resident", rf"[1-9][0-9]{{5}}(?:18|19|20){_YMD}[0-9]{{3}}[0-9Xx]", checks.china, form=b"0" * 17),
    Row("cn_resident", same(rf"[1-9][0-9]{{5}}~(?:18|19|20){_YMD}~[0-9]{{3}}[0-9Xx]", " -"), checks.china, form=b"000000"),
    Row(
        "cn_resident_old",
        rf"[1-9][0-9]{{5}}{_YMD}[0-9]{{3}}",
        checks.any_digits,
        ("身份证", "身份證", "证件号", "resident id"),
        b"0" * 15,
    ),
    Row(
        "uk_nino",
        r"[A-Za-z]{2}(?:[ -]?[0-9]{6}|(?:[ -][0-9]{2}){3})[ -]?[A-Da-d]",
        checks.nino,
        ("nino", "national insurance"),
        b"AA",
    ),
    Row("uk_nino_groups", same(r"[A-Z]{2}~[0-9]{2}(?:~[0-9]{2}){2}~[A-D]", " -"), checks.nino, form=b"AA"),
    Row("uk_nhs", same(r"[0-9]{3}~[0-9]{3}~[0-9]{4}", " -", bare=True), checks.health, ("nhs",)),
    Row("es_nif", r"[0-9]{8}-?[A-Za-z]", checks.spain, ("nif", "dni", "documento nacional"), b"00000000"),
    Row("es_nie", r"[XYZxyz]-?[0-9]{7}-?[A-Za-z]", checks.spain, form=b"0000000"),
    Row("it_fiscal_code", r"[A-Za-z]{6}[0-9]{2}[A-Za-z][0-9]{2}[A-Za-z][0-9]{3}[A-Za-z]", checks.italy, form=b"AAAAAA00A00A000A"),
    Row("mx_curp", rf"[A-Z]{{4}}{_YMD}[HMX][A-Z]{{5}}[0-9A-Z][0-9]", checks.mexico, form=b"AAAA000000AAAAAA"),
    Row("fi_hetu", r"[0-3][0-9][01][0-9]{3}[-+A-FU-Ya-fu-y][0-9]{3}[0-9A-Za-z]", checks.finland, form=b"000000"),
    Row("sg_nric", r"[STFGMstfgm][0-9]{7}[A-Za-z]", checks.singapore, form=b"A0000000A"),
    Row("hk_id", r"[A-Z][0-9]{6}\([0-9A]\)", checks.hongkong, form=b"A000000("),
    Row("in_gstin", r"[0-9]{2}[A-Z]{5}[0-9]{4}[A-Z][1-9A-Z]Z[0-9A-Z]", checks.india_tax, form=b"00AAAAA0000A"),
    Row("in_pan", r"[A-Za-z]{3}[ABCFGHJLPTabcfghjlpt][A-Za-z][0-9]{4}[A-Za-z]", bool, ("permanent account",), b"AAAAA0000A"),
    Row(
        "in_aadhaar",
        same(r"[2-9][0-9]{3}~[0-9]{4}~[0-9]{4}", " -", bare=True),
        checks.aadhaar,
        ("aadhaar", "aadhar", "uidai", "आधार"),
    ),
    Row(
        "us_mbi",
        same(
            r"[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9][0-9]~[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9][0-9]~[AC-HJKMNP-RT-Y]{2}[0-9]{2}",
            "-",
            bare=True,
        ),
        bool,
        form=b"AA00",
    ),
    Row("us_npi", r"[12][0-9]{3} ?[0-9]{3} ?[0-9]{3}", lambda text: checks.luhn("80840" + text), ("npi", "provider identifier")),
    Row("br_cpf", r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", checks.brazil, form=b"000-000-000-00"),
    Row("br_cpf", r"[0-9]{11}", checks.brazil, ("cpf",)),
    Row("kr_rrn", rf"{_YMD}-[1-8][0-9]{{6}}", checks.korea, form=b"000000-0000000"),
    Row(
        "kr_rrn",
        rf"{_YMD}-?[1-8][0-9]{{6}}",
        checks.any_digits,
        ("rrn", "resident registration", "foreigner registration", "주민등록번호", "주민번호", "외국인등록번호"),
    ),
    Row("se_personnummer", rf"(?:18|19|20)?{_YMD}[-+]?[0-9]{{4}}", checks.sweden, ("personnummer", "personal identity")),
    Row("no_fodselsnummer", r"[0-9]{6} ?[0-9]{5}", checks.any_digits, ("fødselsnummer", "fodselsnummer", "fnr")),
    Row("dk_cpr", r"[0-3][0-9][01][0-9]{3}-?[0-9]{4}", checks.any_digits, ("cpr",)),
    Row("pl_pesel", r"[0-9]{11}", checks.poland, ("pesel",)),
    Row("tr_kimlik", r"[1-9][0-9]{10}", checks.turkey, ("kimlik", "tckn", "turkish id", "turkish identity")),
    Row("za_id", rf"{_YMD}[0-9]{{7}}", checks.south_africa, ("rsa id", "south african")),
    Row("ca_sin", same(r"[1-9][0-9]{2}~[0-9]{3}~[0-9]{3}", " -", bare=True), checks.luhn, ("social insurance",)),
    Row(
        "au_tfn",
        same(r"[0-9]{3}~[0-9]{3}~[0-9]{3}", " ", bare=True),
        checks.sums((1, 4, 3, 7, 5, 8, 6, 9, 10), 11),
        ("tfn", "tax file"),
    ),
    Row("au_medicare", r"[2-6][0-9]{3} ?[0-9]{5} ?[0-9]", checks.any_digits, ("medicare",)),
    Row("th_id", r"[1-8]-[0-9]{4}-[0-9]{5}-[0-9]{2}-[0-9]", checks.thailand, form=b"0-0000-00000-00-0"),
    Row("th_id", r"[1-8][0-9]{12}", checks.thailand, ("thai national", "thai id", "บัตรประชาชน", "ประจำตัวประชาชน")),
    Row("ng_nin", r"[0-9]{11}", checks.any_digits, ("national identification",)),
    Row(
        "nl_bsn",
        r"[0-9]{9}",
        checks.sums((9, 8, 7, 6, 5, 4, 3, 2, -1), 11),
        ("bsn", "burgerservicenummer"),
    ),
    Row("fr_nir", r"[12] [0-9]{2} (?:0[1-9]|1[0-2]) [0-9]{2} [0-9]{3} [0-9]{3} [0-9]{2}", checks.france, form=b"-00-000-000-00"),
    Row(
        "fr_nir", r"[12][0-9]{4} ?[0-9]{5} ?[0-9]{3} ?[0-9]{2}", checks.france, ("sécurité sociale", "securite sociale", "insee")
    ),
    Row("be_nrn", r"[0-9]{2}\.[01][0-9]\.[0-3][0-9]-[0-9]{3}\.[0-9]{2}", checks.belgium, form=b"00-00-00-000-00"),
    Row("ch_ahv", r"756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}", checks.ean, form=b"000-0000-0000-00"),
    Row(
        "de_tax_id",
        r"[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}",
        checks.germany,
        ("idnr", "steuer", "steuerid", "steueridentifikationsnummer"),
    ),
    Row(
        "de_insurance",
        r"[0-9]{2} ?[0-9]{6} ?[A-Za-z] ?[0-9]{3}",
        bool,
        ("rvnr", "sozialversicherung", "sozialversicherungsnummer"),
    ),
    Row("de_health", r"[A-Z][0-9]{9}", bool, ("kvnr", "krankenversichertennummer", "versichertennummer")),
    Row("ru_snils", r"[0-9]{3}-[0-9]{3}-[0-9]{3} [0-9]{2}", checks.russia, form=b"000-000-000-00"),
    Row("ar_cuit", r"(?:2[03-7]|3[034])-[0-9]{8}-[0-9]", checks.argentina, form=b"00-00000000-0"),
    Row("cl_rut", r"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]", checks.chile, form=b"-000-000-"),
)


def witness(word: str) -> str:
    """What a text holds that holds this word or pair of words: the rarer half of a pair."""
    first, _, second = word.partition(" ")
    return second if first in {"personal", "tax", "south", "ni"} else first


WORDS: tuple[str, ...] = tuple(dict.fromkeys(witness(word) for row in (*SSN, *IDS) for word in row.words))
"""What every key and every text that tells of a national id holds, in lower case."""

_ASCII_WORDS = tuple(word for word in WORDS if word.isascii() and not any(other in word for other in WORDS if other != word))
_TOLD_FORMS = (
    b"00000000",
    b"000-000",
    b"0000-0000",
    b"000000-0",
    b"000000+0",
    b"000-00-0000",
    b"00-000000",
    b"00-000-000",
    b"00000-000",
)
"""One of them is in the sparse text that holds an id which needs a word; those of few digits are among `LETTERED`."""
_OWN_FORMS = tuple(
    dict.fromkeys(
        [
            *LETTERED,
            *(row.form for row in (*SSN, *IDS) if len(row.form) > 7 and not row.words),
            *(b"000-00-0000", b"000000-000", b"000000+000"),
            *(b"A0000000A", b"A0000000-A", b"A-0000000A", b"A-0000000-A"),
        ]
    )
)
_INNER = tuple(shape for shape in _OWN_FORMS if shape.startswith(b"-") or shape == b"AAAAA0000A")
_BEGIN = tuple(
    shape
    for shape in _OWN_FORMS
    if shape not in _INNER and not any(shape != other and shape.startswith(other) for other in _OWN_FORMS)
)
"""Forms with which an id begins: nothing that belongs to a word stands before them."""


class _Rows:
    """The rows of one detector: those whose form speaks for itself, and those that need a word."""

    def __init__(self, rows: tuple[Row, ...]) -> None:
        self.own = tuple((row, row.regex()) for row in rows if not row.words)
        self.told = tuple((row, row.regex()) for row in rows if row.words)
        self.witnesses = tuple(dict.fromkeys(witness(word) for row in rows for word in row.words))
        self.words = frozenset(word for row in rows for word in row.words)


_SSN_ROWS = _Rows(SSN)
_ID_ROWS = _Rows(IDS)


def id_gate(text: str) -> bool:
    """Whether digits stand together, or letters and digits as in an id of few digits."""
    return seven_digits(text) or lettered(text)


def ssn_gate(text: str) -> bool:
    """Whether digits stand together."""
    return seven_digits(text)


def formed(text: str) -> bool:
    """Whether the form of an id that speaks for itself may be there, in a text or in many texts with a sign between them."""
    view = form(text)
    if any(map(view.__contains__, _INNER)) or mbi(view):
        return True
    escapes = b"\\" in view  # a letter before an id may belong to an escape
    return any(shape in view and (escapes or begins(view, shape)) for shape in _BEGIN)


def begins(view: bytes, shape: bytes) -> bool:
    """Whether a shape stands somewhere without a letter, digit or underscore before it."""
    at = view.find(shape)
    while at > 0 and view[at - 1] in b"A0_":
        at = view.find(shape, at + 1)
    return at >= 0


def tells(text: str, low: str) -> bool:
    """Whether a JSON text may hold a word that tells of a national id."""
    few = sparse(text)
    if not any(shape in few for shape in _TOLD_FORMS):
        return False
    return any(map(low.__contains__, _ASCII_WORDS)) or (not text.isascii() and any(map(low.__contains__, WORDS)))


def id_spans(key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all national ids."""
    return _spans(_ID_ROWS, key, text)


def ssn_spans(key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all numbers of the social security of the United States."""
    return _spans(_SSN_ROWS, key, text)


def _spans(rows: _Rows, key: str | None, text: str) -> list[tuple[int, int]]:
    view = form(text)
    found = [match.span() for row, regex in rows.own if row.form in view for match in _alone(regex, text) if _right(row, match)]
    told = _told(key) & rows.words if key is not None else frozenset()
    low = text.lower()
    if not told and not any(map(low.__contains__, rows.witnesses)):
        return found
    for row, regex in rows.told:
        named = not told.isdisjoint(row.words)
        if row.form in view and (named or any(witness(word) in low for word in row.words)):
            near = (match for match in _alone(regex, text) if named or _near(text, match.start(), row.words))
            found += [match.span() for match in near if _right(row, match)]
    return found


def _alone(regex: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches between neighbours that do not belong to them."""
    return matches(regex, text, lambda match: opens(text, match.start(), ".+-") and closes(text, match.end(), ".+-"))


def _right(row: Row, match: re.Match[str]) -> bool:
    return row.right(_NOISE.sub("", match.group().upper()))


@lru_cache(maxsize=4096)
def _told(key: str) -> frozenset[str]:
    """The words of a key, alone and as pairs of neighbours."""
    return _pairs(word_list(key)) | _pairs(parted(read(key)))


def _near(text: str, start: int, words: tuple[str, ...]) -> bool:
    """Whether one of the words stands shortly before."""
    window = text[max(0, start - _NEAR) : start]
    found = _pairs(tokens(window)) | _pairs(parted(window))
    return any(word in found or (not word.isascii() and word in window) for word in words)


def _pairs(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(words) | {f"{left} {right}" for left, right in pairwise(words)}
