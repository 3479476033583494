"""Plants: something of every kind of the table, made anew: right in its check digits and otherwise random. Shared by the properties of redaction."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import NamedTuple

from hypothesis import strategies as st
from redactors_kit import GHP

from guard.redactors.card import ISSUERS, luhn
from guard.redactors.checks import china
from guard.redactors.iban import LENGTHS
from guard.redactors.prefixes import INSIDE, PREFIXES


class Plant(NamedTuple):
    """What must not be seen, the text that it stands in, and the name that it stands under; None: any."""

    what: str
    text: str
    under: str | None = None


def _digits(size: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=size, max_size=size)


@st.composite
def cards(draw: st.DrawFn) -> str:
    """Of any issuer and length, in one block or in groups of four."""
    _, low, high, sizes = draw(st.sampled_from(ISSUERS))
    head = str(draw(st.integers(low, high)))
    size = draw(st.sampled_from(sorted(sizes)))
    body = head + draw(_digits(size - len(head) - 1))
    number = next(body + last for last in "0123456789" if luhn(body + last))
    if len(set(number)) == 1:
        number = "4111111111111111"
    sign = draw(st.sampled_from(["", " ", "-"]))
    rest = (len(number) - 1) % 4 + 1
    return sign.join(re.findall(".{1,4}", number)) if rest > 1 else number


@st.composite
def accounts(draw: st.DrawFn) -> str:
    """Of any country, in one block or in groups of four."""
    country = draw(st.sampled_from(sorted(LENGTHS)))
    body = draw(_digits(LENGTHS[country] - 4))
    check = 98 - int("".join(str(int(char, 36)) for char in f"{body}{country}00")) % 97
    sign = draw(st.sampled_from(["", " "]))
    return sign.join(re.findall(".{1,4}", f"{country}{check:02d}{body}"))


@st.composite
def residents(draw: st.DrawFn) -> str:
    """Of a Chinese resident."""
    head = draw(st.sampled_from(["110105", "310101", "440304"])) + draw(st.sampled_from(["19491231", "19990228", "20010701"]))
    body = head + draw(_digits(3))
    return next(body + last for last in "0123456789X" if china(body + last))


_OWN_IDS = [
    "131052-308T",
    "X9613851N",
    "RSSMRA85T10A562S",
    "1EG4-TE5-MK73",
    "529.982.247-25",
    "756.9217.0769.85",
    "078-05-1120",
    "A123456(3)",
    "27AAPFU0939F1ZV",
    "912-70-1234",
    "20-12345678-6",
]
_TOLD_IDS = {
    "ssn": "078051120",
    "pesel": "44051401458",
    "nhs_number": "401 023 2137",
    "nino": "AB123456C",
    "cpf": "52998224725",
    "personnummer": "811218-9876",
    "aadhaar": "2341 2341 2346",
    "身份证号": "110105491231002",
    "客户身份证号码": "110105491231002",
    "주민등록번호": "900101-1234567",
    "fødselsnummer": "01019012345",
}
_DIALS = [
    "+14155550182",
    "+1 (415) 555-0182",
    "+44 20 7946 0958",
    "+49 30 901820",
    "+8613812345678",
    "+33 1 70 18 99 00",
    "+1-415-555-0182",
]
_GROUPED = ["(415) 555-0182", "415-555-0182", "415.555.0182", "138-1234-5678", "138 1234 5678"]
_NATIONAL = ["020 7946 0958", "(030) 901820", "01 70 18 99 00", "415 555 2671"]
_WORDS = st.text("abcdefghkmnpqrstuvwxyz23456789", min_size=8, max_size=14).filter(
    lambda text: any(map(str.isdigit, text)) and any(map(str.isalpha, text)) and len(set(text)) > 4
)
_LONG = st.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJK23456789", min_size=24, max_size=60).filter(
    lambda text: any(map(str.isdigit, text)) and len(set(text)) > 8
)


@st.composite
def keys_of_services(draw: st.DrawFn) -> str:
    """By the form of any service."""
    sign, rest = draw(st.sampled_from([*PREFIXES, *(("", whole) for _, whole in INSIDE)]))
    made = sign + draw(st.from_regex(re.compile(rest, re.ASCII), fullmatch=True))
    return made if len(set(made)) > 6 else GHP


def _pem(body: str) -> str:
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body[::-1]}\n-----END RSA PRIVATE KEY-----"


def _anywhere(made: st.SearchStrategy[str]) -> st.SearchStrategy[Plant]:
    return made.map(lambda one: Plant(one, one))


def _in(text: str, made: st.SearchStrategy[str]) -> st.SearchStrategy[Plant]:
    return made.map(lambda one: Plant(one, text.replace("~", one)))


KINDS: dict[str, st.SearchStrategy[Plant]] = {
    "mail": _anywhere(st.from_regex(r"[a-z][a-z0-9]{2,8}(?:[._+-][a-z0-9]{1,5})?@[a-z][a-z0-9-]{1,8}[a-z]\.(?:com|org|co\.uk)", fullmatch=True)),
    "phone with a plus": _anywhere(st.sampled_from(_DIALS)),
    "phone in groups": _anywhere(st.sampled_from(_GROUPED)),
    "phone under its name": st.sampled_from([*_NATIONAL, "4155550182", "13812345678"]).map(lambda one: Plant(one, one, "phone_number")),
    "phone under a name without blanks": st.sampled_from(["客户手机", "备用电话号码", "緊急聯絡電話", "联系方式"]).map(lambda name: Plant("13812345678", "13812345678", name)),
    "phone after its word": _in("phone: ~", st.sampled_from(["4155550182", "13812345678", "020 7946 0958"])),
    "card": _anywhere(cards()),
    "account": _anywhere(accounts()),
    "address": _anywhere(st.tuples(*[st.integers(1, 254)] * 4).map(lambda four: ".".join(map(str, four)))),
    "long address": _anywhere(st.integers(0, 2**96 - 1).map(lambda one: str(IPv6Address(0x2001_0DB8 << 96 | one))).filter(lambda text: text.count(":") > 2)),
    "hardware": _anywhere(st.binary(min_size=6, max_size=6).map(lambda raw: raw.hex(":")).filter(lambda text: len(set(text)) > 4)),
    "resident": _anywhere(residents()),
    "id": _anywhere(st.sampled_from(_OWN_IDS)),
    "id under its name": st.sampled_from(sorted(_TOLD_IDS)).map(lambda name: Plant(_TOLD_IDS[name], _TOLD_IDS[name], name)),
    "key of a service": _anywhere(keys_of_services()),
    "web token": _anywhere(_LONG.map(lambda one: f"eyJhbGciOiJIUzI1NiJ9.eyJ{one}.{one[::-1]}")),
    "connection": _in("postgres://app:~@db.example.com:5432/main", _WORDS),
    "private key": _LONG.map(lambda one: Plant(one, _pem(one))),
    "cookie": _in("Set-Cookie: sessionid=~; Path=/", _LONG),
    "bearer": _in("Authorization: Bearer ~", _LONG),
    "password under its name": _WORDS.map(lambda one: Plant(one, one, "db_password")),
    "password under a name without blanks": _WORDS.map(lambda one: Plant(one, one, "登录密码")),
    "password in a text": _in("password=~", _WORDS),
    "password in quotes": _in("the password: '~'", _WORDS),
    "api key": _in("api_key = ~", _LONG),
    "command": _in("curl -u kim:~ https://example.com", _WORDS),
    "client": _in("mysql -h db -u kim -p~ shop", _WORDS),
    "registry": _in("docker login -u kim -p ~ registry.example.com", _WORDS),
}  # fmt: skip
"""Plants by kind."""

OF_REGIONS = _anywhere(st.sampled_from([*_NATIONAL, "13812345678", "0131 496 0123", "06 12 34 56 78"]))
"""Phone numbers as they are dialled inside their country."""
