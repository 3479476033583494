"""Which exceptions leave open whether an act took place: real ones, raised against a loopback server that closes, hangs or is not there."""

from __future__ import annotations

import asyncio
import http.client
import smtplib
import socket
import sqlite3
import ssl
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from driver_kit import found, handle, load, raising

from guard import Guard, OutcomeUnknownError, Reason, ToolError
from guard.runner.cut_off import cut_off


class Server:
    """Accepts connections and, as told, closes them after the request, hangs, cuts the answer, or talks something else."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.how, self.open = "close", True
        self.held: list[socket.socket] = []
        self.port: int = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        if self.how == "hang":
            self.held.append(connection)
            return
        with suppress(OSError):
            if self.how == "mail":
                connection.sendall(b"220 hello\r\n")
            connection.recv(65_536)
            if self.how == "cut":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            if self.how == "garbage":
                connection.sendall(b"\x00\x01\x02 no http\r\n\r\n")
        connection.close()

    def close(self) -> None:
        self.socket.close()
        for connection in self.held:
            connection.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def _free() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port: int = taken.getsockname()[1]
        return port


SOON = 0.1


def _httpx(port: int) -> None:
    with httpx.Client(timeout=SOON, trust_env=False) as client:
        client.post(f"http://127.0.0.1:{port}/", json={"n": 1})


def _httpx_async(port: int) -> None:
    async def main() -> None:
        async with httpx.AsyncClient(timeout=SOON, trust_env=False) as client:
            await client.post(f"http://127.0.0.1:{port}/")

    asyncio.run(main())


def _grouped(port: int) -> None:
    async def one() -> None:
        async with httpx.AsyncClient(timeout=SOON, trust_env=False) as client:
            await client.post(f"http://127.0.0.1:{port}/")

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(one())

    asyncio.run(main())


def _urllib(port: int) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}/", data=b"n=1", timeout=SOON) as answer:
        answer.read()


def _client(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=SOON)) as client:
        client.request("POST", "/", b"n=1")
        client.getresponse().read()


def _socket(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=SOON) as client:
        client.sendall(b"pay\n" * 10)
        if client.recv(9) == b"":
            raise ConnectionResetError


def _streams(port: int) -> None:
    async def main() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(b"pay\n")
            async with asyncio.timeout(SOON):
                await reader.readexactly(200)
        finally:
            writer.close()

    asyncio.run(main())


def _openai(port: int) -> None:
    with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, timeout=SOON) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])


def _anthropic(port: int) -> None:
    with anthropic.Anthropic(base_url=f"http://127.0.0.1:{port}", api_key="none", max_retries=0, timeout=SOON) as client:
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])


def _mail(port: int) -> None:
    with smtplib.SMTP("127.0.0.1", port, timeout=SOON) as client:
        client.sendmail("a@example.com", ["b@example.com"], "hi")


def _retried(port: int) -> None:
    """The first try was sent and never answered, the second could not connect."""
    try:
        _httpx(port)
    except httpx.HTTPError:
        _httpx(_free())


HTTP = (_httpx, _httpx_async, _urllib, _client)
REAL = [
    *((call, how, True) for call in (*HTTP, _grouped, _socket, _streams) for how in ("close", "hang")),
    *((call, "cut", True) for call in HTTP),
    *((call, "garbage", True) for call in (_httpx, _client)),
    *((call, "refuse", False) for call in (*HTTP, _grouped, _socket, _streams, _mail)),
    *((call, how, True) for call in (_openai, _anthropic) for how in ("close", "hang", "refuse")),
    (_mail, "mail", True),
    (_retried, "hang", True),
]


@pytest.mark.parametrize(("call", "how", "open_"), REAL, ids=[f"{call.__name__[1:]}-{how}" for call, how, _ in REAL])
def test_real_exceptions(server: Server, call: Callable[[int], None], how: str, open_: bool) -> None:
    """What was sent and not answered may have happened; what nobody accepted did not, except where the SDK does not say which it was."""
    server.how = how
    port = _free() if how == "refuse" else server.port
    with pytest.raises(Exception) as caught:
        call(port)
    assert cut_off(caught.value) is open_, repr(caught.value)


def test_a_host_without_a_name_was_never_reached() -> None:
    """Nothing was sent to anybody."""
    with pytest.raises(OSError) as caught:
        socket.create_connection(("nobody.invalid", 80), timeout=5)
    assert not cut_off(caught.value)


def test_a_locked_database_is_in_doubt(tmp_path: Path) -> None:
    """An OperationalError may as well be a lost connection while a statement was committed."""
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path, timeout=0.05, isolation_level=None)) as one:
        one.execute("CREATE TABLE t (n)")
        one.execute("BEGIN EXCLUSIVE")
        with closing(sqlite3.connect(path, timeout=0.05)) as two, pytest.raises(sqlite3.OperationalError) as caught:
            two.execute("INSERT INTO t VALUES (1)")
    assert cut_off(caught.value)


def look_alike(name: str, *bases: type[BaseException], module: str = "shop.client") -> BaseException:
    return type(name, bases or (Exception,), {"__module__": module})()


def _from(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def _while(error: BaseException, handled: BaseException) -> BaseException:
    error.__context__ = handled
    return error


NAMED: dict[str, tuple[BaseException, bool]] = {
    "a time-out": (TimeoutError(), True),
    "a broken pipe": (BrokenPipeError(), True),
    "TLS": (ssl.SSLError(), True),
    "half an answer": (asyncio.IncompleteReadError(b"", 9), True),
    "some SDK's time-out": (look_alike("GatewayTimeoutError"), True),
    "another one's": (look_alike("RequestTimedOut"), True),
    "a driver's": (look_alike("OperationalError", module="psycopg"), True),
    "gRPC's deadline": (look_alike("DeadlineExceeded", module="google.api_core.exceptions"), True),
    "aiohttp, dropped": (look_alike("ServerDisconnectedError", module="aiohttp.client_exceptions"), True),
    "requests, refused": (look_alike("ConnectTimeout", look_alike("Timeout").__class__, module="requests.exceptions"), False),
    "aiohttp, refused": (look_alike("ClientConnectorError", OSError, module="aiohttp.client_exceptions"), False),
    "a name that proves nothing elsewhere": (_from(look_alike("ConnectError"), TimeoutError()), True),
    "wrapped": (_from(look_alike("PaymentError"), TimeoutError()), True),
    "raised while one was handled": (_while(ValueError("no answer"), ConnectionResetError()), True),
    "a refusal, explained by a time-out": (_from(look_alike("ConnectTimeout", module="httpx"), TimeoutError()), False),
    "a refusal after a lost answer": (_while(ConnectionRefusedError(), TimeoutError()), True),
    "a refusal with its cause, after a lost answer": (
        _from(look_alike("ConnectError", module="httpx"), _while(ConnectionRefusedError(), TimeoutError())),
        True,
    ),
    "a group with one": (ExceptionGroup("two", [ValueError(), ExceptionGroup("one", [TimeoutError()])]), True),
    "a group without": (ExceptionGroup("two", [ValueError(), ConnectionRefusedError()]), False),
    "an answer that says no": (look_alike("HTTPStatusError", module="httpx"), False),
    "a plain failure": (LookupError("x"), False),
    "no disk": (FileNotFoundError(), False),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_exceptions_are_told_by(case: str) -> None:
    """By their classes' names, what caused them, what was being handled, and the members of a group."""
    error, open_ = NAMED[case]
    assert cut_off(error) is open_


