"""What the answer of an HTTP tool means: data, a failure, or an action whose outcome nobody knows. A real server on loopback."""

from __future__ import annotations

import json
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from http_service_kit import Service, call, guard_with, of, says, schema

ANSWERS = {
    # name: (answer, look-up's status and a part of its text, action's status and a part of its text)
    "json": (
        says(body='{"n": 1.10, "big": 18446744073709551616}'),
        ("done", '{"n":1.10,"big":18446744073709551616}'),
        ("done", '"n":1.10'),
    ),
    "problem json": (says(body='{"a": 1}', kind="application/hal+json"), ("done", '{"a":1}'), ("done", '{"a":1}')),
    "text": (says(body="hello", kind="text/plain; charset=utf-8"), ("done", "hello"), ("done", "hello")),
    "nothing": (says(204, b"", ""), ("done", "Nothing found."), ("done", '"status":204')),
    "created": (says(201, '{"id": 7}'), ("done", '{"id":7}'), ("done", '{"id":7}')),
    "broken json": (says(body='{"a": '), ("failed", "neither JSON nor text"), ("done", "could not be read")),
    "repeated keys": (says(body='{"a": 1, "a": 2}'), ("failed", "neither JSON nor text"), ("done", "could not be read")),
    "not a number": (says(body='{"a": NaN}'), ("failed", "neither JSON nor text"), ("done", "could not be read")),
    "deep": (says(body="[" * 50_000 + "]" * 50_000), ("failed", "neither JSON nor text"), ("done", "could not be read")),
    "a picture": (says(body=b"\x89PNG", kind="image/png"), ("failed", "neither JSON nor text"), ("done", "could not be read")),
    "no text": (says(body=b"\xff\xfe", kind="text/plain"), ("failed", "neither JSON nor text"), ("done", "could not be read")),
    "compressed": (
        says(headers={"Content-Encoding": "gzip"}),
        ("failed", "neither JSON nor text"),
        ("done", "could not be read"),
    ),
    "too much": (says(body="x" * 70_000, kind="text/plain"), ("failed", "too large"), ("done", "could not be read")),
    "not found": (says(404, "<html>gone</html>", "text/html"), ("failed", "404 Not Found"), ("failed", "404 Not Found")),
    "a mistake": (says(422, '{"detail": "n is negative"}'), ("failed", "n is negative"), ("failed", "n is negative")),
    "a long mistake": (says(422, json.dumps({"d": "y" * 5000})), ("failed", "422"), ("failed", "422")),
    "forbidden": (says(403, "{}"), ("failed", "403 Forbidden"), ("failed", "403 Forbidden")),
    "too slow for it": (says(408, "{}"), ("failed", "408"), ("unknown", "may or may not")),
    "broken": (
        says(500, '{"trace": "password=hunter2"}'),
        ("failed", "500 Internal Server Error"),
        ("unknown", "may or may not"),
    ),
    "elsewhere": (says(302, headers={"Location": "/y"}), ("failed", "elsewhere"), ("unknown", "may or may not")),
    "an odd status": (says(299, '{"a": 1}'), ("done", '{"a":1}'), ("done", '{"a":1}')),
}


@pytest.mark.parametrize("kind", ["read", "action"])
@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(name: str, kind: str, tmp_path: Path) -> None:
    """A look-up has data or has failed; an action is done, failed or unknown, and never called failed where it may have acted."""
    answer, read, action = ANSWERS[name]
    status, text = read if kind == "read" else action
    with Service(answer) as service:
        entry = {**of(service, max_bytes=60_000 if name == "too much" else 500_000), "kind": kind}
        with closing(guard_with(tmp_path, {"t": entry})) as guard:
            told = call(guard, "t")

    assert told.status == status
    assert text in told.content
    assert "hunter2" not in told.content
    assert len(service.asked) == 1


def _hangs_up(to: Any) -> None:
    to.close_connection = True
    to.connection.shutdown(socket.SHUT_RDWR)


def _half(to: Any) -> None:
    to.send_response(200)
    to.send_header("Content-Type", "application/json")
    to.send_header("Content-Length", "1000")
    to.end_headers()
    to.wfile.write(b'{"a": 1')
    _hangs_up(to)


def _drips(to: Any) -> None:
    to.send_response(200)
    to.send_header("Content-Type", "text/plain")
    to.send_header("Content-Length", "100000")
    to.end_headers()
    with pytest.MonkeyPatch.context():
        for _ in range(100):
            try:
                to.wfile.write(b"x")
                to.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)


@pytest.mark.parametrize("answer", [_hangs_up, _half, _drips], ids=["hangs up", "half", "drips"])
def test_a_service_that_breaks_off(answer: Any, tmp_path: Path) -> None:
    """A look-up failed; an action may have acted. A service that drips is given up at the tool's time-out."""
    with Service(answer) as service:
        entries = {kind: {**of(service), "kind": kind, "timeout": "600ms"} for kind in ("read", "action")}
        with closing(guard_with(tmp_path, entries)) as guard:
            assert [call(guard, kind).status for kind in ("read", "action")] in (["failed", "unknown"], ["timeout", "unknown"])
        assert len(service.asked) == 2


def test_nothing_listens(tmp_path: Path) -> None:
    """Where nothing was sent, an action has failed: nobody needs to find out."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    entry = {"http": {"url": f"http://127.0.0.1:{port}/"}, "schema": schema(), "kind": "action"}
    with closing(guard_with(tmp_path, {"t": entry})) as guard:
        told = call(guard, "t")
    assert (told.status, "cannot be reached" in told.content) == ("failed", True)
