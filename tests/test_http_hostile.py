"""A service that means harm: its name leads elsewhere, it sends on to places that look like home, or says a secret again where nobody expects it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from http_service_kit import Service, call, guard_with, of, says, schema
from stores_kit import records

from guard.tools.destination import ForbiddenError, addresses

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"

# -- names that lead elsewhere

UNENCRYPTED = pytest.mark.filterwarnings("ignore:.*unencrypted")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Have a name lead to these addresses, another answer for each time it is asked; what was asked."""
    real, seen = socket.getaddrinfo, list[str]()

    def set_up(name: str, *answers: list[str]) -> list[str]:
        left = list(answers)

        def found(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
            if host != name:
                return real(host, port, *rest, **more)
            seen.append(host)
            answer = left.pop(0) if len(left) > 1 else left[0]
            return [pair for address in answer for pair in real(address, port, *rest, **more)]

        monkeypatch.setattr(socket, "getaddrinfo", found)
        return seen

    return set_up


def _named(service: Service, name: str, **http: Any) -> dict[str, Any]:
    return {"http": {"url": f"http://{name}:{service.port}/x", **http}, "schema": schema()}


@UNENCRYPTED
def test_a_name_is_asked_once_and_that_answer_connected_to(tmp_path: Path, names: Callable[..., list[str]]) -> None:
    """A name that leads somewhere else the second time (rebinding) gains nothing: what was looked at is where the request goes."""
    with Service(says(body='{"here": 1}')) as service:
        seen = names("rebind.example", ["127.0.0.1"], ["127.0.0.2"])
        with closing(guard_with(tmp_path, {"t": _named(service, "rebind.example", networks=["127.0.0.1/32"])})) as guard:
            told = [call(guard, "t"), call(guard, "t")]
    assert [one.status for one in told] == ["done", "failed"]
    assert "not permitted" in told[1].content
    assert seen == ["rebind.example"] * 2, "once for each request"
    assert [one.headers["host"] for one in service.asked] == [f"rebind.example:{service.port}"]


@UNENCRYPTED
@pytest.mark.parametrize(
    "answer",
    [["127.0.0.1", "169.254.169.254"], ["169.254.169.254", "127.0.0.1"], ["127.0.0.1", "::1"], ["127.0.0.1", "::ffff:10.0.0.1"]],
    ids=" ".join,
)
def test_a_name_with_one_address_too_many_is_refused_whole(
    answer: list[str], tmp_path: Path, names: Callable[..., list[str]]
) -> None:
    """Whoever owns the name could choose which one is taken: all of them must be permitted."""
    with Service(says()) as service:
        names("two.example", answer)
        with closing(guard_with(tmp_path, {"t": _named(service, "two.example", networks=["127.0.0.1/32"])})) as guard:
            assert "not permitted" in call(guard, "t").content
    assert service.asked == []


@UNENCRYPTED
def test_the_second_address_is_tried_where_nothing_was_sent_to_the_first(tmp_path: Path, names: Callable[..., list[str]]) -> None:
    """An action, too: nobody listened at the first one."""
    with Service(says()) as service:
        names("two.example", ["127.0.0.9", "127.0.0.1"])
        entry = {**_named(service, "two.example", networks=["127.0.0.0/8"]), "kind": "action"}
        with closing(guard_with(tmp_path, {"t": entry})) as guard:
            assert call(guard, "t").status == "done"
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    "host",
    [
        "localhost.",
        "LOCALHOST",
        "127.0.0.1.",
        "0",
        "127.0.1",
        "0x7f.1",
        "017700000001",
        "::ffff:7f00:1",
        "::ffff:127.0.0.1%1",
        "①27.0.0.1",
    ],
)
def test_no_spelling_of_an_address_inside_is_meant(host: str) -> None:
    """Only the address itself, or `localhost`, is what a policy that writes it means; every other spelling is looked up and refused, or no name."""
    with pytest.raises((ForbiddenError, OSError, UnicodeError)):
        addresses(host, 80, [], literal=False)
    with pytest.raises((ForbiddenError, OSError, UnicodeError)):
        addresses(host, 80, [], literal=host.lower() == "localhost.")


