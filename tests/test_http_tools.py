"""Tools that are HTTP requests: what is sent, what an answer means, and what never leaves. A real server on loopback."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import threading
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from http_service_kit import CLERK, Service, call, guard_with, of, says, schema
from stores_kit import records

from guard import AsyncGuard, Session, ToolCall
from guard.core.reasons import Reason

SENT = {
    # name: (path, more of the entry, arguments, method, target, body as text, content type)
    "the rest of a GET in the query": (
        "/x?k=1",
        {},
        '{"a": "b c&d", "n": 1.10, "flag": true}',
        "GET",
        "/x?k=1&a=b+c%26d&n=1.10&flag=true",
        "",
        "",
    ),
    "a list repeats": ("/x", {}, '{"many": ["a", "b"]}', "GET", "/x?many=a&many=b", "", ""),
    "a step of the path": ("/o/{a}/z", {}, '{"a": "ü %2F?#"}', "GET", "/o/%C3%BC%20%252F%3F%23/z", "", ""),
    "a place in the url's query": ("/x?p={n}&q=", {}, '{"n": 10}', "GET", "/x?p=10&q=", "", ""),
    "json with exact digits": (
        "/x",
        {"method": "POST"},
        '{"n": 3860.00, "a": "é\\"", "deep": {"z": [1, null]}}',
        "POST",
        "/x",
        '{"n":3860.00,"a":"é\\"","deep":{"z":[1,null]}}',
        "application/json",
    ),
    "a large number": (
        "/x",
        {"method": "POST"},
        '{"n": 123456789012345678901234567890.5}',
        "POST",
        "/x",
        '{"n":123456789012345678901234567890.5}',
        "application/json",
    ),
    "a form": (
        "/x",
        {"method": "POST", "body": "form"},
        '{"a": "x&y=z", "many": ["1", "2"]}',
        "POST",
        "/x",
        "a=x%26y%3Dz&many=1&many=2",
        "application/x-www-form-urlencoded",
    ),
    "nothing": (
        "/x?a={a}&n={n}&f={flag}&m={many}",
        {"method": "POST", "body": {"d": "{deep}"}},
        '{"a": "q"}',
        "POST",
        "/x?a=q",
        "{}",
        "application/json",
    ),
    "a body of one's own": (
        "/x?f={flag}&m={many}",
        {
            "method": "PUT",
            "body": {"t": "n. {n}, {a}", "n": "{n}", "l": ["{a}", 1, True], "d": "{deep}", "fix": {"v": 1.5}},
            "kind": "action",
        },
        '{"n": 2.50, "a": "x\\", \\"y", "flag": false}',
        "PUT",
        "/x?f=false",
        '{"t":"n. 2.50, x\\", \\"y","n":2.50,"l":["x\\", \\"y",1,true],"fix":{"v":1.5}}',
        "application/json",
    ),
    "a DELETE": ("/o/{a}", {"method": "DELETE", "kind": "action"}, '{"a": "7"}', "DELETE", "/o/7", "", ""),
}


@pytest.mark.parametrize("name", SENT)
def test_what_is_sent(name: str, tmp_path: Path) -> None:
    """Each argument stands where the policy says, escaped for that place, with its digits."""
    path, more, arguments, method, target, body, kind = SENT[name]
    more = dict(more)
    extra = {"kind": more.pop("kind")} if "kind" in more else {}
    with (
        Service(says(body='{"got": 1}')) as service,
        closing(guard_with(tmp_path, {"t": {**of(service, path, **more), **extra}})) as guard,
    ):
        outcome = call(guard, "t", arguments)

    [asked] = service.asked
    assert (outcome.status, outcome.content) == ("done", '{"got":1}')
    assert (asked.method, asked.target, asked.body.decode()) == (method, target, body)
    assert asked.headers.get("content-type", "") == kind
    assert asked.headers["host"] == f"127.0.0.1:{service.port}"


@pytest.mark.parametrize("value", ["", ".", "..", "../admin", "a/b", "a\\b", "a\nb", "\u0000"], ids=repr)
def test_an_argument_stays_one_step_of_the_path(value: str, tmp_path: Path) -> None:
    """It is refused before anybody decides, and nothing is sent."""
    with Service(says()) as service, closing(guard_with(tmp_path, {"t": of(service, "/o/{a}/z")})) as guard:
        told = call(guard, "t", json.dumps({"a": value}))
        missing = call(guard, "t")

    assert [(one.status, one.reason) for one in (told, missing)] == [("refused", Reason.INVALID_ARGUMENTS)] * 2
    assert "path_step" in told.content
    assert service.asked == []


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "ü", " a", ""], ids=repr)
def test_an_argument_cannot_write_a_header(value: str, tmp_path: Path) -> None:
    """A line break is refused; an empty text is an empty header."""
    with Service(says()) as service, closing(guard_with(tmp_path, {"t": of(service, headers={"X-A": "{a}"})})) as guard:
        told = call(guard, "t", json.dumps({"a": value}))

    assert told.status == ("done" if value == "" else "refused")
    assert all(one.headers["x-a"] == value and "x-evil" not in one.headers for one in service.asked)


def test_an_object_in_a_query_is_refused(tmp_path: Path) -> None:
    """It has no form there, whatever the schema permits."""
    with Service(says()) as service, closing(guard_with(tmp_path, {"t": of(service, "/x?d={deep}")})) as guard:
        assert call(guard, "t", '{"deep": {}}').reason == Reason.INVALID_ARGUMENTS
    assert service.asked == []


def test_bound_fields_are_the_sessions(tmp_path: Path) -> None:
    """What the model writes in a bound field does not reach the service."""
    entry = {"schema": schema("user", user="string"), "bind": {"user": "session.principal"}}
    with Service(says()) as service, closing(guard_with(tmp_path, {"t": {**of(service, "/u/{user}"), **entry}})) as guard:
        call(guard, "t", '{"user": "E2"}')
    assert [one.target for one in service.asked] == ["/u/E1"]


def test_the_key_of_an_action(tmp_path: Path) -> None:
    """An action carries the guard's own key, another for each call; a look-up none."""
    with Service(says()) as service:
        entries = {"act": {**of(service), "kind": "action", "effect": "idempotent"}, "look": of(service)}
        with closing(guard_with(tmp_path, entries)) as guard:
            call(guard, "act", '{"a": "1"}')
            call(guard, "act", '{"a": "2"}')
            call(guard, "look")
    keys = [one.headers.get("idempotency-key") for one in service.asked]
    assert keys[2] is None
    assert len({*keys}) == 3
    assert all(len(key or "x" * 64) == 64 for key in keys)


