"""What redacting costs: hostile texts take linear time."""

from __future__ import annotations

import gc
import time

import pytest

from guard.redactors import detect


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
        pytest.param("bearer abcdefghijklmnop", id="bearers and letters"),
        pytest.param('phone"\\\'" : [', id="a telling word and quotes"),
        pytest.param("userPhone number no ", id="telling words in a row"),
        pytest.param("sk-", id="prefixes"),
        pytest.param("eyJ.", id="token heads"),
        pytest.param("eyJaaaaaaaaaaa.eyJ", id="token parts"),
        pytest.param("eyJ" + "a" * 300 + ".", id="long token parts"),
        pytest.param("\u200b@", id="invisible characters"),
        pytest.param("{[", id="nested braces"),
        pytest.param("138 1234 ", id="Chinese groups"),
        pytest.param("a_b-c.", id="one long word"),
        pytest.param("1.1.1.", id="octets"),
        pytest.param("1:1:", id="colons"),
        pytest.param("::1 ", id="short long addresses"),
        pytest.param("00:11:22:33:44:", id="pairs"),
        pytest.param("DE89 ", id="heads of accounts"),
        pytest.param("078-05-", id="groups of an SSN"),
        pytest.param("ssn pesel nhs 078051120 ", id="words of ids and digits"),
        pytest.param("AB 12 34 56 ", id="groups of letters and digits"),
        pytest.param("-----BEGIN PRIVATE KEY-----", id="heads of keys"),
        pytest.param("curl -u a ", id="commands"),
        pytest.param("a_key = ", id="weak words"),
        pytest.param("a_token='a1", id="open weak words"),
        pytest.param("xoxb-aaaaaaaaaaaaaaaaaaaa", id="signs and one letter"),
        pytest.param("aQ~", id="signs inside"),
    ],
)
def test_hostile_texts_cost_linear_time(unit: str) -> None:
    """Four times the text costs at most about four times the time, and a quarter of a megabyte no more than a few seconds."""

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        gc.disable()  # what other tests left behind costs more to look through than these texts
        try:
            begin = time.thread_time()
            detect(None, text)
            return time.thread_time() - begin
        finally:
            gc.enable()

    small, large = (min(seconds(size) for _ in range(2)) for size in (60_000, 240_000))

    assert large < 5
    assert large < small * 10 + 0.1
