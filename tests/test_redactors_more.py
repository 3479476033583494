"""Texts of our own for what is easily missed or wrongly taken: keys of further services, addresses in other scripts, numbers of regions in prose."""

from __future__ import annotations

from functools import cache

import pytest

from guard.core.redaction import Redaction
from guard.core.redactor import Redactor
from guard.redactors import redactor

HEX, WORD = "0123456789abcdef" * 8, "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z" * 6
KEYS = {
    "Cloudflare": "cfut_" + WORD[:40],
    "Adafruit": "aio_" + WORD[:28],
    "Typeform": "tfp_" + WORD[:44],
    "Rootly": "rootly_" + HEX[:64],
    "Prefect": "pnu_" + WORD[:36],
    "ClickUp": "pk_12345678_" + WORD[:32].upper(),
    "Elastic": "essu_" + WORD[:60],
    "Buildkite": "bkua_" + HEX[:40],
    "CircleCI": "CCIPAT_" + WORD[:22] + "_" + HEX[:40],
    "Volcengine": "AKLT" + WORD[:43],
    "Tencent": "AKID" + WORD[:32],
    "Dropbox": "sl.u." + WORD[:130],
    "Vercel": "vercel_blob_rw_" + WORD[:16] + "_" + WORD[:30],
    "Inngest": "signkey-prod-" + HEX[:64],
}
BOTH = [redactor(), redactor(fast=False)]


@cache
def of(region: str) -> Redactor:
    return redactor(Redaction(regions=(region,)))


@pytest.mark.parametrize("service", KEYS)
@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
def test_the_keys_of_further_services(service: str, one: Redactor) -> None:
    """In a sentence, behind an equals sign and as a leaf; one character too few is none."""
    key = KEYS[service]
    for text in (f"set it to {key} now", f"x={key}", key):
        assert redactor_of(one, None, text) == text.replace(key, "[secret]")
    for _ in range(3):
        assert not one.quiet(f'["{key}"]')


def redactor_of(one: Redactor, key: str | None, text: str) -> str:
    return one.detect(key, text)[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("write to müller@köln.de today", "write to [email] today"),
        ("письмо: иван.петров@почта.рф", "письмо: [email]"),
        ("邮箱kim@example.com", "邮箱[email]"),
        ("to=josé@example.com", "to=[email]"),
        ("logo@2x.png and icon@3x.webp", "logo@2x.png and icon@3x.webp"),
        ("kim@2x.example", "[email]"),
        ("AccountName=acc;AccountKey=" + WORD[:60] + "==;Suffix=x", "AccountName=acc;AccountKey=[secret];Suffix=x"),
        ("type=page&token_type=abc123defg45", "type=page&token_type=abc123defg45"),
    ],
)
def test_what_stands_beside_decides(text: str, shown: str) -> None:
    """Letters of any alphabet with capitals belong to an address, the last assignment says nothing about the next, pictures have no mailbox."""
    for one in BOTH:
        assert redactor_of(one, None, text) == shown


@pytest.mark.parametrize(
    ("region", "text", "shown"),
    [
        ("DE", "part no. 555-1234", "part no. 555-1234"),
        ("DE", "Flight LH 400 2024", "Flight LH 400 2024"),
        ("DE", "ring 030 23125 0 after six", "ring [phone] after six"),
        ("DE", "phone 555-1234", "phone [phone]"),
        ("IN", "ring 98765 43210 after six", "ring [phone] after six"),
        ("SG", "ring 6521 3000 after six", "ring [phone] after six"),
        ("GB", "ring (0161) 496 0000 after six", "ring [phone] after six"),
    ],
)
def test_short_digits_without_the_one_that_is_dialled_first_need_a_word(region: str, text: str, shown: str) -> None:
    """Where a country has one; elsewhere eight digits in groups are a whole number."""
    pytest.importorskip("phonenumbers")
    assert of(region).detect(None, text)[0] == shown
