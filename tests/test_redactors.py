"""Redactors: what is hidden, what stays, that a second pass changes nothing, and that hostile texts cost linear time."""

from __future__ import annotations

import json
import os
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guard.core.hiding import hide
from guard.core.values import encode
from guard.redactors import DETECTORS, REDACTOR, detect, quiet
from guard.redactors.card import luhn
from guard.redactors.fold import folded
from guard.redactors.views import still

GHP = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
AKIA = "AKIA" + "QWERTYUIOPASDFGH"

# -- what is hidden ----------------------------------------------------------------------------------------------------------


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
        pytest.param(None, "1.2.3.4 and 10.0.0.1", id="addresses and versions"),
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


# -- properties --------------------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "a@example.com",
        "@",
        "%40",
        ".",
        "com",
        "a",
        "+",
        "1",
        "415",
        "-",
        " ",
        "(",
        ")",
        "555",
        "0182",
        "4111",
        "1111",
        "13812345678",
        "手机",
        "phone",
        ":",
        "=",
        "password",
        "key",
        "token",
        '"',
        "\\",
        "'",
        "FAKE-SECRET-0001",
        GHP,
        AKIA,
        "sk-",
        "xoxb-",
        "Bearer ",
        "[email]",
        "[phone]",
        "[card]",
        "[secret]",
        "\u200b",
        "\uff20",
        "\uff11",
        "é",
        "\ud800",
        "\n",
        "x",
        "/",
        "2024-05-01",
        "eyJ",
        "_",
        "é@é.com",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=14).map("".join) | st.text()
LABELS = st.none() | st.sampled_from(["phone", "password", "order_id", "x", "card", "token", "手机"]) | st.text(max_size=8)


@given(LABELS, TEXTS)
@example(None, "a@example.com@example.com")
@example(None, "+14155550182-4111111111111111")
@example("phone", "[phone]")
def test_redacting_twice_changes_nothing(key: str | None, text: str) -> None:
    """What was shown once is shown again as it is."""
    shown, _ = detect(key, text)

    assert detect(key, shown)[0] == shown


@given(LABELS, TEXTS)
def test_gates_are_necessary_conditions(key: str | None, text: str) -> None:
    """Wherever a rule finds something its gate is true, and the quick look that skips all rules is not."""
    plain, _ = folded(text)
    for detector in DETECTORS:
        if detector.rule(key, plain):
            assert detector.gate(plain)
            assert not (plain.isascii() and still(plain))


@given(LABELS, TEXTS)
def test_spans_lie_inside_the_text(key: str | None, text: str) -> None:
    """Every finding is a non-empty piece of the text."""
    plain, _ = folded(text)
    for detector in DETECTORS:
        for start, end in detector.rule(key, plain):
            assert 0 <= start < end <= len(plain)


@given(LABELS, TEXTS)
def test_kinds_and_change_go_together(key: str | None, text: str) -> None:
    """A kind is named exactly when the text changed, and an unchanged text is the same object."""
    shown, kinds = detect(key, text)

    assert (shown is text) == (kinds == ())


VALUES = st.recursive(
    TEXTS | st.integers() | st.sampled_from([4111111111111111, 13812345678, None, True]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LABELS.filter(bool) | TEXTS, inner, max_size=4),
    max_leaves=6,
)


@given(VALUES)
@example({"pass_word": "hunter22"})
@example({"Authorization": "Basic abcdefghijklmnop1234"})
@example({"x": "Authorization: Basic abcdefghijklmnop1234"})
@example({"homeTEL": "12345678"})
@example({"x": "see\ntel: 12345678"})
@example({"pa\u200bssword": "hunter22"})
def test_a_quiet_text_hides_nothing(value: Any) -> None:
    """Where the look at the whole JSON text says that there is nothing, the walk over the leaves finds nothing."""
    if quiet(encode(value)):
        assert hide(value, REDACTOR, set()) is value


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        pytest.param(
            {"expense_id": "E-1", "amount": "3860.00", "submit_date": "2024-05-01", "status": "approved"}, True, id="a record"
        ),
        pytest.param(
            {"id": "110bcd25-a55d-453a-8046-1297901ea002", "at": "2024-05-01T03:45:00+08:00"},
            False,
            id="a uuid of a phone's shape",
        ),
        pytest.param({"名称": "差旅费\uff0c第1次\uff1a交通", "amount": 3860}, True, id="Chinese with full-width signs"),
        pytest.param({"contact": "a\uff20example.com"}, False, id="a mail in full-width signs"),
        pytest.param({"password": "hunter22"}, False, id="a secret key"),
        pytest.param({"tel": "12345678"}, False, id="a telling key"),
        pytest.param([4111111111111111], False, id="a card as a number"),
    ],
)
def test_quiet(value: Any, answer: bool) -> None:
    """Ordinary records are told apart from those that need the walk."""
    assert quiet(encode(value)) is answer


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}([._+-][a-z0-9]{1,5})?", fullmatch=True)
ADDRESSES = st.tuples(
    NAMES, st.from_regex(r"[a-z][a-z0-9]{1,8}", fullmatch=True), st.sampled_from(["com", "org", "co.uk", "cn"])
).map(lambda parts: f"{parts[0]}@{parts[1]}.{parts[2]}")


