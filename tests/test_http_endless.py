"""A service that never ends its answer, or says far too much: it is given up, and read no further. Real servers on loopback."""

from __future__ import annotations

import gzip
import itertools
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from http_service_kit import Service, call, guard_with, of, says

from guard.core.endpoints import Endpoint
from guard.errors import OutcomeUnknownError, ToolError
from guard.tools.request import Written
from guard.tools.sending import Sender

LONG = 20.0
START = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"


@contextmanager
def pouring(parts: Iterable[bytes], pause: float = 0.0) -> Iterator[tuple[int, threading.Event, list[int]]]:
    """A server that says these parts to whoever asks, until that one is gone: its port, when that was, and how many bytes it got rid of."""
    gone, said = threading.Event(), [0]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError), listener.accept()[0] as to:
                to.recv(65_536)
                for part in parts:
                    to.sendall(part)
                    said[0] += len(part)
                    gone.wait(pause)
            gone.set()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], gone, said
        thread.join(LONG)


def asked(port: int, *, acts: bool = False, seconds: float = LONG, most: int = 10_000) -> Any:
    """What one request to that port gives."""
    point = Endpoint(
        method="POST" if acts else "GET", scheme="http", host="127.0.0.1", port=port, path=("/x",), rest="query", max_bytes=most
    )
    return Sender(point, acts=acts, seconds=seconds).send(Written(target="/x", headers=(), body=b""))


ENDLESS: dict[str, Callable[[], Iterable[bytes]]] = {
    "a header": lambda: itertools.chain([START + b"X: "], itertools.repeat(b"a")),
    "preliminary answers": lambda: itertools.repeat(b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"),
    "the size of a chunk": lambda: itertools.chain([CHUNKED], itertools.repeat(b"0")),
    "what stands beside that size": lambda: itertools.chain([CHUNKED + b"1;"], itertools.repeat(b"a")),
    "small chunks": lambda: itertools.chain([CHUNKED], itertools.repeat(b"1\r\nx\r\n")),
    "a trailer": lambda: itertools.chain([CHUNKED + b"0\r\nX: "], itertools.repeat(b"x")),
    "a body of no said length": lambda: itertools.chain([START + b"\r\n"], itertools.repeat(b"x")),
    "a body of a said length": lambda: itertools.chain([START + b"Content-Length: 9000\r\n\r\n"], itertools.repeat(b"x")),
}


@pytest.mark.parametrize("acts", [False, True], ids=["look-up", "action"])
@pytest.mark.parametrize("name", ENDLESS)
def test_a_service_that_drips_is_given_up_wherever_it_is(name: str, acts: bool) -> None:
    """The time is for all of an answer: each byte in time is no answer in time. The connection ends; an action may have acted."""
    with pouring(ENDLESS[name](), pause=0.05) as (port, gone, _):
        with pytest.raises(OutcomeUnknownError if acts else ToolError):
            asked(port, acts=acts, seconds=0.4)
        assert gone.wait(LONG)


TOO_MUCH: dict[str, Callable[[], Iterable[bytes]]] = {
    "said": lambda: itertools.chain([START + b"Content-Length: 1000000000\r\n\r\n"], itertools.repeat(b"x" * 1000)),
    "in chunks": lambda: itertools.chain([CHUNKED], itertools.repeat(b"3e8\r\n" + b"x" * 1000 + b"\r\n")),
    "in one chunk": lambda: itertools.chain([CHUNKED + b"ffffffff\r\n"], itertools.repeat(b"x" * 1000)),
    "not said": lambda: itertools.chain([START + b"\r\n"], itertools.repeat(b"x" * 1000)),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_an_answer_beyond_the_ceiling_is_read_no_further(name: str) -> None:
    """Whether its length was said or not: the connection ends soon after the ceiling, and the answer is not whole."""
    with pouring(TOO_MUCH[name]()) as (port, gone, said):
        answer = asked(port)
        assert gone.wait(LONG)
    assert not answer.whole
    assert said[0] < 50_000_000, "what fits into the buffers of the machine, not all"
    assert len(answer.body) < 100_000


@pytest.mark.parametrize("name", ["a header", "many headers"])
def test_headers_beyond_all_measure_are_no_answer(name: str) -> None:
    """They are not kept without end."""
    line = itertools.repeat(b"a" * 1000) if name == "a header" else itertools.repeat(b"X: a\r\n" * 200)
    with pouring(itertools.chain([START + b"X: "], line)) as (port, gone, _):
        with pytest.raises(ToolError, match="did not answer"):
            asked(port)
        assert gone.wait(LONG)


BOMB = gzip.compress(b'"' + b"0" * 20_000_000 + b'"')


@pytest.mark.parametrize(
    "headers",
    [{"Content-Encoding": "gzip"}, {"Content-Encoding": "identity, gzip"}, {"Content-Encoding": "br"}, {}],
    ids=["gzip", "twice", "br", "unsaid"],
)
@pytest.mark.parametrize("kind", ["read", "action"])
def test_what_is_packed_is_not_unpacked(kind: str, headers: dict[str, str], tmp_path: Path) -> None:
    """Nothing packed was asked for, so nothing can grow when it is opened: a look-up has failed, an action was accepted."""
    with Service(says(body=BOMB, headers=headers)) as service:
        entry = {**of(service), "kind": kind}
        with closing(guard_with(tmp_path, {"t": entry})) as guard:
            told = call(guard, "t")
    assert [one.headers["accept-encoding"] for one in service.asked] == ["identity"]
    assert told.status == ("failed" if kind == "read" else "done")
    assert "000000" not in told.content
