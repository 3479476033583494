"""Syslog over real sockets on loopback, and the form of its messages; the mappings of other formats."""

from __future__ import annotations

import json
import re
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sinks_kit import follower, write
from stores_kit import Clock, a_store

from guard.core.ports import Sealed, Store
from guard.sinks.entry import entry
from guard.sinks.formats import FORMATS
from guard.sinks.port import SinkError
from guard.sinks.syslog import Address, Syslog, message

HOSTILE = 'x\n<34>1 - - forged\x1b[2J\u202e\u2028"]\\ \ud83d\ude00 é\x00\x7f'
FORM = re.compile(
    r'<(\d+)>1 (\S+) (\S+) guard - (\S{1,32}) \[guard@32473((?: [a-z]+="(?:[^"\\\]]|\\["\\\]])*")+)\] (\{[\x20-\x7e]*\})'
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from a_store("memory", tmp_path, Clock())


class Reader(socketserver.StreamRequestHandler):
    """Takes messages that are framed by their length."""

    def handle(self) -> None:
        self.server.open.append(self.connection)  # type: ignore[attr-defined]
        while (length := self._length()) is not None:
            self.server.got.append(self.rfile.read(length))  # type: ignore[attr-defined]

    def _length(self) -> int | None:
        digits = b""
        while (char := self.rfile.read(1)) not in (b" ", b""):
            digits += char
        return int(digits) if digits else None


@contextmanager
def tcp(kind: Any = socketserver.ThreadingTCPServer, place: Any = ("127.0.0.1", 0)) -> Iterator[Any]:
    kind.allow_reuse_address = kind.daemon_threads = True
    with kind(place, Reader) as server:
        server.got, server.open = [], []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            for one in server.open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            thread.join()


def waited(got: list[bytes], count: int) -> list[bytes]:
    """What has arrived, once it is so much; a receiver is a thread of its own, so it may take a while."""
    until = time.monotonic() + 60
    while len(got) < count and time.monotonic() < until:
        time.sleep(0.005)
    return got


def seqs(got: list[bytes]) -> list[int]:
    return [int(re.search(rb' seq="(\d+)"', one)[1]) for one in got]  # type: ignore[index]


def test_messages_arrive_over_tcp_in_order(store: Store) -> None:
    """Framed by their length; a connection that was closed is noticed and made anew."""
    write(store, 5, text=HOSTILE)
    with tcp() as server:
        port = server.server_address[1]
        sink = Syslog("log", Address.of(f"tcp://127.0.0.1:{port}"))
        follower(store, sink).step()
        assert seqs(waited(server.got, 5)) == [1, 2, 3, 4, 5]
    with tcp(place=("127.0.0.1", port)) as server:
        write(store, 1)
        sink.send(store.audit(after=5))
        assert seqs(waited(server.got, 1)) == [6]
    sink.close()


def test_messages_arrive_over_udp(store: Store) -> None:
    """One in each datagram."""
    write(store, 3)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        there.bind(("127.0.0.1", 0))
        there.settimeout(5)
        sink = Syslog("log", Address.of(f"udp://127.0.0.1:{there.getsockname()[1]}"))
        sink.send(store.audit())
        assert seqs([there.recv(9000) for _ in range(3)]) == [1, 2, 3]
        sink.close()


@pytest.mark.parametrize("kind", ["datagram", "stream"])
def test_messages_arrive_over_a_unix_socket(store: Store, tmp_path: Path, kind: str) -> None:
    """Whichever kind listens at the path."""
    write(store, 2)
    path = str(tmp_path / "log")
    sink = Syslog("log", Address.of(f"unix://{path}"))
    if kind == "stream":
        with tcp(socketserver.ThreadingUnixStreamServer, path) as server:
            sink.send(store.audit())
            assert seqs(waited(server.got, 2)) == [1, 2]
            sink.close()
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as there:
        there.bind(path)
        there.settimeout(5)
        sink.send(store.audit())
        assert seqs([there.recv(9000) for _ in range(2)]) == [1, 2]
        sink.close()


def test_nobody_who_listens_is_a_failure_and_a_hanging_one_ends_in_time(store: Store) -> None:
    """A closed port, a missing socket, and a receiver that reads nothing while its buffers are full."""
    write(store, 3000, text="x" * 2000)
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        for address in (f"tcp://127.0.0.1:{there.getsockname()[1]}", "unix:///nowhere/log"):
            with pytest.raises(SinkError, match="it cannot be reached: "):
                Syslog("log", Address.of(address)).send(store.audit(limit=1))
        there.listen()
        sink = Syslog("log", Address.of(f"tcp://127.0.0.1:{there.getsockname()[1]}"), seconds=0.2)
        with pytest.raises(SinkError, match="it cannot be reached: ") as raised:
            sink.send(store.audit())
    assert raised.value.sent == 0


def record(store: Store, **more: Any) -> Sealed:
    write(store, 1, **more)
    return store.audit()[-1]


def test_a_message_has_the_form_of_the_rfc_whatever_is_in_the_record(store: Store) -> None:
    """One line of printable ASCII; the body comes back as the same value."""
    one = record(
        store,
        kind="call.decided",
        tool={"name": HOSTILE},
        decision={"verdict": "refuse", "code": HOSTILE},
        writer={"host": "h\nost x"},
    )
    found = FORM.fullmatch(message(entry(one), 8192).decode("ascii"))
    assert found
    assert (found[1], found[3], found[4]) == ("108", "h_ost_x", "call.decided")
    assert json.loads(found[6]) == json.loads(one.body)
    assert FORM.fullmatch(message(entry(record(store, kind=f"k\n {HOSTILE}")), 8192).decode("ascii"))


def test_a_long_record_is_cut_where_it_says_so(store: Store) -> None:
    """Still a whole message with JSON in it, and never longer than the bound."""
    one = record(store, kind="call.decided", principal="E" * 5000, text="é" * 50_000, tool={"name": '"]\\' * 500})
    for most in (1024, 2048, 8192):
        found = message(entry(one), most)
        assert len(found) <= most
    told = json.loads(FORM.fullmatch(message(entry(one), 2048).decode())[6])  # type: ignore[index]
    assert (told["cut"], told["kind"], told["bytes"]) == (True, "call.decided", len(one.body.encode()))


@pytest.mark.parametrize(
    "text", ["", "127.0.0.1:514", "http://x:1", "unix://", "tcp://", "udp://u@h:1", "tcp://h:1/x", "tcp://h:99999"]
)
def test_only_an_address_is_taken(text: str) -> None:
    """Anything else is told what to write."""
    with pytest.raises(ValueError, match=r"address: write|Port out of range"):
        Address.of(text)


BODIES: dict[str, dict[str, Any]] = {
    "refused": {
        "kind": "call.decided",
        "decision": {"verdict": "refuse", "code": "not_grounded", "policy": "p1", "rules": ["a"]},
    },
    "held": {"kind": "call.decided", "decision": {"verdict": "hold", "policy": "p1"}, "approval": "ap_1"},
    "read": {"kind": "call.decided", "tool": {"name": "look", "kind": "read"}, "decision": {"verdict": "allow", "policy": "p1"}},
    "failed": {"kind": "call.end", "tool": {"name": "pay"}, "exec": {"status": "error", "error": "tool_failed"}},
    "voted": {"kind": "approval.resolved", "approval_state": {"status": "rejected"}, "actor": {"type": "human", "ref": "E2"}},
    "bare": {"kind": "x"},
    "odd": {"kind": "call.decided", "decision": [1], "tool": "x", "spoof": 3, "actor": None, "exec": {"status": 5}},
}
MEANT = {"refused": (2, 2, None), "held": (99, 14, None), "read": (1, 1, None), "failed": (None, None, 2), "voted": (2, 25, None), "bare": (None, None, None), "odd": (None, None, None)}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_an_ocsf_event_has_what_its_class_requires(store: Store, name: str) -> None:
    """The required attributes of API Activity in OCSF 1.6.0, their types, and what was decided, in the version's own numbers."""
    one = entry(record(store, **BODIES[name]))
    found = FORMATS["ocsf"].of(one)
    whole = ("category_uid", "class_uid", "activity_id", "type_uid", "severity_id", "time")
    assert all(type(found[key]) is int for key in whole)
    assert (found["class_uid"], found["type_uid"]) == (6003, 600_300 + found["activity_id"])
    assert found["activity_id"] == (2 if name == "read" else 99)
    assert found["metadata"]["version"] == "1.6.0"
    assert found["metadata"]["product"]["name"]
    assert found["time"] == 1_800_000_000_000
    assert {"user", "app_name"} & found["actor"].keys()
    assert found["api"]["operation"]
    assert found["api"]["request"]["uid"]
    assert found["src_endpoint"]["name"]
    assert tuple(found.get(key) for key in ("action_id", "disposition_id", "status_id")) == MEANT[name]
    assert found["unmapped"]["guard"]["body"] == one.body


@pytest.mark.parametrize("name", BODIES)
def test_a_cloudevent_has_what_the_specification_requires(store: Store, name: str) -> None:
    """Required attributes are texts that are not empty; names of extensions are lower-case letters and digits; integers fit 32 bits."""
    one = record(store, **BODIES[name])
    found = FORMATS["cloudevents"].of(entry(one))
    assert found["specversion"] == "1.0"
    assert all(isinstance(found[key], str) and found[key] for key in ("id", "source", "type", "time"))
    assert all(re.fullmatch("[a-z0-9]{1,20}", key) for key in found)
    assert (found["guardhash"], found["data"]) == (one.hash, entry(one).body)


def test_a_record_that_cannot_be_read_still_goes_out() -> None:
    """In every form, and as a message: whoever damaged it must not stop the others."""
    one = Sealed(chain=0, seq=7, prev="0" * 64, hash="f" * 64, body="no JSON\n\x1b")
    for form in FORMATS.values():
        assert json.dumps(form.of(entry(one)), default=str)
    assert message(entry(one), 2048).decode("ascii").isprintable()