@given(ADDRESSES, st.data())
def test_a_planted_mail_never_survives(address: str, data: st.DataObject) -> None:
    """Wherever in a value an address is put, as a leaf, in a sentence or as a key, at any depth, it is gone afterwards."""
    around = data.draw(st.sampled_from(["{}", "mail {} now", "<{}>", "{}, {}", "联系{}。", "x:{};", "\n{}\n"])).replace(
        "{}", address
    )
    value: Any = data.draw(st.sampled_from([around, {around: 1}, {"k": around}, [around, 1, None]]))
    for wrap in data.draw(st.lists(st.sampled_from(["list", "dict"]), max_size=30)):
        value = [value, "x"] if wrap == "list" else {"inner": value}
    kinds: set[str] = set()
    shown = hide(value, REDACTOR, kinds)

    assert address not in encode(shown)
    assert kinds <= {"email"}


@given(
    st.recursive(
        st.integers(-(10**10), 10**10) | st.booleans() | st.none() | st.dates().map(str),
        st.lists,
        max_leaves=9,
    )
)
def test_data_without_anything_personal_is_the_same_object(value: Any) -> None:
    """Numbers, dates and their containers are not even copied."""
    assert hide(value, REDACTOR, set()) is value


# -- time --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("@", id="at-signs"),
        pytest.param("a@", id="almost mails"),
        pytest.param("a@a.", id="mails and dots"),
        pytest.param("a." * 30 + "@", id="long local parts"),
        pytest.param('"@', id="quotes"),
        pytest.param("%40", id="encoded at-signs"),
        pytest.param("1", id="digits"),
        pytest.param("1 ", id="digits and spaces"),
        pytest.param("1-", id="digits and dashes"),
        pytest.param("4111 ", id="card groups"),
        pytest.param("4111 1111 1111 1111 ", id="cards"),
        pytest.param("+1", id="plus signs"),
        pytest.param("(415) ", id="brackets"),
        pytest.param("+1 ( ( ( ", id="plus and brackets"),
        pytest.param("phone: ", id="a telling word"),
        pytest.param("phone number is 1", id="a telling word and a digit"),
        pytest.param("password=", id="assignments"),
        pytest.param("password: '", id="open quotes"),
        pytest.param("api_key=a1", id="glued assignments"),
        pytest.param("bearer ", id="bearers"),
        pytest.param("sk-", id="prefixes"),
        pytest.param("eyJ.", id="token heads"),
        pytest.param("eyJaaaaaaaaaaa.eyJ", id="token parts"),
        pytest.param("eyJ" + "a" * 300 + ".", id="long token parts"),
        pytest.param("\u200b@", id="invisible characters"),
        pytest.param("{[", id="nested braces"),
        pytest.param("138 1234 ", id="Chinese groups"),
        pytest.param("a_b-c.", id="one long word"),
    ],
)
def test_hostile_texts_cost_linear_time(unit: str) -> None:
    """Four times the text costs at most about four times the time, and a quarter of a megabyte no more than a few seconds."""

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        begin = time.thread_time()
        detect(None, text)
        return time.thread_time() - begin

    small = min(seconds(60_000) for _ in range(2))
    large = seconds(240_000)

    assert large < 5
    assert large < small * 10 + 0.1


# -- recorded cases ----------------------------------------------------------------------------------------------------------


def leaves(value: Any, path: str = "", key: str | None = None) -> Iterator[tuple[str, str | None, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{path}/{name.replace('~', '~0').replace('/', '~1')}", name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}/{index}", key)
    elif isinstance(value, str):
        yield path, key, value


@pytest.mark.cases
def test_recorded_records_stay_as_they_are() -> None:
    """In records as tools return them, what is labelled is hidden and everything else comes out identical."""
    folder = os.environ.get("GUARD_CASES")
    if folder is None:
        pytest.skip("GUARD_CASES does not name the folder of shared cases")
    kinds = {"email": "email", "phone": "phone", "credit_card": "card"}
    for line in (pathlib.Path(folder) / "redaction" / "docs_json.jsonl").read_text().splitlines():
        record = json.loads(line)
        wanted = {item["path"]: item["type"] for item in record["redact"]}
        free = tuple(record["field_pii"])
        for path, key, text in leaves(record["doc"]):
            shown, found = detect(key, text)
            if path in wanted:
                assert kinds.get(wanted[path]) in (None, *found), path
            elif path not in free and not path.startswith(tuple(f"{item}/" for item in free)):
                assert shown is text, path