def test_secrets_stay_where_they_belong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The service gets them; the model, the record, the log and the tool's description do not, even where the service repeats them."""
    secret = "tk-9f8e7d6c5b4a"
    monkeypatch.setenv("GUARD_TEST_KEY", secret)

    def echo(to: Any) -> None:
        status = 422 if "bad" in to.path else 200
        says(status, json.dumps({secret: [f"Bearer {secret}", to.path], "h": dict(to.headers)}))(to)

    with Service(echo) as service:
        http = {"headers": {"Authorization": "Bearer ${GUARD_TEST_KEY}"}, "query": {"key": "${GUARD_TEST_KEY}"}}
        with closing(guard_with(tmp_path, {"good": of(service, **http), "bad": of(service, "/bad", **http)})) as guard:
            told = [call(guard, "good"), call(guard, "bad")]
            chat = guard.open(CLERK, wire="openai-chat", conversation="c")
            seen = [*map(str, told), str(chat.tools), caplog.text, *(record.body for record in records(guard.store))]
    assert [one.status for one in told] == ["done", "failed"]
    assert all(one.headers["authorization"] == f"Bearer {secret}" and f"key={secret}" in one.target for one in service.asked)
    assert [text for text in seen if secret in text] == []
    assert "[secret]" in told[0].content


SPELLED = {
    "as it is": lambda secret: secret,
    "in JSON inside JSON": lambda secret: json.dumps({"k": secret}),
    "in a URL": lambda secret: quote(secret, safe=""),
    "in a form": quote_plus,
    "in a small URL": lambda secret: quote(secret, safe="").lower(),
    "in HTML": html.escape,
    "in base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "in hexadecimal digits": lambda secret: secret.encode().hex(),
    "in hexadecimal pairs": lambda secret: secret.encode().hex(":").upper(),
    "in escapes of JSON": lambda secret: "".join(f"\\u{ord(char):04x}" for char in secret),
    "in escapes of Python": lambda secret: "".join(f"\\x{ord(char):02x}" for char in secret),
    "in entities": lambda secret: "".join(f"&#x{ord(char):x};" for char in secret),
    "all of it in a URL": lambda secret: "".join(f"%{byte:02X}" for byte in secret.encode()),
    "in base64 on lines": lambda secret: base64.encodebytes(b"." * 50 + secret.encode() + b"." * 40).decode(),
    "in base64 of wide letters": lambda secret: base64.b64encode(secret.encode("utf-16-le")).decode(),
    "in base32": lambda secret: base64.b32encode(secret.encode()).decode(),
    "on two lines": lambda secret: f"{secret[:6]}\n  {secret[6:]}",
    "as a list of bytes": lambda secret: str(list(secret.encode())),
}