LEADS = (
    *(
        "http://127.0.0.1:{port}@169.254.169.254/",
        "http://169.254.169.254#@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}.example/",
    ),
    *(
        "http://2130706433:{port}/",
        "http://0177.0.0.1:{port}/",
        "http://127.1:{port}/",
        "http://127.0.0.1.:{port}/",
        "http://localhost:{port}/",
    ),
    *(
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://[::1",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:-1/",
        "http://127.0.0.1:{port}0/",
    ),
    *(
        "ftp://127.0.0.1:{port}/",
        "gopher://127.0.0.1:{port}/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "unix:///var/run/docker.sock",
    ),
    *(
        "http:\\\\169.254.169.254\\x",
        "\thttp://169.254.169.254/",
        "///169.254.169.254/x",
        "http:///x",
        "http://①27.0.0.1:{port}/",
    ),
)


@pytest.mark.parametrize("place", LEADS)
def test_a_redirect_that_only_looks_like_home_is_not_followed(place: str, tmp_path: Path) -> None:
    """However the place is written, only the policy's own host and port is home, in its own spelling; every other one is a failure."""

    def answer(to: Any) -> None:
        says(302, headers={"Location": place.replace("{port}", str(service.port)).encode().decode("latin-1")})(to)

    with Service(answer) as service, closing(guard_with(tmp_path, {"t": of(service, redirects=2)})) as guard:
        told = call(guard, "t")
    assert told.status == "failed"
    assert {one.headers["host"] for one in service.asked} == {f"127.0.0.1:{service.port}"}
    assert all(text not in told.content for text in ("169.254", "99999", "docker"))


# -- a secret that comes back


SECRET = "tk-9f8e7d6c5b4a"
ECHOES: dict[str, Callable[[Any], None]] = {
    "the status line": lambda to: to.wfile.write(f"HTTP/1.1 404 {SECRET}\r\nContent-Length: 0\r\n\r\n".encode()),
    "the status line of a failure": lambda to: to.wfile.write(f"HTTP/1.1 599 {SECRET}\r\nContent-Length: 0\r\n\r\n".encode()),
    "a header": says(headers={"X-Echo": SECRET, "Retry-After": SECRET, "Date": SECRET}),
    "a header of a failure": says(429, headers={"Retry-After": SECRET, "WWW-Authenticate": SECRET}),
    "the kind of content": says(kind=f"text/{SECRET}", body=SECRET),
    "a place to go": says(302, headers={"Location": f"/{SECRET}"}),
    "a place elsewhere": says(302, headers={"Location": f"http://{SECRET}.example/"}),
    "a place that is none": says(302, headers={"Location": f"http://[{SECRET}"}),
    "broken JSON": says(body=f'{{"k": "{SECRET}"'),
    "a key": says(body=json.dumps({SECRET: {SECRET: 1}})),
    "broken HTTP": lambda to: to.wfile.write(f"HTTP/9 {SECRET}\r\n{SECRET}\r\n\r\n".encode()),
    "a trailer": lambda to: to.wfile.write(CHUNKED + f"0\r\nX: {SECRET}\r\n\r\n".encode()),
}


@pytest.mark.parametrize("kind", ["read", "action"])
@pytest.mark.parametrize("name", ECHOES)
def test_a_secret_said_again_anywhere_is_not_passed_on(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Body, header, status line, redirect, broken answer: neither model nor record nor log gets it."""
    monkeypatch.setenv("GUARD_TEST_KEY", SECRET)
    caplog.set_level("INFO")

    def answer(to: Any) -> None:
        to.close_connection = True
        ECHOES[name](to)

    with Service(answer) as service:
        entry = {
            **of(service, headers={"X-Key": "${GUARD_TEST_KEY}"}, **({"redirects": 1} if kind == "read" else {})),
            "kind": kind,
        }
        with closing(guard_with(tmp_path, {"t": entry})) as guard:
            seen = [str(call(guard, "t")), caplog.text, *(record.body for record in records(guard.store))]
    assert service.asked
    assert [text for text in seen if SECRET in text] == []