def test_suppressed_and_circular_ones_end() -> None:
    """What the author suppressed does not count, and a circle is walked no further than it is worth."""
    hidden = _while(ValueError(), TimeoutError())
    hidden.__suppress_context__ = True
    assert not cut_off(hidden)
    one, two = ValueError(), KeyError()
    one.__cause__, two.__cause__ = two, one
    assert not cut_off(one)
    never: Any = look_alike("ConnectError", module="httpx")
    never.__cause__ = _from(ConnectionRefusedError(), never)
    assert not cut_off(never)


KINDS: dict[str, tuple[BaseException, tuple[str, Any], tuple[str, Any]]] = {
    "cut off": (ConnectionResetError(), ("unknown", Reason.OUTCOME_UNKNOWN), ("failed", Reason.TOOL_FAILED)),
    "refused": (ConnectionRefusedError(), ("failed", Reason.TOOL_FAILED), ("failed", Reason.TOOL_FAILED)),
    "the author's word": (
        _from(ToolError("No."), TimeoutError()),
        ("failed", Reason.TOOL_FAILED),
        ("failed", Reason.TOOL_FAILED),
    ),
    "the author does not know": (OutcomeUnknownError(), ("unknown", Reason.OUTCOME_UNKNOWN), ("failed", Reason.TOOL_FAILED)),
}


@pytest.mark.parametrize("case", KINDS)
def test_only_actions_come_to_be_unknown(tmp_path: Path, case: str) -> None:
    """A look-up that was cut off failed, and may be tried again; a ToolError is the author's word, whatever caused it."""
    error, action, read = KINDS[case]
    guard = load(Guard, tmp_path, act=raising(error), look=raising(error))
    assert found(handle(guard, ("act", 1), ("look", 2))) == [action, read]