@pytest.mark.parametrize("status", [200, 422])
@pytest.mark.parametrize("spelling", SPELLED)
def test_a_secret_does_not_come_back_in_another_spelling(
    spelling: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a service repeats what it was asked with: as data, or as what it says about a mistake."""
    secret = 'ab"cd\\efgh/ij+kl=='
    monkeypatch.setenv("GUARD_TEST_KEY", secret)
    told = SPELLED[spelling](secret)
    answer = says(status, json.dumps({"said": f"key={told};", told: 1}))
    http = {"query": {"key": "${GUARD_TEST_KEY}"}}
    with Service(answer) as service, closing(guard_with(tmp_path, {"t": of(service, **http)})) as guard:
        shown = call(guard, "t").content
    assert "[secret]" in shown
    assert [text for text in (told, json.dumps(told)[1:-1], "efgh") if text in shown] == []


@pytest.mark.parametrize("before", ["", "a", "ab", "abc:", "user:"])
def test_a_secret_does_not_come_back_inside_of_base64(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever in the encoded text it begins; nor does what it packs itself, such as the password of HTTP's Basic."""
    secret = "tk-9f8e7d6c5b4ax"
    login = base64.b64encode(b"alice:hunter2-and-more").decode()
    monkeypatch.setenv("GUARD_TEST_KEY", secret)
    monkeypatch.setenv("GUARD_TEST_LOGIN", login)
    packed = base64.b64encode(f"{before}{secret}, and more".encode()).decode()
    answer = says(body=json.dumps({"seen": packed, "who": "no login as alice:hunter2-and-more", "with": "hunter2-and-more"}))
    http = {"headers": {"X-Key": "${GUARD_TEST_KEY}", "Authorization": "Basic ${GUARD_TEST_LOGIN}"}}
    with Service(answer) as service, closing(guard_with(tmp_path, {"t": of(service, **http)})) as guard:
        shown = call(guard, "t").content
    assert shown.count("[secret]") == 3
    assert "hunter2" not in shown
    assert packed[8:20] not in shown


NUMBERS = ("{}", "-{}", "{}.0", "1{}", "{}.5", "0.{}", "0.{}E8")


@pytest.mark.parametrize("status", [200, 422])
@pytest.mark.parametrize("written", NUMBERS)
def test_a_secret_of_digits_does_not_come_back_as_a_number(
    written: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service may read it as one. Other numbers keep their digits, and a truth is none."""
    monkeypatch.setenv("GUARD_TEST_KEY", "48213377")
    answer = says(status, f'{{"pin": [{written.format("48213377")}], "other": 4821337.7, "yes": true}}')
    http = {"headers": {"X-Pin": "${GUARD_TEST_KEY}"}}
    with Service(answer) as service, closing(guard_with(tmp_path, {"t": of(service, **http)})) as guard:
        shown = call(guard, "t").content
        seen = [shown, *(record.body for record in records(guard.store))]
    assert all(part in shown.replace('\\"', '"') for part in ('"pin":["[secret]"]', '"other":4821337.7', '"yes":true'))
    assert [text for text in seen if "48213377" in text] == []


def test_a_number_that_only_resembles_a_secret_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret of mostly zeros is no reason to take every small number out."""
    monkeypatch.setenv("GUARD_TEST_KEY", "000012")
    answer, http = says(body='{"n": 12, "text": "000012"}'), {"headers": {"X-Pin": "${GUARD_TEST_KEY}"}}
    with Service(answer) as service, closing(guard_with(tmp_path, {"t": of(service, **http)})) as guard:
        assert json.loads(call(guard, "t").content) == {"n": 12, "text": "[secret]"}


def test_no_cookies_and_no_proxies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One person's cookie is not sent for the next, and the environment does not choose a way."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    other = Session(principal="E2", tenant="acme", roles=("clerk",))
    answer = says(headers={"Set-Cookie": "session=1; Path=/"})
    with Service(answer) as service, closing(guard_with(tmp_path, {"t": of(service)})) as guard:
        statuses = [call(guard, "t", '{"a": "1"}').status, call(guard, "t", session=other).status]
    assert statuses == ["done", "done"]
    assert [one.headers.get("cookie") for one in service.asked] == [None, None]


def test_many_at_once_and_awaited(tmp_path: Path) -> None:
    """Calls of several threads and of one loop overlap, and each gets its own answer."""
    meet = threading.Barrier(4)

    def answer(to: Any) -> None:
        meet.wait(20)
        says(body=json.dumps({"path": to.path}))(to)

    async def all_of(guard: AsyncGuard) -> list[str]:
        calls = [guard.call(ToolCall("c", "t", f'{{"n": {n}}}'), CLERK, conversation=f"k{n}") for n in range(4)]
        return [one.content for one in await asyncio.gather(*calls)]

    with Service(answer) as service:
        guard_with(tmp_path, {"t": of(service)}).close()
        guard = AsyncGuard.load(tmp_path, tools=[], store="memory://")
        found = asyncio.run(all_of(guard))
    assert [json.loads(one)["path"] for one in found] == [f"/x?n={n}" for n in range(4)]


def test_exact_both_ways(tmp_path: Path) -> None:
    """No float on the way: the digits that the service wrote are those that the model reads."""
    answer = says(body='{"amount": 0.1000000000000000055511151231257827, "n": 1E+2}')
    with Service(answer) as service, closing(guard_with(tmp_path, {"t": of(service)})) as guard:
        told = call(guard, "t").content
    assert "0.1000000000000000055511151231257827" in told
    assert json.loads(told, parse_float=Decimal)["n"] == 100
