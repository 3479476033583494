"""Passwords and phone numbers as other languages call them, under keys and in texts; and what business records hold that only looks like them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from guard.core.hiding import Kinds, shown_value
from guard.core.redactor import Redactor
from guard.redactors import redactor

BOTH = [pytest.param(redactor(), id="with google-re2"), pytest.param(redactor(fast=False), id="without")]
SECRET, PHONE = "Verano2026!", "0612345678"
SECRETS = (
    *(
        "contraseña",
        "Contraseña",
        "CONTRASEÑA",
        "senha",
        "mot_de_passe",
        "motDePasse",
        "wachtwoord",
        "hasło",
        "haslo",
        "şifre",
        "lösenord",
    ),
    *("пароль", "Пароль", "パスワード", "비밀번호", "密碼", "dbPasswort"),
)
PHONES = (
    "telefon",
    "Teléfono móvil",
    "telefone",
    "Handy",
    "Rufnummer",
    "celular",
    "телефон",
    "номер телефона",
    "電話番号",
    "휴대폰",
    "gsm",
)


def shown(one: Redactor, value: Any) -> Any:
    return json.loads(shown_value(value, one, Kinds(), 100_000)[0])


@pytest.mark.parametrize("one", BOTH)
@pytest.mark.parametrize("name", SECRETS)
def test_a_password_by_its_name_in_any_language(name: str, one: Redactor) -> None:
    """Under a key, in JSON inside a text, and where a text gives it."""
    assert shown(one, {name: SECRET}) == {name: "[secret]"}
    assert SECRET not in json.dumps(shown(one, {"t": json.dumps({name: SECRET}, ensure_ascii=False)}))
    assert shown(one, [f"{name.replace('_', ' ')}: {SECRET}"]) == [f"{name.replace('_', ' ')}: [secret]"]


@pytest.mark.parametrize("one", BOTH)
@pytest.mark.parametrize("name", PHONES)
def test_a_phone_number_by_its_name_in_any_language(name: str, one: Redactor) -> None:
    """Under a key, and in JSON inside a text."""
    assert shown(one, {name: PHONE}) == {name: "[phone]"}
    assert shown(one, {name: int("9" + PHONE[1:])}) == {name: "[phone]"}
    assert PHONE not in json.dumps(shown(one, {"t": json.dumps({name: PHONE}, ensure_ascii=False)}))


@pytest.mark.parametrize("one", BOTH)
@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("Telefon: 030 1234567", "Telefon: [phone]"),
        ("MÓVIL 612345678", "MÓVIL [phone]"),
        ("Тел. 8-912-345-67-89", "Тел. [phone]"),
        ("携帯番号: 090-1234-5678", "携帯番号: [phone]"),
        ("<phone>4155550182</phone>", "<phone>[phone]</phone>"),
        ("密码是Xia2026!!", "密码是[secret]"),
        ("使用AKIAQ7Z2VW4XBTNLMPDR登录", "使用[secret]登录"),
        ("证件号码:110105 19491231 002X", "证件号码:[id number]"),
        ("DNI 12345678Z", "DNI [id number]"),
        ("password: Passw(ord)1!", "password: [secret]"),
        ({"otp": 482913, "card": {"cvv": "123"}}, {"otp": "[secret]", "card": {"cvv": "[secret]"}}),
        (
            {"order": {"contact": "212-555-0199"}, "order_phone": "212-555-0199"},
            {"order": {"contact": "[phone]"}, "order_phone": "[phone]"},
        ),
    ],
)
def test_hidden(value: Any, hidden: Any, one: Redactor) -> None:
    """In the ways in which people of the place write it."""
    assert shown(one, [value]) == [hidden]


@pytest.mark.parametrize("one", BOTH)
@pytest.mark.parametrize(
    "value",
    [
        "密码为8-16位字符",
        "Contraseña: obligatoria; Пароль: не менее 8 символов; 비밀번호: 8자 이상",
        "telefonía 2026, GSM 850/900/1800/1900 MHz, отель 1234567",
        "secret = secrets.token_hex(16)\npassword = hashlib.sha256(salt2).hexdigest()",
        "UPDATE users SET password = crypt($1, gen_salt('bf')) WHERE id = 42",
        "arn:aws:secretsmanager:eu-central-1:123456789012:secret:prod/db-a1b2c3",
        "PWD=/home/deploy2/app\nOLDPWD=/srv",
        {"pwd": "/home/deploy/app"},
        {"otp": "sent", "cvv_check": "pass", "otp_enabled": "yes"},
        "BIOS 1.14.2.0, driver 31.0.15.2",
        "+1234567 insertions, range +1 234 567 m, EBITDA +45 678 910 EUR, votes +15551234",
        {
            "cellId": "310260123456789",
            "mobile_sessions": 1234567,
            "phones_sold": 1234567,
            "phone": {"id": 12345678, "model": "1234567"},
        },
        {"po_number": "212-555-0199", "part_no": "212-555-0199", "model": "800-555-1212", "订单号": "138 1234 5678"},
    ],
)
def test_kept(value: Any, one: Redactor) -> None:
    """Help, code, names of resources, folders, versions, amounts, counts and numbers of orders."""
    assert shown(one, [value]) == [value]
