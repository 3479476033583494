"""Redacted texts: what is hidden, what stays, and the small parts that decide about it."""

from __future__ import annotations

import time

import pytest
from redactors_kit import AKIA, GHP

from guard import redactors
from guard.redactors import detect
from guard.redactors.card import luhn
from guard.redactors.fold import folded


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        pytest.param(None, "mail a@example.com, please", "mail [email], please", id="mail in a sentence"),
        pytest.param(None, "<first.last+tag@sub.example.co.uk>", "<[email]>", id="mail in angle brackets"),
        pytest.param(None, "a@example.com.", "[email].", id="full stop after a mail"),
        pytest.param(None, "a@example.com;b@example.org", "[email];[email]", id="two mails"),
        pytest.param(None, "请联系zhang@example.com谢谢", "请联系[email]谢谢", id="mail among Chinese text"),
        pytest.param(None, "用户@例子.广告", "[email]", id="mail in Chinese"),
        pytest.param(None, '"john doe"@example.com', "[email]", id="quoted mail"),
        pytest.param(None, "1.2.3.4/10.0.0.1/8.8.8.8", "[ip address]/[ip address]/[ip address]", id="addresses between slashes"),
        pytest.param(None, "root@[10.0.0.1]", "[email]", id="mail at an address"),
        pytest.param(None, "?to=alice%40example.com&x=1", "?to=[email]&x=1", id="percent-encoded mail"),
        pytest.param(None, "to=a@example.com&cc=b@example.org", "to=[email]&cc=[email]", id="mails in a query"),
        pytest.param(None, "alice@\u200bexample.com", "[email]", id="mail with an invisible character"),
        pytest.param(None, "alice\uff20example\uff0ecom", "[email]", id="mail in full-width signs"),
        pytest.param(None, "+1 415 555 0182", "[phone]", id="international"),
        pytest.param(None, "call +49 (0)30 1234567 now", "call [phone] now", id="German with a zero in brackets"),
        pytest.param(None, "+8613812345678", "[phone]", id="international without spaces"),
        pytest.param(None, "(415) 555-0182", "[phone]", id="US with brackets"),
        pytest.param(None, "415-555-0182 or 415.555.0182", "[phone] or [phone]", id="US with dashes and dots"),
        pytest.param(None, "1-415-555-0182", "[phone]", id="US with a one"),
        pytest.param(None, "138 1234 5678", "[phone]", id="Chinese in groups"),
        pytest.param(None, "手机\uff1a13812345678。", "手机\uff1a[phone]。", id="Chinese after a word, with a full-width colon"),
        pytest.param(None, "Phone number: 5551234567", "Phone number: [phone]", id="bare digits after a word"),
        pytest.param(
            None, "\uff0b\uff11 \uff14\uff11\uff15 \uff15\uff15\uff15 \uff10\uff11\uff18\uff12", "[phone]", id="full-width digits"
        ),
        pytest.param("phone", "4155550182", "[phone]", id="bare digits under a key"),
        pytest.param("contactMobile", "13812345678", "[phone]", id="bare digits under a key in camel case"),
        pytest.param("手机号", "13812345678", "[phone]", id="bare digits under a Chinese key"),
        pytest.param("fax", "030 1234-567", "[phone]", id="national under a key"),
        pytest.param(None, "4111 1111 1111 1111", "[card]", id="card in groups"),
        pytest.param(None, "card 4111-1111-1111-1111 exp 12/27", "card [card] exp 12/27", id="card in a sentence"),
        pytest.param(None, "378282246310005", "[card]", id="Amex"),
        pytest.param(None, "3782 822463 10005", "[card]", id="Amex in groups"),
        pytest.param(None, "2025 4111 1111 1111 1111 2027", "2025 [card] 2027", id="card between years"),
        pytest.param("card_id", "4111111111111111", "[card]", id="a key that says card beats one that says id"),
        pytest.param("password", "hunter22", "[secret]", id="password"),
        pytest.param("dbPassword", "hunter22", "[secret]", id="password in camel case"),
        pytest.param("API-Key", "abcdef", "[secret]", id="api key"),
        pytest.param("Authorization", "Bearer abcdef", "[secret]", id="authorization"),
        pytest.param("access_token", "abcdef", "[secret]", id="access token"),
        pytest.param("client_secret", "a@example.com", "[secret]", id="the key decides about the whole value"),
        pytest.param(None, f"use {GHP} here", "use [secret] here", id="GitHub"),
        pytest.param(None, AKIA, "[secret]", id="AWS"),
        pytest.param(None, "sk-" + "a1B2" * 8, "[secret]", id="a model vendor"),
        pytest.param(None, "xoxb-" + "123456789012-" * 2 + "abcdEFGH", "[secret]", id="Slack"),
        pytest.param(None, "API_KEY=FAKE-SECRET-0001", "API_KEY=[secret]", id="assigned"),
        pytest.param(None, '{"api_key": "FAKE-SECRET-0001"}', '{"api_key": "[secret]"}', id="inside JSON text"),
        pytest.param(
            None,
            '{"l": "{\\"api_key\\": \\"FAKE-SECRET-0001\\"}"}',
            '{"l": "{\\"api_key\\": \\"[secret]\\"}"}',
            id="JSON in JSON",
        ),
        pytest.param(None, "Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [secret]", id="a header"),
        pytest.param(None, "Bearer abcdefghij0123456789", "Bearer [secret]", id="a bearer alone"),
        pytest.param(
            None, "use bearer abcDEFghiJKLmnoPQR now", "use bearer [secret] now", id="a bearer of letters in a sentence"
        ),
        pytest.param(None, "BEARER a/b+c/d~e/f+g0h/i+j/k==", "BEARER [secret]", id="a bearer in base64"),
        pytest.param(None, '{"phone": "4155550182"}', '{"phone": "[phone]"}', id="a phone in JSON text"),
        pytest.param(None, '{"phone":4155550182,"n":1}', '{"phone":"[phone]","n":1}', id="a phone as a number in JSON text"),
        pytest.param(
            None,
            '{"l": "{\\"mobile_no\\": \\"13812345678\\"}"}',
            '{"l": "{\\"mobile_no\\": \\"[phone]\\"}"}',
            id="a phone in JSON in JSON",
        ),
        pytest.param(None, '{"userPhone": "4155550182"}', '{"userPhone": "[phone]"}', id="a phone in JSON text in camel case"),
        pytest.param(None, "{'phones': ['4155550182']}", "{'phones': ['[phone]']}", id="a phone in a list in the text of a dict"),
        pytest.param("password", "<hunter2>", "[secret]", id="a password in angle brackets"),
        pytest.param("password", "<a> and <b>", "[secret]", id="a password with brackets at both ends"),
        pytest.param("password", "${P@ss w0rd}", "[secret]", id="a password in braces"),
        pytest.param("password", "{{ P@ss! }}", "[secret]", id="a password in two braces"),
        pytest.param("password", "123456", "[secret]", id="a number under a secret key"),
        pytest.param("pinSecret", "4711", "[secret]", id="a short number under a secret key"),
        pytest.param("token", "123456", "[secret]", id="a number under a token"),
        pytest.param("apiKey", "1234567.5", "[secret]", id="a fraction under a secret key"),
        pytest.param("card", "4111111111111111.0", "[card]", id="a card as a float"),
        pytest.param(None, "4111111111111111.00", "[card]", id="a card as a decimal"),
        pytest.param("phone", "4155550182.0", "[phone]", id="a phone as a float"),
    ],
)
def test_hidden(key: str | None, text: str, shown: str) -> None:
    """Personal data and secrets are replaced by the name of their kind, and nothing around them is."""
    assert detect(key, text)[0] == shown


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param("amount", "3860.00", id="amount"),
        pytest.param(None, "+1234567.89 USD", id="signed amount"),
        pytest.param(None, "1,234,567.89", id="amount with commas"),
        pytest.param(None, "+100 000 000", id="round number"),
        pytest.param(None, "growth of +12345678%", id="percentage"),
        pytest.param(None, "250 300 1000", id="figures in a row"),
        pytest.param(None, "2024-05-01T03:45:00+08:00", id="timestamp"),
        pytest.param(None, "2024-05-01 03:45:00.123456", id="timestamp with microseconds"),
        pytest.param(None, "20240501", id="compact date"),
        pytest.param("id", "110bcd25-a55d-453a-8046-1297901ea002", id="uuid"),
        pytest.param(None, "41111111-1111-1111-1111-111111111111", id="uuid of digits"),
        pytest.param(None, "d41d8cd98f00b204e9800998ecf8427e", id="hash"),
        pytest.param(None, "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", id="integrity"),
        pytest.param(None, "1Z999AA10123456784", id="tracking number"),
        pytest.param("order_id", "4111111111111111", id="an order id that passes the check digit"),
        pytest.param(None, "4111111111111112", id="wrong check digit"),
        pytest.param(None, "0000000000000000", id="zeros"),
        pytest.param(None, "9999999999999995", id="no such issuer"),
        pytest.param(None, "x4111111111111111", id="part of a word"),
        pytest.param(None, "41111111111111111111111", id="part of a longer number"),
        pytest.param(None, "4155550182", id="bare digits"),
        pytest.param(None, "13812345678", id="bare digits of a Chinese shape"),
        pytest.param(None, "ISBN 978-3-16-148410-0", id="isbn"),
        pytest.param("hotel", "12345678", id="a key that contains tel"),
        pytest.param("telemetry", "12345678", id="a key that starts with tel"),
        pytest.param(None, "@mention and pkg@1.2.3 and a@b", id="at-signs"),
        pytest.param(None, "lodash@4.17.21", id="a version after an at-sign"),
        pytest.param("token_type", "bearer", id="token type"),
        pytest.param("max_tokens", "100000", id="token count"),
        pytest.param("next_page_token", "abcdef123", id="page token"),
        pytest.param("idempotency_key", "abcdef123", id="idempotency key"),
        pytest.param("public_key", "abcdef123", id="public key"),
        pytest.param("password", "${DB_PASSWORD}", id="placeholder"),
        pytest.param("password", "{{ db.password }}", id="placeholder of a template"),
        pytest.param("password", "<password>", id="placeholder in angle brackets"),
        pytest.param("api_key", "<YOUR-API-KEY>", id="placeholder of several words"),
        pytest.param("password", "<enter your password here>", id="placeholder that asks"),
        pytest.param("secret", "<redacted>", id="a mask of somebody else's"),
        pytest.param("tokens", "123456", id="a count of tokens"),
        pytest.param("amount", "4155550182.0", id="an amount as a float"),
        pytest.param("order_id", "4111111111111111.0", id="an order id as a float"),
        pytest.param(None, "3.00", id="a small decimal"),
        pytest.param(None, "the bearer responsibilities-and-so-on", id="a word after a bearer"),
        pytest.param(None, "a standard bearer of 2024", id="a bearer and a year"),
        pytest.param(None, '{"telemetry": 41555501, "hotel": 41555502}', id="keys in JSON text that hold tel"),
        pytest.param("password", "[secret]", id="our own mask"),
        pytest.param("password", "", id="empty"),
        pytest.param("password_changed_at", "2024-05-01", id="about a password"),
        pytest.param(None, 'echo "=== deploy token ==="', id="a word near a sign"),
        pytest.param(None, "the password: reset it now", id="a sentence about a password"),
        pytest.param(None, "①②③④⑤⑥⑦⑧⑨", id="circled digits"),
        pytest.param(None, "task-force risk-based sk-learn", id="words that hold a prefix"),
    ],
)
def test_kept(key: str | None, text: str) -> None:
    """Amounts, dates, ids and ordinary text come back as the same object."""
    shown, kinds = detect(key, text)

    assert shown is text
    assert kinds == ()


@pytest.mark.parametrize(
    "name", [GHP, AKIA, "eyJ" + "a" * 30 + ".eyJ" + "b" * 30 + "." + "c" * 30], ids=["GitHub", "AWS", "a token"]
)
def test_names_of_fields_are_looked_at_like_texts(name: str) -> None:
    """A secret may stand as the name of a field, first and again; ordinary names come back as the same object each time."""
    for _ in range(2):
        assert detect(None, name) == ("[secret]", ("secret",))
        for ordinary in ("customer_identifier_2024", "x", "a2345678_b", "n" * 300, "名称"):
            assert detect(None, ordinary)[0] is ordinary


def test_many_names_of_fields_cost_little_and_are_forgotten() -> None:
    """However many names come by, only some thousands are remembered; a name seen before costs about a microsecond."""
    for number in range(20_000):
        detect(None, f"a{number}_4155550182_field_of_some_record")
    begin = time.thread_time()
    for _ in range(100_000):
        detect(None, "a_4155550182_field_of_some_record")

    assert time.thread_time() - begin < 1
    assert len(redactors.detect.__self__.names) <= 4096


def test_kinds_are_named_in_the_order_of_the_table() -> None:
    """The kinds hidden are told once each."""
    _, kinds = detect(None, f"a@example.com b@example.com {GHP} +1 415 555 0182")

    assert kinds == ("secret", "email", "phone")


@pytest.mark.parametrize(
    ("digits", "right"),
    [
        pytest.param("79927398713", True, id="right"),
        pytest.param("79927398710", False, id="wrong"),
        pytest.param("0", True, id="zero"),
    ],
)
def test_luhn(digits: str, right: bool) -> None:
    """The check digit is computed as the standard's example says."""
    assert luhn(digits) is right


def test_folding_keeps_the_way_back() -> None:
    """Each folded character knows where it stood; a text without look-alikes is the same object."""
    text = "a\u200b\uff11b"

    assert folded(text) == ("a1b", [0, 2, 3])
    assert folded("zhang 张")[0] == "zhang 张"
    assert folded("plain") == ("plain", [])
